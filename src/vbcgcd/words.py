"""How the program speaks to people: numbers, dates, names and lists, and the tables of a terminal page.

The words are the same in the terminal and in the report.
"""

from __future__ import annotations

import copy
import dataclasses
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

_LEFT_TO_RIGHT = "\u200e"
_RIGHT_TO_LEFT = ("R", "AL", "AN")

#: Where the name of a category comes from, as the end of "named by ...".
NAMED_BY = {
    "label": "its label",
    "user": "you",
    "terms": "its most distinctive words",
    "likeness": "the categories it resembles",
    "number": "its number",
}
_JOINERS = "\u200c\u200d"  # parts of words and of emoji
#: Columns of a page that goes into a file or a pipe: nothing is wrapped or cut to fit it.
UNBOUNDED = 4000
#: Columns of a page below which tables leave out what matters least.
NARROW = 100

__all__ = [
    "NAMED_BY",
    "NARROW",
    "UNBOUNDED",
    "ByWidth",
    "add_row",
    "category_table",
    "date",
    "facts",
    "file_size",
    "grid",
    "item_name",
    "moment",
    "next_steps",
    "number",
    "one_line",
    "percent",
    "plural",
    "sample_line",
    "saved",
    "series",
    "source_name",
    "user_text",
]


def plural(n: int, one: str, many: str | None = None) -> str:
    """A number with its noun.

    Examples
    --------
    >>> plural(1, "item"), plural(1200, "item"), plural(2, "category", "categories")
    ('1 item', '1,200 items', '2 categories')
    """
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def saved(n: int, path: Any) -> str:
    """That items were written to a file.

    Examples
    --------
    >>> saved(1, "answers.csv")
    'Saved 1 item to answers.csv.'
    """
    return f"Saved {plural(n, 'item')} to {one_line(path)}."


def series(parts: Sequence[str], most: int | None = None) -> str:
    """Parts of a sentence in a row; after the first ``most`` of them, how many more there are.

    Examples
    --------
    >>> series(["a"]), series(["a", "b", "c"]), series(["a", "b", "c", "d"], most=2)
    ('a', 'a, b and c', 'a, b and 2 more')
    """
    if most is not None and len(parts) > most:
        return f"{', '.join(parts[:most])} and {len(parts) - most:,} more"
    return " and ".join(part for part in (", ".join(parts[:-1]), *parts[-1:]) if part)


def percent(share: float) -> str:
    """A share in percent.

    Examples
    --------
    >>> percent(0.051), percent(0.0004), percent(1.0), percent(0.0)
    ('5.1 %', '0.04 %', '100.0 %', '0.0 %')
    """
    value = 100 * share
    return f"{value:.1f} %" if value >= 0.1 or value == 0 else f"{value:.1g} %"


def file_size(n_bytes: float) -> str:
    """Bytes in a unit that fits.

    Examples
    --------
    >>> file_size(900), file_size(48_300), file_size(2_500_000)
    ('900 bytes', '48 kB', '2.5 MB')
    """
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= factor:
            value = n_bytes / factor
            return f"{value:.1f} {unit}" if value < 10 else f"{value:,.0f} {unit}"
    return f"{n_bytes:.0f} bytes"


def date(iso: str) -> str:
    """The day of a time in ISO 8601; a text that is not a time is returned as it is.

    Examples
    --------
    >>> date("2026-03-01T14:05:33+00:00")
    '1 Mar 2026'
    """
    return _format_time(iso, "%b %Y")


def moment(iso: str) -> str:
    """Day and time, to the minute.

    Examples
    --------
    >>> moment("2026-03-01T14:05:33+00:00")
    '1 Mar 2026, 14:05'
    """
    return _format_time(iso, "%b %Y, %H:%M")


def _format_time(iso: str, pattern: str) -> str:
    try:
        time = datetime.fromisoformat(iso)
    except ValueError:
        return one_line(iso, 20)
    return f"{time.day} {time:{pattern}}"


def item_name(reference: str, source: str) -> str:
    """What to call an item: a picture includes its folder, since other folders may hold the same file name.

    Examples
    --------
    >>> item_name("0032.png", "photos/monday"), item_name("17", "tickets.csv")
    ('monday/0032.png', '17')
    """
    return f"{source_name(source)}/{reference}" if source and PurePath(reference).suffix else reference


