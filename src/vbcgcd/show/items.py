"""Items in a table, and what a correction did."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from vbcgcd.words import add_row, grid, number, one_line, plural, series, source_name, user_text

if TYPE_CHECKING:
    from vbcgcd.workspace import ItemsResult

_DONE = {"move": "Moved", "confirm": "Confirmed", "reject": "Rejected", "unlabel": "Removed the labels of"}

__all__ = ["correction", "items"]


def items(rows: Sequence[Mapping[str, Any]], *, total: int) -> RenderableType:
    """The first items in a table.

    Parameters
    ----------
    rows : sequence of mapping
    total : int
        How many there are in all.
    """
    if not total:
        return Text("No item meets these conditions.")
    texts = any(row["text"] for row in rows)
    words = ["****text"] if texts else []
    table = grid("item", *words, ">session", "state", "!category", ">prob.", "!second choice", ">novelty")
    for row in rows:
        add_row(
            table,
            user_text(_name(row["reference"], row["source"]), limit=40),
            *([user_text(row["text"])] if texts else []),
            str(row["session"]),
            row["state"],
            user_text(row["name"]),
            number(row["probability"]),
            user_text(row["second_name"]),
            number(row["novelty"]),
        )
    rest = total - len(rows)
    more = [Text(f"... and {plural(rest, 'more item')}; use -o FILE to save them all", style="dim")]
    return Group(table, *more * (rest > 0))


def _name(reference: str, source: str) -> str:
    """What commands take for an item: a row number alone may stand for rows of several files."""
    return f"{source_name(source)}:{reference}" if source and reference.isdigit() else reference


def correction(result: ItemsResult) -> RenderableType:
    """What a correction did, and what the categories have learned from now."""
    names = {i: repr(one_line(name, 60)) for i, name in result.names.items()}
    lines = [f"{_DONE[result.command]} {plural(len(result.items), 'item')}{_where(result, names)}."]
    if result.unchanged:
        lines.append(f"{plural(result.unchanged, 'item was', 'items were')} so already.")
    for i, (before, after) in result.weights.items():
        lines.append(f"{names[i]} has learned from {after:g} items, {before:g} before.")
    for i in result.emptied:
        lines.append(f"No item teaches {names[i]} any more; drop it if it is not needed.")
    return Text("\n".join(lines))


def _where(result: ItemsResult, names: Mapping[int, str]) -> str:
    if result.command not in ("move", "unlabel"):
        return ""
    places = Counter(change.after for change in result.items)
    texts = ["unassigned" if i is None else names[i] for i in places]
    if result.command == "unlabel":
        return f"; now in {series(texts)}" if texts != ["unassigned"] else "; now unassigned"
    new = " the new category" if result.created is not None else ""
    return f" to{new} {series(texts)}"
