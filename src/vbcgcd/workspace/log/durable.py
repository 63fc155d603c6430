"""Bytes on the disk: JSON that is equal for equal values, digests, files that are synced once."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vbcgcd.archive import atomic_file
from vbcgcd.errors import DiskError, WorkspaceDamaged

#: What to do about a damaged workspace; the end of every such message.
RESTORE = "restore the workspace from an export or a copy"

__all__ = [
    "RESTORE",
    "digest",
    "disk_errors",
    "file_digest",
    "from_json",
    "replace_synced",
    "to_json",
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
