"""Commands on a workspace as a whole: look at it, undo, report, export, verify; and the demo."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group
from rich.text import Text

from vbcgcd.cli import arguments as a
from vbcgcd.cli.common import (
    AsJson,
    console,
    damaged_workspace,
    errors_are_messages,
    finish,
    manner,
    working,
    writes,
)
from vbcgcd.errors import InputError
from vbcgcd.words import file_size, one_line, plural

if TYPE_CHECKING:
    from vbcgcd.workspace import UndoResult, Workspace

__all__ = [
    "demo",
    "export",
    "import_",
    "redo",
    "relocate",
    "repair",
    "report",
    "sessions",
    "status",
    "undo",
    "verify",
]


@errors_are_messages
def status(workspace: a.Place = None, as_json: AsJson = False) -> None:
    """Show where the workspace is, what it knows, and what to do next.

    Example: vbcgcd status
    """
    from vbcgcd.show import sessions as show

    values = _status(a.open_workspace(workspace))
    finish(values, as_json, lambda: show.status(values), steps=values["next"])


@errors_are_messages
def sessions(
    everything: Annotated[bool, typer.Option("--all", help="All commands, not only sessions.")] = False,
    workspace: a.Place = None,
    as_json: AsJson = False,
) -> None:
    """Show the history: one line per session, oldest first.

    Example: vbcgcd sessions

    Example: vbcgcd sessions --all
    """
    from vbcgcd.show import sessions as show

    here = a.open_workspace(workspace)
    if everything:
        infos = here.history()
        finish({"commands": infos}, as_json, lambda: show.commands(infos, _sources(here), _names(here)))
        return
    records = here.sessions()
    steps = [] if records else ["vbcgcd learn LABELLED-DATA"]
    finish({"sessions": records}, as_json, lambda: show.sessions(records), steps=steps)


@writes
def undo(workspace: a.Place = None, as_json: AsJson = False) -> None:
    """Undo the last command, whatever it was. Run it again to undo the one before.

    Example: vbcgcd undo
    """
    here = a.open_workspace(workspace)
    finish_undo(here, here.undo(), as_json)


@writes
def redo(workspace: a.Place = None, as_json: AsJson = False) -> None:
    """Redo what was just undone.

    Example: vbcgcd redo
    """
    here = a.open_workspace(workspace)
    finish_undo(here, here.redo(), as_json)


@errors_are_messages
def report(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="File to write; an existing report is replaced.")
    ] = Path("report.html"),
    items: Annotated[
        bool, typer.Option("--items/--no-items", help="Include texts and pictures from your own files.")
    ] = True,
    title: Annotated[str | None, typer.Option("--title", help="Title of the page.")] = None,
    show: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
    workspace: a.Place = None,
    as_json: AsJson = False,
) -> None:
    """Write an HTML page about the workspace: sessions, categories, a map, and what changed.

    Example: vbcgcd report

    Example: vbcgcd report -o tickets.html --title 'Support tickets' --no-items
    """
    from vbcgcd.show.sessions import report as render

    if output.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"A report's file name must end in .html or .htm, got {output}.", option="output")
    here = a.open_workspace(workspace)
    with working("writing the report"):
        result = here.report(os.path.abspath(output), items=items, title=title)
    finish(result, as_json, lambda: render(result, output))
    if show:
        typer.launch(str(output.absolute()))


@errors_are_messages
def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File to write, such as tickets.zip.")],
    force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    workspace: a.Place = None,
    as_json: AsJson = False,
) -> None:
    """Export the whole workspace, with its history, to one file.

    Example: vbcgcd export tickets.zip
    """
    here = a.open_workspace(workspace)
    if os.path.lexists(file) and not force:
        raise InputError(f"{file} already exists. Choose another name or replace it.", option="force")
    result = here.export(os.path.abspath(file))
    what = f"{plural(result.commits, 'command')} to {one_line(file)} ({file_size(result.bytes)})"
    following = f"vbcgcd import {shlex.quote(str(file))} NAME"
    finish(result, as_json, lambda: Text(f"Exported {what}."), steps=[following])


@errors_are_messages
def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file written by 'vbcgcd export'.")],
    name: Annotated[Path, typer.Argument(metavar="NAME", help="Folder to create.")],
    trust: Annotated[
        bool,
        typer.Option(
            "--trust", help="The file is your own: open the data files and the embedder that it names."
        ),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Create a workspace from an exported file.

    Data files that it names are not opened until you say where they are, with 'vbcgcd relocate'.

    Example: vbcgcd import tickets.zip tickets
    """
    from vbcgcd.show import sessions as show
    from vbcgcd.workspace import Workspace

    here = Workspace.import_(file, a.new_folder(name), trust=trust)
    values = _status(here)
    head = Text(f"Imported {one_line(file)}.")
    closed = any(source.place is None for source in here.sources())
    steps = [f"cd {shlex.quote(str(name))}", *values["next"], *(["vbcgcd relocate"] if closed else [])]
    finish(values, as_json, lambda: Group(head, Text(), show.status(values)), steps=steps)


