"""The pieces of every terminal page: tables with one line per row, lists of facts, commands to run next."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich import box
from rich.table import Table
from rich.text import Text

from vbcgcd.words import item_name, one_line

if TYPE_CHECKING:
    from vbcgcd.workspace import CategoryInfo

_LEFT_TO_RIGHT = "\u200e"
_RIGHT_TO_LEFT = ("R", "AL", "AN")

__all__ = ["add_row", "category_table", "facts", "grid", "next_steps", "number", "sample_line", "user_text"]


def user_text(value: Any, style: str = "", *, limit: int = 400) -> Text:
    """Text that a user wrote, on one line; brackets are shown as brackets."""
    return Text(one_line(value, limit), style=style)


def grid(*columns: str) -> Table:
    """A table with one line for each row: columns are ``"name"``, ``">number"`` or ``"*wide"``.

    ``>`` aligns to the right and is never cut; ``*`` takes the room that is left, ``**`` twice as much. Cells
    that do not fit are cut.
    """
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.pad_edge = table.show_edge = False
    for column in columns:
        table.add_column(
            column.lstrip(">*"),
            justify="right" if column.startswith(">") else "left",
            no_wrap=True,
            overflow="ellipsis",
            ratio=column.count("*") or None,
        )
    table.expand = any("*" in column for column in columns)
    return table


def add_row(table: Table, *cells: Text | str, style: str = "") -> None:
    """Add a row; where one cell is written from right to left the others keep their places."""
    texts = [cell if isinstance(cell, Text) else user_text(cell) for cell in cells]
    if any(unicodedata.bidirectional(letter) in _RIGHT_TO_LEFT for cell in texts for letter in cell.plain):
        texts = [Text(_LEFT_TO_RIGHT + cell.plain, style=cell.style) for cell in texts]
    table.add_row(*texts, style=style or None)


def facts(values: Mapping[str, str]) -> Table:
    """Names and values below each other; empty values are left out."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in values.items():
        if value:
            table.add_row(name, user_text(value))
    return table


def next_steps(*commands: str) -> Text:
    """What to do next: commands to copy."""
    steps = Text()
    for place, command in enumerate(commands):
        steps.append("\n      " if place else "Next: ", style="dim")
        steps.append(command, style="bold")
    return steps


def number(value: float | None, digits: int = 2) -> str:
    """A number, or a dash where there is none."""
    return "-" if value is None or value != value else f"{value:.{digits}f}"


def sample_line(references: Sequence[str], texts: Sequence[str], sources: Sequence[str]) -> str:
    """Items on one line: their texts where they are available, otherwise what they are called."""
    n = len(references)
    parts = zip(references, texts or ("",) * n, sources or ("",) * n, strict=True)
    return " | ".join(
        one_line(words or item_name(reference, source), 120) for reference, words, source in parts
    )


def category_table(categories: Sequence[CategoryInfo], counts: Mapping[int, int]) -> Table:
    """The categories that a session or a split added, the largest first; ``counts`` are their items in it."""
    table = grid(">id", "**name", ">items", "**nearest", "****typical items")
    for info in sorted(categories, key=lambda info: -counts.get(info.id, 0)):
        nearest = "" if info.nearest is None else f"{info.nearest} {info.nearest_name}"
        samples = sample_line(info.samples, info.sample_texts, info.sample_sources)
        add_row(table, str(info.id), info.name, str(counts.get(info.id, 0)), nearest, samples)
    return table
