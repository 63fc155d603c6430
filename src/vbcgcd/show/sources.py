"""The user's files and folders that sessions name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from vbcgcd.words import add_row, grid, plural

if TYPE_CHECKING:
    from vbcgcd.workspace import SourceInfo

__all__ = ["sources"]


def sources(infos: Sequence[SourceInfo]) -> RenderableType:
    """Each path that sessions name, and where it is looked for."""
    if not infos:
        return Text("No session names a file or a folder.")
    table = grid("****path", ">commands", "****looked for at")
    for info in infos:
        add_row(table, info.path, str(len(info.commits)), info.place or "not opened: imported")
    closed = sum(info.place is None for info in infos)
    if not closed:
        return table
    what = plural(closed, "path")
    return Group(table, Text(), Text(f"{what} not opened. Say where with 'vbcgcd relocate OLD NEW'."))
