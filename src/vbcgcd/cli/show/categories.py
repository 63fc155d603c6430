"""Categories: the list, one in full, and what an operation on them did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from vbcgcd.cli.show.text import add, counted, grid, members, named, number, text, visible

if TYPE_CHECKING:
    from vbcgcd.workspace import CategoryInfo, CategoryResult, CategoryView, ItemInfo

_NAMED_BY = {
    "label": "a label",
    "user": "you",
    "terms": "the terms of its texts",
    "likeness": "what it is like",
    "number": "its number",
}

__all__ = ["categories", "category", "changed", "found", "next_steps", "retired_category"]


def categories(infos: Sequence[CategoryInfo], *, total: int) -> RenderableType:
    """One line for each category."""
    if not infos:
        return Text("No such category." if total else "No categories yet.")
    any_retired = any(info.status != "live" for info in infos)
    table = grid(">id", "**name", ">size", ">born", ">spread", "**nearest", "***typical items")
    for info in infos:
        live = info.status == "live"
        shown = samples(info) if live else _fate(info)
        near = "" if info.nearest is None else f"{info.nearest} {info.nearest_name}"
        spread = number(info.spread) if live else ""
        cells = (str(info.id), info.name, str(info.size), str(info.birth), spread, near, shown)
        add(table, *cells, style="" if live else "dim")
    shown_of = counted(len(infos), "category", "categories")
    shown_of = (
        shown_of if len(infos) == total else f"{len(infos)} of {counted(total, 'category', 'categories')}"
    )
    legend = "born: session in which it was learned, 0 being the first; spread: usually near 1"
    legend += "; grey: no longer live" if any_retired else ""
    return Group(table, Text(f"{shown_of}. {legend}.", style="dim"))


def samples(info: CategoryInfo) -> str:
    """Typical items in one line: their texts where they are known, else their references."""
    return members(info.samples, info.sample_texts, info.sample_sources)


def found(infos: Sequence[CategoryInfo], counts: Mapping[int, int]) -> Table:
    """The categories that a session found, the largest first."""
    table = grid(">id", "**name", ">items", "**nearest", "****typical items")
    for info in sorted(infos, key=lambda info: -counts.get(info.id, 0)):
        near = "" if info.nearest is None else f"{info.nearest} {info.nearest_name}"
        add(table, str(info.id), info.name, str(counts.get(info.id, 0)), near, samples(info))
    return table


def category(
    view: CategoryView, names: Mapping[int, str], texts: Mapping[tuple[int, str], str]
) -> RenderableType:
    """One category in full; ``texts`` of items by session and reference, where they are known."""
    info = view.info
    parts: list[RenderableType] = [_head(info), *_facts(view)]
    if view.typical:
        table = _items(view.typical, names, texts, second=False)
        parts += [Text(), Text("Most typical items", style="bold"), table]
    if view.doubtful:
        table = _items(view.doubtful, names, texts, second=True)
        parts += [Text(), Text("Most doubtful items", style="bold"), table]
    parts += [Text(), next_steps(f"vbcgcd categories rename {info.id} 'a better name'")]
    return Group(*parts)


def retired_category(info: CategoryInfo) -> RenderableType:
    """A category that is no longer live."""
    return Group(_head(info), Text(f"{_fate(info)[:1].upper()}{_fate(info)[1:]}; no longer live."))


def changed(result: CategoryResult, before: str = "") -> RenderableType:
    """What rename, merge, split or drop did."""
    new = [f"{i} {visible(name)!r}" for i, name in result.categories.items()]
    old = [f"{i} {visible(name)!r}" for i, name in result.retired.items()]
    if result.command == "rename":
        said = f"Category {new[0]} was called {visible(before)!r}."
    elif result.command == "merge":
        said = f"Merged {', '.join(old[:-1])} and {old[-1]} into {new[0]}, which has a new id."
    elif result.command == "split":
        parts = (
            f"{n} ({counted(result.counts.get(i, 0), 'item')})"
            for i, n in zip(result.categories, new, strict=True)
        )
        said = f"Split {old[0]} into {', '.join(parts)}."
    else:
        said = f"Dropped {old[0]}; items like its own go to the others from now on."
    steps = [f"vbcgcd categories show {i}" for i in result.categories] if result.command == "split" else []
    return Group(Text(said), next_steps(*steps or ["vbcgcd categories"], "vbcgcd undo"))


def next_steps(*commands: str) -> Text:
    """What to do next: commands to copy."""
    shown = Text()
    for place, command in enumerate(commands):
        shown.append("\n      " if place else "Next: ", style="dim")
        shown.append(command, style="bold")
    return shown


def _head(info: CategoryInfo) -> Text:
    return Text.assemble((f"{info.id}  ", "dim"), (visible(info.name), "bold"))


def _facts(view: CategoryView) -> list[RenderableType]:
    info = view.info
    table = Table.grid(padding=(0, 2))
    table.add_column(style="dim", no_wrap=True)
    table.add_column()
    by_session = ", ".join(f"{n} in session {session}" for session, n in view.by_session.items())
    rows = {
        "named by": _NAMED_BY.get(info.named_by, info.named_by),
        "learned in": f"session {info.birth}",
        "items": f"{info.size}" + (f" ({by_session})" if by_session else ""),
        "spread": number(info.spread),
        "nearest": ""
        if info.nearest is None
        else f"{info.nearest} {visible(info.nearest_name)}, at distance {number(info.nearest_distance, 1)}",
        "made from": ", ".join(map(str, info.parents)),
    }
    for name, value in rows.items():
        if value:
            table.add_row(name, text(value))
    return [table]


def _items(
    items: Sequence[ItemInfo], names: Mapping[int, str], texts: Mapping[tuple[int, str], str], *, second: bool
) -> Table:
    words = ["*****text"] if any(texts.values()) else []
    runner_up = ["**second", ">prob."] if second else []
    item = "item" if words else "**item"
    table = grid(item, *words, ">prob.", *runner_up, ">novelty", ">session")
    for one in items:
        known = [texts.get((one.commit, one.reference), "")] if words else []
        near = "" if one.second is None else names.get(one.second, str(one.second))
        others = [near, number(one.second_probability) if near else ""] if second else []
        reference = text(named(one.reference, one.source), limit=40 if words else 400)
        sure = number(one.probability)
        add(table, reference, *known, sure, *others, number(one.novelty), str(one.session))
    return table


def _fate(info: CategoryInfo) -> str:
    return f"{info.status} into {', '.join(map(str, info.into))}" if info.into else info.status
