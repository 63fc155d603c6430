"""Texts of users as a terminal can show them: one line, no control characters, no markup."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

_LEFT_TO_RIGHT = "\u200e"
_JOINERS = "\u200c\u200d"  # parts of words and of emoji
_RIGHT_TO_LEFT = ("R", "AL", "AN")

__all__ = [
    "add",
    "counted",
    "date",
    "grid",
    "listing",
    "members",
    "named",
    "number",
    "percent",
    "text",
    "visible",
]


def visible(value: Any, limit: int = 400) -> str:
    r"""A text in one line, cut, without anything that moves the cursor or turns the direction of writing.

    Examples
    --------
    >>> visible("two\nlines \x1b[31mred")
    'two lines �[31mred'
    """
    raw = str(value)
    line = " ".join(raw[: 4 * limit].split())
    line = "".join(letter for letter in map(_harmless, line) if letter)
    return line if len(line) <= limit and len(raw) <= 4 * limit else f"{line[: limit - 1]}…"


def _harmless(letter: str) -> str:
    kind = unicodedata.category(letter)
    if kind == "Cf":
        return letter if letter in _JOINERS else ""
    return "�" if kind in ("Cc", "Cs", "Zl", "Zp") else letter


def text(value: Any, style: str = "", *, limit: int = 400) -> Text:
    """A text of a user as it is: brackets are brackets."""
    return Text(visible(value, limit), style=style)


def grid(*columns: str, title: str | None = None) -> Table:
    """A table with one line for each row: columns are ``"name"``, ``">number"`` or ``"*wide"``.

    ``>`` aligns to the right and is never cut; ``*`` takes the room that is left, ``**`` twice as much; what
    does not fit is cut.
    """
    table = Table(box=box.SIMPLE_HEAD, title=title, title_justify="left", padding=(0, 1, 0, 0))
    table.pad_edge = table.show_edge = False
    for column in columns:
        name = column.lstrip(">*")
        stars = column.count("*")
        table.add_column(
            name,
            justify="right" if column.startswith(">") else "left",
            no_wrap=True,
            overflow="ellipsis",
            ratio=stars or None,
        )
    table.expand = any("*" in column for column in columns)
    return table


def add(table: Table, *cells: Text | str, style: str = "") -> None:
    """Add a row; where one cell is written from right to left the others keep their places."""
    texts = [cell if isinstance(cell, Text) else text(cell) for cell in cells]
    if any(unicodedata.bidirectional(letter) in _RIGHT_TO_LEFT for cell in texts for letter in cell.plain):
        texts = [Text(_LEFT_TO_RIGHT + cell.plain, style=cell.style) for cell in texts]
    table.add_row(*texts, style=style or None)


def number(value: float | None, digits: int = 2) -> str:
    """A number, or a dash where there is none."""
    return "-" if value is None or value != value else f"{value:.{digits}f}"


def percent(share: float) -> str:
    """A share in percent.

    Examples
    --------
    >>> percent(0.051), percent(0.0004), percent(1.0), percent(0.0)
    ('5.1 %', '0.04 %', '100.0 %', '0.0 %')
    """
    value = 100 * share
    return f"{value:.1f} %" if value >= 0.1 or value == 0 else f"{value:.1g} %"


def counted(n: int, one: str, many: str | None = None) -> str:
    """``1 item``, ``2 items``."""
    return f"{n} {one if n == 1 else many or one + 's'}"


def listing(names: Sequence[str], most: int = 5) -> str:
    """The first names, and how many more there are."""
    rest = len(names) - most
    return ", ".join(visible(name, 60) for name in names[:most]) + (f" and {rest} more" if rest > 0 else "")


def date(time: str) -> str:
    """Day and minute of an ISO time."""
    try:
        return datetime.fromisoformat(time).strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return visible(time, 20)


def members(references: Sequence[str], texts: Sequence[str], sources: Sequence[str]) -> str:
    """Items in one line: their texts where they are known, else what they are called."""
    n = len(references)
    parts = zip(references, texts or ("",) * n, sources or ("",) * n, strict=True)
    return " | ".join(visible(words or named(reference, source), 120) for reference, words, source in parts)


def named(reference: str, source: str) -> str:
    """What an item is called: a picture with its folder, since others may have the same name.

    Examples
    --------
    >>> named("0032.png", "photos/monday"), named("17", "tickets.csv")
    ('monday/0032.png', '17')
    """
    return f"{Path(source).name}/{reference}" if source and Path(reference).suffix else reference
