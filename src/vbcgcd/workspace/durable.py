"""Files that are there whole or not at all: written aside, synced, renamed; and digests to tell tampering."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from vbcgcd.errors import InputError

__all__ = [
    "digest",
    "file_digest",
    "from_json",
    "replace_synced",
    "sync_file",
    "sync_folder",
    "to_json",
    "write_synced",
    "writing_to",
]


def to_json(value: Any) -> bytes:
    """JSON that is equal for equal values, UTF-8."""
    text = json.dumps(value, ensure_ascii=False, indent=1, sort_keys=True, allow_nan=False)
    return text.encode("utf-8") + b"\n"


def from_json(data: bytes, path: Path) -> dict[str, Any]:
    """The object in a JSON file, or one clear error."""
    try:
        value = json.loads(data)
    except ValueError as error:
        raise InputError(f"{path} is damaged ({error}); restore the workspace from an export.") from None
    if not isinstance(value, dict):
        raise InputError(f"{path} is damaged (no object); restore the workspace from an export.")
    return value


def digest(data: bytes) -> str:
    """SHA-256 of some bytes."""
    return hashlib.sha256(data).hexdigest()


def file_digest(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sync_file(path: Path) -> None:
    """Wait until the file is on the disk."""
    with path.open("rb+") as file:
        os.fsync(file.fileno())


def sync_folder(path: Path) -> None:
    """Wait until the names in the folder are on the disk, where the system can."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return  # Windows opens no folders; its renames are journalled
    try:
        with contextlib.suppress(OSError):
            os.fsync(handle)
    finally:
        os.close(handle)


def write_synced(path: Path, data: bytes) -> None:
    """A new file, on the disk when this returns."""
    with path.open("xb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def replace_synced(path: Path, data: bytes) -> None:
    """Replace a file in one step: a reader sees the old content or the new."""
    aside = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        write_synced(aside, data)
        os.replace(aside, path)
    except BaseException:
        aside.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


@contextlib.contextmanager
def writing_to(path: Path) -> Iterator[None]:
    """Errors of the disk as one message."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"Cannot write to {path}: {error.strerror or error}; nothing was changed. Make room or get "
            "permission to write there, then run the command again."
        ) from error
