"""Items from a table: open the file, choose the columns, then read only those, block by block."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.errors import InputError, NothingToDo
from vbcgcd.items.cells import nature_of, vectors_of
from vbcgcd.items.columns import Columns, choose_columns
from vbcgcd.items.items import Items, as_labels, check_finite, is_missing
from vbcgcd.items.lists import LineTable, json_table
from vbcgcd.items.opening import PACKED, extension_of
from vbcgcd.items.parquet import ParquetTable
from vbcgcd.items.tables import TABLES, Block, DelimitedTable, JsonlTable, TableFile

Array = NDArray[Any]
Keep = bool | Sequence[str] | None


def _arrow_file(path: Path) -> TableFile:
    from vbcgcd.items.arrow import arrow_file

    return arrow_file(path)


#: What opens a table, by the ending of its name; packed ones are opened as those that are not.
OPENERS: dict[str, Callable[[Path], TableFile]] = {
    ".csv": DelimitedTable,
    ".tsv": DelimitedTable,
    ".jsonl": JsonlTable,
    ".ndjson": JsonlTable,
    ".json": json_table,
    ".txt": LineTable,
    ".parquet": ParquetTable,
    ".arrow": _arrow_file,
    ".feather": _arrow_file,
}

__all__ = ["OPENERS", "Keep", "open_table", "read_table", "table_items"]


def open_table(path: Path, format: str | None = None) -> TableFile:
    """The table in a file, by the extension of its name or by ``format``, which is such an extension.

    Raises
    ------
    InputError
        The extension is not that of a table, the file is empty, or its header is broken.
    """
    extension = extension_of(path) if format is None else f".{format.lower().lstrip('.')}"
    if extension not in TABLES:
        if format is not None:
            names = ", ".join(ending[1:] for ending in TABLES)
            raise InputError(f"format must be one of {names}, got {format!r}.", option="format")
        raise InputError(f"{path} is not a table; use a file that ends in {', '.join(TABLES)}.")
    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty; a table needs named columns and rows.")
    return OPENERS[extension.removesuffix(PACKED)](path)


def read_table(
    path: Path,
    *,
    format: str | None = None,
    split: tuple[str, str] | None = None,
    ignore: Sequence[str] = (),
    **options: Any,
) -> Items:
    """Items of a table; see `read_items` for how columns are chosen.

    Parameters
    ----------
    path : Path
    format : str, optional
        What the file is, where its name does not say.
    split : (str, str), optional
        A column and a value; only rows with this value in this column are read.
    ignore : sequence of str
        Columns that hold neither items, labels nor ids.
    **options
        The other options of `read_items`.
    """
    return table_items(open_table(path, format), split=split, ignore=ignore, **options)


def table_items(
    table: TableFile,
    *,
    split: tuple[str, str] | None = None,
    ignore: Sequence[str] = (),
    keep: Keep = None,
    **options: Any,
) -> Items:
    """Items of an open table; the options are those of `read_table`."""
    split_columns = _split_columns(split, table)
    first = table.first_cells()
    if first is None:
        raise NothingToDo(f"{table.path} has no rows.")
    natures = {name: nature_of(first[name], typed=table.typed) for name in table.names}
    if table.made_by is not None and not any(options.get(name) for name in ("kind", "text", "image")):
        options["kind"] = "embedding"  # what it was made for; the texts beside it name and show
    columns = choose_columns(natures, source=str(table.path), ignore=[*ignore, *split_columns], **options)
    del first
    return _TableReader(table, columns, split, _kept_columns(keep, table)).items()


def _kept_columns(keep: Keep, table: TableFile) -> list[str]:
    if keep is None or isinstance(keep, bool):
        return list(table.names) if keep else []
    given = [keep] if isinstance(keep, str) else list(keep)
    names = [name for text in given for name in _listed(text, table.names)]
    missing = [name for name in names if name not in table.names]
    if missing:
        columns = ", ".join(map(repr, table.names[:8]))
        raise InputError(
            f"{table.path} has no column {missing[0]!r} to keep; its columns are {columns}.", option="keep"
        )
    return list(dict.fromkeys(names))


def _listed(text: str, names: Sequence[str]) -> list[str]:
    """The columns that a text names: itself, or a list with commas where no column is called so."""
    parts = [part.strip() for part in str(text).split(",")]
    return parts if text not in names and len(parts) > 1 and all(parts) else [text]


def _split_columns(split: tuple[str, str] | None, table: TableFile) -> list[str]:
    if split is None:
        return []
    if isinstance(split, str) or len(split) != 2:
        raise InputError(
            f'split must be a column and a value, such as ("split", "train"), got {split!r}.', option="split"
        )
    if split[0] not in table.names:
        names = ", ".join(map(repr, table.names[:8]))
        raise InputError(
            f"{table.path} has no column {split[0]!r} to split by; its columns are {names}.", option="split"
        )
    return [split[0]]


class _TableReader:
    """Collects the rows of a table, block by block."""

    def __init__(
        self, table: TableFile, columns: Columns, split: tuple[str, str] | None, kept: Sequence[str] = ()
    ) -> None:
        self.table, self.columns, self.split = table, columns, split
        self.values: list[Any] = []
        self.contents: list[str] = []
        self.kept: dict[str, list[Any]] = {name: [] for name in kept}
        self.labels: list[Any] = []
        self.ids: list[Any] = []
        self.rows: list[int] = []
        self.split_values: set[str] = set()

    def items(self) -> Items:
        self._read()
        kind, source = self.columns.kind, str(self.table.path)
        values: Any = self.values
        references = self._references()
        if kind == "embedding":
            values = self._join_vectors()
            check_finite(values, references, source)
        elif kind == "image":
            values = _paths(self.values, self.table)
        contents: Any = None if self.columns.shown is None else self.contents
        if self.columns.shown is not None and self.columns.shown[0] == "image":
            contents = _paths(self.contents, self.table)
        labels = None
        if self.columns.label is not None:
            labels = as_labels(self.labels, source=source, typed=self.table.typed)
        report = self.columns.report
        if references is not self.ids:
            report.pop("id", None)
        made_by = self.table.made_by if kind == "embedding" else None
        return Items(kind, values, references, source, labels, report, contents, self.kept, made_by)

    def _read(self) -> None:
        first = 0
        names = list(
            dict.fromkeys([*self.columns.names, *([self.split[0]] if self.split else []), *self.kept])
        )
        for block in self.table.blocks(names):
            mask = self._mask(block)
            rows = np.arange(first, first + len(block.places))[mask]
            first += len(block.places)
            if len(rows):
                self._add(block.filter(mask), rows)
        if not self.rows and self.split:
            values = ", ".join(map(repr, sorted(self.split_values)[:8]))
            raise InputError(
                f"No row of {self.table.path} has {self.split[1]!r} in the column {self.split[0]!r}; "
                f"its values are {values}.",
                option="split",
            )

    def _mask(self, block: Block) -> Array:
        """Which rows of a block belong to the split."""
        if self.split is None:
            return np.ones(len(block.places), dtype=bool)
        cells = ["" if is_missing(cell) else str(cell).strip() for cell in block.columns[self.split[0]]]
        if len(self.split_values) < 100:
            self.split_values.update(cells)
        return np.array([cell == str(self.split[1]) for cell in cells], dtype=bool)

    def _add(self, block: Block, rows: Array) -> None:
        columns = self.columns
        self.rows.extend(rows.tolist())
        if columns.label is not None:
            self.labels.extend(block.columns[columns.label])
        if columns.id is not None:
            self.ids.extend(block.columns[columns.id])
        for name, cells in self.kept.items():
            added = block.columns[name]
            cells.extend(added.tolist() if isinstance(added, np.ndarray) else added)
        if columns.shown is not None:
            self.contents.extend(_strings(block, columns.shown[1], columns.shown[0], self.table))
        if columns.kind == "embedding":
            self.values.append(vectors_of(block, columns.values, self.table))
            _check_width(self.values, block, self.table)
        else:
            self.values.extend(_strings(block, columns.values[0], columns.kind, self.table))

    def _join_vectors(self) -> Array:
        parts, self.values = self.values, []
        return np.concatenate(parts)

    def _references(self) -> list[str]:
        """Complete and unique ids, else the names of the rows, unique paths of pictures, or row numbers."""
        name = self.columns.id
        if name is not None:
            ids = ["" if is_missing(cell) else str(cell).strip() for cell in self.ids]
            if all(ids) and len(set(ids)) == len(ids):
                self.ids = ids
                return self.ids
            if self.columns.explicit_id:
                raise InputError(
                    f"The column {name!r} of {self.table.path} cannot be used as ids: some cells are empty "
                    "or equal; choose another with the option 'id', or leave it out to use row numbers.",
                    option="id",
                )
        if self.table.row_names is not None:
            return [self.table.row_names[row] for row in self.rows]
        if self.columns.kind == "image" and len(set(self.values)) == len(self.values):
            return [str(value) for value in self.values]
        return [str(row) for row in self.rows]


def _check_width(parts: list[Array], block: Block, table: TableFile) -> None:
    if parts[-1].shape[1] != parts[0].shape[1]:
        raise InputError(
            f"{table.path} from {table.unit} {block.places[0]} on: embeddings of {parts[-1].shape[1]} "
            f"numbers, but the rows before have {parts[0].shape[1]}."
        )


def _strings(block: Block, name: str, kind: str, table: TableFile) -> list[str]:
    content = "text" if kind == "text" else "path of an image"
    for place, cell in zip(block.places, block.columns[name], strict=True):
        if (isinstance(cell, str) and cell.strip()) or (kind == "text" and is_missing(cell)):
            continue  # empty texts stay: the embedder reports them as failures and goes on
        problem = "is empty" if is_missing(cell) else f"holds {str(cell)[:40]!r} ({type(cell).__name__})"
        raise InputError(
            f"Column {name!r} of {table.path}, {table.unit} {place}, {problem}; every row needs a {content}. "
            "Remove the row or fill the cell."
        )
    cells = ("" if is_missing(cell) else str(cell) for cell in block.columns[name])
    return [cell if kind == "text" else cell.strip() for cell in cells]


def _paths(names: list[str], table: TableFile) -> list[Path]:
    """Absolute paths of pictures; relative ones start at the folder of the table."""
    folder = os.path.abspath(table.folder)
    paths = [os.path.join(folder, name) for name in names]
    missing = [name for name, path in zip(names, paths, strict=True) if not os.path.isfile(path)]
    if names and len(missing) == len(names):  # where only some are missing, the embedder reports them
        raise InputError(
            f"{len(missing)} of {len(names)} image files of {table.path} are missing, first {missing[0]!r}; "
            f"paths are relative to {folder}.",
            option="image",
        )
    return [Path(path) for path in paths]
