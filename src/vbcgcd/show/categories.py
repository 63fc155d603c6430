"""Categories: the list, one in full, what a change to them did, and the items that belong to none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from vbcgcd.show.sessions import waiting
from vbcgcd.words import (
    NAMED_BY,
    ByWidth,
    add_row,
    facts,
    grid,
    item_name,
    number,
    one_line,
    plural,
    sample_line,
    series,
    user_text,
)

if TYPE_CHECKING:
    from vbcgcd.workspace import (
        CategoryInfo,
        CategoryResult,
        CategoryView,
        ItemInfo,
        NameProposal,
        NameSuggestion,
        SeedlingInfo,
    )

_MORE_LIKE = (
    "A second choice may be the more probable one: where the novel categories together beat the known "
    "ones, an item is in the best of the novel; and a labelled item stays with its label."
)

__all__ = ["categories", "category", "change", "found", "retired_category", "suggestions", "unassigned"]


def categories(
    infos: Sequence[CategoryInfo],
    *,
    total: int,
    n_found: int | None = None,
    n_unassigned: int = 0,
    seedlings: Sequence[SeedlingInfo] = (),
) -> RenderableType:
    """One line for each category, and one about the items that belong to none.

    Parameters
    ----------
    infos : sequence of CategoryInfo
    total : int
        How many there are without a search.
    n_found : int, optional
        How many a search has found, listed or not; those that are listed by default.
    n_unassigned : int
        Unassigned items of all sessions.
    seedlings : sequence of SeedlingInfo
    """
    if not infos:
        return Text("No category matches." if total else "No categories yet.")
    table = grid(">id", "!name", ">items", ">session", ">sure", "?>spread", "?**nearest", "***typical items")
    for info in infos:
        live = info.status == "live"
        samples = sample_line(info.samples, info.sample_texts, info.sample_sources)
        add_row(
            table,
            str(info.id),
            info.name,
            f"{info.size:,}",
            str(info.birth),
            _sure(info) if live else "",
            number(info.spread) if live else "",
            "" if info.nearest is None else f"{info.nearest} {info.nearest_name}",
            samples if live else _fate(info),
            style="" if live else "dim",
        )
    count = plural(total, "category", "categories")
    n_found = len(infos) if n_found is None else n_found
    count = count if n_found == total else f"{n_found:,} of {count}"
    legend = f"{count}. session: the one that added it"
    spread = "; spread: how widely its items scatter, usually near 1"
    more = ""
    if any(info.reliability < 1 for info in infos):
        more += "; sure: how probably it is one category and a whole one (a name or labels settle it)"
    more += "; grey: retired" if any(info.status != "live" for info in infos) else ""
    rest = [Text(line) for line in _rest(n_unassigned, seedlings)]
    if n_found > len(infos):
        more_of = f"... and {plural(n_found - len(infos), 'more category', 'more categories')}"
        advice = "use --limit N to see more, --limit 0 for all, --find or --sort to choose"
        rest.insert(0, Text(f"{more_of}; {advice}", style="dim"))
    wide, narrow = (Text(f"{legend}{part}{more}.", style="dim") for part in (spread, ""))
    return Group(table, ByWidth(wide, narrow), *rest)


def suggestions(
    found: Sequence[NameSuggestion], renamed: Mapping[int, str], *, applied: bool = False
) -> RenderableType:
    """Names that categories could have, a line for each category.

    Parameters
    ----------
    found : sequence of NameSuggestion
    renamed : mapping of id -> name
        Categories that have been given a suggestion as their name.
    applied : bool
        Whether suggestions were to become names.
    """
    if not found:
        return Text("Every category has a name that somebody chose.")
    table = grid(">id", "**name", "***suggestions")
    problems: dict[str, list[str]] = {}
    for suggestion in found:
        told = [_proposal(proposal) for proposal in suggestion.proposals]
        told = ["good as it is", *told] if suggestion.good else told
        add_row(table, str(suggestion.category), suggestion.name, "; ".join(told))
        if suggestion.problem:
            problems.setdefault(suggestion.problem, []).append(str(suggestion.category))
    lines = [Text(f"Category {', '.join(ids)}: {one_line(why, 300)}.") for why, ids in problems.items()]
    if renamed:
        lines.append(Text(f"{plural(len(renamed), 'category was', 'categories were')} renamed."))
    elif applied:
        lines.append(Text("Nothing was renamed."))
    return Group(table, *lines)


def _proposal(proposal: NameProposal) -> str:
    """A name, and where it comes from unless that is the category's texts."""
    name = one_line(proposal.name)
    return name if proposal.source == "texts" else f"{name} ({one_line(proposal.source)})"


def found(text: str, infos: Sequence[CategoryInfo], items: Mapping[int | None, int]) -> RenderableType:
    """Where a search found something: ``items`` of each category, and of none, that contain the text."""
    parts = [
        f"{info.id} {one_line(info.name, 60)} ({items[info.id]:,})" for info in infos if items.get(info.id)
    ]
    lines = [f"Items with {one_line(text, 60)!r}: {series(parts, most=8)}."] if parts else []
    if items.get(None):
        lines.append(f"{plural(items[None], 'unassigned item has', 'unassigned items have')} it too.")
    return Text("\n".join(lines or ["No item has it; the names or references do."]))


