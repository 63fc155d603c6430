"""Answers with a row for each item: as plain dicts, frames of pandas and polars, and in notebooks."""

from __future__ import annotations

import html
import importlib
import math
from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Any

import numpy as np

from vbcgcd.errors import InputError

#: Rows of a table in a notebook, and letters of a cell.
FIRST, LETTERS = 20, 120
#: What the name of a column that is carried along gets in front where an answer has the same name.
CARRIED = "input_"
_STYLE = (
    "<style scoped>.vbcgcd td,.vbcgcd th{text-align:left;padding:2px 10px 2px 0;max-width:34em;"
    "overflow:hidden;text-overflow:ellipsis;white-space:nowrap}.vbcgcd .n{text-align:right}"
    ".vbcgcd img{height:96px;margin:2px}</style>"
)

__all__ = ["CARRIED", "Picture", "Tabular", "carried", "html_page", "html_table"]


class Tabular:
    """What has a row for each item; `columns_of_rows` says what is in them."""

    def columns_of_rows(self) -> Mapping[str, Any]:
        """Columns of equal length by name: lists or arrays."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """One plain dict for each item, so that ``pandas.DataFrame(answers)`` has a row for each."""
        columns = self.columns_of_rows()
        for values in zip(*map(_plain, columns.values()), strict=True):
            yield dict(zip(columns, values, strict=True))

    def to_pandas(self) -> Any:
        """A pandas frame with one row for each item."""
        return _library("pandas").DataFrame(_flat(self.columns_of_rows()))

    def to_polars(self) -> Any:
        """A polars frame with one row for each item."""
        return _library("polars").DataFrame(_flat(self.columns_of_rows()), strict=False)


def carried(columns: Mapping[str, Any], kept: Mapping[str, Any]) -> dict[str, Any]:
    """Columns of an answer, then those of the input that it carries along, under names of their own.

    Examples
    --------
    >>> list(carried({"name": ["a"]}, {"name": ["b"], "team": ["c"]}))
    ['name', 'input_name', 'team']
    """
    together = dict(columns)
    for name, cells in kept.items():
        while name in together:
            name = CARRIED + name
        together[name] = cells
    return together


def html_table(rows: Iterable[Mapping[str, Any]], total: int) -> str:
    """The first rows as a table of HTML, everything in it escaped.

    A cell that is a `Picture` is shown as one.

    Parameters
    ----------
    rows : iterable of mapping
    total : int
        How many there are.
    """
    first = list(islice(iter(rows), FIRST))
    if not first:
        return ""
    numbers = {name for name, value in first[0].items() if isinstance(value, int | float)}
    head = "".join(f"<th{_side(name in numbers)}>{html.escape(str(name))}</th>" for name in first[0])
    body = "".join(
        "<tr>"
        + "".join(f"<td{_side(name in numbers)}>{_cell(value)}</td>" for name, value in row.items())
        + "</tr>"
        for row in first
    )
    more = f"<p>... and {total - len(first):,} more</p>" if total > len(first) else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def html_page(title: str, *parts: str) -> str:
    """A part of a notebook: a line of plain text, then parts that are HTML already."""
    return f'<div class="vbcgcd">{_STYLE}<p>{html.escape(title)}</p>{"".join(parts)}</div>'


class Picture(str):
    """A JPEG in base64."""

    __slots__ = ()


def _side(number: bool) -> str:
    return ' class="n"' if number else ""


def _cell(value: Any) -> str:
    if isinstance(value, Picture):
        letters = "".join(letter for letter in value if letter.isalnum() or letter in "+/=")
        return f'<img src="data:image/jpeg;base64,{letters}" alt="">' if letters else ""
    if isinstance(value, list) and value and all(isinstance(part, Picture) for part in value):
        return "".join(map(_cell, value))
    if isinstance(value, float):
        value = f"{value:.3g}"
    text = "" if value is None else " ".join(str(value).split())
    return html.escape(text if len(text) <= LETTERS else f"{text[: LETTERS - 1]}…")


def _plain(column: Any) -> Any:
    values = column.tolist() if isinstance(column, np.ndarray) else column
    return [
        None if isinstance(value, float) and not math.isfinite(value) else _item(value) for value in values
    ]


def _item(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value


def _flat(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Columns as frames want them: an array with several numbers for each row is a list of lists."""
    return {
        name: column.tolist() if isinstance(column, np.ndarray) and column.ndim > 1 else column
        for name, column in columns.items()
    }


def _library(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise InputError(f"This needs the package {name}; install it with pip install {name}.") from None
