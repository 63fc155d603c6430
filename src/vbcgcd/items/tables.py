"""Tables read as blocks of columns: what every table offers, and the text formats CSV, TSV and JSONL."""

from __future__ import annotations

import csv
import json
import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.errors import InputError
from vbcgcd.items.opening import PACKED, extension_of, open_bytes, open_text

Array = NDArray[Any]
Cells = list[Any] | Array

#: Rows in a block; the nature of a column is judged by the first block.
BLOCK = 1000
#: File name extensions of tables.
_TEXTS = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".txt")
TABLES = (*_TEXTS, *(ending + PACKED for ending in _TEXTS), ".parquet", ".arrow", ".feather")
DELIMITERS = (",", "\t", ";")
#: Columns of the widest table.
MOST_COLUMNS = 100_000
_LARGEST_CELL = 2**31 - 1
_CELL_LIMIT_LOCK = threading.Lock()

__all__ = [
    "BLOCK",
    "MOST_COLUMNS",
    "TABLES",
    "Block",
    "Cells",
    "DelimitedTable",
    "JsonlTable",
    "TableFile",
    "check_names",
    "encoding_error",
    "is_table",
]


def is_table(path: Path) -> bool:
    """Whether the name of a file is that of a table."""
    return extension_of(path) in TABLES


@dataclass(frozen=True)
class Block:
    """Up to `BLOCK` rows: the cells of each column, and the line or row number of each row in the file."""

    columns: dict[str, Cells]
    places: Sequence[int]

    def filter(self, mask: Array) -> Block:
        """The rows where the mask (n,) is true."""
        if mask.all():
            return self
        rows = np.flatnonzero(mask).tolist()
        columns: dict[str, Cells] = {
            name: cells[rows] if isinstance(cells, np.ndarray) else [cells[r] for r in rows]
            for name, cells in self.columns.items()
        }
        return Block(columns, [self.places[r] for r in rows])


class TableFile(ABC):
    """A file with named columns that can be read more than once.

    Attributes
    ----------
    path : Path
    folder : Path
        Where paths of pictures in it start.
    names : list of str
        The columns, in the order of the file.
    typed : bool
        Whether the file distinguishes numbers from strings (JSONL, Parquet); in CSV every cell is a string.
    unit : str
        What the places of a block count: "line" or "row".
    made_by : (str, str), optional
        Name and fingerprint of the embedder that made its embeddings, where the file says so.
    row_names : list of str, optional
        What the rows are called besides their numbers, such as the index of a frame; all differ.
    """

    typed = True
    unit = "line"
    made_by: tuple[str, str] | None = None
    row_names: Sequence[str] | None = None

    def __init__(self, path: Path) -> None:
        self.path, self.folder = path, path.parent
        self.names: list[str] = []

    @abstractmethod
    def blocks(self, names: Sequence[str]) -> Iterator[Block]:
        """The cells of these columns, block by block; a table without rows yields nothing."""

    def first_cells(self) -> dict[str, Cells] | None:
        """The cells of each column in the first block, missing ones perhaps left out; None without rows."""
        first = next(self.blocks(self.names), None)
        return None if first is None else first.columns


class DelimitedTable(TableFile):
    """Comma-separated values; tabs or semicolons where the header has more of them than commas."""

    typed = False

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.delimiter = "\t" if extension_of(path).startswith(".tsv") else _delimiter(path)
        with self._rows() as rows:
            header = next(rows, (1, []))[1]
        self.names = [cell.strip() for cell in header]
        if not any(self.names):
            raise InputError(f"{path} has no header; the first line must name the columns.")
        check_names(self.names, path)
        values = [name for name in self.names if _is_value(name)]
        if values:
            raise InputError(
                f"The first line of {path} holds the value {values[0]!r}; it must name the columns."
            )

    def blocks(self, names: Sequence[str]) -> Iterator[Block]:
        """See `TableFile.blocks`."""
        place = {name: i for i, name in enumerate(self.names)}
        indices = [place[name] for name in names]
        with self._rows() as rows:
            next(rows)
            while lines := list(islice(rows, BLOCK)):
                for line, row in lines:
                    self._check_width(line, row)
                columns = {name: [row[i] for _, row in lines] for name, i in zip(names, indices, strict=True)}
                yield Block(dict(columns), [line for line, _ in lines])

    def _check_width(self, line: int, row: list[str]) -> None:
        if len(row) != len(self.names):
            cells = "1 cell" if len(row) == 1 else f"{len(row)} cells"
            raise InputError(
                f"Line {line} of {self.path} has {cells}, but the header has {len(self.names)}; quote cells "
                f"that contain {self.delimiter!r}."
            )

    @contextmanager
    def _rows(self) -> Iterator[Iterator[tuple[int, list[str]]]]:
        with open_text(self.path, newline="") as file:
            yield self._lines(csv.reader(file, delimiter=self.delimiter, strict=True))

    def _lines(self, reader: Any) -> Iterator[tuple[int, list[str]]]:
        """Line number and cells of every row that is not blank."""
        while True:
            row = _next_row(reader, self.path)
            if row is None:
                return
            if row:
                yield reader.line_num, row


