"""Tables as blocks of columns: one face for CSV, JSONL and Parquet."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.errors import InputError

Array = NDArray[Any]
Cells = list[Any] | Array

#: Rows of a block; the first block is also what columns are judged by.
BLOCK = 1000
TABLES = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet")

__all__ = ["BLOCK", "TABLES", "Block", "Table", "check_names", "check_utf8", "open_table"]


@dataclass(frozen=True)
class Block:
    """Up to `BLOCK` rows: cells by column, and where each row stands in the file."""

    columns: dict[str, Cells]
    places: Sequence[int]

    def filtered(self, keep: Array) -> Block:
        """The rows where the mask (n,) is true."""
        if keep.all():
            return self
        rows = np.flatnonzero(keep).tolist()
        columns: dict[str, Cells] = {
            name: cells[rows] if isinstance(cells, np.ndarray) else [cells[r] for r in rows]
            for name, cells in self.columns.items()
        }
        return Block(columns, [self.places[r] for r in rows])


class Table(ABC):
    """A file with named columns that can be read more than once.

    Attributes
    ----------
    path : Path
    names : list of str
    typed : bool
        Cells come with types (JSONL, Parquet); otherwise all of them are strings.
    unit : str
        What the places of a block count: "line" or "row".
    """

    typed = True
    unit = "line"

    def __init__(self, path: Path) -> None:
        self.path = path
        self.names: list[str] = []

    @abstractmethod
    def blocks(self, names: Sequence[str]) -> Iterator[Block]:
        """These columns, block after block; a table without rows gives none."""


def open_table(path: Path) -> Table:
    """The table in a file, by the ending of its name.

    Raises
    ------
    InputError
        An ending that is not of a table, an empty file, a broken header.
    """
    ending = path.suffix.lower()
    if ending not in TABLES:
        raise InputError(f"{path} is not a table; tables end in {', '.join(TABLES)}.")
    if path.stat().st_size == 0:
        raise InputError(f"{path} is empty; a table needs named columns and rows.")
    if ending == ".parquet":
        from vbcgcd.items.parquet import ParquetTable

        return ParquetTable(path)
    if ending in (".jsonl", ".ndjson"):
        from vbcgcd.items.jsonl import JsonlTable

        return JsonlTable(path)
    from vbcgcd.items.delimited import DelimitedTable

    return DelimitedTable(path)


def check_names(names: Sequence[str], path: Path) -> None:
    """Raise where a column name occurs twice."""
    twice = sorted(name for name, n in Counter(names).items() if n > 1)
    if twice:
        shown = ", ".join(map(repr, twice[:5])) + (", ..." if len(twice) > 5 else "")
        raise InputError(f"{path} has more than one column named {shown}; give every column its own name.")


def check_utf8(path: Path) -> InputError:
    """The error for a file that could not be decoded: it names the first line that is not UTF-8."""
    advice = "save the file as UTF-8"
    with path.open("rb") as file:
        if file.read(2) in (b"\xff\xfe", b"\xfe\xff"):
            return InputError(f"{path} is encoded as UTF-16; {advice}.")
        file.seek(0)
        for number, line in enumerate(file, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                byte = f"byte 0x{line[error.start]:02x} at column {error.start + 1}"
                return InputError(f"{path} is not UTF-8 in line {number} ({byte}); {advice}.")
    return InputError(f"{path} is not UTF-8; {advice}.")
