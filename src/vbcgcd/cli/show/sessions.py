"""Sessions and commands: what one came to, and the history of all."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from vbcgcd.cli.show.categories import found as found_table
from vbcgcd.cli.show.categories import next_steps
from vbcgcd.cli.show.text import add, counted, date, grid, listing, percent, text, visible

if TYPE_CHECKING:
    from vbcgcd.workspace import (
        CategoryInfo,
        CommandInfo,
        Discovered,
        Learned,
        SessionInfo,
        Undone,
    )

#: The steps of a session without labels, as the progress display names them.
STEPS = {
    "novelty": "looking for unfamiliar items",
    "count": "estimating how many categories are new",
    "cluster": "clustering",
    "relabel": "deciding item by item",
    "posterior": "learning the new categories",
    "label": "naming",
}
_SHORT = 60

#: What each setting does, in one line.
MEANINGS = {
    "kind": "text, image or embedding; null: as the first items",
    "embedder": "name or path; null: the offline default",
    "embedder_options": "such as device, batch_size, size",
    "model": "options of the model; fixed after the base session",
    "reject": "default of predict --reject; null refuses nothing",
    "names": "auto: by terms or likeness; number: by number",
    "excerpts": "short excerpts kept for each new category",
    "sample": "items of a session kept as points of the map",
}

__all__ = ["STEPS", "commands", "discovered", "learned", "sessions", "settings", "status", "undone"]


def learned(
    result: Learned, session: SessionInfo, seconds: float, *, updated: bool = False
) -> RenderableType:
    """What a labelled session came to, in how many seconds with embedding; ``updated`` known categories."""
    new, source = result.categories, visible(session.source, _SHORT)
    known = [i for i in result.counts if i not in new]
    lines = [
        f"Session {result.session}: learned {counted(len(new), 'category', 'categories')} from "
        f"{counted(result.rows, 'item')} of {source} in {seconds:.1f} s.",
        *_columns(session),
    ]
    if known:
        n = counted(sum(result.counts[i] for i in known), "item")
        lines.append(
            f"Of known categories: {n}, "
            + ("from which they learned." if updated else "which they did not learn from (--update-known).")
        )
    if result.unlabelled:
        lines.append(f"{counted(result.unlabelled, 'item')} without a label left out.")
    few = sorted((n, new[i]) for i, n in result.counts.items() if i in new)
    if few and few[0][0] < 5:
        names = [f"{name} ({n})" for n, name in few if n < 5]
        lines.append(f"Few items, so that little is known: {listing(names)}.")
    return Group(*map(Text, lines), next_steps("vbcgcd discover NEW-ITEMS", "vbcgcd categories"))


def discovered(
    result: Discovered, session: SessionInfo, infos: Sequence[CategoryInfo], seconds: float
) -> RenderableType:
    """What an unlabelled session came to; ``infos`` of the categories found."""
    n, source = len(result.categories), visible(session.source, _SHORT)
    head = (
        f"Session {result.session}: {counted(result.rows, 'item')} of {source} in {seconds:.1f} s: "
        f"{result.known_rows} of known categories"
        + (f", {result.novel_rows} of {counted(n, 'new category', 'new categories')}." if n else ".")
    )
    how = "estimated" if result.estimated else "given"
    lines = [head, *_columns(session)]
    if not n:
        lines.append(f"No new category was found (the number was {how}).")
        return Group(*map(Text, lines), next_steps("vbcgcd predict ITEMS", "vbcgcd report"))
    told = f"The number of new categories was {how}."
    told += f" Before it, {percent(session.unfamiliar)} of the items were unfamiliar."
    first = max(result.categories, key=lambda i: result.counts.get(i, 0))
    steps = (f"vbcgcd categories rename {first} 'a name'", f"vbcgcd categories show {first}", "vbcgcd undo")
    table = found_table(infos, result.counts)
    return Group(*map(Text, [*lines, told]), Text(), table, Text(), next_steps(*steps))


def undone(result: Undone, what: str) -> RenderableType:
    """What undo took back, or redo did again."""
    if result.command == "undo":
        return Group(Text(f"Took back: {what}"), next_steps("vbcgcd redo", "vbcgcd sessions --all"))
    return Group(Text(f"Done again: {what}"), next_steps("vbcgcd undo", "vbcgcd sessions --all"))


def sessions(infos: Sequence[SessionInfo]) -> RenderableType:
    """One line for each session."""
    if not infos:
        return Group(Text("No sessions yet."), next_steps("vbcgcd learn LABELLED-ITEMS"))
    table = grid(
        ">no.", "when (UTC)", "command", "*source", ">items", ">known", ">new", ">found", ">unfamiliar"
    )
    for info in infos:
        add(
            table,
            str(info.session),
            date(info.time),
            f"{info.command}, undone" if info.undone else info.command,
            _tail(info.source, 24),
            str(info.rows),
            str(info.known_rows),
            str(info.novel_rows),
            f"{'~' if info.estimated else ''}{len(info.novel)}",
            percent(info.unfamiliar),
            style="dim" if info.undone else "",
        )
    legend = (
        "known, new: items of categories known before, and of those found in the session; found: these "
        "categories, ~ where their number was estimated; unfamiliar: items that fit their best known "
        "category worse than 95 in 100 of its own do, before the session."
    )
    return Group(table, Text(legend, style="dim"))


def commands(infos: Sequence[CommandInfo], sources: Mapping[int, str]) -> RenderableType:
    """One line for each command; ``sources`` of the data, by commit, where there was any."""
    table = grid(">no.", "when (UTC)", "command", "*with")
    for info in infos:
        add(
            table,
            str(info.commit),
            date(info.time),
            f"{info.command}, undone" if info.undone else info.command,
            " ".join(
                part for part in (_tail(sources.get(info.commit, ""), 40), said(info.parameters)) if part
            ),
            style="dim" if info.undone else "",
        )
    return table


def said(parameters: Mapping[str, Any]) -> str:
    """What a command was called with, in one line."""
    shown = {k: v for k, v in parameters.items() if v is not None and v is not False and v not in ({}, [])}
    return ", ".join(
        f"{k} {v if isinstance(v, str) else json.dumps(v, ensure_ascii=False)}" for k, v in shown.items()
    )


def settings(config: Mapping[str, Any]) -> RenderableType:
    """All settings."""
    table = grid("setting", "*value", "**meaning")
    for name, value in config.items():
        add(table, name, json.dumps(value, ensure_ascii=False), MEANINGS.get(name, ""))
    return Group(table, next_steps("vbcgcd config SETTING VALUE"))


def status(told: Mapping[str, Any]) -> RenderableType:
    """Where the workspace is, what it knows and what to do next."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    made, last = told["embedder"], told["last_session"]
    rows = {
        "workspace": told["workspace"],
        "categories": f"{told['categories']} ({told['labelled']} labelled, {told['found']} found)",
        "items": str(told["items"]),
        "embedder": "" if made is None else f"{made['name']} ({made['kind']}s, {made['dimension']} numbers)",
        "last session": "" if last is None else _last(last),
        "last command": told["last_command"],
    }
    for name, value in rows.items():
        if value:
            table.add_row(name, text(value))
    return Group(table, next_steps(*told["next"]))


def _last(session: Mapping[str, Any]) -> str:
    what = f"{session['command']} {visible(session['source'], _SHORT)}"
    return f"{session['session']}: {what}, {date(session['time'])} UTC"


def _columns(session: SessionInfo) -> list[str]:
    taken = session.summary.get("columns") or {}
    parts = [
        f"{what} from {visible(column if isinstance(column, str) else f'{column[0]} to {column[-1]}', 40)!r}"
        for what, column in taken.items()
        if column
    ]
    return [f"Read {', '.join(parts)}."] if parts else []


def _tail(source: str, letters: int) -> str:
    """The end of a path, which tells more than its beginning."""
    return source if len(source) <= letters else f"…{source[-letters + 1 :]}"
