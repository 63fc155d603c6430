"""From findings to questions: the words, the examples, and the command that settles each."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from pathlib import PurePath

from vbcgcd.words import one_line, plural, source_name
from vbcgcd.workspace.log.files import TABLE
from vbcgcd.workspace.queries.categories import category_sizes
from vbcgcd.workspace.queries.items import doubtful_items, item_info, typical_items
from vbcgcd.workspace.queries.review.evidence import Finding
from vbcgcd.workspace.queries.sources import item_texts
from vbcgcd.workspace.snapshot import Snapshot, once_per_snapshot
from vbcgcd.workspace.values import ItemInfo
from vbcgcd.workspace.values.questions import Question, Side

#: Letters of a name or text in a question.
LETTERS = 60

__all__ = ["item_key", "question_of"]


def question_of(snapshot: Snapshot, finding: Finding, *, examples: int, texts: bool) -> Question:
    """A finding as a question.

    Parameters
    ----------
    snapshot : Snapshot
    finding : Finding
    examples : int
        Typical and doubtful items of each category.
    texts : bool
        Read texts from the user's own files.
    """
    items = tuple(item_info(snapshot, row) for row in finding.rows)
    sides = tuple(_side(snapshot, category, examples, texts) for category in finding.categories)
    words = dict(zip(_keys(items), item_texts(snapshot, items), strict=True)) if texts else {}
    title, reason, command = _WORDS[finding.id.partition("-")[0]](snapshot, finding, sides, items, words)
    return Question(
        id=finding.id,
        kind=finding.kind,
        title=title,
        reason=reason,
        probability=finding.probability,
        affected=finding.affected,
        seconds=finding.seconds,
        command=command,
        categories=finding.categories,
        items=items,
        texts=words,
        sides=sides,
        facts=dict(finding.facts or {}),
        needs_category=_needs_category(finding, items),
        names={i: snapshot.state.categories[i].name for i in sorted(_mentioned(finding, items))},
    )


def _needs_category(finding: Finding, items: Sequence[ItemInfo]) -> bool:
    """Whether no answer is the obvious one: a group without a name, or an item that is nowhere."""
    if finding.kind == "label":
        return items[0].category is None
    return finding.kind == "group" and not finding.categories


def _mentioned(finding: Finding, items: Sequence[ItemInfo]) -> set[int]:
    of_items = {i for item in items for i in (item.category, item.second) if i is not None}
    return {*finding.categories, *of_items}


def _keys(items: Sequence[ItemInfo]) -> list[tuple[int, int]]:
    return [(item.commit, item.row) for item in items]


def _side(snapshot: Snapshot, category: int, n: int, texts: bool) -> Side:
    entry = snapshot.state.categories[category]
    typical = typical_items(snapshot, category, n) if n else ()
    doubtful = doubtful_items(snapshot, category, n) if n else ()
    doubtful = tuple(item for item in doubtful if item not in typical)
    items = (*typical, *doubtful)
    words = dict(zip(_keys(items), item_texts(snapshot, items), strict=True)) if texts else {}
    size = category_sizes(snapshot).get(category, 0)
    return Side(category, entry.name, size, entry.birth, typical, doubtful, words)


def _named(side: Side) -> str:
    return repr(one_line(side.name, LETTERS))


Words = dict[tuple[int, int], str]
Three = tuple[str, str, str]


def _same(snapshot: Snapshot, f: Finding, sides: Sequence[Side], items: object, words: Words) -> Three:
    one, other = sides
    when = f"both found in session {one.birth}" if one.birth == other.birth else _births(one, other)
    reason = f"{100 * f.probability:.0f} % sure: their means are {_gap(f):.1f} margins apart, {when}"
    return (
        f"Are {_named(one)} and {_named(other)} the same?",
        reason,
        f"vbcgcd categories merge {one.category} {other.category}",
    )


def _gap(f: Finding) -> float:
    return float((f.facts or {})["gap"])


def _births(one: Side, other: Side) -> str:
    return f"learned in sessions {one.birth} and {other.birth}"


def _two(snapshot: Snapshot, f: Finding, sides: Sequence[Side], items: object, words: Words) -> Three:
    facts = f.facts or {}
    reason = (
        f"{100 * f.probability:.0f} % sure: its halves differ by {facts['halves']:.1f} margins; its items "
        f"are doubtful by {100 * facts['doubt']:.0f} %"
    )
    return (
        f"Is {_named(sides[0])} two things?",
        reason,
        f"vbcgcd categories split {sides[0].category} --parts 2",
    )


def _odd(
    snapshot: Snapshot, f: Finding, sides: Sequence[Side], items: Sequence[ItemInfo], words: Words
) -> Three:
    total = int((f.facts or {})["doubtful"])
    which = "this item" if len(items) == 1 else f"these {len(items)} items"
    expected = f.probability * f.affected
    verb = "does" if round(expected) == 1 else "do"
    reason = f"about {expected:.0f} of these {len(items)} {verb} not belong there"
    if total > len(items):
        reason += f" ({total} of its items are doubtful)"
    if len(items) == 1:
        reason = f"{100 * f.probability:.0f} % sure that it does not"
    keys = " ".join(shlex.quote(item_key(snapshot, item)) for item in items)
    return (
        f"Does {which} belong to {_named(sides[0])}?".replace("Does these", "Do these"),
        reason,
        f"vbcgcd items reject {keys}",
    )


def _label(
    snapshot: Snapshot, f: Finding, sides: Sequence[Side], items: Sequence[ItemInfo], words: Words
) -> Three:
    item = items[0]
    text = words.get((item.commit, item.row))
    what = repr(one_line(text, LETTERS)) if text else f"item {item.reference!r} of {source_name(item.source)}"
    guesses = " or ".join(_named(side) for side in sides)
    gain = f.probability * f.affected
    reason = f"in doubt by {100 * f.probability:.0f} %; its label would settle about {gain:.1f} items"
    if guesses:
        reason = f"{guesses}? {reason}"
    key = shlex.quote(item_key(snapshot, item))
    command = f"items move {key} --to CATEGORY" if item.category is None else f"items confirm {key}"
    return f"What is {what}?", reason, f"vbcgcd {command}"


def _group(snapshot: Snapshot, f: Finding, sides: object, items: Sequence[ItemInfo], words: Words) -> Three:
    facts = f.facts or {}
    number, keys = int(facts["items"]), " ".join(shlex.quote(item_key(snapshot, item)) for item in items)
    reason = (
        f"{100 * facts['ripe']:.0f} % of what makes a category, waiting since session {int(facts['since'])}"
    )
    return f"Are these {number} items a category?", reason, f"vbcgcd items move {keys} --to NAME --new"


def _near(
    snapshot: Snapshot, f: Finding, sides: Sequence[Side], items: Sequence[ItemInfo], words: Words
) -> Three:
    number = int((f.facts or {})["items"])
    keys = " ".join(shlex.quote(item_key(snapshot, item)) for item in items)
    reason = f"{plural(number, 'unassigned item')} are most like it"
    return (
        f"Do these {len(items)} unassigned items belong to {_named(sides[0])}?",
        reason,
        f"vbcgcd items move {keys} --to {sides[0].category}",
    )


def _drift(
    snapshot: Snapshot, f: Finding, sides: Sequence[Side], items: Sequence[ItemInfo], words: Words
) -> Three:
    facts = f.facts or {}
    how = "lie elsewhere" if facts["moved"] >= facts["wider"] else "scatter wider"
    since, category = int(facts["since"]), sides[0].category
    far = max(facts["moved"], facts["wider"])
    reason = (
        f"its {len(items)} items since session {since} {how} than before ({far:.1f} deviations beyond others)"
    )
    command = (
        f"vbcgcd items confirm --where category={category} --where 'session>={since}' --where state=guessed"
    )
    return f"Are the recent items of {_named(sides[0])} still the same thing?", reason, command


def _stale(snapshot: Snapshot, f: Finding, sides: Sequence[Side], items: object, words: Words) -> Three:
    facts = f.facts or {}
    silent, expected = int(facts["silent"]), facts["expected"]
    reason = (
        f"no items since session {int(facts['last'])}, for {silent} sessions; about {expected:.0f} were "
        "to be expected"
    )
    return f"Is {_named(sides[0])} still needed?", reason, f"vbcgcd categories drop {sides[0].category}"


_WORDS: dict[str, Callable[..., Three]] = {
    "same": _same,
    "two": _two,
    "odd": _odd,
    "label": _label,
    "group": _group,
    "near": _near,
    "drift": _drift,
    "stale": _stale,
}


def item_key(snapshot: Snapshot, item: ItemInfo) -> str:
    """What to call an item on the command line, so that it is the only one."""
    name = PurePath(item.source).name
    key = f"{name}:{item.reference}"
    return key if _uses(snapshot).get(name, 0) == 1 else f"{key}@{item.session}"


@once_per_snapshot
def _uses(snapshot: Snapshot) -> dict[str, int]:
    """How many sessions used a source of each name."""
    uses: dict[str, int] = {}
    for commit in snapshot.history.in_effect():
        if TABLE in commit.files and commit.command != "split":
            name = PurePath(commit.summary["source"]).name
            uses[name] = uses.get(name, 0) + 1
    return uses
