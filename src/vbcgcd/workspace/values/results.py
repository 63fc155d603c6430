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

    Examples
    --------
    >>> renamed = CategoryResult(4, "rename", {2: "virginica"})
    >>> renamed.categories
    {2: 'virginica'}
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

    Examples
    --------
    >>> undone = UndoResult(5, "undo", 4, "rename")
    >>> f"{undone.of_command} (commit {undone.of_commit}) was taken back"
    'rename (commit 4) was taken back'
    """

    commit: int
    command: str
    of_commit: int
    of_command: str


@dataclass(frozen=True)
class ConfigResult(Result):
    """Outcome of ``configure``: all settings.

    Examples
    --------
    >>> changed = ConfigResult(6, {"reject": 0.05, "excerpts": 0})
    >>> changed.config["reject"]
    0.05
    """

    commit: int
    config: Mapping[str, Any]


@dataclass(frozen=True)
class ExportResult(Result):
    """Outcome of ``export``.

    Examples
    --------
    >>> ExportResult("/data/flowers.zip", 6, 17408).as_json()
    {'path': '/data/flowers.zip', 'commits': 6, 'bytes': 17408}
    """

    path: str
    commits: int
    bytes: int


@dataclass(frozen=True)
class ReportResult(Result):
    """Outcome of ``report``: where it is, its size, and how much it covers.

    Examples
    --------
    >>> written = ReportResult("/data/report.html", 52000, 3, 2)
    >>> f"{written.categories} categories from {written.sessions} sessions"
    '3 categories from 2 sessions'
    """

    path: str
    bytes: int
    categories: int
    sessions: int
