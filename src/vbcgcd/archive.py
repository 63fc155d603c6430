"""Files that appear complete or not at all, and archives: arrays and plain values in one safetensors file."""

from __future__ import annotations

import errno
import json
import os
import tempfile
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open

from vbcgcd import mapped as mapping
from vbcgcd.errors import DiskError, InputError, MissingFileError, VbcgcdError, reason_of
from vbcgcd.mapped import Check, MappedRows

Array = NDArray[Any]

META = "vbcgcd"
#: How file systems say that they do not sync folders.
_NO_FOLDER_SYNC = frozenset({errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP, errno.ENOSYS, errno.EBADF})

#: Types of numbers by their names in a safetensors file, in the order in which it holds them.
_TYPES = {
    "uint64": "U64",
    "int64": "I64",
    "float64": "F64",
    "float32": "F32",
    "uint32": "U32",
    "int32": "I32",
    "float16": "F16",
    "uint16": "U16",
    "int16": "I16",
    "int8": "I8",
    "uint8": "U8",
    "bool": "BOOL",
}
_ORDER = {name: place for place, name in enumerate(_TYPES)}
#: Bytes before the header, which say how long it is; the header's length is a multiple of as many.
_LENGTH = 8
#: Bytes of the longest header that safetensors reads.
_LONGEST_HEADER = 100_000_000
#: Rows of an array that is not in memory, written at a time.
_ROWS = 256

__all__ = [
    "META",
    "archive_bytes",
    "archive_parts",
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
    return b"".join(archive_parts(kind, version, arrays, values))


def archive_parts(
    kind: str, version: int, arrays: dict[str, Array], values: Any
) -> Iterator[bytes | memoryview]:
    """`archive_bytes` piece by piece, so that nothing large is copied.

    Parameters
    ----------
    kind : str
    version : int
    arrays : dict of name -> array
        `MappedRows` and the like are read a few rows at a time.
    values
        Plain values that JSON can hold.
    """
    order = sorted(arrays, key=lambda name: (_ORDER[arrays[name].dtype.name], name))
    meta = {META: json.dumps({"kind": kind, "version": version, "values": values})}
    header: dict[str, Any] = {"__metadata__": meta}
    end = 0
    for name in order:
        begin, end = end, end + arrays[name].nbytes
        kind_of_number = _TYPES[arrays[name].dtype.name]
        header[name] = {
            "dtype": kind_of_number,
            "shape": list(arrays[name].shape),
            "data_offsets": [begin, end],
        }
    text = json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode("utf-8")
    text += b" " * (-len(text) % _LENGTH)
    yield len(text).to_bytes(_LENGTH, "little") + text
    for name in order:
        yield from _array_parts(arrays[name])


def _array_parts(array: Any) -> Iterator[bytes | memoryview]:
    """The bytes of an array, in the order of C and of little numbers first."""
    if not isinstance(array, np.ndarray):
        for start in range(0, len(array), _ROWS):
            yield from _array_parts(np.asarray(array[start : start + _ROWS]))
        return
    array = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    if array.size:
        yield memoryview(array.reshape(-1)).cast("B")


def write_archive(
    path: str | os.PathLike[str], kind: str, version: int, arrays: dict[str, Array], values: Any
) -> None:
    """Write arrays and JSON values; the file appears complete or stays as it was."""
    target = Path(path)
    parts = archive_parts(kind, version, arrays, values)
    first = next(parts)  # before anything is written: values may be none that JSON can hold
    if not target.parent.is_dir():
        raise MissingFileError(f"Cannot write {target}: there is no folder {target.parent}; create it first.")
    try:
        with atomic_file(target) as out:
            out.write(first)
            for part in parts:
                out.write(part)
    except OSError as error:
        raise DiskError.writing(target, error) from None


def read_archive(
    path: str | os.PathLike[str],
    kind: str,
    version: int,
    *,
    mapped: Collection[str] = (),
    check: Check | None = None,
) -> tuple[dict[str, Any], Any]:
    """Arrays and values of an archive of this kind and version.

    Parameters
    ----------
    path : str or Path
    kind : str
    version : int
        The newest that can be read.
    mapped : collection of str
        Names of arrays (N, W) that stay in the file if they are large: `MappedRows`, whose rows are read when
        they are used.
    check : callable, optional
        Called with the first byte and the one after the last of whatever is going to be read; it may raise.
    """
    try:
        # Open says what is wrong, where safetensors calls every failure a missing file.
        with open(path, "rb") as file:
            layout = _layout(file, check)
        with safe_open(utf8_path(path), framework="numpy") as archive:
            meta = json.loads((archive.metadata() or {}).get(META, "{}"))
            arrays: dict[str, Any] = {}
            for name in archive.keys():  # noqa: SIM118
                place = layout[name] if name in mapped or check is not None else None
                if place is not None and name in mapped and place.nbytes > mapping.LARGE:
                    arrays[name] = MappedRows(Path(path), place.dtype, place.shape, place.begin, check)
                    continue
                if place is not None and check is not None:
                    check(place.begin, place.begin + place.nbytes)
                arrays[name] = archive.get_tensor(name)
    except FileNotFoundError as error:
        if os.path.exists(path):
            raise DiskError.reading(path, error) from None
        raise MissingFileError(f"There is no file {path}.") from None
    except VbcgcdError:
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


class _Place(NamedTuple):
    """Where an array is in a file."""

    dtype: str
    shape: tuple[int, ...]
    begin: int
    nbytes: int


def _layout(file: BinaryIO, check: Check | None) -> dict[str, _Place]:
    """Where each array is, which safetensors does not tell; it checks that no two overlap or lie outside."""
    length = int.from_bytes(file.read(_LENGTH), "little")
    if check is not None:
        check(0, _LENGTH + length)
    header = json.loads(file.read(min(length, _LONGEST_HEADER)))
    types = {name: dtype for dtype, name in _TYPES.items()}
    layout = {}
    for name, about in header.items():
        if name != "__metadata__" and about["dtype"] in types:
            begin, end = about["data_offsets"]
            layout[name] = _Place(
                types[about["dtype"]], tuple(about["shape"]), _LENGTH + length + begin, end - begin
            )
    return layout


def utf8_path(path: str | os.PathLike[str]) -> str:
    """The path as text, or one clear error: safetensors opens only names that are UTF-8."""
    try:
        os.fspath(path).encode("utf-8")
    except UnicodeEncodeError:
        raise InputError(
            f"{os.fsencode(path)!r} cannot be used: its name is not UTF-8; rename it or its folder."
        ) from None
    return os.fspath(path)
