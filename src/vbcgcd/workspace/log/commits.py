"""Commits: what a command did, as a JSON record that is never rewritten, and the files of the commit."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from vbcgcd.errors import DiskError, InputError, WorkspaceDamaged
from vbcgcd.record import SessionRecord, plain
from vbcgcd.workspace.log.disk import RESTORE, from_json, to_json

#: Of commit records and of workspace.json; raised whenever the meaning of a stored value changes.
VERSION = 1
#: From version v to v + 1, on the plain values of a record. Records on disk stay as they are.
MIGRATIONS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}
#: Commands that are sessions.
SESSIONS = ("learn", "discover")
#: Failures that a record on disk names; the others are only counted.
NAMED_FAILURES = 100
#: Fields of a session that the commit itself holds.
_IN_COMMIT = frozenset({"session", "command", "commit", "time", "undone"})
#: Fields that are called otherwise on disk, so that release 0.1.0 reads them too.
_ON_DISK = {"flagged": "unfamiliar", "prior": "model"}
#: Fields that are written even if they are empty.
_ALWAYS = frozenset({"columns", "counts", "novel", "failures", "source_digest"})

ABOUT, HEAD, LOCK, COMMITS, RECORD = "workspace.json", "HEAD", ".lock", "commits", "commit.json"
#: What the user said about this copy; see `vbcgcd.workspace.trust`.
LOCAL = "local.json"
FORMAT = "vbcgcd-workspace"
__all__ = [
    "ABOUT",
    "COMMITS",
    "FORMAT",
    "HEAD",
    "LOCAL",
    "LOCK",
    "MIGRATIONS",
    "NAMED_FAILURES",
    "RECORD",
    "SESSIONS",
    "VERSION",
    "Commit",
    "Content",
    "Draft",
    "FileMark",
    "StoredSummary",
    "check_version",
    "is_workspace",
    "on_disk",
    "record_of",
    "summary_of",
]


def is_workspace(path: Path) -> bool:
    """Whether a folder says that it is a workspace."""
    try:
        about = json.loads((path / ABOUT).read_bytes())
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError):
        return False
    except OSError as error:  # too many open files, say: that it is none would be a guess
        raise DiskError.reading(path / ABOUT, error) from None
    except (ValueError, RecursionError):
        return False
    return isinstance(about, dict) and about.get("format") == FORMAT


@dataclass(frozen=True)
class FileMark:
    """Length and SHA-256 of a file."""

    bytes: int
    sha256: str


class Content(Protocol):
    """What a file of a commit holds."""

    def as_bytes(self) -> bytes:
        """The bytes of the file."""


@dataclass(frozen=True)
class Draft:
    """A commit that is not written yet.

    Parameters
    ----------
    command : str
    changes : dict
        Plain values from which `vbcgcd.workspace.snapshot` makes the new state.
    parameters : dict
        What the command was called with.
    record : SessionRecord, optional
        Outcome of a session.
    summary : dict
        Outcome of another command, for people and reports.
    files : dict of name -> Content
    """

    command: str
    changes: Mapping[str, Any] = field(default_factory=dict)
    parameters: Mapping[str, Any] = field(default_factory=dict)
    record: SessionRecord | None = None
    summary: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, Content] = field(default_factory=dict)

    def called_with(self, parameters: Mapping[str, Any]) -> Draft:
        """The draft with these parameters added, except those that are None."""
        more = {name: value for name, value in parameters.items() if value is not None}
        return replace(self, parameters=plain({**self.parameters, **more}))


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
        return asdict(replace(self, summary=dict(self.summary)))

    @property
    def record_bytes(self) -> int:
        """Length of the record on disk."""
        if isinstance(self.summary, StoredSummary):
            return len(self.summary.record)
        return len(to_json(self.as_json()))

    @classmethod
    def from_record(cls, data: bytes, path: Path) -> Commit:
        """From the bytes of a record, of which the summary is read when it is needed."""
        return replace(cls.from_json(from_json(data, path), path), summary=StoredSummary(data))

    @classmethod
    def from_json(cls, values: dict[str, Any], path: Path) -> Commit:
        """From plain values, migrated if they are of an earlier version."""
        try:
            values = migrated(values, path)
            files = {name: FileMark(**mark) for name, mark in values["files"].items()}
            return cls(**{**values, "files": files})
        except (KeyError, TypeError, AttributeError) as error:
            raise WorkspaceDamaged(f"{path} is damaged ({error}); {RESTORE}.") from None


class StoredSummary(Mapping[str, Any]):
    """The summary of a commit as a view of its record: thousands of them take little memory.

    Parameters
    ----------
    record : bytes
    """

    __slots__ = ("record",)

    def __init__(self, record: bytes) -> None:
        self.record = record

    def __getitem__(self, key: str) -> Any:
        return _summary(self.record)[key]

    def __iter__(self) -> Iterator[str]:
        return iter(_summary(self.record))

    def __len__(self) -> int:
        return len(_summary(self.record))

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key, or the default."""
        return _summary(self.record).get(key, default)


@functools.lru_cache(maxsize=16)
def _summary(record: bytes) -> dict[str, Any]:
    summary: dict[str, Any] = migrated(json.loads(record), Path(RECORD))["summary"]
    return summary


def summary_of(record: SessionRecord) -> dict[str, Any]:
    """The outcome of a session as a commit stores it; `record_of` reads it.

    Names of novel categories are among the commit's changes, so only their ids are stored.
    """
    values = {
        **record.as_json(),
        "novel": [int(category) for category in record.novel],
        "failures": plain(record.failures[:NAMED_FAILURES]),
    }
    return on_disk(
        {
            name: value
            for name, value in values.items()
            if name not in _IN_COMMIT and (name in _ALWAYS or value not in (None, "", [], {}))
        }
    )


def on_disk(values: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of a session under the names that they have on disk."""
    return {_ON_DISK.get(name, name): value for name, value in values.items()}


def record_of(commit: Commit, *, undone: bool = False) -> SessionRecord:
    """The outcome of the session that a commit holds, written by this release or an earlier one."""
    names = {values["id"]: values["name"] for values in commit.changes["categories"]}
    return SessionRecord.from_json(
        {**commit.summary, "novel": {i: names[i] for i in commit.summary["novel"]}},
        session=commit.changes["session"],
        command=commit.command,
        commit=commit.number,
        time=commit.time,
        undone=undone,
    )


def check_version(version: Any, path: Path) -> None:
    """Raise unless this release reads the version."""
    if type(version) is not int:
        raise WorkspaceDamaged(f"{path} has no format version: it is damaged or not part of a workspace.")
    if version > VERSION:
        raise InputError(
            f"{path} has format version {version}, this release reads up to {VERSION}; update vbcgcd."
        )
    if version < 1:
        raise WorkspaceDamaged(f"{path} has the format version {version}, which never was; {RESTORE}.")
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