@errors_are_messages
def relocate(
    old: Annotated[
        str | None, typer.Argument(metavar="OLD", help="A path that sessions name, or a folder above.")
    ] = None,
    new: Annotated[Path | None, typer.Argument(metavar="NEW", help="Where it is now.")] = None,
    workspace: a.Place = None,
    as_json: AsJson = False,
) -> None:
    """Say where your data files are now, so that texts and pictures can be shown.

    Without OLD and NEW, list the paths that sessions name.
    In an imported workspace no file is opened until you say where it is.

    Example: vbcgcd relocate

    Example: vbcgcd relocate /old/data ~/data
    """
    from vbcgcd.show.sources import sources as render

    if (old is None) != (new is None):
        raise InputError("Give both the old and the new path, or neither to list them.")
    here = a.open_workspace(workspace)
    infos = here.sources() if old is None or new is None else here.relocate(old, new)
    finish({"sources": infos}, as_json, lambda: render(infos))


@errors_are_messages
def verify(workspace: a.Place = None, as_json: AsJson = False) -> None:
    """Verify every file of the workspace against its checksum.

    Example: vbcgcd verify
    """
    here = a.open_workspace(workspace)
    files = here.verify()
    values = {"workspace": str(here.path), "files": files}
    finish(values, as_json, lambda: Text(f"{plural(files, 'file')} verified in {one_line(here.path)}."))


@writes
def repair(workspace: a.Place = None, as_json: AsJson = False) -> None:
    """Return to the last whole commit of a workspace that does not open, or was restored in part.

    Nothing is deleted: what is damaged is moved to the folder set-aside.

    Example: vbcgcd repair --workspace tickets
    """
    from vbcgcd.show import sessions as show
    from vbcgcd.workspace import Workspace

    result = Workspace.repair(damaged_workspace(workspace), lock_timeout=manner().wait)
    finish(result, as_json, lambda: show.repair(result), steps=["vbcgcd verify", "vbcgcd sessions --all"])


@errors_are_messages
def demo(
    folder: Annotated[Path, typer.Option("--folder", help="Where to put its files.")] = Path("vbcgcd-demo"),
    seed: Annotated[int, typer.Option("--seed", min=0, help="Decides which pictures go where.")] = 0,
) -> None:
    """Try a workspace on handwritten digits: five arrive with labels, five without.

    Example: vbcgcd demo
    """
    from vbcgcd.demo import run_demo

    run_demo(console(), folder, seed=seed)


def finish_undo(workspace: Workspace, result: UndoResult, as_json: bool) -> None:
    """Print what undo or redo did."""
    from vbcgcd.show import sessions as show

    back = "vbcgcd redo" if result.command == "undo" else "vbcgcd undo"
    finish(
        result,
        as_json,
        lambda: show.undo(result, describe(workspace, result.of_commit)),
        steps=(back, "vbcgcd sessions --all"),
    )


def describe(workspace: Workspace, commit: int) -> str:
    """A command in one line."""
    from vbcgcd.show.sessions import command_line

    info = next(info for info in workspace.history() if info.commit == commit)
    return command_line(info, _sources(workspace).get(commit, ""), _names(workspace))


def _names(workspace: Workspace) -> dict[int, str]:
    """Names of the live categories."""
    return {info.id: info.name for info in workspace.entries()}


def _sources(workspace: Workspace) -> dict[int | None, str]:
    """Where the data of each session came from, by commit."""
    return {record.commit: record.source for record in workspace.sessions()}


def _status(here: Workspace) -> dict[str, Any]:
    live, records = here.entries(), here.sessions(undone=False)
    last = records[-1] if records else None
    unlabelled = {record.session for record in records if record.command == "discover"}
    discovered = sum(info.birth in unlabelled for info in live)
    steps = ["vbcgcd learn LABELLED-DATA"]
    if records:
        steps = ["vbcgcd discover DATA", "vbcgcd predict DATA", "vbcgcd report"]
    if discovered:
        steps.insert(0, "vbcgcd review")
    return {
        "workspace": os.path.abspath(here.path),
        "embedder": here.embedder,
        "categories": len(live),
        "labelled": len(live) - discovered,
        "discovered": discovered,
        "items": here.count_items(),
        "unassigned": here.count_unassigned(),
        "seedlings": [seedling.as_json() for seedling in here.seedlings()],
        "sessions": len(records),
        "last_session": None
        if last is None
        else {key: getattr(last, key) for key in ("session", "command", "source", "time", "rows")},
        "last_command": describe(here, here.last_command().commit),
        "next": steps,
    }
