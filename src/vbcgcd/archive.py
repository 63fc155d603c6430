"""Arrays and plain values in one file, written whole or not at all: safetensors, no pickle."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from vbcgcd.errors import InputError

Array = NDArray[Any]

__all__ = ["read_archive", "write_archive"]


def write_archive(
    path: str | os.PathLike[str], kind: str, version: int, arrays: dict[str, Array], values: Any
) -> None:
    """Write arrays and JSON values; the file appears complete (aside, synced, renamed) or stays as it was."""
    target = Path(path)
    meta = {"kind": kind, "version": str(version), "values": json.dumps(values)}
    data = save({k: np.ascontiguousarray(v) for k, v in arrays.items()}, metadata=meta)
    try:
        handle, aside = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    except OSError as error:
        raise InputError(f"Cannot write {target}: {error.strerror}; choose a folder that exists.") from None
    try:
        with os.fdopen(handle, "wb") as out:
            out.write(data)
            out.flush()
            os.fsync(out.fileno())
        Path(aside).replace(target)
    except BaseException:
        Path(aside).unlink(missing_ok=True)
        raise


def read_archive(path: str | os.PathLike[str], kind: str, version: int) -> tuple[dict[str, Array], Any]:
    """Arrays and values of an archive of this kind and version."""
    try:
        with safe_open(str(path), framework="numpy") as archive:
            meta = archive.metadata() or {}
            arrays = {name: archive.get_tensor(name) for name in archive.keys()}  # noqa: SIM118
    except FileNotFoundError:
        raise InputError(f"There is no file {path}.") from None
    except (SafetensorError, OSError) as error:
        raise InputError(
            f"{path} is not a complete {kind} file ({error}); save it again from the model it came from."
        ) from None
    if meta.get("kind") != kind:
        raise InputError(f"{path} holds {meta.get('kind', 'something else')!r}, expected {kind!r}.")
    if int(meta["version"]) > version:
        raise InputError(
            f"{path} has format version {meta['version']}, this release reads up to {version}; update vbcgcd."
        )
    return arrays, json.loads(meta["values"])
