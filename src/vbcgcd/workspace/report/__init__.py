"""The report of a workspace: one HTML file that needs nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from vbcgcd.archive import written_whole
from vbcgcd.checks import check_number
from vbcgcd.errors import DiskError, InputError
from vbcgcd.workspace.queries import item_contents, labelled_sessions, overview
from vbcgcd.workspace.report.content import Content
from vbcgcd.workspace.report.page import render
from vbcgcd.workspace.snapshot import Snapshot
from vbcgcd.workspace.values import ReportResult

ENDINGS = (".html", ".htm")

__all__ = ["write_report"]


def write_report(
    snapshot: Snapshot, path: Path, *, items: bool, title: str | None, n_items: int, n_map: int
) -> ReportResult:
    """Write the report of a snapshot; the file appears complete or stays as it was."""
    check_number("n_items", n_items, low=0, high=50, whole=True)
    check_number("n_map", n_map, low=0, high=100_000, whole=True)
    if path.suffix.lower() not in ENDINGS:
        raise InputError(f"The name of a report ends in {' or '.join(ENDINGS)}, got {path.name!r}.")
    snapshot.store.check_target(path)
    heading = _check_title(title, snapshot.store.path)
    summary = overview(snapshot, n_items=n_items, n_map=n_map)
    content = Content(
        summary,
        lambda item: item_contents(snapshot, [item], sources=items)[0],
        labelled_sessions(snapshot),
        snapshot.state.resolve,
        n_items,
    )
    page = render(content, title=heading).encode("utf-8", "replace")
    try:
        with written_whole(path) as out:
            out.write(page)
    except OSError as error:
        raise DiskError.writing(path, error) from None
    return ReportResult(str(path), len(page), len(summary.categories), len(summary.sessions))


def _check_title(title: Any, workspace: Path) -> str:
    if title is None:
        return workspace.name or "Workspace"
    if not isinstance(title, str) or not title.strip():
        raise InputError(f"title must be non-empty text, got {title!r}.", option="title")
    return " ".join(title.split())
