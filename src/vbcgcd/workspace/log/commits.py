"""Commits, and what the log needs of the disk.

A commit is what a command did, as a JSON record that is never rewritten, and the files of the commit. Below
it stand names, JSON, digests, files that are synced once, and the lock of the one writer.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import socket
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from vbcgcd.archive import atomic_file
from vbcgcd.errors import DiskError, InputError, WorkspaceBusy, WorkspaceDamaged
from vbcgcd.record import SessionRecord, plain

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
#: Names of what is being written, until a rename makes it count.
ASIDE = re.compile(r"\.new-[0-9a-f]{32}")
#: What to do about a damaged workspace; the end of every such message.
RESTORE = "restore the workspace from an export or a copy"

__all__ = [
    "ABOUT",
    "ASIDE",
    "COMMITS",
    "FORMAT",
    "HEAD",
    "LOCAL",
    "LOCK",
    "MIGRATIONS",
    "NAMED_FAILURES",
    "RECORD",
    "RESTORE",
    "SESSIONS",
    "VERSION",
    "Commit",
    "Content",
    "Draft",
    "FileMark",
    "WriteLock",
    "aside_name",
    "check_version",
    "digest",
    "disk_errors",
    "file_digest",
    "from_json",
    "is_workspace",
    "on_disk",
    "record_of",
    "replace_synced",
    "summary_of",
    "to_json",
    "write_synced",
]


def is_workspace(path: Path) -> bool:
    """Whether a folder says that it is a workspace."""
    try:
        about = json.loads((path / ABOUT).read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(about, dict) and about.get("format") == FORMAT


def aside_name() -> str:
    """A fresh name that `ASIDE` matches."""
    return f".new-{uuid.uuid4().hex}"


def to_json(value: Any) -> bytes:
    """JSON in UTF-8, the same bytes for equal values."""
    text = json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True, allow_nan=False)
    return text.encode("utf-8") + b"\n"


def from_json(data: bytes, path: Path) -> dict[str, Any]:
    """The object in a JSON file of the workspace.

    Raises
    ------
    WorkspaceDamaged
        The bytes are not JSON, or not an object.
    """
    try:
        value = json.loads(data)
    except ValueError as error:
        raise WorkspaceDamaged(f"{path} is damaged ({error}); {RESTORE}.") from None
    if not isinstance(value, dict):
        raise WorkspaceDamaged(f"{path} is damaged (not a JSON object); {RESTORE}.")
    return value


def digest(data: bytes) -> str:
    """SHA-256 of some bytes."""
    return hashlib.sha256(data).hexdigest()


def file_digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_synced(path: Path, data: bytes) -> None:
    """Write a file that does not exist yet; it is on the disk when this returns."""
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def replace_synced(path: Path, data: bytes) -> None:
    """Replace a file in one step: a reader sees the old content or the new."""
    with atomic_file(path) as file:
        file.write(data)


@contextlib.contextmanager
def disk_errors(path: Path, outcome: str = "nothing was changed") -> Iterator[None]:
    """Turn errors of the operating system into one `DiskError`.

    Parameters
    ----------
    path : Path
        What is being written to.
    outcome : str
        What the failure means for the user's data.
    """
    try:
        yield
    except OSError as error:
        raise DiskError(
            f"Cannot write to {path}: {error.strerror or error}; {outcome}. Make sure there is space and "
            "permission to write, then run the command again.",
            cause=error,
        ) from error


if sys.platform == "win32":
    import msvcrt

    def _acquire(handle: int) -> None:
        os.lseek(handle, 0x7FFF0000, os.SEEK_SET)  # beyond the text, so that others can read it
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _acquire(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


class WriteLock:
    """A context manager that is held while a command writes.

    Parameters
    ----------
    path : Path
        The lock file. It names the holder while the lock is held, and is empty afterwards.
    command : str
        Name of the command, for the message that another writer gets.
    timeout : float
        Seconds to wait for another writer.

    Raises
    ------
    WorkspaceBusy
        Another process, or another object of this one, holds the lock.
    DiskError
        The lock file cannot be written.
    """

    def __init__(self, path: Path, command: str, *, timeout: float = 0.0) -> None:
        self.path, self.command, self.timeout = path, command, timeout
        self._handle = -1

    def __enter__(self) -> WriteLock:
        with disk_errors(self.path.parent):
            self._handle = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            self._wait()
            holder = {"pid": os.getpid(), "host": socket.gethostname(), "command": self.command}
            since = datetime.now(UTC).isoformat(timespec="seconds")
            with disk_errors(self.path.parent):
                os.ftruncate(self._handle, 0)
                os.lseek(self._handle, 0, os.SEEK_SET)
                os.write(self._handle, json.dumps({**holder, "since": since}).encode())
        except BaseException:
            os.close(self._handle)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            os.ftruncate(self._handle, 0)
        finally:
            os.close(self._handle)

    def _wait(self) -> None:
        end = time.monotonic() + self.timeout
        while True:
            try:
                return _acquire(self._handle)
            except OSError:
                if time.monotonic() >= end:
                    raise WorkspaceBusy(self._message()) from None
            time.sleep(0.05)

    def _message(self) -> str:
        try:
            holder = json.loads(self.path.read_text())
            who = "process {pid} on {host} ({command}, since {since})".format(**holder)
        except (OSError, ValueError, KeyError):
            who = "another process"
        return (
            f"The workspace {self.path.parent} is in use by {who}. Nothing was changed; try again when it "
            "has finished."
        )


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
        return asdict(self)

    @classmethod
    def from_json(cls, values: dict[str, Any], path: Path) -> Commit:
        """From plain values, migrated if they are of an earlier version."""
        try:
            values = migrated(values, path)
            files = {name: FileMark(**mark) for name, mark in values["files"].items()}
            return cls(**{**values, "files": files})
        except (KeyError, TypeError, AttributeError) as error:
            raise WorkspaceDamaged(f"{path} is damaged ({error}); {RESTORE}.") from None


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
