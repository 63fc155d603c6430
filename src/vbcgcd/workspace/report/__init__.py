"""The report of a workspace: one HTML file that needs nothing else."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from vbcgcd.archive import atomic_file
from vbcgcd.checks import check_number
from vbcgcd.errors import DiskError, InputError
from vbcgcd.workspace.queries import (
    category_sizes,
    item_contents,
    labelled_sessions,
    list_entries,
    overview,
)
from vbcgcd.workspace.snapshot import Snapshot
from vbcgcd.workspace.values import ReportResult

ENDINGS = (".html", ".htm")
#: Categories with a card: a browser takes seconds to lay out more of them.
MOST = 1000

__all__ = ["write_report"]


def write_report(
    snapshot: Snapshot,
    path: str | os.PathLike[str],
    *,
    items: bool = True,
    title: str | None = None,
    n_items: int = 5,
    n_map: int = 2000,
) -> ReportResult:
    """Write one HTML file that shows all of a workspace; it needs neither network nor scripts.

    The file appears complete or stays as it was.

    Parameters
    ----------
    snapshot : Snapshot
    path : str or Path
        File to write, ending in ``.html``.
    items : bool
        Show texts and pictures from the user's own files if these are unchanged; otherwise only excerpts
        that the workspace stores.
    title : str, optional
        The name of the workspace's folder by default.
    n_items : int
        Typical and doubtful items of each category.
    n_map : int
        Items on the map.
    """
    from vbcgcd.workspace.report.content import Content
    from vbcgcd.workspace.report.page import render

    target = Path(path).absolute()
    check_number("n_items", n_items, low=0, high=50, whole=True)
    check_number("n_map", n_map, low=0, high=100_000, whole=True)
    if target.suffix.lower() not in ENDINGS:
        raise InputError(f"A report's file name must end in {' or '.join(ENDINGS)}, got {target.name!r}.")
    snapshot.store.check_target(target)
    heading = _check_title(title, snapshot.store.path)
    summary = overview(snapshot, n_items=n_items, n_map=n_map, only=_shown(snapshot))
    content = Content(
        summary,
        lambda item: item_contents(snapshot, [item], sources=items)[0],
        labelled_sessions(snapshot),
        snapshot.state.resolve,
        n_items,
        list_entries(snapshot, retired=True),
    )
    page = render(content, title=heading).encode("utf-8", "replace")
    try:
        with atomic_file(target) as out:
            out.write(page)
    except OSError as error:
        raise DiskError.writing(target, error) from None
    n_categories = len(summary.categories) + summary.left_out
    return ReportResult(str(target), len(page), n_categories, len(summary.sessions))


def _shown(snapshot: Snapshot) -> list[int]:
    """The categories that have a card: the newest and, of those of one session, the largest."""
    sizes = category_sizes(snapshot)
    order = sorted(snapshot.state.live, key=lambda c: (-c.birth, -sizes.get(c.id, 0), c.id))
    return [category.id for category in order[:MOST]]


def _check_title(title: Any, workspace: Path) -> str:
    if title is None:
        return workspace.name or "Workspace"
    if not isinstance(title, str) or not title.strip():
        raise InputError(f"title must be non-empty text, got {title!r}.", option="title")
    return " ".join(title.split())