def _next_row(reader: Any, path: Path) -> list[str] | None:
    # The limit on the size of a cell is global to the process, so it is lifted for one row at a time.
    with _CELL_LIMIT_LOCK:
        before = csv.field_size_limit(_LARGEST_CELL)
        try:
            return next(reader, None)
        except UnicodeDecodeError:
            raise encoding_error(path) from None
        except csv.Error as error:
            raise InputError(
                f"{path} is malformed near line {reader.line_num} ({error}); look for an unclosed quote."
            ) from None
        finally:
            csv.field_size_limit(before)


def _delimiter(path: Path) -> str:
    try:
        with open_text(path, newline="") as file:
            line = next((line for line in file if line.strip()), "")
    except UnicodeDecodeError:
        raise encoding_error(path) from None
    return max(DELIMITERS, key=lambda d: len(_next_row(csv.reader([line], delimiter=d), path) or []))


def _is_value(name: str) -> bool:
    """Whether a header cell is data: 0.25 is a value, but 17 may name a column."""
    try:
        float(name)
    except ValueError:
        return False
    return not name.isdigit() and name.lower() not in ("nan", "inf", "infinity")


class JsonlTable(TableFile):
    """JSON lines, one object per line; a key that a line lacks is a missing cell.

    The columns are the keys of all lines, in the order of their first use.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        names: dict[str, None] = {}
        for _, row in self._rows():
            names.update(dict.fromkeys(row))
            _check_number_of(len(names), path)
        self.names = list(names)

    def first_cells(self) -> dict[str, Cells] | None:
        """See `TableFile.first_cells`: time and memory are those of the cells there are, not rows by keys."""
        cells: dict[str, Cells] = {name: [] for name in self.names}
        some = False
        for _, row in islice(self._rows(), BLOCK):
            some = True
            for name, cell in row.items():
                cells[name].append(cell)  # type: ignore[union-attr]
        return cells if some else None

    def blocks(self, names: Sequence[str]) -> Iterator[Block]:
        """See `TableFile.blocks`."""
        rows = self._rows()
        while lines := list(islice(rows, BLOCK)):
            columns = {name: [row.get(name) for _, row in lines] for name in names}
            yield Block(dict(columns), [line for line, _ in lines])

    def _rows(self) -> Iterator[tuple[int, dict[str, Any]]]:
        try:
            with open_text(self.path) as file:
                for number, line in enumerate(file, start=1):
                    if line.strip():
                        yield number, self._object(number, line)
        except UnicodeDecodeError:
            raise encoding_error(self.path) from None

    def _object(self, number: int, line: str) -> dict[str, Any]:
        try:
            row = json.loads(line, object_pairs_hook=self._pairs)
        except InputError:
            raise
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"Line {number} of {self.path} is not JSON ({error}); write one object per line."
            ) from None
        if not isinstance(row, dict):
            raise InputError(
                f"Line {number} of {self.path} holds a {type(row).__name__}; write one object per line."
            )
        return row

    def _pairs(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        row = dict(pairs)
        if len(row) < len(pairs):
            check_names([key for key, _ in pairs], self.path)
        return row


def check_names(names: Sequence[str], path: Path) -> None:
    """Raise where two columns have the same name, or where there are more than `MOST_COLUMNS`."""
    _check_number_of(len(names), path)
    repeats = sorted(name for name, n in Counter(names).items() if n > 1)
    if repeats:
        listing = ", ".join(map(repr, repeats[:5])) + (", ..." if len(repeats) > 5 else "")
        raise InputError(f"{path} has more than one column named {listing}; give every column its own name.")


def _check_number_of(columns: int, path: Path) -> None:
    if columns > MOST_COLUMNS:
        raise InputError(
            f"{path} has more than {MOST_COLUMNS:,} columns, which is the most a table may have; write the "
            "numbers of an embedding as one list, or save them as .npy."
        )


def encoding_error(path: Path) -> InputError:
    """The error for a file that could not be decoded; it names the first line that is not UTF-8."""
    advice = "save the file as UTF-8"
    with open_bytes(path) as file:
        if file.read(2) in (b"\xff\xfe", b"\xfe\xff"):
            return InputError(f"{path} is encoded as UTF-16; {advice}.")
    with open_bytes(path) as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                byte = f"byte 0x{line[error.start]:02x} at column {error.start + 1}"
                return InputError(f"{path} is not UTF-8 in line {number} ({byte}); {advice}.")
    return InputError(f"{path} is not UTF-8; {advice}.")
