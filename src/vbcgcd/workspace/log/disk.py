"""What the log needs of the disk: names, JSON, digests, files that are synced once, and a lock."""

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
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any

from vbcgcd.archive import atomic_file
from vbcgcd.errors import DiskError, WorkspaceBusy, WorkspaceDamaged

ABOUT, HEAD, LOCK, COMMITS, RECORD = "workspace.json", "HEAD", ".lock", "commits", "commit.json"
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
    "LOCK",
    "RECORD",
    "RESTORE",
    "WriteLock",
    "aside_name",
    "digest",
    "disk_errors",
    "file_digest",
    "from_json",
    "is_workspace",
    "replace_synced",
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
            os.ftruncate(self._handle, 0)
            os.lseek(self._handle, 0, os.SEEK_SET)
            holder = {"pid": os.getpid(), "host": socket.gethostname(), "command": self.command}
            since = datetime.now(UTC).isoformat(timespec="seconds")
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
            f"The workspace {self.path.parent} is being changed by {who}. Nothing was changed; wait until it "
            "has finished and run the command again."
        )
