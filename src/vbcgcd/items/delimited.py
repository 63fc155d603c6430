"""CSV and TSV: the first line names the columns, every row has as many cells."""

from __future__ import annotations

import csv
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any

from vbcgcd.errors import InputError
from vbcgcd.items.tables import BLOCK, Block, Table, check_names, check_utf8

DELIMITERS = (",", "\t", ";")
_LIMIT = 2**31 - 1
_LOCK = threading.Lock()

__all__ = ["DelimitedTable"]


class DelimitedTable(Table):
    """Comma-separated values; tabs or semicolons where the header has more of them than commas."""

    typed = False

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.delimiter = "\t" if path.suffix.lower() == ".tsv" else _delimiter(path)
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
        """See `Table.blocks`."""
        where = [self.names.index(name) for name in names]
        with self._rows() as rows:
            next(rows)
            while numbered := list(islice(rows, BLOCK)):
                places = [line for line, _ in numbered]
                for line, row in numbered:
                    self._check_width(line, row)
                columns = {name: [r[i] for _, r in numbered] for name, i in zip(names, where, strict=True)}
                yield Block(dict(columns), places)

    def _check_width(self, line: int, row: list[str]) -> None:
        if len(row) != len(self.names):
            cells = "1 cell" if len(row) == 1 else f"{len(row)} cells"
            raise InputError(
                f"Line {line} of {self.path} has {cells}, the header has {len(self.names)}; put "
                f"cells that contain {self.delimiter!r} in quotes."
            )

    @contextmanager
    def _rows(self) -> Iterator[Iterator[tuple[int, list[str]]]]:
        with self.path.open(encoding="utf-8-sig", newline="") as file:
            yield self._numbered(csv.reader(file, delimiter=self.delimiter, strict=True))

    def _numbered(self, reader: Any) -> Iterator[tuple[int, list[str]]]:
        while True:
            try:
                row = _next_row(reader)
            except UnicodeDecodeError:
                raise check_utf8(self.path) from None
            except csv.Error as error:
                raise InputError(
                    f"{self.path} is not a well-formed table near line {reader.line_num} ({error}); look for "
                    "a quote that is not closed."
                ) from None
            if row is None:
                return
            if row:
                yield reader.line_num, row


def _next_row(reader: Any) -> list[str] | None:
    # The limit on the size of a cell is one for the whole process, so it is lifted for one row only.
    with _LOCK:
        before = csv.field_size_limit(_LIMIT)
        try:
            return next(reader, None)
        finally:
            csv.field_size_limit(before)


def _delimiter(path: Path) -> str:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            line = next((line for line in file if line.strip()), "")
    except UnicodeDecodeError:
        raise check_utf8(path) from None
    return max(DELIMITERS, key=lambda d: len(next(csv.reader([line[:_LIMIT]], delimiter=d), [])))


def _is_value(name: str) -> bool:
    """A number that is no plain column number: 0.25 is a value, 17 may be a name."""
    try:
        float(name)
    except ValueError:
        return False
    return not name.isdigit() and name.lower() not in ("nan", "inf", "infinity")