def source_name(source: str) -> str:
    """The last part of a path: the name of a file or folder.

    Examples
    --------
    >>> source_name("data/monday/"), source_name("memory")
    ('monday', 'memory')
    """
    return source.replace("\\", "/").rstrip("/").rpartition("/")[2] or source


def one_line(value: Any, limit: int = 400) -> str:
    r"""A text on one short line, without anything that moves the cursor or turns the direction of writing.

    Examples
    --------
    >>> one_line("two\nlines \x1b[31mred")
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


if TYPE_CHECKING:
    from vbcgcd.workspace import CategoryInfo


def user_text(value: Any, style: str = "", *, limit: int = 400) -> Text:
    """Text that a user wrote, on one line; brackets are shown as brackets."""
    return Text(one_line(value, limit), style=style)


class Grid(Table):
    """A table with a line for each row: it fits a terminal; in a file or a pipe only long texts are cut."""

    #: Columns of names, and the share of a terminal that one of one, or one of several, may take.
    names: frozenset[int] = frozenset()
    #: Columns that give way to the others on a narrow page.
    spare: frozenset[int] = frozenset()
    ALONE, BESIDE, LEAST = 0.34, 0.24, 18
    #: Letters of a text in a file or a pipe.
    TEXT = 120

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The lines of the table."""
        if self.spare and options.max_width < NARROW:
            yield self._without_spare()
            return
        self._fit(options)
        yield from super().__rich_console__(console, options)

    def __rich_measure__(self, console: Console, options: ConsoleOptions) -> Measurement:
        """How wide it is."""
        self._fit(options)
        return super().__rich_measure__(console, options)

    def _without_spare(self) -> Grid:
        kept = [place for place in range(len(self.columns)) if place not in self.spare]
        table = copy.copy(self)
        table.columns = [dataclasses.replace(self.columns[old], _index=new) for new, old in enumerate(kept)]
        table.names = frozenset(new for new, old in enumerate(kept) if old in self.names)
        table.spare = frozenset()
        return table

    def _fit(self, options: ConsoleOptions) -> None:
        if options.max_width >= UNBOUNDED:
            self.expand = False
            for column in self.columns:
                if column.ratio is not None:
                    column.ratio, column.max_width = None, self.TEXT
            return
        share = self.ALONE if len(self.names) == 1 else self.BESIDE
        for place in self.names:
            self.columns[place].max_width = max(int(options.max_width * share), self.LEAST)


def grid(*columns: str) -> Grid:
    """A table with one line for each row: columns are ``"plain"``, ``">number"``, ``"!name"`` or ``"*wide"``.

    ``>`` aligns to the right and is never cut; ``!`` takes what it needs, up to a good share of the page;
    ``*`` takes the room that is left, ``**`` twice as much. Cells that do not fit are cut.
    ``?`` before these marks a column that is left out where the page is narrow.
    """
    table = Grid(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.pad_edge = table.show_edge = False
    for column in columns:
        table.add_column(
            column.lstrip("?>*!"),
            justify="right" if column.lstrip("?").startswith(">") else "left",
            no_wrap=True,
            overflow="ellipsis",
            ratio=column.count("*") or None,
        )
    table.names = frozenset(place for place, name in enumerate(columns) if name.lstrip("?").startswith("!"))
    table.spare = frozenset(place for place, name in enumerate(columns) if name.startswith("?"))
    table.expand = any("*" in column for column in columns)
    return table


class ByWidth:
    """One text on a wide page, another on a narrow one, such as a legend without what a table leaves out."""

    def __init__(self, wide: Text, narrow: Text) -> None:
        self.wide, self.narrow = wide, narrow

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The text that suits the page."""
        yield self.narrow if options.max_width < NARROW else self.wide


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
    table = grid(">id", "!name", ">items", "?**nearest", "****typical items")
    for info in sorted(categories, key=lambda info: -counts.get(info.id, 0)):
        nearest = "" if info.nearest is None else f"{info.nearest} {info.nearest_name}"
        samples = sample_line(info.samples, info.sample_texts, info.sample_sources)
        add_row(table, str(info.id), info.name, str(counts.get(info.id, 0)), nearest, samples)
    return table
