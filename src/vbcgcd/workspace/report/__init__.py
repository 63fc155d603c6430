"""The report of a workspace: one HTML file that needs nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from vbcgcd.archive import written_whole
from vbcgcd.errors import InputError
from vbcgcd.validation import check_number
from vbcgcd.workspace.lookup import Lookup
from vbcgcd.workspace.results import Reported

if TYPE_CHECKING:
    from vbcgcd.workspace.overview import Query

ENDINGS = (".html", ".htm")

__all__ = ["write_report"]


def write_report(
    query: Query, path: Path, *, items: bool, title: str | None, n_items: int, n_map: int
) -> Reported:
    """Write the report of the present state; the file appears complete or stays as it was."""
    check_number("n_items", n_items, low=0, high=50, whole=True)
    check_number("n_map", n_map, low=0, high=100_000, whole=True)
    if path.suffix.lower() not in ENDINGS:
        raise InputError(f"A report ends in {' or '.join(ENDINGS)}, got {path.name!r}.")
    query.store.check_target(path)
    shown = _check_title(title, query.store.path)
    page = _page(query, items=items, title=shown, n_items=n_items, n_map=n_map).encode("utf-8", "replace")
    try:
        with written_whole(path) as out:
            out.write(page)
    except OSError as error:
        raise InputError(
            f"Cannot write {path}: {error.strerror or error}; choose a folder that can be written."
        ) from None
    return Reported(str(path), len(page), len(query.state.where), len(query.sessions(undone=False)))


def _page(query: Query, *, items: bool, title: str, n_items: int, n_map: int) -> str:
    from vbcgcd.workspace.report.content import Content
    from vbcgcd.workspace.report.page import rendered

    lookup = query.lookup if items else Lookup(query.store, query.history, sources=False)
    overview = query.overview(n_items=n_items, n_map=n_map)
    content = Content(overview, lookup, query.labelled_sessions(), query.state.resolved, n_items)
    return rendered(content, title=title)


def _check_title(title: Any, workspace: Path) -> str:
    if title is None:
        return workspace.name or "Workspace"
    if not isinstance(title, str) or not title.strip():
        raise InputError(f"title must be text that is not empty, got {title!r}.")
    return " ".join(title.split())
