"""What commands return."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from vbcgcd.items import Failure
from vbcgcd.record import plain

__all__ = ["CategoryResult", "ConfigResult", "ExportResult", "ReportResult", "Result", "UndoResult"]


@dataclass(frozen=True)
class Result:
    """Base of all values that commands and queries return."""

    def as_json(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {f.name: plain(getattr(self, f.name)) for f in fields(self)}


@dataclass(frozen=True)
class CategoryResult(Result):
    """Outcome of ``rename``, ``merge``, ``split`` and ``drop``.

    Parameters
    ----------
    commit : int
    command : str
    categories : dict of id -> name
        Categories that are new or renamed.
    retired : dict of id -> name
        Categories that are no longer live.
    counts : dict of id -> int
        Items in each part of a split.
    failures : tuple of Failure
        Items for a split that could not be embedded.
    """

    commit: int
    command: str
    categories: Mapping[int, str] = field(default_factory=dict)
    retired: Mapping[int, str] = field(default_factory=dict)
    counts: Mapping[int, int] = field(default_factory=dict)
    failures: tuple[Failure, ...] = ()


@dataclass(frozen=True)
class UndoResult(Result):
    """Outcome of ``undo`` and ``redo``: the command that was taken back, or brought back.

    Parameters
    ----------
    commit : int
    command : {"undo", "redo"}
    of_commit : int
    of_command : str
    """

    commit: int
    command: str
    of_commit: int
    of_command: str


@dataclass(frozen=True)
class ConfigResult(Result):
    """Outcome of ``configure``: all settings."""

    commit: int
    config: Mapping[str, Any]


@dataclass(frozen=True)
class ExportResult(Result):
    """Outcome of ``export``."""

    path: str
    commits: int
    bytes: int


@dataclass(frozen=True)
class ReportResult(Result):
    """Outcome of ``report``: where it is, its size, and how much it covers."""

    path: str
    bytes: int
    categories: int
    sessions: int
