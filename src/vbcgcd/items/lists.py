"""Tables that are lists: lines of text, JSON lists of objects or of texts, and lists in memory."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from vbcgcd.errors import InputError
from vbcgcd.items.opening import open_text
from vbcgcd.items.tables import (
    BLOCK,
    Block,
    Cells,
    JsonlTable,
    TableFile,
    check_names,
    encoding_error,
)

#: The only column of a list of texts.
TEXT = "text"

__all__ = ["TEXT", "LineTable", "RecordTable", "json_table"]


class LineTable(TableFile):
    r"""A text on each line; blank lines are none. The only column is called ``text``.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "inbox.txt")
    ...     _ = path.write_text("hello, you\n\nbye\n")
    ...     LineTable(path).first_cells()
    {'text': ['hello, you', 'bye']}
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.names = [TEXT]

    def blocks(self, names: Sequence[str]) -> Iterator[Block]:
        """See `TableFile.blocks`."""
        try:
            with open_text(self.path) as file:
                lines = ((n, line.strip()) for n, line in enumerate(file, start=1) if line.strip())
                while some := list(islice(lines, BLOCK)):
                    cells: Cells = [line for _, line in some]
                    yield Block(dict.fromkeys(names, cells), [number for number, _ in some])
        except UnicodeDecodeError:
            raise encoding_error(self.path) from None


class RecordTable(TableFile):
    """A list of objects, or of texts, which are the column ``text``; a key that an object lacks is missing.

    Parameters
    ----------
    records : sequence
    path : Path
        What errors call it; paths of pictures are relative to its folder.

    Examples
    --------
    >>> table = RecordTable([{"text": "hello", "id": 7}, {"text": "bye"}], Path("the list"))
    >>> table.names, table.first_cells()["id"]
    (['text', 'id'], [7, None])
    """

    unit = "item"

    def __init__(self, records: Sequence[Any], path: Path) -> None:
        super().__init__(path)
        texts = all(isinstance(record, str) for record in records)
        wrong = next(
            (n for n, record in enumerate(records) if not texts and not isinstance(record, dict)), None
        )
        if wrong is not None:
            raise InputError(
                f"Item {wrong} of {path} is a {type(records[wrong]).__name__}; the list must hold objects, "
                "or nothing but texts."
            )
        self._records: list[dict[str, Any]] = (
            [{TEXT: text} for text in records]
            if texts
            else [{str(name): cell for name, cell in record.items()} for record in records]
        )
        self.names = list(dict.fromkeys(name for record in self._records for name in record))
        check_names(self.names, path)

    def blocks(self, names: Sequence[str]) -> Iterator[Block]:
        """See `TableFile.blocks`."""
        for first in range(0, len(self._records), BLOCK):
            some = self._records[first : first + BLOCK]
            columns: dict[str, Cells] = {name: [record.get(name) for record in some] for name in names}
            yield Block(columns, range(first, first + len(some)))


def json_table(path: Path) -> TableFile:
    """A ``.json`` file: a list of objects or of texts; or, as many call it too, an object on each line.

    Raises
    ------
    InputError
        It is neither.
    """
    try:
        with open_text(path) as file:
            start = next((line.lstrip()[0] for line in file if line.strip()), "")
        if start == "{":
            return JsonlTable(path)
        with open_text(path) as file:
            records = json.load(file)
    except UnicodeDecodeError:
        raise encoding_error(path) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not JSON ({error}); write a list of objects or of texts.") from None
    if not isinstance(records, list):
        raise InputError(
            f"{path} holds a {type(records).__name__}; write a list of objects or of texts, or an object on "
            "each line."
        )
    return RecordTable(records, path)
