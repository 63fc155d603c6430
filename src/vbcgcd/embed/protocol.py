"""What an embedder is, and what goes wrong with single items."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

from numpy.typing import NDArray

from vbcgcd.errors import InputError

Array = NDArray[Any]

__all__ = ["Embedder", "ItemError", "StagedEmbedder"]


class ItemError(InputError):
    """One item that cannot be embedded; the others can."""


@runtime_checkable
class Embedder(Protocol):
    """Items of one kind in, vectors out.

    An object with these five attributes and one method is an embedder; nothing has to be inherited. A
    package offers its own under the entry point group ``vbcgcd.embedders``: the entry is a function
    ``make(argument, *, kind, **options)`` that returns an embedder, ``argument`` being what stands after
    the colon in ``'name:argument'`` or None.

    Attributes
    ----------
    name : str
        For people: the model, or its path.
    kind : {'image', 'text', 'embedding'}
    dimension : int
    fingerprint : str
        Differs whenever the vectors would (weights, preprocessing, pooling, precision); equal in every
        process.
    batch_size : int
        Items in one call of ``embed``.
    """

    @property
    def name(self) -> str:
        """For people."""

    @property
    def kind(self) -> str:
        """Of the items it embeds."""

    @property
    def batch_size(self) -> int:
        """Items in one call."""

    @property
    def dimension(self) -> int:
        """Values in an embedding."""

    @property
    def fingerprint(self) -> str:
        """Digest of everything that shapes the vectors."""

    def embed(self, items: Sequence[Any]) -> Array:
        """Vectors (N, dimension) of N items: texts, or RGB pictures of Pillow."""


@runtime_checkable
class StagedEmbedder(Embedder, Protocol):
    """An embedder whose work on single items can run ahead in threads.

    ``embed(items)`` equals ``forward([prepare(item) for item in items])``.
    """

    def prepare(self, item: Any) -> Any:
        """One item made ready; raises ``ItemError`` where it is broken."""

    def forward(self, prepared: Sequence[Any]) -> Array:
        """Vectors (N, dimension) of N prepared items."""
