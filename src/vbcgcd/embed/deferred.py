"""An embedder that is known by its fingerprint and loaded only when a vector is missing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from numpy.typing import NDArray

from vbcgcd.embed.protocol import Embedder

Array = NDArray[Any]

__all__ = ["DeferredEmbedder"]


@dataclass(frozen=True, eq=False)
class DeferredEmbedder:
    """Stands for an embedder whose fingerprint is known, for example from what it made earlier.

    Vectors that are cached under this fingerprint are right whatever can be loaded now.

    Parameters
    ----------
    name, kind, fingerprint, dimension
        Those of the embedder.
    load : callable
        Makes the embedder, or raises if it would be another one.

    Examples
    --------
    >>> from vbcgcd.embed.protocol import ArrayEmbedder
    >>> later = DeferredEmbedder("array", "embedding", "array", 2, load=lambda: ArrayEmbedder(2))
    >>> later.embed([[1.0, 2.0]])
    array([[1., 2.]])
    """

    name: str
    kind: str
    fingerprint: str
    dimension: int
    load: Callable[[], Embedder]

    @cached_property
    def loaded(self) -> Embedder:
        """The embedder itself; the first call loads it."""
        return self.load()

    @property
    def batch_size(self) -> int:
        """Items in one call of ``embed``."""
        return self.loaded.batch_size

    def embed(self, items: Sequence[Any]) -> Array:
        """Vectors (N, dimension) of N items."""
        return self.loaded.embed(items)
