"""A list of things to embed or to learn from, of one kind, with labels where they are known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.errors import InputError

Array = NDArray[Any]
Column = str | tuple[str, ...]

KINDS = ("image", "text", "embedding")

__all__ = ["KINDS", "Failure", "Items"]


@dataclass(frozen=True, eq=False)
class Items:
    """Pictures, texts or embeddings, in the order of their source.

    Parameters
    ----------
    kind : {"image", "text", "embedding"}
    values : list or array
        Texts (list of str), paths of pictures (list of absolute Path), pictures (uint8 array (N, H, W, 3)) or
        embeddings (float array (N, d)).
    references : list of str (N,)
        Stable and different names of the items: a column of ids, the row in the source, a relative path.
    source : str
        Where the items came from.
    labels : array (N,), optional
        Integers or strings; an object array with None where an item has no label.
    columns : dict
        What was taken as what, for sources with named parts: ``{"text": "utterance", "label": "intent"}``.

    Examples
    --------
    >>> items = Items("text", ["hello", "bye", "hi"], ["0", "1", "2"], "greetings.csv")
    >>> len(items), items.take([2, 0]).values
    (3, ['hi', 'hello'])
    >>> items.labelled
    array([False, False, False])
    """

    kind: str
    values: list[str] | list[Path] | Array
    references: list[str]
    source: str
    labels: Array | None = None
    columns: Mapping[str, Column] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(f"kind must be one of {', '.join(map(repr, KINDS))}, got {self.kind!r}.")
        parts = {"references": self.references, "labels": self.labels}
        for name, part in parts.items():
            if part is not None and len(part) != len(self.values):
                raise InputError(
                    f"{self.source} has {len(self.values)} values but {len(part)} {name}; give one for each."
                )

    def __len__(self) -> int:
        return len(self.values)

    @property
    def labelled(self) -> Array:
        """Boolean mask (N,) of the items with a label."""
        if self.labels is None:
            return np.zeros(len(self), dtype=bool)
        if self.labels.dtype != object:
            return np.ones(len(self), dtype=bool)
        return np.array([label is not None for label in self.labels], dtype=bool)

    def take(self, rows: Any) -> Items:
        """The items of some rows.

        Parameters
        ----------
        rows : int array (M,), bool array (N,) or slice

        Returns
        -------
        Items
            With M items, in the order of ``rows``.
        """
        try:
            chosen = np.arange(len(self))[rows if isinstance(rows, slice) else _index(rows)]
        except IndexError as error:
            raise InputError(f"rows do not fit {len(self)} items of {self.source}: {error}.") from None
        values: Any
        if isinstance(self.values, np.ndarray):
            values = self.values[chosen]
        else:
            values = [self.values[row] for row in chosen]
        labels = None if self.labels is None else self.labels[chosen]
        references = [self.references[row] for row in chosen]
        return Items(self.kind, values, references, self.source, labels, self.columns)


def _index(rows: Any) -> Array:
    index = np.asarray(rows)
    return index if index.size else index.astype(np.intp)


@dataclass(frozen=True)
class Failure:
    """An item that could not be used, and why."""

    reference: str
    reason: str
