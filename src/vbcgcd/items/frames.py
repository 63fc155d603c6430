"""Tables in memory: frames of pandas and polars and tables of Arrow, without importing any of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vbcgcd.errors import InputError
from vbcgcd.items.tables import BLOCK, Block, Cells, TableFile, check_names

#: Where the types that are taken come from.
LIBRARIES = ("pandas", "polars", "pyarrow")

__all__ = ["FrameTable", "is_frame", "is_series", "list_of"]


def is_frame(data: Any) -> bool:
    """Whether this is a frame of pandas or polars or a table of Arrow."""
    return _library(data) in LIBRARIES and len(getattr(data, "shape", ())) == 2


def is_series(data: Any) -> bool:
    """Whether this is a Series of pandas or polars or an array of Arrow: one column."""
    flat = len(getattr(data, "shape", (0,))) == 1 and hasattr(data, "__len__")
    return _library(data) in LIBRARIES and flat and not is_frame(data)


def list_of(column: Any) -> list[Any]:
    """The cells of a column as Python values; None where there is none."""
    convert = getattr(column, "to_pylist", None) or column.to_list
    return [None if _is_na(cell) else cell for cell in convert()]


class FrameTable(TableFile):
    """The columns of a frame; places are the numbers of its rows.

    Examples
    --------
    >>> import pandas
    >>> table = FrameTable(pandas.DataFrame({"text": ["hello", None], "n": [1, 2]}))
    >>> table.names, table.first_cells()["text"]
    (['text', 'n'], ['hello', None])
    """

    unit = "row"

    def __init__(self, frame: Any) -> None:
        # Paths of pictures in it are relative to the working directory.
        super().__init__(Path("the table"))
        self.frame = frame
        names = frame.column_names if hasattr(frame, "column_names") else list(frame.columns)
        wrong = [name for name in names if not isinstance(name, str | int)]
        if wrong:
            raise InputError(f"Columns must be named by text or number, got {wrong[0]!r}; rename it.")
        self.names = [str(name) for name in names]
        self._keys = dict(zip(self.names, names, strict=True))
        check_names(self.names, self.path)
        self.row_names = _row_names(getattr(frame, "index", None))

    def blocks(self, names: Sequence[str]) -> Iterator[Block]:
        """See `TableFile.blocks`."""
        columns = {name: _cells(self.frame[self._keys[name]]) for name in names}
        for first in range(0, len(self.frame), BLOCK):
            last = min(first + BLOCK, len(self.frame))
            block = {name: cells[first:last] for name, cells in columns.items()}
            yield Block(block, range(first, last))


def _row_names(index: Any) -> list[str] | None:
    """The index of a frame of pandas as text; None where it only counts the rows or two are the same."""
    if index is None or index.nlevels > 1:
        return None
    names = ["" if _is_na(label) or label is None else str(label).strip() for label in index.tolist()]
    counted = all(name == str(place) for place, name in enumerate(names))
    return None if counted or not all(names) or len(set(names)) < len(names) else names


def _cells(column: Any) -> Cells:
    """Numbers as an array, all else as a list of Python values."""
    kind = getattr(getattr(column, "dtype", None), "kind", None)
    if kind is not None and kind in "fiu" and hasattr(column, "to_numpy"):
        values = column.to_numpy()
        if values.dtype.kind in "fiu":
            return np.asarray(values)
    return list_of(column)


def _is_na(cell: Any) -> bool:
    return type(cell).__name__ in ("NAType", "NaTType") or (isinstance(cell, float) and cell != cell)


def _library(data: Any) -> str:
    return type(data).__module__.partition(".")[0]
