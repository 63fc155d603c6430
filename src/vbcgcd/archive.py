"""Files that appear complete or not at all, and archives: arrays and plain values in one safetensors file."""

from __future__ import annotations

import errno
import json
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.numpy import save

from vbcgcd.errors import DiskError, InputError, MissingFileError, reason_of

Array = NDArray[Any]

META = "vbcgcd"
#: How file systems say that they do not sync folders.
_NO_FOLDER_SYNC = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EBADF})

__all__ = [
    "META",
    "archive_bytes",
    "atomic_file",
    "folder_sync",
    "read_archive",
    "sync_folder",
    "utf8_path",
    "write_archive",
]


@contextmanager
def atomic_file(target: Path, *, private: bool = False) -> Iterator[BinaryIO]:
    """A file to write to, which replaces ``target`` once all of it is on the disk.

    The data goes to a temporary file in the same folder, which is synced and renamed. After any error, Ctrl-C
    included, the temporary file is removed and ``target`` is unchanged; only a `DiskError` with ``done`` says
    that it was replaced, though the disk has not confirmed the new name.

    Parameters
    ----------
    target : Path
    private : bool
        Whether a new file is readable by its owner alone; one that is replaced keeps its permissions.

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
    target = Path(os.path.realpath(target))  # a link stays a link to what is written
    if target.exists() and not target.is_file():
        raise OSError(errno.EINVAL, "Not a regular file", str(target))
    mode = 0o600 if private else 0o666 & ~_umask()
    with folder_sync(target.parent) as sync:
        handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        temporary = Path(name)
        try:
            with os.fdopen(handle, "wb") as out:
                yield out
                out.flush()
                os.fsync(out.fileno())
            temporary.chmod(target.stat().st_mode & 0o777 if target.exists() else mode)
            temporary.replace(target)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise
        try:
            sync()
        except OSError as error:
            raise DiskError.unconfirmed(f"{target} was written", error) from error


@contextmanager
def folder_sync(path: Path) -> Iterator[Callable[[], None]]:
    """A function that waits until the names in a folder are on the disk, where the system can.

    The folder is opened beforehand, so that after a rename nothing but the disk itself can fail.
    """
    try:
        handle = os.open(path, os.O_RDONLY)
    except PermissionError:  # Windows opens no folders; its renames are journalled
        yield lambda: None
        return
    try:
        yield lambda: _sync(handle)
    finally:
        os.close(handle)


def sync_folder(path: Path) -> None:
    """Wait until the names in a folder are on the disk, where the system can."""
    with folder_sync(path) as sync:
        sync()


def _sync(handle: int) -> None:
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _NO_FOLDER_SYNC:
            raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def archive_bytes(kind: str, version: int, arrays: dict[str, Array], values: Any) -> bytes:
    """Arrays and JSON values as the content of an archive; equal ones give equal bytes."""
    # One single key: safetensors orders several at random.
    meta = {META: json.dumps({"kind": kind, "version": version, "values": values})}
    return save({k: np.ascontiguousarray(v) for k, v in arrays.items()}, metadata=meta)


def write_archive(
    path: str | os.PathLike[str], kind: str, version: int, arrays: dict[str, Array], values: Any
) -> None:
    """Write arrays and JSON values; the file appears complete or stays as it was."""
    target = Path(path)
    data = archive_bytes(kind, version, arrays, values)
    if not target.parent.is_dir():
        raise MissingFileError(f"Cannot write {target}: there is no folder {target.parent}; create it first.")
    try:
        with atomic_file(target) as out:
            out.write(data)
    except OSError as error:
        raise DiskError.writing(target, error) from None


def read_archive(path: str | os.PathLike[str], kind: str, version: int) -> tuple[dict[str, Array], Any]:
    """Arrays and values of an archive of this kind and version."""
    try:
        with open(path, "rb"):  # says what is wrong, where safetensors calls every failure a missing file
            pass
        with safe_open(utf8_path(path), framework="numpy") as archive:
            meta = json.loads((archive.metadata() or {}).get(META, "{}"))
            arrays = {name: archive.get_tensor(name) for name in archive.keys()}  # noqa: SIM118
    except FileNotFoundError as error:
        if os.path.exists(path):
            raise DiskError.reading(path, error) from None
        raise MissingFileError(f"There is no file {path}.") from None
    except InputError:
        raise
    except OSError as error:
        if not isinstance(error, IsADirectoryError):
            raise DiskError.reading(path, error) from None
        raise InputError(f"{path} is a folder, expected a {kind} file.") from None
    except Exception as error:  # a damaged file can fail in any way
        raise InputError(
            f"{path} is not a complete {kind} file ({reason_of(error)}); save it again from the model it "
            "came from."
        ) from None
    if not isinstance(meta, dict) or meta.get("kind") != kind:
        content = meta.get("kind", "something else") if isinstance(meta, dict) else "something else"
        raise InputError(f"{path} holds {str(content)[:40]!r}, expected {kind!r}.")
    found = meta.get("version")
    if type(found) is not int or found < 1 or "values" not in meta:
        raise InputError(f"{path} has no format version; it is not a complete {kind} file.")
    if found > version:
        raise InputError(
            f"{path} has format version {found}, this release reads up to {version}; update vbcgcd."
        )
    return arrays, meta["values"]


def utf8_path(path: str | os.PathLike[str]) -> str:
    """The path as text, or one clear error: safetensors opens only names that are UTF-8."""
    try:
        os.fspath(path).encode("utf-8")
    except UnicodeEncodeError:
        raise InputError(
            f"{os.fsencode(path)!r} cannot be used: its name is not UTF-8; rename it or its folder."
        ) from None
    return os.fspath(path)
