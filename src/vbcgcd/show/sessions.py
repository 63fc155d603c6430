"""Sessions, commands, settings and the state of a workspace."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Group, RenderableType
from rich.text import Text

from vbcgcd.words import (
    ByWidth,
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
    from vbcgcd.workspace import CategoryInfo, CommandInfo, RepairResult, ReportResult, UndoResult

#: The steps of an unlabelled session as the progress display names them.
STEPS = {
    "novelty": "scoring novelty",
    "count": "estimating the number of novel categories",
    "cluster": "clustering",
    "relabel": "separating known from novel items",
    "leftovers": "tending what fits nowhere",
    "posterior": "learning the novel categories",
    "assign": "assigning items to categories",
}
#: What each setting does, in one line.
SETTINGS = {
    "kind": "text, image or embedding; null: set by the first items",
    "embedder": "name or path; null: the offline default",
    "embedder_options": "such as device, batch_size, size",
    "model": "options: vbcgcd config model; fixed after session 0",
    "reject": "default of predict --reject; null: never reject",
    "names": "auto: by phrases or resemblance; number: novel-1, ...",
    "excerpts": "excerpts or thumbnails kept per novel category",
    "sample": "items per session kept as points on the map",
    "vocabulary": "words for the names of pictures",
    "namer": "what categories suggest asks; null: nobody",
    "columns": "columns of tables that later commands use",
}
#: What each option of the model does, in a line that fits beside it.
OPTIONS = {
    "n_components": "most dimensions; null: all",
    "standardise": "unit variance of each dimension",
    "whiten": "whiten by labelled covariances",
    "normalise": "scale embeddings to unit length",
    "whiten_shrinkage": "shrinkage of that covariance",
    "prior_strength": "rows the prior is worth",
    "prior_variance": "variance of the prior",
    "mean_precision_prior": "rows the prior mean is worth",
    "covariance": "full, lowrank or diagonal",
    "covariance_rank": "directions that lowrank keeps",
    "inference": "exact or svi",
    "cluster": "how a session starts",
    "relabel": "which items teach novel ones",
    "count": "how novel categories are counted",
    "geometry": "by direction or distance",
    "alignment": "novel made comparable with known",
    "alignment_ratio": "novel/known or known/novel",
    "alignment_penalty": "weight of a penalty; null: none",
    "unassigned": "leave aside what fits nowhere",
    "update_known": "let discover teach known ones",
    "svi_steps": "most steps of svi",
    "predictive": "plugin or student",
    "metric": "mahalanobis or euclidean",
    "log_determinant": "log-determinants in scores",
    "head": "direction: a second opinion",
    "head_features": "of head ridge; not in workspaces",
    "shortlist": "candidates of predict; null: all",
    "dtype": "float32 or float64",
    "storage": "half: covariances in two bytes",
    "device": "auto, cpu, cuda; null: NumPy",
    "random_state": "seed; null: another each time",
}
#: Labelled categories with fewer items than this are pointed out.
FEW = 5
_SHORT = 60
_ALL_KNOWN = "all items are in known ones"
#: What a user types, where the log has another word.
_TYPED = {"configure": "config"}
#: Parameters of commands that are ids of categories; a rename says the name itself.
_CATEGORIES = ("categories", "to")

__all__ = [
    "OPTIONS",
    "SETTINGS",
    "STEPS",
    "command_line",
    "commands",
    "creation",
    "options",
    "repair",
    "report",
    "session",
    "sessions",
    "settings",
    "status",
    "undo",
    "waiting",
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
    parts: list[RenderableType] = [*map(Text, [*_unlabelled(record, seconds), *_left_over(record)])]
    parts += [Text(f"Warning: {one_line(warning)}", style="yellow") for warning in record.warnings]
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
    if record.session and record.novel:
        lines.append(f"New: {series([one_line(name, 60) for name in record.novel.values()], most=20)}.")
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
        known = f"{plural(record.known_rows, 'item is', 'items are')} in known ones"
        return [*lines, f"No novel categories ({how}); {known if record.unassigned else _ALL_KNOWN}."]
    novel = plural(record.n_novel, "novel category", "novel categories")
    lines.append(
        f"{record.known_rows:,} are in known categories and {record.novel_rows:,} in {novel} ({how})."
    )
    if record.flagged is not None:
        lines.append(f"Before the session, {percent(record.flagged)} of them fit no known category.")
    return lines


def _left_over(record: SessionRecord) -> list[str]:
    """Unassigned items, seedlings, categories that grew from seedlings, and those that came back."""
    lines = []
    if record.unassigned:
        unassigned = plural(record.unassigned, "item is", "items are")
        lines.append(f"{unassigned} unassigned (not a good enough fit for any category).")
    if record.seedlings:
        lines.append(f"{waiting(record.seedlings)}.")
    if record.grown:
        grown = plural(len(record.grown), "category", "categories")
        names = [
            f"{one_line(record.novel.get(category, category), 60)} (since session {since})"
            for category, since in record.grown.items()
        ]
        lines.append(f"{grown} grew from {_seedling(len(record.grown))}: {series(names, most=5)}.")
    if record.returned:
        back = plural(len(record.returned), "category", "categories")
        names = [f"#{category} ({items:,})" for category, items in record.returned.items()]
        lines.append(f"{back} found earlier came back: {series(names, most=5)}.")
    return lines


def waiting(items: Sequence[int]) -> str:
    """Seedlings in words; ``items`` of each.

    Examples
    --------
    >>> waiting([5, 4, 3]), waiting([1])
    ('3 seedlings wait for more items (5, 4 and 3 so far)', '1 seedling waits for more items (1 so far)')
    """
    seedlings = plural(len(items), "seedling waits", "seedlings wait")
    return f"{seedlings} for more items ({_sizes(items)} so far)"


def _sizes(items: Sequence[int]) -> str:
    return series([f"{n:,}" for n in items], most=8)


def _seedlings(items: Sequence[int]) -> str:
    return f"{len(items):,} ({_sizes(items)} items)" if items else ""


def _seedling(n: int) -> str:
    return "a seedling" if n == 1 else "seedlings"


def sessions(records: Sequence[SessionRecord]) -> RenderableType:
    """One line for each session."""
    if not records:
        return Text("No sessions yet.")
    some = any(record.unassigned for record in records)
    unassigned = [">unassigned"] if some else []
    columns = [">items", "?>known", ">novel", *unassigned, ">added", "?>no fit"]
    table = grid(">no.", ">date", "command", "*source", *columns)
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
            *([f"{record.unassigned:,}"] if some else []),
            f"{'~' if record.estimated else ''}{record.n_novel}",
            "-" if record.flagged is None else percent(record.flagged),
            style="dim" if record.undone else "",
        )
    known = "known, novel: items in categories known before the session, and in those it added"
    novel = "novel: items in categories that the session added"
    rest = (
        f"; {'unassigned: items in no category; ' if some else ''}added: number of those categories, ~ if "
        "estimated"
    )
    no_fit = (
        "; no fit: items that fit no known category (novelty above 0.95), measured before an "
        "unlabelled session and after a labelled one"
    )
    wide, narrow = Text(f"{known}{rest}{no_fit}.", style="dim"), Text(f"{novel}{rest}.", style="dim")
    return Group(table, ByWidth(wide, narrow))


def creation(path: str | os.PathLike[str]) -> RenderableType:
    """Where a workspace was created."""
    return Text(f"Created the workspace {one_line(path)}.")


def undo(result: UndoResult, what: str) -> RenderableType:
    """What undo reverted, or redo did again; ``what`` is the command in one line."""
    return Text(f"{'Undid' if result.command == 'undo' else 'Redid'}: {what}")


def commands(
    infos: Sequence[CommandInfo], sources: Mapping[int | None, str], names: Mapping[int, str] | None = None
) -> RenderableType:
    """One line for each command; ``sources`` of the data by commit, ``names`` of categories by id."""
    table = grid(">no.", "time (UTC)", "command", "*details")
    for info in infos:
        add_row(
            table,
            str(info.commit),
            moment(info.time),
            _TYPED.get(info.command, info.command) + (", undone" if info.undone else ""),
            _details(
                source_name(sources.get(info.commit, "")),
                info.parameters,
                names or {},
                everything=info.command == "configure",
            ),
            style="dim" if info.undone else "",
        )
    return table


def command_line(info: CommandInfo, source: str = "", names: Mapping[int, str] | None = None) -> str:
    """A command in one line; ``source`` is where its data came from, ``names`` those of categories by id."""
    everything = info.command == "configure"
    details = _details(one_line(source, _SHORT), info.parameters, names or {}, everything=everything)
    return f"{_TYPED.get(info.command, info.command)} {one_line(details, 180)}".strip()


def _details(
    source: str, parameters: Mapping[str, Any], names: Mapping[int, str], *, everything: bool = False
) -> str:
    parts = [
        _detail(key, value, names)
        for key, value in parameters.items()
        if everything or (value is not None and value is not False and value not in ({}, []))
    ]
    return " ".join([source, *parts] if source else parts)


def _detail(key: str, value: Any, names: Mapping[int, str]) -> str:
    """A parameter in words: a switch by its name, a list with commas, a category with its name."""
    if value is True:
        return key.replace("_", " ")
    values = value if isinstance(value, list | tuple) else [value]
    if not values or not all(isinstance(each, str | int) and each is not False for each in values):
        return f"{key}={json.dumps(value, ensure_ascii=False)}"
    ids = key in _CATEGORIES
    words = [f"{v} {names[v]!r}" if ids and isinstance(v, int) and v in names else str(v) for v in values]
    return f"{key} {', '.join(words)}" if key in ("to", "items") else f"{key}={', '.join(words)}"


def settings(config: Mapping[str, Any]) -> RenderableType:
    """All settings."""
    table = grid("setting", "*value", "**meaning")
    for name, value in config.items():
        add_row(table, name, json.dumps(value, ensure_ascii=False), SETTINGS.get(name, ""))
    return table


def options(rows: Sequence[Mapping[str, Any]]) -> RenderableType:
    """Options of the model with value, default and meaning; those that are set are bold."""
    table = grid("option", "!value", "default", "*meaning")
    for row in rows:
        value, default = (_plain(row[key]) for key in ("value", "default"))
        add_row(table, row["option"], value, default, row["meaning"], style="bold" if row["set"] else "")
    return table


def _plain(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def repair(result: RepairResult) -> RenderableType:
    """What a repair found and did."""
    if not result.changed:
        lines = [f"Nothing to repair: commit {result.commit} is in effect, and it is whole."]
    else:
        before = "HEAD could not be read" if result.before is None else f"HEAD named commit {result.before}"
        lines = [f"Commit {result.commit} is in effect now; {before}."]
    if result.returned:
        numbers = series([str(number) for number in result.returned[:10]])
        lines.append(f"{plural(len(result.returned), 'commit')} in effect again: {numbers}.")
    if result.set_aside:
        lines.append(f"Moved to the folder set-aside: {series(list(result.set_aside[:10]))}.")
    if result.rewritten:
        lines.append(f"Written anew: {series(list(result.rewritten))}.")
    if result.lost:
        lines.append(f"Missing, and only reports show it: {series(list(result.lost[:10]))}.")
    return Text("\n".join(one_line(line, 10_000) for line in lines))


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
            "items": f"{values['items']:,}"
            + (f" assigned, {values['unassigned']:,} unassigned" if values["unassigned"] else ""),
            "seedlings": _seedlings([seedling["items"] for seedling in values["seedlings"]]),
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
