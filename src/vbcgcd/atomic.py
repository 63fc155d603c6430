"""Files that appear complete or not at all."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

__all__ = ["atomic_file", "sync_folder"]


@contextmanager
def atomic_file(target: Path) -> Iterator[BinaryIO]:
    """A file to write to, which replaces ``target`` once all of it is on the disk.

    The data goes to a temporary file in the same folder, which is synced and renamed. After any error, Ctrl-C
    included, the temporary file is removed and ``target`` is unchanged.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> target = pathlib.Path(folder.name, "note.txt")
    >>> with atomic_file(target) as out:
    ...     _ = out.write(b"complete")
    >>> target.read_bytes()
    b'complete'
    >>> folder.cleanup()
    """
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        temporary.chmod(target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask())
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(target.parent)


def sync_folder(path: Path) -> None:
    """Wait until the names in a folder are on the disk, where the system can."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return  # Windows opens no folders; its renames are journalled
    try:
        with suppress(OSError):
            os.fsync(handle)
    finally:
        os.close(handle)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
