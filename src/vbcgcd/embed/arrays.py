"""Vectors that are embeddings already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.embed.protocol import ItemError

Array = NDArray[Any]

__all__ = ["ArrayEmbedder"]


@dataclass(frozen=True)
class ArrayEmbedder:
    """Passes vectors through, as float32 or float64; a vector that is not finite is an error of that item.

    Parameters
    ----------
    dimension : int
        0: that of the first vector.

    Examples
    --------
    >>> ArrayEmbedder(2).embed([[1, 2], [3, 4]])
    array([[1., 2.],
           [3., 4.]])
    """

    dimension: int = 0
    name: str = "array"
    kind: str = "embedding"
    batch_size: int = 4096
    fingerprint: str = "array"

    def embed(self, items: Sequence[Any]) -> Array:
        """The vectors (N, D) themselves."""
        return self.forward([self.prepare(item) for item in items])

    def prepare(self, item: Any) -> Array:
        """One vector, checked."""
        vector = np.asarray(item)
        if vector.dtype.kind not in "fiub":
            raise ItemError(f"is no vector of numbers but of {vector.dtype}")
        if vector.dtype != np.float32:
            vector = vector.astype(np.float32 if vector.dtype == np.float16 else np.float64)
        if vector.ndim != 1 or (self.dimension and len(vector) != self.dimension):
            wanted = f"({self.dimension},)" if self.dimension else "(d,)"
            raise ItemError(f"has shape {vector.shape}, expected {wanted}")
        if not np.isfinite(vector).all():
            raise ItemError("contains NaN or infinity")
        return vector

    def forward(self, prepared: Sequence[Array]) -> Array:
        """The vectors, stacked."""
        return np.stack(prepared) if prepared else np.empty((0, self.dimension), dtype=np.float32)
