"""Which workspace a command acts on, and which category is meant."""

from __future__ import annotations

import difflib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from vbcgcd.cli.common import note, wrong

if TYPE_CHECKING:
    from vbcgcd.workspace import CategoryInfo, Workspace

VARIABLE = "VBCGCD_WORKSPACE"
#: How many categories an error proposes.
CLOSEST = 3
#: How alike a name has to be for that, between 0 and 1.
ALIKE = 0.6

Place = Annotated[
    Path | None,
    typer.Option(
        "--workspace",
        "-w",
        metavar="FOLDER",
        envvar=VARIABLE,
        help="The workspace; without it the folder you are in, or the nearest one above that is one.",
    ),
]

__all__ = ["Place", "category_id", "enclosing", "is_workspace", "opened", "place"]


def is_workspace(path: Path) -> bool:
    """Whether a folder is a workspace."""
    from vbcgcd.workspace.store import is_workspace as known

    return known(path)


def enclosing(start: Path) -> Path | None:
    """The folder itself or the nearest one above it that is a workspace."""
    start = Path(os.path.abspath(start))
    return next((folder for folder in (start, *start.parents) if is_workspace(folder)), None)


def place(given: Path | None) -> Path:
    """The workspace that is meant, or one clear error."""
    if given is not None:
        from vbcgcd.workspace.store import ABOUT

        if (given / ABOUT).exists():  # what is wrong with it, opening it tells
            return given
        raise wrong(f"There is no workspace at {given}; make one with 'vbcgcd init {given}'.")
    found = enclosing(Path.cwd())
    if found is None:
        raise wrong(
            f"There is no workspace in {Path.cwd()} nor above it; make one with 'vbcgcd init NAME' and go "
            "into it, or give one with --workspace."
        )
    return found


def opened(given: Path | None) -> Workspace:
    """The workspace that is meant, open."""
    path = place(given)
    from vbcgcd.workspace import Workspace

    return Workspace.open(path)


def category_id(workspace: Workspace, key: str) -> int:
    """The id of the category that ``key`` means: an id (12 or #12), or a name.

    Where a name looks like an id the id wins, and a note says so.
    """
    live = workspace.categories(n_samples=0)
    key = key.strip()
    digits = key.removeprefix("#")
    named = next((c for c in live if c.name == key), None)
    if digits.isascii() and digits.isdigit() and len(digits) < 10:
        numbered = next((c for c in live if c.id == int(digits)), None)
        if numbered is not None and named is not None and named.id != numbered.id:
            note(f"{key} is taken as the id of {numbered.name!r}; the category named {key!r} is #{named.id}.")
        found = numbered or named
        return found.id if found is not None else workspace.category(int(digits)).id
    if named is not None:
        return named.id
    if not live:
        raise wrong(f"There is no category {key!r}: nothing was learned yet. Begin with 'vbcgcd learn'.")
    close = _closest(key, live)
    meant = f"did you mean {' or '.join(close)}? " if close else ""
    raise wrong(f"There is no category {key!r}; {meant}'vbcgcd categories' lists all.")


def _closest(key: str, live: Sequence[CategoryInfo]) -> list[str]:
    """The categories whose name, or a word of it, is most like ``key``."""
    wanted = key.casefold()

    def likeness(name: str) -> float:
        name = name.casefold()
        if wanted and wanted in name:
            return 1.0
        parts = (name, *name.replace("_", " ").split())
        return max(difflib.SequenceMatcher(None, wanted, part).ratio() for part in parts)

    ranked = sorted((-likeness(c.name), c.id, c.name) for c in live)
    return [f"{i} {name!r}" for score, i, name in ranked[:CLOSEST] if -score >= ALIKE]
