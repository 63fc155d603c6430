"""Arrays and plain values in one file, written completely or not at all: safetensors, no pickle."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save

from vbcgcd.atomic import atomic_file
from vbcgcd.errors import InputError

Array = NDArray[Any]
META = "vbcgcd"

__all__ = ["META", "archive_bytes", "read_archive", "write_archive"]


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
    with ExitStack() as stack:
        try:
            out = stack.enter_context(atomic_file(target))
        except OSError as error:
            raise InputError(
                f"Cannot write {target}: {error.strerror}; choose a folder that exists and can be written."
            ) from None
        out.write(data)


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
