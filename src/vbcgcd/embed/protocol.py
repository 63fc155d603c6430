"""What an embedder is, the error of a single item, and the embedder that passes vectors through."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from vbcgcd.errors import InputError

Array = NDArray[Any]

__all__ = ["ArrayEmbedder", "Embedder", "ItemError"]


class ItemError(InputError):
    """One item that cannot be embedded, while the others can; its message is the reason alone."""


@runtime_checkable
class Embedder(Protocol):
    """Items of one kind in, vectors out.

    Any object with these five attributes and this method is an embedder; there is nothing to inherit. A
    package offers its own under the entry point group ``vbcgcd.embedders``: the entry is a function
    ``make(argument, *, kind, **options)`` that returns an embedder; ``argument`` is what follows the colon in
    ``'name:argument'``, or None.

    An embedder may also have ``prepare(item)``, which raises `ItemError` for a broken item, and
    ``forward(prepared)``, such that ``embed(items)`` equals ``forward([prepare(item) for item in items])``.
    Threads then prepare the next batches while the current one is computed. An embedder of images that maps
    texts into the same space may have ``embed_texts(texts)``, with vectors that can be compared with those of
    ``embed``; a workspace then names pictures by words of its ``vocabulary``.

    Attributes
    ----------
    name : str
        The model or its path, for people to read.
    kind : {'image', 'text', 'embedding'}
        What it embeds.
    dimension : int
        Length of an embedding.
    fingerprint : str
        Changes whenever the vectors would (weights, preprocessing, pooling, precision); the same in every
        process.
    batch_size : int
        Items in one call of ``embed``.

    Examples
    --------
    >>> class Lengths:
    ...     name, kind, dimension, fingerprint, batch_size = "lengths", "text", 1, "lengths-1", 256
    ...
    ...     def embed(self, items):
    ...         return np.array([[float(len(item))] for item in items])
    >>> isinstance(Lengths(), Embedder)
    True
    """

    @property
    def name(self) -> str:
        """The model or its path, for people to read."""

    @property
    def kind(self) -> str:
        """What it embeds: ``image``, ``text`` or ``embedding``."""

    @property
    def batch_size(self) -> int:
        """Items in one call of ``embed``."""

    @property
    def dimension(self) -> int:
        """Length of an embedding."""

    @property
    def fingerprint(self) -> str:
        """Digest of everything that shapes the vectors."""

    def embed(self, items: Sequence[Any]) -> Array:
        """Vectors (N, dimension) of N items: texts, or RGB images of Pillow."""


@dataclass(frozen=True)
class ArrayEmbedder:
    """Passes vectors through, as float32 or float64; a vector that is not finite is an error of that item.

    Parameters
    ----------
    dimension : int
        Required length of the vectors; 0 accepts any.

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
            raise ItemError(f"not a vector of numbers but of {vector.dtype}")
        if vector.dtype != np.float32:
            vector = vector.astype(np.float32 if vector.dtype == np.float16 else np.float64)
        if vector.ndim != 1 or (self.dimension and len(vector) != self.dimension):
            expected = f"({self.dimension},)" if self.dimension else "(d,)"
            raise ItemError(f"has shape {vector.shape}, expected {expected}")
        if not np.isfinite(vector).all():
            raise ItemError("contains NaN or infinity")
        return vector

    def forward(self, prepared: Sequence[Array]) -> Array:
        """The vectors, stacked."""
        return np.stack(prepared) if prepared else np.empty((0, self.dimension), dtype=np.float32)
