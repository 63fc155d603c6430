"""One commit: what a command did, as a record that is never rewritten, and the files that belong to it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from vbcgcd.errors import InputError

#: Of commit records and of workspace.json; raised whenever the meaning of a stored value changes.
VERSION = 1
#: From version v to v + 1, on the plain values of a record. Records on disk stay as they are.
MIGRATIONS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}

__all__ = ["MIGRATIONS", "VERSION", "Commit", "Draft", "FileMark", "check_version"]


@dataclass(frozen=True)
class FileMark:
    """Length and SHA-256 of a file."""

    bytes: int
    sha256: str


@dataclass(frozen=True)
class Draft:
    """What a command wants to have done.

    Parameters
    ----------
    command : str
    changes : dict
        Plain values from which `vbcgcd.workspace.state` makes the new state.
    parameters : dict
        What the command was called with.
    summary : dict
        What came of it, for people and reports.
    files : dict of name -> function
        Each is called with the path to write.
    """

    command: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    summary: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, Callable[[Path], None]] = field(default_factory=dict)


@dataclass(frozen=True)
class Commit:
    """What was done, by which command and when; ``parent`` is the digest of the record before it."""

    number: int
    command: str
    time: str
    parent: str | None
    parameters: Mapping[str, Any]
    changes: Mapping[str, Any]
    summary: Mapping[str, Any]
    files: Mapping[str, FileMark]
    release: str
    version: int = VERSION

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any], path: Path) -> Commit:
        """From plain values, migrated if they are of an earlier version."""
        try:
            values = migrated(values, path)
            files = {name: FileMark(**mark) for name, mark in values["files"].items()}
            return cls(**{**values, "files": files})
        except (KeyError, TypeError, AttributeError) as error:
            raise InputError(f"{path} is damaged ({error}); restore the workspace from an export.") from None


def check_version(version: Any, path: Path) -> None:
    """Raise unless this release reads the version."""
    if not isinstance(version, int):
        raise InputError(f"{path} has no format version; it is damaged or not of a workspace.")
    if version > VERSION:
        raise InputError(
            f"{path} has format version {version}, this release reads up to {VERSION}; update vbcgcd."
        )
    missing = [v for v in range(version, VERSION) if v not in MIGRATIONS]
    if missing:
        raise InputError(
            f"{path} has format version {version}, which this release no longer reads; open and export it "
            f"with a release that reads versions {missing[0]} and {missing[0] + 1}, then import it here."
        )


def migrated(values: dict[str, Any], path: Path) -> dict[str, Any]:
    """The record in the present version."""
    check_version(values.get("version"), path)
    while values["version"] < VERSION:
        values = {**MIGRATIONS[values["version"]](values), "version": values["version"] + 1}
    return values
