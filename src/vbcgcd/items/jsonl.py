"""JSON lines: one object in each line; a key that a line lacks is a missing cell."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from vbcgcd.errors import InputError
from vbcgcd.items.tables import BLOCK, Block, Table, check_names, check_utf8

__all__ = ["JsonlTable"]


class JsonlTable(Table):
    """Objects line by line; the columns are the keys of all lines, in the order of their first use."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        names: dict[str, None] = {}
        for _, row in self._rows():
            names.update(dict.fromkeys(row))
        self.names = list(names)

    def blocks(self, names: Sequence[str]) -> Iterator[Block]:
        """See `Table.blocks`."""
        rows = self._rows()
        while numbered := list(islice(rows, BLOCK)):
            columns = {name: [row.get(name) for _, row in numbered] for name in names}
            yield Block(dict(columns), [line for line, _ in numbered])

    def _rows(self) -> Iterator[tuple[int, dict[str, Any]]]:
        try:
            with self.path.open(encoding="utf-8-sig") as file:
                for number, line in enumerate(file, start=1):
                    if line.strip():
                        yield number, self._object(number, line)
        except UnicodeDecodeError:
            raise check_utf8(self.path) from None

    def _object(self, number: int, line: str) -> dict[str, Any]:
        try:
            row = json.loads(line, object_pairs_hook=self._pairs)
        except InputError:
            raise
        except (ValueError, RecursionError) as error:
            raise InputError(
                f"Line {number} of {self.path} is not JSON ({error}); write one object in each line."
            ) from None
        if not isinstance(row, dict):
            raise InputError(
                f"Line {number} of {self.path} holds a {type(row).__name__}; write one object in each line."
            )
        return row

    def _pairs(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        row = dict(pairs)
        if len(row) < len(pairs):
            check_names([key for key, _ in pairs], self.path)
        return row
