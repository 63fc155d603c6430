"""Digests of items, weights and options: equal content, equal digest, in every process."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.embed.protocol import ItemError

Array = NDArray[Any]

KEY_BYTES = 16

__all__ = ["KEY_BYTES", "digest_of", "item_key", "state_digest", "view_key"]


def item_key(value: Any) -> bytes:
    """Digest of a text, of the bytes of a file, or of an array with its shape and type."""
    digest = hashlib.blake2b(digest_size=KEY_BYTES)
    if isinstance(value, str):
        digest.update(b"text:" + value.encode("utf-8", "surrogatepass"))
    elif isinstance(value, Path):
        digest.update(b"file:")
        try:
            with value.open("rb") as file:
                while block := file.read(1 << 20):
                    digest.update(block)
        except OSError as error:
            raise ItemError(f"cannot be read: {error.strerror or error}") from None
    else:
        array = np.ascontiguousarray(value)
        digest.update(f"array:{array.dtype.str}:{array.shape}:".encode())
        digest.update(array.reshape(-1).view(np.uint8).data)
    return digest.digest()


def view_key(key: bytes, view: int, seed: int, recipe: Mapping[str, Any]) -> bytes:
    """Digest of one random view of an item."""
    said = json.dumps([view, seed, recipe], sort_keys=True).encode()
    return hashlib.blake2b(key + said, digest_size=KEY_BYTES).digest()


def state_digest(tensors: Mapping[str, Any]) -> str:
    """Digest of the names, types, shapes and values of a torch state dict."""
    digest = hashlib.blake2b(digest_size=16)
    for name in sorted(tensors):
        array = tensors[name].detach().cpu()
        digest.update(f"{name}:{array.dtype}:{tuple(array.shape)}:".encode())
        # A scalar has no dimension to view as bytes, bfloat16 has no NumPy type: flatten, then view.
        flat = array.contiguous().reshape(-1)
        digest.update(flat.view(_byte_type()).numpy().data)
    return digest.hexdigest()


def _byte_type() -> Any:
    import torch

    return torch.uint8


def digest_of(values: Mapping[str, Any]) -> str:
    """Digest of JSON values, whatever the order of their keys."""
    said = json.dumps(values, sort_keys=True, default=list).encode()
    return hashlib.blake2b(said, digest_size=16).hexdigest()
