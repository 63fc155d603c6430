"""Items of one kind (pictures, texts or embeddings), checks of their values and labels, and failed items."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.errors import InputError

Array = NDArray[Any]
Column = str | tuple[str, ...]

KINDS = ("image", "text", "embedding")
#: A longer label is a text from the wrong column.
LONGEST_LABEL = 1000
_WHOLE_NUMBER = re.compile(r"0|-?[1-9][0-9]{0,17}")

__all__ = [
    "KINDS",
    "Column",
    "Failure",
    "Items",
    "as_floats",
    "as_labels",
    "check_finite",
    "check_kind",
    "is_missing",
    "vector_items",
]


@dataclass(frozen=True)
class Failure:
    """An item that could not be used, and why.

    Examples
    --------
    >>> Failure("photos/7.png", "not a picture").reference
    'photos/7.png'
    """

    reference: str
    reason: str


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
        Unique, stable names of the items: an id column, the row number in the source, or a relative path.
    source : str
        Where the items came from.
    labels : array (N,), optional
        Integers or strings; an object array with None where an item has no label.
    columns : dict
        Which column was read as what, for sources with columns: ``{"text": "utterance", "label": "intent"}``.
    contents : list or array, optional
        What to show of embeddings: the texts or pictures (N,) that they were made from. The embeddings
        decide, the contents name and show.
    kept : dict of str -> list (N,)
        Other columns of the source, as they are there; answers about the items carry them along.
    made_by : (str, str), optional
        Name and fingerprint of the embedder that made the embeddings, where the source says so.

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
    contents: list[str] | list[Path] | Array | None = None
    kept: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    made_by: tuple[str, str] | None = None

    def __post_init__(self) -> None:
        check_kind(self.kind)
        if self.contents is not None and self.kind != "embedding":
            raise InputError(f"Only embeddings have contents beside them; {self.source} holds {self.kind}s.")
        parts = {**self.kept, "references": self.references, "labels": self.labels, "contents": self.contents}
        for name, part in parts.items():
            if part is not None and len(part) != len(self.values):
                raise InputError(
                    f"{self.source} has {len(self.values)} values but {len(part)} {name}; give one for each."
                )

    def __len__(self) -> int:
        return len(self.values)

    @property
    def shown(self) -> list[str] | list[Path] | Array | None:
        """What people can look at, (N,): the texts or pictures; None for embeddings without any."""
        return self.contents if self.kind == "embedding" else self.values

    @property
    def shown_kind(self) -> str:
        """Whether that is "text" or "image"; empty if it is nothing."""
        if self.kind != "embedding":
            return self.kind
        if self.contents is None:
            return ""
        return "text" if len(self.contents) == 0 or isinstance(self.contents[0], str) else "image"

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
            places = np.arange(len(self))[rows if isinstance(rows, slice) else _index(rows)]
        except IndexError as error:
            raise InputError(
                f"rows does not match the {len(self)} items of {self.source}: {error}."
            ) from None
        return replace(
            self,
            values=_rows(self.values, places),
            references=_rows(self.references, places),
            labels=None if self.labels is None else self.labels[places],
            contents=None if self.contents is None else _rows(self.contents, places),
            kept={name: _rows(cells, places) for name, cells in self.kept.items()},
        )


def _rows(values: Any, places: Array) -> Any:
    return values[places] if isinstance(values, np.ndarray) else [values[place] for place in places]


def vector_items(
    vectors: Any,
    *,
    texts: Sequence[str] | None = None,
    images: Sequence[Any] | None = None,
    labels: Any = None,
    references: Sequence[str] | None = None,
    source: str = "the array",
) -> Items:
    """Your own embeddings together with what they stand for: the vectors decide, the contents name and show.

    Parameters
    ----------
    vectors : array-like (N, d)
    texts : sequence of str (N,), optional
    images : sequence of paths (N,) or uint8 array (N, H, W, 3), optional
        Instead of texts.
    labels : array-like (N,), optional
        None or NaN where an item has none.
    references : sequence of str (N,), optional
        Names of the items; by default their numbers.
    source : str
        Where they come from, as lists of sessions show it.

    Returns
    -------
    Items

    Examples
    --------
    >>> items = vector_items([[0.5, 1.0], [2.0, 0.0]], texts=["hello", "bye"], labels=["greet", "leave"])
    >>> items.kind, items.shown, items.shown_kind
    ('embedding', ['hello', 'bye'], 'text')
    """
    try:
        rows = as_floats(np.asarray(vectors))
    except (TypeError, ValueError) as error:
        raise InputError(f"vectors cannot be turned into an array of numbers: {error}.") from None
    if rows.ndim != 2 or not rows.size:
        raise InputError(f"vectors must be an array (N, d), got one of the shape {rows.shape}.")
    if texts is not None and images is not None:
        raise InputError("Give either texts or images beside the vectors, not both.", option="images")
    contents: Any = None
    if texts is not None:
        contents = ["" if is_missing(text) else str(text) for text in texts]
    elif images is not None:
        contents = images if isinstance(images, np.ndarray) else [Path(image).absolute() for image in images]
    names = [str(row) for row in range(len(rows))] if references is None else [str(r) for r in references]
    if len(set(names)) < len(names):
        raise InputError("references must be unique.", option="references")
    check_finite(rows, names, source)
    known = None if labels is None else as_labels(list(labels), source=source)
    return Items("embedding", rows, names, source, known, contents=contents)


def _index(rows: Any) -> Array:
    index = np.asarray(rows)
    return index if index.size else index.astype(np.intp)


def check_kind(kind: str | None) -> None:
    """Raise unless ``kind`` is a kind of items."""
    if kind not in KINDS:
        raise InputError(f"kind must be one of {', '.join(map(repr, KINDS))}, got {kind!r}.", option="kind")


def as_floats(rows: Array) -> Array:
    """Numbers (N, d) as floats; floats keep their type."""
    return rows if rows.dtype.kind == "f" else rows.astype(np.float64)


def check_finite(rows: Array, references: Sequence[str], source: str) -> None:
    """Raise where an embedding (N, d) holds NaN or infinity."""
    # Block by block, so that no mask of all N * d values is held in memory.
    blocks = [np.isfinite(rows[i : i + 4096]).all(axis=1) for i in range(0, len(rows), 4096)]
    finite = np.concatenate([np.ones(0, dtype=bool), *blocks])
    if finite.all():
        return
    row = int(np.argmin(finite))
    position = int(np.argmin(np.isfinite(rows[row])))
    raise InputError(
        f"{source} holds NaN or infinity in {int((~finite).sum())} of {len(rows)} embeddings, first in item "
        f"{references[row]!r}, position {position}; remove these rows or embed them again."
    )


def is_missing(cell: Any) -> bool:
    """True for None, NaN and blank strings."""
    if isinstance(cell, str):
        return not cell.strip()
    return cell is None or (isinstance(cell, numbers.Real) and math.isnan(cell))


def as_labels(values: Sequence[Any] | Array, *, source: str, typed: bool = True) -> Array:
    """Labels of one type from the cells of a column.

    Strings are stripped; whole floats become integers; booleans become ``"true"`` and ``"false"``. In a
    source without types (CSV), a column in which every label is a whole number without leading zeros becomes
    integers.

    Parameters
    ----------
    values : sequence (N,)
        The cells of the label column.
    source : str
        Where the labels came from; errors name it.
    typed : bool
        Whether the source distinguishes numbers from strings.

    Returns
    -------
    array (N,)
        int64 or strings; object with None where a label is missing.

    Raises
    ------
    InputError
        Integers beside strings, or values that are neither.
    """
    cells = values.tolist() if isinstance(values, np.ndarray) else values
    labels = [None if is_missing(cell) else _label(cell, row, source) for row, cell in enumerate(cells)]
    present = [label for label in labels if label is not None]
    if not typed and present and all(_WHOLE_NUMBER.fullmatch(str(label)) for label in present):
        labels = [None if label is None else int(label) for label in labels]
    types = {type(label) for label in labels if label is not None}
    if len(types) > 1:
        number = next(label for label in labels if isinstance(label, int))
        string = next(label for label in labels if isinstance(label, str))
        raise InputError(
            f"The labels of {source} mix numbers ({number}) and strings ({string!r}); use one type for all.",
            option="label",
        )
    if len(present) < len(labels):
        partial = np.empty(len(labels), dtype=object)
        partial[:] = labels
        return partial
    return np.array(labels, dtype=np.int64 if types == {int} else None)


def _label(cell: Any, row: int, source: str) -> int | str:
    if isinstance(cell, bool | np.bool_):
        return "true" if cell else "false"
    if isinstance(cell, str):
        if len(cell) > LONGEST_LABEL:
            raise InputError(
                f"The label of row {row} of {source} has {len(cell)} characters and looks like a text; "
                "choose the column of the labels with the option 'label'.",
                option="label",
            )
        return cell.strip()
    if isinstance(cell, int | np.integer) and abs(int(cell)) < 2**63:
        return int(cell)
    if isinstance(cell, float | np.floating) and float(cell).is_integer() and abs(float(cell)) < 2**63:
        return int(cell)
    raise InputError(
        f"The label of row {row} of {source} is {str(cell)[:40]!r} ({type(cell).__name__}); labels must be "
        "strings or whole numbers.",
        option="label",
    )
