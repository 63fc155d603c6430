"""The commands of a workspace as a whole: make it, look at it, set it, take back, report, carry it away."""

from __future__ import annotations

import os
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Group
from rich.text import Text

from vbcgcd.cli.common import AsJson, console, errors_are_messages, finish, print_json, working, wrong
from vbcgcd.cli.completion import complete_setting
from vbcgcd.cli.places import Place, enclosing, opened, place
from vbcgcd.cli.settings import changes_of, looked_up, pair, value_of
from vbcgcd.cli.show.text import counted, visible

if TYPE_CHECKING:
    from vbcgcd.workspace import Undone, Workspace

__all__ = [
    "config",
    "export",
    "import_",
    "init",
    "redo",
    "report",
    "sessions",
    "status",
    "undo",
    "verify",
]


@errors_are_messages
def init(
    name: Annotated[
        Path | None,
        typer.Argument(metavar="[NAME]", help="Folder to make; without it the empty folder you are in."),
    ] = None,
    embedder: Annotated[
        str | None,
        typer.Option(
            "--with", help="Embedder: a name or a path. Without it the offline default for the items."
        ),
    ] = None,
    kind: Annotated[
        str | None, typer.Option("--kind", help="image, text or embedding; without it as the first items.")
    ] = None,
    excerpts: Annotated[
        int | None,
        typer.Option("--excerpts", min=0, help="Keep this many short excerpts of each new category."),
    ] = None,
    reject: Annotated[
        float | None,
        typer.Option("--reject", metavar="RATE", help="Default of 'vbcgcd predict --reject'."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Any other setting; see 'vbcgcd config'."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a workspace: a folder that keeps what is learned, session after session.

    Items are not copied into it; only their references, what they were assigned to and, with --excerpts,
    a few short excerpts.

    Example: vbcgcd init tickets --excerpts 5

    Example: vbcgcd init photos --kind image --with dinov2-vitb14

    Example: vbcgcd init vectors --set model.covariance=diagonal --set sample=500
    """
    from vbcgcd.cli.show.categories import next_steps
    from vbcgcd.workspace import Workspace
    from vbcgcd.workspace.config import DEFAULTS

    path = Path(os.path.abspath(Path.cwd() if name is None else name))
    above = enclosing(path)
    if above not in (None, path):
        raise wrong(f"{path} would lie inside the workspace {above}; choose a place outside of it.")
    given: list[tuple[str, Any]] = []
    for key, value in (("embedder", embedder), ("kind", kind), ("excerpts", excerpts), ("reject", reject)):
        given += [] if value is None else [(key, value)]
    given += [(key, value_of(value)) for key, value in (pair(s, "--set") for s in settings or [])]
    made = Workspace.init(path, **changes_of(given, DEFAULTS))
    told = {"workspace": str(made.path), "config": made.config()}
    lines = [Text(f"Made the workspace {visible(made.path)}.")]
    go = [] if name is None else [f"cd {shlex.quote(str(name))}"]
    finish(told, as_json, lambda: Group(*lines, next_steps(*go, "vbcgcd learn LABELLED-ITEMS")))


@errors_are_messages
def status(workspace: Place = None, as_json: AsJson = False) -> None:
    """Say in short where the workspace is, what it knows, and what to do next.

    Example: vbcgcd status
    """
    from vbcgcd.cli.show import sessions as show

    told = _status(opened(workspace))
    finish(told, as_json, lambda: show.status(told))


@errors_are_messages
def sessions(
    everything: Annotated[bool, typer.Option("--all", help="Every command, not only the sessions.")] = False,
    workspace: Place = None,
    as_json: AsJson = False,
) -> None:
    """Show the history: one line for each session, first to last.

    Example: vbcgcd sessions

    Example: vbcgcd sessions --all
    """
    from vbcgcd.cli.show import sessions as show

    here = opened(workspace)
    if everything:
        done = here.history()
        finish({"commands": done}, as_json, lambda: show.commands(done, _sources(here)))
    else:
        found = here.sessions()
        finish({"sessions": found}, as_json, lambda: show.sessions(found))


@errors_are_messages
def undo(workspace: Place = None, as_json: AsJson = False) -> None:
    """Take back the last command, whatever it was; again takes back the one before it.

    Example: vbcgcd undo
    """
    here = opened(workspace)
    tell_undone(here, here.undo(), as_json)


@errors_are_messages
def redo(workspace: Place = None, as_json: AsJson = False) -> None:
    """Do again what the last undo took back.

    Example: vbcgcd redo
    """
    here = opened(workspace)
    tell_undone(here, here.redo(), as_json)


@errors_are_messages
def config(
    key: Annotated[
        str | None,
        typer.Argument(
            metavar="[SETTING]",
            help="Name of a setting, or of a part of one, such as model.covariance.",
            autocompletion=complete_setting,
        ),
    ] = None,
    value: Annotated[str | None, typer.Argument(metavar="[VALUE]", help="New value: JSON, or text.")] = None,
    workspace: Place = None,
    as_json: AsJson = False,
) -> None:
    """Show all settings, show one, or change one.

    Example: vbcgcd config

    Example: vbcgcd config reject 0.05

    Example: vbcgcd config embedder_options.device cpu
    """
    from vbcgcd.cli.show import sessions as show

    here = opened(workspace)
    now = here.config()
    if key is None:
        finish(now, as_json, lambda: show.settings(now))
        return
    if value is None:
        print_json(looked_up(now, key))
        return
    changes = changes_of([(key, value_of(value))], now)
    same = all(name in now and now[name] == new for name, new in changes.items())
    after = now if same else here.configure(**changes).config
    said = "is unchanged" if same else "is now"
    shown = visible(repr(looked_up(after, key)))
    finish(dict(after), as_json, lambda: Text(f"{visible(key)} {said}: {shown}"))


@errors_are_messages
def report(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where to write it; an older report is replaced.")
    ] = Path("report.html"),
    items: Annotated[
        bool, typer.Option("--items/--no-items", help="Show texts and pictures from your own files.")
    ] = True,
    title: Annotated[str | None, typer.Option("--title", help="Its title.")] = None,
    show: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
    workspace: Place = None,
    as_json: AsJson = False,
) -> None:
    """Write one HTML page about the workspace: sessions, categories, a map, and what changed.

    Example: vbcgcd report

    Example: vbcgcd report -o tickets.html --title 'Support tickets' --no-items
    """
    if output.suffix.lower() not in (".html", ".htm"):
        raise wrong(f"A report is a page and its name ends in .html, got {output}.")
    here = opened(workspace)
    with working("writing the report"):
        done = here.report(os.path.abspath(output), items=items, title=title)
    size = f"{done.bytes / 1e6:.1f} MB" if done.bytes >= 1e6 else f"{done.bytes / 1e3:.0f} kB"
    about = (
        f"{counted(done.categories, 'category', 'categories')}, {counted(done.sessions, 'session')}, {size}"
    )
    finish(done, as_json, lambda: Text(f"Wrote {visible(output)}: {about}."))
    if show:
        typer.launch(str(output.absolute()))


@errors_are_messages
def export(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File to write, such as tickets.zip.")],
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
    workspace: Place = None,
    as_json: AsJson = False,
) -> None:
    """Write the whole workspace, with its history, into one file.

    Example: vbcgcd export tickets.zip
    """
    from vbcgcd.cli.show.categories import next_steps

    path = place(workspace)
    if os.path.lexists(file) and not force:
        raise wrong(f"{file} exists already; choose another name, or replace it with --force.")
    done = opened(path).export(os.path.abspath(file))
    lines = Text(f"Exported {counted(done.commits, 'command')} to {visible(file)} ({done.bytes:,} bytes).")
    finish(done, as_json, lambda: Group(lines, next_steps(f"vbcgcd import {shlex.quote(str(file))} NAME")))


@errors_are_messages
def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What 'vbcgcd export' wrote.")],
    name: Annotated[Path, typer.Argument(metavar="NAME", help="Folder to make.")],
    as_json: AsJson = False,
) -> None:
    """Make a workspace from an exported file.

    Example: vbcgcd import tickets.zip tickets
    """
    from vbcgcd.cli.show import sessions as show
    from vbcgcd.workspace import Workspace

    path = Path(os.path.abspath(name))
    above = enclosing(path)
    if above not in (None, path):
        raise wrong(f"{path} would lie inside the workspace {above}; choose a place outside of it.")
    told = _status(Workspace.import_(file, path))
    finish(told, as_json, lambda: Group(Text(f"Imported {visible(file)}."), show.status(told)))


@errors_are_messages
def verify(workspace: Place = None, as_json: AsJson = False) -> None:
    """Check every file of the workspace against its digest.

    Example: vbcgcd verify
    """
    here = opened(workspace)
    files = here.verify()
    told = {"workspace": str(here.path), "files": files}
    finish(told, as_json, lambda: Text(f"{counted(files, 'file')} of {visible(here.path)} are as written."))


@errors_are_messages
def demo(
    folder: Annotated[Path, typer.Option("--folder", help="Where to put its files.")] = Path("vbcgcd-demo"),
    seed: Annotated[int, typer.Option("--seed", min=0, help="Decides which digits are held out.")] = 0,
) -> None:
    """Walk through a workspace on handwritten digits: five are labelled, five arrive without labels.

    Example: vbcgcd demo
    """
    from vbcgcd.demo import run_demo

    run_demo(console(), folder, seed=seed)


def tell_undone(workspace: Workspace, done: Undone, as_json: bool) -> None:
    """Say what undo took back, or redo did again."""
    from vbcgcd.cli.show import sessions as show

    finish(done, as_json, lambda: show.undone(done, described(workspace, done.of_commit)))


def described(workspace: Workspace, commit: int) -> str:
    """A command in one line."""
    from vbcgcd.cli.show.sessions import said

    info = next(c for c in workspace.history() if c.commit == commit)
    source = visible(_sources(workspace).get(commit, ""), 60)
    return " ".join(part for part in (info.command, source, visible(said(info.parameters), 120)) if part)


def _sources(workspace: Workspace) -> dict[int, str]:
    return {info.commit: info.source for info in workspace.sessions()}


def _status(here: Workspace) -> dict[str, Any]:
    live, done = here.categories(n_samples=0), here.sessions(undone=False)
    last = done[-1] if done else None
    unlabelled = {info.session for info in done if info.command == "discover"}
    found = sum(info.birth in unlabelled for info in live)
    steps = ["vbcgcd learn LABELLED-ITEMS"]
    if done:
        steps = ["vbcgcd discover NEW-ITEMS", "vbcgcd predict ITEMS", "vbcgcd report"]
    return {
        "workspace": os.path.abspath(here.path),
        "embedder": here.embedder,
        "categories": len(live),
        "labelled": len(live) - found,
        "found": found,
        "items": sum(info.size for info in live),
        "sessions": len(done),
        "last_session": None
        if last is None
        else {key: getattr(last, key) for key in ("session", "command", "source", "time", "rows")},
        "last_command": described(here, here.last_command().commit),
        "next": steps,
    }
