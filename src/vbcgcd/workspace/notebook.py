"""What a notebook shows of a workspace: its categories with excerpts or thumbnails of typical items."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from vbcgcd.tabular import FIRST, Picture, html_page, html_table
from vbcgcd.workspace.queries.categories import list_categories
from vbcgcd.workspace.queries.items import count_unassigned, typical_items
from vbcgcd.workspace.queries.sources import item_contents
from vbcgcd.workspace.snapshot import Snapshot

#: Typical items of a category.
TYPICAL = 3

__all__ = ["workspace_html"]


def workspace_html(snapshot: Snapshot, title: str) -> str:
    """A table of the largest categories as HTML, everything in it escaped.

    Parameters
    ----------
    snapshot : Snapshot
    title : str
        The line above it.
    """
    live = sorted(list_categories(snapshot, n_samples=0), key=lambda info: (-info.size, info.id))
    n_unassigned = count_unassigned(snapshot)
    rest = f"; {n_unassigned:,} items are unassigned" if n_unassigned else ""
    return html_page(title + rest, html_table(_rows(snapshot, live), len(live)))


def _rows(snapshot: Snapshot, infos: Iterable[Any]) -> Iterator[dict[str, Any]]:
    for place, info in enumerate(infos):
        if place == FIRST:
            return
        contents = item_contents(snapshot, typical_items(snapshot, info.id, TYPICAL))
        pictures = [Picture(part.jpeg) for part in contents if part.jpeg]
        texts = " | ".join(part.text or part.reference for part in contents)
        yield {
            "id": info.id,
            "name": info.name,
            "items": info.size,
            "session": info.birth,
            "typical items": pictures or texts,
        }
