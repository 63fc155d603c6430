"""What the log needs of the disk: JSON, digests, files that are synced once, errors that tell the truth."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from vbcgcd.errors import PASSING, DiskError, VbcgcdError, WorkspaceDamaged

#: What to do about a damaged workspace; the end of every such message.
RESTORE = "run repair to return to the last whole commit, or restore the workspace from an export or a copy"
#: What the system says of a file that is not there, or is something else.
_GONE = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG})

__all__ = [
    "RESTORE",
    "digest",
    "disk_errors",
    "exists",
    "file_digest",
    "from_json",
    "make_folder",
    "read_file",
    "to_json",
    "unreadable",
    "write_synced",
]


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
    except (ValueError, RecursionError) as error:
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


def read_file(path: Path) -> bytes:
    """The content of a file of the workspace.

    Raises
    ------
    WorkspaceDamaged
        It is not there.
    DiskError
        It is there, but cannot be read now.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise unreadable(path, error) from None


def unreadable(path: Path, error: OSError) -> VbcgcdError:
    """What a failure to read a file of the workspace means: only a missing one is damage."""
    if error.errno in _GONE:
        return WorkspaceDamaged(f"{path} is missing ({error.strerror}); {RESTORE}.")
    return DiskError.reading(path, error)


def exists(path: Path) -> bool:
    """Whether there is anything of this name; an error of the disk is not an answer."""
    try:
        os.lstat(path)
    except OSError as error:
        if error.errno not in _GONE:
            raise DiskError.reading(path, error) from None
        return False
    return True


def make_folder(path: Path) -> None:
    """Make a folder that only its owner can look into."""
    os.mkdir(path, 0o700)


def write_synced(path: Path, data: bytes | Iterable[bytes | memoryview], *, sync: bool = True) -> None:
    """Write a file that does not exist yet, readable by its owner alone; it is on the disk when this returns.

    Parameters
    ----------
    path : Path
    data : bytes or iterable of bytes
    sync : bool
        False for what can be made again: nobody waits for the disk.
    """
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        for part in (data,) if isinstance(data, bytes) else data:
            rest = memoryview(part)
            while rest:
                rest = rest[os.write(handle, rest) :]
        if sync:
            os.fsync(handle)
    finally:
        os.close(handle)


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
        advice = "Make sure there is space and permission to write, then run the command again."
        if error.errno in PASSING:
            advice = "This passes: close other programs or wait a little, then run the command again."
        raise DiskError(
            f"Cannot write to {path}: {error.strerror or error}; {outcome}. {advice}", cause=error
        ) from error
