"""Items from a table: choose the columns, then read only those, block after block."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.errors import InputError
from vbcgcd.items.columns import Columns, choose_columns
from vbcgcd.items.items import Items
from vbcgcd.items.labels import as_labels, is_missing
from vbcgcd.items.natures import nature_of
from vbcgcd.items.tables import Block, Table, open_table
from vbcgcd.items.vectors import check_finite, vectors_of

Array = NDArray[Any]

__all__ = ["read_table"]


def read_table(
    path: Path,
    *,
    split: tuple[str, str] | None = None,
    ignore: Sequence[str] = (),
    **said: Any,
) -> Items:
    """Items of a table; see `read_items` for how columns are chosen.

    Parameters
    ----------
    path : Path
    split : (str, str), optional
        A column and the value that the rows to be read have in it.
    ignore : sequence of str
        Columns that are neither item, label nor id.
    **said
        ``kind``, ``text``, ``image``, ``embedding``, ``label``, ``id``.
    """
    table = open_table(path)
    filter_column = _check_split(split, table)
    first = next(table.blocks(table.names), None)
    if first is None:
        raise InputError(f"{path} has no rows.")
    natures = {name: nature_of(first.columns[name], typed=table.typed) for name in table.names}
    columns = choose_columns(natures, source=str(path), ignore=[*ignore, *filter_column], **said)
    del first
    return _Reader(table, columns, split).items()


def _check_split(split: tuple[str, str] | None, table: Table) -> list[str]:
    if split is None:
        return []
    if isinstance(split, str) or len(split) != 2:
        raise InputError(f'split must be a column and a value, such as ("split", "train"), got {split!r}.')
    if split[0] not in table.names:
        shown = ", ".join(map(repr, table.names[:8]))
        raise InputError(f"{table.path} has no column {split[0]!r} to split by; its columns are {shown}.")
    return [split[0]]


class _Reader:
    """The rows of a table, gathered."""

    def __init__(self, table: Table, columns: Columns, split: tuple[str, str] | None) -> None:
        self.table, self.columns, self.split = table, columns, split
        self.values: list[Any] = []
        self.labels: list[Any] = []
        self.ids: list[Any] = []
        self.rows: list[int] = []
        self.seen: set[str] = set()

    def items(self) -> Items:
        self._read()
        kind, source = self.columns.kind, str(self.table.path)
        values: Any = self.values
        references = self._references()
        if kind == "embedding":
            values = self._joined()
            check_finite(values, references, source)
        elif kind == "image":
            values = _paths(self.values, self.table)
        labels = None
        if self.columns.label is not None:
            labels = as_labels(self.labels, source=source, typed=self.table.typed)
        report = self.columns.report
        if references is not self.ids:
            report.pop("id", None)
        return Items(kind, values, references, source, labels, report)

    def _read(self) -> None:
        first = 0
        wanted = list(dict.fromkeys([*self.columns.used, *([self.split[0]] if self.split else [])]))
        for block in self.table.blocks(wanted):
            keep = self._keep(block)
            rows = np.arange(first, first + len(block.places))[keep]
            first += len(block.places)
            if len(rows):
                self._add(block.filtered(keep), rows)
        if not self.rows and self.split:
            seen = ", ".join(map(repr, sorted(self.seen)[:8]))
            raise InputError(
                f"No row of {self.table.path} has {self.split[1]!r} in the column {self.split[0]!r}; "
                f"its values are {seen}."
            )

    def _keep(self, block: Block) -> Array:
        if self.split is None:
            return np.ones(len(block.places), dtype=bool)
        cells = ["" if is_missing(cell) else str(cell).strip() for cell in block.columns[self.split[0]]]
        if len(self.seen) < 100:
            self.seen.update(cells)
        return np.array([cell == str(self.split[1]) for cell in cells], dtype=bool)

    def _add(self, block: Block, rows: Array) -> None:
        columns = self.columns
        self.rows.extend(rows.tolist())
        if columns.label is not None:
            self.labels.extend(block.columns[columns.label])
        if columns.id is not None:
            self.ids.extend(block.columns[columns.id])
        if columns.kind == "embedding":
            self.values.append(vectors_of(block, columns.values, self.table))
            _check_width(self.values, block, self.table)
        else:
            self.values.extend(_strings(block, columns.values[0], columns.kind, self.table))

    def _joined(self) -> Array:
        parts, self.values = self.values, []
        return np.concatenate(parts)

    def _references(self) -> list[str]:
        """Ids where they are whole and different, else paths of pictures where they are, else row numbers."""
        name = self.columns.id
        if name is not None:
            ids = ["" if is_missing(cell) else str(cell).strip() for cell in self.ids]
            if all(ids) and len(set(ids)) == len(ids):
                self.ids = ids
                return self.ids
            if self.columns.id_said:
                raise InputError(
                    f"The column {name!r} of {self.table.path} does not name the rows: some cells are empty "
                    "or the same; say another with id=, or none to use row numbers."
                )
        if self.columns.kind == "image" and len(set(self.values)) == len(self.values):
            return [str(value) for value in self.values]
        return [str(row) for row in self.rows]


def _check_width(parts: list[Array], block: Block, table: Table) -> None:
    if parts[-1].shape[1] != parts[0].shape[1]:
        raise InputError(
            f"{table.path} from {table.unit} {block.places[0]} on: embeddings of {parts[-1].shape[1]} "
            f"numbers, the rows before have {parts[0].shape[1]}."
        )


def _strings(block: Block, name: str, kind: str, table: Table) -> list[str]:
    what = "text" if kind == "text" else "path of an image"
    for place, cell in zip(block.places, block.columns[name], strict=True):
        if (isinstance(cell, str) and cell.strip()) or (kind == "text" and is_missing(cell)):
            continue  # an empty text is kept, so that whoever embeds it can name it and go on
        found = "is empty" if is_missing(cell) else f"holds {str(cell)[:40]!r} ({type(cell).__name__})"
        raise InputError(
            f"Column {name!r} of {table.path}, {table.unit} {place}, {found}; every row needs a {what}. "
            "Remove the row or fill the cell."
        )
    cells = ("" if is_missing(cell) else str(cell) for cell in block.columns[name])
    return [cell if kind == "text" else cell.strip() for cell in cells]


def _paths(names: list[str], table: Table) -> list[Path]:
    """Absolute paths of pictures; relative ones start at the folder of the table."""
    folder = os.path.abspath(table.path.parent)
    paths = [os.path.join(folder, name) for name in names]
    missing = [name for name, path in zip(names, paths, strict=True) if not os.path.isfile(path)]
    if names and len(missing) == len(names):  # single ones are named when they are opened
        raise InputError(
            f"{len(missing)} of {len(names)} image files of {table.path} are missing, first {missing[0]!r}; "
            f"paths are relative to {folder}."
        )
    return [Path(path) for path in paths]
