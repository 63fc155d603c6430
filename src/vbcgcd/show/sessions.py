"""Sessions, commands, settings and the state of a workspace."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from vbcgcd.words import (
    add_row,
    category_table,
    date,
    facts,
    file_size,
    grid,
    moment,
    one_line,
    percent,
    plural,
    series,
    source_name,
)

if TYPE_CHECKING:
    from vbcgcd.record import SessionRecord
    from vbcgcd.workspace import CategoryInfo, CommandInfo, ReportResult, UndoResult

#: The steps of an unlabelled session as the progress display names them.
STEPS = {
    "novelty": "scoring novelty",
    "count": "estimating the number of novel categories",
    "cluster": "clustering",
    "relabel": "separating known from novel items",
    "posterior": "learning the novel categories",
    "assign": "assigning items to categories",
}
#: What each setting does, in one line.
SETTINGS = {
    "kind": "text, image or embedding; null: set by the first items",
    "embedder": "name or path; null: the offline default",
    "embedder_options": "such as device, batch_size, size",
    "model": "options of the model; fixed after session 0",
    "reject": "default of predict --reject; null: never reject",
    "names": "auto: by terms or resemblance; number: novel-1, ...",
    "excerpts": "excerpts or thumbnails kept per novel category",
    "sample": "items per session kept as points on the map",
}
#: Labelled categories with fewer items than this are pointed out.
FEW = 5
_SHORT = 60

__all__ = [
    "SETTINGS",
    "STEPS",
    "command_line",
    "commands",
    "creation",
    "report",
    "session",
    "sessions",
    "settings",
    "status",
    "undo",
]


def session(
    record: SessionRecord,
    categories: Sequence[CategoryInfo] = (),
    *,
    seconds: float | None = None,
    updated: bool = False,
) -> RenderableType:
    """What a session came to.

    Parameters
    ----------
    record : SessionRecord
    categories : sequence of CategoryInfo
        The novel ones, shown in a table after an unlabelled session.
    seconds : float, optional
        How long the whole command took; without it, the time of the session alone.
    updated : bool
        Whether a labelled session updated the categories that were known before.
    """
    seconds = record.seconds if seconds is None else seconds
    if record.command == "learn":
        return Group(*map(Text, _labelled(record, seconds, updated)))
    parts: list[RenderableType] = [*map(Text, _unlabelled(record, seconds))]
    if categories:
        parts += [Text(), category_table(categories, record.counts)]
    return Group(*parts)


def _labelled(record: SessionRecord, seconds: float, updated: bool) -> list[str]:
    categories = plural(record.n_novel, "category", "categories") if record.novel else "no new categories"
    lines = [
        f"Session {record.session}: learned {categories} from "
        f"{plural(record.rows, 'item')}{_source(record, 'in')} ({seconds:.1f} s).",
        *_columns(record),
    ]
    known = plural(record.known_rows, "item")
    if record.known_rows and updated:
        lines.append(f"Known categories were updated with {known}.")
    elif record.known_rows:
        were = "was" if record.known_rows == 1 else "were"
        lines.append(f"{known} of known categories {were} not used; pass --update-known to learn from them.")
    if record.unlabelled:
        lines.append(f"Skipped {plural(record.unlabelled, 'item')} without a label.")
    few = sorted((n, name) for i, name in record.novel.items() if (n := record.counts.get(i, 0)) < FEW)
    if few:
        names = series([f"{one_line(name, 60)} ({n})" for n, name in few], most=5)
        lines.append(f"Categories with fewer than {FEW} items are learned poorly: {names}.")
    return lines


def _unlabelled(record: SessionRecord, seconds: float) -> list[str]:
    how = "number estimated" if record.estimated else "as requested"
    items = plural(record.rows, "item") + _source(record, "from")
    lines = [f"Session {record.session}: {items} ({seconds:.1f} s).", *_columns(record)]
    if not record.n_novel:
        return [*lines, f"No novel categories ({how}); all items are in known ones."]
    novel = plural(record.n_novel, "novel category", "novel categories")
    lines.append(
        f"{record.known_rows:,} are in known categories and {record.novel_rows:,} in {novel} ({how})."
    )
    if record.flagged is not None:
        lines.append(f"Before the session, {percent(record.flagged)} of them fit no known category.")
    return lines


def sessions(records: Sequence[SessionRecord]) -> RenderableType:
    """One line for each session."""
    if not records:
        return Text("No sessions yet.")
    table = grid(">no.", ">date", "command", "*source", ">items", ">known", ">novel", ">added", ">no fit")
    for record in records:
        add_row(
            table,
            str(record.session),
            date(record.time),
            f"{record.command}, undone" if record.undone else record.command,
            source_name(record.source),
            f"{record.rows:,}",
            f"{record.known_rows:,}",
            f"{record.novel_rows:,}",
            f"{'~' if record.estimated else ''}{record.n_novel}",
            "-" if record.flagged is None else percent(record.flagged),
            style="dim" if record.undone else "",
        )
    legend = (
        "known, novel: items in categories known before the session, and in those it added; added: number of "
        "those categories, ~ if estimated; no fit: items that fit no known category (novelty above 0.95), "
        "measured before an unlabelled session and after a labelled one."
    )
    return Group(table, Text(legend, style="dim"))


def creation(path: str | os.PathLike[str]) -> RenderableType:
    """Where a workspace was created."""
    return Text(f"Created the workspace {one_line(path)}.")


def undo(result: UndoResult, what: str) -> RenderableType:
    """What undo reverted, or redo did again; ``what`` is the command in one line."""
    return Text(f"{'Undid' if result.command == 'undo' else 'Redid'}: {what}")


def commands(infos: Sequence[CommandInfo], sources: Mapping[int | None, str]) -> RenderableType:
    """One line for each command; ``sources`` of the data by commit, where there was any."""
    table = grid(">no.", "time (UTC)", "command", "*details")
    for info in infos:
        add_row(
            table,
            str(info.commit),
            moment(info.time),
            f"{info.command}, undone" if info.undone else info.command,
            _details(source_name(sources.get(info.commit, "")), info.parameters),
            style="dim" if info.undone else "",
        )
    return table


def command_line(info: CommandInfo, source: str = "") -> str:
    """A command in one line; ``source`` is where its data came from."""
    details = _details(one_line(source, _SHORT), info.parameters)
    return f"{info.command} {one_line(details, 180)}".strip()


def _details(source: str, parameters: Mapping[str, Any]) -> str:
    parts = [
        f"{key}={value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for key, value in parameters.items()
        if value is not None and value is not False and value not in ({}, [])
    ]
    return " ".join([source, *parts] if source else parts)


def settings(config: Mapping[str, Any]) -> RenderableType:
    """All settings."""
    table = grid("setting", "*value", "**meaning")
    for name, value in config.items():
        add_row(table, name, json.dumps(value, ensure_ascii=False), SETTINGS.get(name, ""))
    return table


def report(result: ReportResult, path: str | os.PathLike[str]) -> RenderableType:
    """Where a report is and what is in it."""
    categories = plural(result.categories, "category", "categories")
    size = file_size(result.bytes)
    return Text(f"Wrote {one_line(path)}: {categories}, {plural(result.sessions, 'session')}, {size}.")


def status(values: Mapping[str, Any]) -> RenderableType:
    """Where the workspace is and what it knows; ``values`` as `vbcgcd status --json` prints them."""
    embedder, last = values["embedder"], values["last_session"]
    return facts(
        {
            "workspace": values["workspace"],
            "categories": f"{values['categories']:,} ({values['labelled']:,} labelled, "
            f"{values['discovered']:,} discovered)",
            "items": f"{values['items']:,}",
            "embedder": ""
            if embedder is None
            else f"{embedder['name']} ({embedder['kind']}, {embedder['dimension']} dimensions)",
            "last session": "" if last is None else _last(last),
            "last command": values["last_command"],
        }
    )


def _last(session: Mapping[str, Any]) -> str:
    source = one_line(session["source"], _SHORT)
    return f"{session['session']}: {session['command']} {source}, {moment(session['time'])} UTC"


def _source(record: SessionRecord, preposition: str) -> str:
    return f" {preposition} {one_line(record.source, _SHORT)}" if record.source else ""


def _columns(record: SessionRecord) -> list[str]:
    if record.kind == "image" and dict(record.columns) == {"label": "folder"}:
        return ["The names of the sub-folders are the labels."] if record.command == "learn" else []
    parts = [
        f"{role} from {one_line(column if isinstance(column, str) else f'{column[0]} to {column[-1]}', 40)!r}"
        for role, column in record.columns.items()
        if column
    ]
    return [f"Columns used: {', '.join(parts)}."] if parts else []
