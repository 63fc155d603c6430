"""Arrays and plain values in one file, written whole or not at all: safetensors, no pickle."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from vbcgcd.errors import InputError

Array = NDArray[Any]
META = "vbcgcd"

__all__ = ["archive_bytes", "read_archive", "sync_folder", "write_archive", "written_whole"]


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
    try:
        handle, aside = _open_aside(target)
    except OSError as error:
        raise InputError(
            f"Cannot write {target}: {error.strerror}; choose a folder that exists and can be written."
        ) from None
    with _completed(handle, aside, target) as out:
        out.write(data)


@contextmanager
def written_whole(target: Path) -> Iterator[BinaryIO]:
    """A file to write to, put in the place of ``target`` once all of it is on the disk.

    Written aside, synced, renamed; after any error, Ctrl-C included, the target is as it was.
    """
    with _completed(*_open_aside(target), target) as out:
        yield out


def _open_aside(target: Path) -> tuple[int, str]:
    return tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")


@contextmanager
def _completed(handle: int, aside: str, target: Path) -> Iterator[BinaryIO]:
    try:
        with os.fdopen(handle, "wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        Path(aside).chmod(target.stat().st_mode & 0o777 if target.exists() else 0o666 & ~_umask())
        Path(aside).replace(target)
    except BaseException:
        Path(aside).unlink(missing_ok=True)
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


def read_archive(path: str | os.PathLike[str], kind: str, version: int) -> tuple[dict[str, Array], Any]:
    """Arrays and values of an archive of this kind and version."""
    try:
        with safe_open(str(path), framework="numpy") as archive:
            meta = json.loads((archive.metadata() or {}).get(META, "{}"))
            arrays = {name: archive.get_tensor(name) for name in archive.keys()}  # noqa: SIM118
    except FileNotFoundError:
        raise InputError(f"There is no file {path}.") from None
    except (SafetensorError, OSError, json.JSONDecodeError) as error:
        raise InputError(
            f"{path} is not a complete {kind} file ({error}); save it again from the model it came from."
        ) from None
    if meta.get("kind") != kind:
        raise InputError(f"{path} holds {meta.get('kind', 'something else')!r}, expected {kind!r}.")
    if meta["version"] > version:
        raise InputError(
            f"{path} has format version {meta['version']}, this release reads up to {version}; update vbcgcd."
        )
    return arrays, meta["values"]


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