def unassigned(
    items: Sequence[ItemInfo],
    names: Mapping[int, str],
    texts: Mapping[tuple[int, str], str],
    *,
    total: int,
    seedlings: Sequence[SeedlingInfo] = (),
) -> RenderableType:
    """The items that fit no category well enough, and the seedlings.

    Parameters
    ----------
    items : sequence of ItemInfo
        The most novel first.
    names : mapping of id -> name
        Of live and retired categories.
    texts : mapping of (commit, reference) -> str
        Texts of the items, where they are available.
    total : int
        How many there are, shown or not.
    seedlings : sequence of SeedlingInfo
    """
    parts: list[RenderableType] = [] if total else [Text("Every item has a category.")]
    if items:
        parts.append(_items(items, names, texts, second=True, own=False))
        legend = "prob.: that of the best category; novelty: near 1 for items of no category"
        parts.append(Text(f"{legend}.", style="dim"))
    if total > len(items):
        parts.append(
            Text(f"... and {plural(total - len(items), 'more item')}; use --items N to see more", style="dim")
        )
    return Group(*parts, *(Text(line) for line in _rest(total, seedlings)))


def _rest(n_unassigned: int, seedlings: Sequence[SeedlingInfo]) -> list[str]:
    """What belongs to no category, in a line each."""
    lines = []
    if n_unassigned:
        lines.append(f"{plural(n_unassigned, 'item is', 'items are')} unassigned.")
    if seedlings:
        lines.append(f"{waiting([seedling.items for seedling in seedlings])}.")
    return lines


def category(
    view: CategoryView, names: Mapping[int, str], texts: Mapping[tuple[int, str], str]
) -> RenderableType:
    """One category in full.

    Parameters
    ----------
    view : CategoryView
    names : mapping of id -> name
        Of live and retired categories.
    texts : mapping of (commit, reference) -> str
        Texts of the items, where they are available.
    """
    parts: list[RenderableType] = [_head(view.info), _facts(view)]
    if view.typical:
        table = _items(view.typical, names, texts, second=False)
        parts += [Text(), Text("Most typical items", style="bold"), table]
    if view.doubtful:
        table = _items(view.doubtful, names, texts, second=True)
        parts += [Text(), Text("Most doubtful items", style="bold"), table]
        if any(item.second_probability > item.probability for item in view.doubtful):
            parts.append(Text(_MORE_LIKE, style="dim"))
    return Group(*parts)


def retired_category(info: CategoryInfo) -> RenderableType:
    """A category that is no longer live."""
    return Group(_head(info), Text(f"Retired: {_fate(info)}."))


def change(result: CategoryResult, before: str = "") -> RenderableType:
    """What rename, merge, split or drop did; ``before`` is the old name of a renamed category."""
    added = [f"{i} {one_line(name)!r}" for i, name in result.categories.items()]
    retired = [f"{i} {one_line(name)!r}" for i, name in result.retired.items()]
    if result.command == "rename":
        return Text(
            f"Renamed category {next(iter(result.categories))} from {one_line(before)!r} to "
            f"{one_line(next(iter(result.categories.values())))!r}."
        )
    if result.command == "merge":
        return Text(f"Merged {series(retired)} into the new category {added[0]}.")
    if result.command == "split":
        parts = (
            f"{name} ({plural(result.counts.get(i, 0), 'item')})"
            for i, name in zip(result.categories, added, strict=True)
        )
        lines = [f"Split {retired[0]} into {series(list(parts))}."]
        if result.missing:
            lines.append(
                f"{plural(result.missing, 'item')} could not be read any more and "
                f"{'stays' if result.missing == 1 else 'stay'} with the retired category."
            )
        if result.shared:
            lines.append(f"The parts share what {result.shared:g} other items had taught it.")
        return Text("\n".join(lines))
    return Text(f"Dropped {retired[0]}. From now on similar items go to the other categories.")


def _head(info: CategoryInfo) -> Text:
    return Text.assemble((f"{info.id}  ", "dim"), (one_line(info.name), "bold"))


def _sure(info: CategoryInfo) -> str:
    """How probably it stands for a class, where nobody has said so."""
    return f"{100 * info.reliability:.0f} %" if info.reliability < 1 else ""


def _facts(view: CategoryView) -> Table:
    info = view.info
    by_session = ", ".join(f"{n:,} in session {session}" for session, n in view.by_session.items())
    nearest = f"{info.nearest} {one_line(info.nearest_name)}, at distance {number(info.nearest_distance, 1)}"
    return facts(
        {
            "named by": NAMED_BY.get(info.named_by, info.named_by),
            "added in": f"session {info.birth}",
            "items": f"{info.size:,}" + (f" ({by_session})" if by_session else ""),
            "sure": _sure(info),
            "spread": f"{number(info.spread)} (how its items scatter; labelled ones are usually near 1)",
            "nearest": "" if info.nearest is None else nearest,
            "made from": series([str(parent) for parent in info.parents]),
        }
    )


def _items(
    items: Sequence[ItemInfo],
    names: Mapping[int, str],
    texts: Mapping[tuple[int, str], str],
    *,
    second: bool,
    own: bool = True,
) -> Table:
    """A line for each item; without ``own``, items that have no category of their own."""
    words = ["*****text"] if any(texts.values()) else []
    runner_up = ["!second choice" if own else "!best category", ">prob."] if second else []
    first = [">prob."] if own else []
    table = grid("item" if words else "**item", *words, *first, *runner_up, ">novelty", ">session")
    for item in items:
        text = [texts.get((item.commit, item.reference), "")] if words else []
        other = "" if item.second is None else names.get(item.second, str(item.second))
        others = [other, number(item.second_probability) if other else ""] if second else []
        name = user_text(item_name(item.reference, item.source), limit=40 if words else 400)
        probability = [number(item.probability)] if own else []
        add_row(table, name, *text, *probability, *others, number(item.novelty), str(item.session))
    return table


def _fate(info: CategoryInfo) -> str:
    return f"{info.status} into {series([str(i) for i in info.into])}" if info.into else info.status
