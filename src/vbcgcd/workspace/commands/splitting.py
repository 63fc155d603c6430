"""Splitting a category: its items are found again, clustered, and go to the parts with what they taught.

What the category learned from items that are not there any more stays too: the parts share it by posterior
weight (`vbcgcd.discovery.parts`). So nothing is forgotten and nothing counts twice: what the parts have
learned from adds up to what the whole had learned from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vbcgcd.bayes import Statistics, recover_statistics, statistics_by_label
from vbcgcd.checks import check_number
from vbcgcd.discovery.knowledge import Knowledge, score
from vbcgcd.discovery.parts import find_parts, part_weights, share_out
from vbcgcd.errors import InputError
from vbcgcd.items import Failure, Items
from vbcgcd.record import plain
from vbcgcd.words import plural
from vbcgcd.workspace.batch import Batch
from vbcgcd.workspace.commands.categories import check_free
from vbcgcd.workspace.commands.naming import LONGEST, check_distinct, check_name, terms_of_groups
from vbcgcd.workspace.commands.sessions import unique_name
from vbcgcd.workspace.ledger import ledger_of
from vbcgcd.workspace.log.commits import Content, Draft
from vbcgcd.workspace.log.files import CORRECTIONS, EXCERPTS, SEGMENT, Assignments, Segment
from vbcgcd.workspace.log.lessons import Correction, Corrections
from vbcgcd.workspace.queries.categories import find_category
from vbcgcd.workspace.queries.members import Member, members_of
from vbcgcd.workspace.queries.rereading import Reread
from vbcgcd.workspace.queries.sources import Source, excerpts_of, find_session, full_texts
from vbcgcd.workspace.snapshot import Category, Key, NamedBy, Snapshot, State
from vbcgcd.workspace.values import ItemInfo

Array = NDArray[Any]
#: Items that each part needs, and how many of them, by weight, must have taught the category.
PART_ROWS, PART_WEIGHT = 2, 1.0

__all__ = ["Extra", "split_draft"]


class Extra(NamedTuple):
    """Further items of the user's, which help to find the parts: their source, and how to embed them."""

    source: Source
    load: Callable[[], Batch]


@dataclass(frozen=True, eq=False)
class _Found:
    """Members of a category that are there, their reduced embeddings (M, D) and values, and further rows.

    ``missing`` counts items of the category that are not there, ``problems`` say why. ``guides`` are reduced
    embeddings of items that only help to find the parts.
    """

    members: list[Member]
    vectors: Array
    values: list[Any]
    guides: Array
    missing: int
    problems: list[InputError]
    failures: tuple[Failure, ...]

    @property
    def inside(self) -> Array:
        """Which of them belong to the category, bool array (M,)."""
        return np.array([member.belongs for member in self.members], dtype=bool)


def split_draft(
    snapshot: Snapshot,
    key: Key,
    n_parts: int | None,
    names: Sequence[str] | None,
    read: Callable[[Sequence[ItemInfo]], Reread],
    extra: Extra | None = None,
) -> tuple[Draft, tuple[Failure, ...]]:
    """Cluster the items of a category; it retires and points to its parts.

    Parameters
    ----------
    snapshot : Snapshot
    key : int or str
    n_parts : int or None
        None takes the number of names or, without them, judges it.
    names : sequence of str, optional
        Names of the parts, the largest first.
    read : callable
        Reads items again, as far as they are there.
    extra : Extra, optional

    Returns
    -------
    Draft
    tuple of Failure
        Items of the further ones that could not be embedded.
    """
    if n_parts is None and names is not None:
        n_parts = max(len(names), 2)
    if n_parts is not None:
        check_number("n_parts", n_parts, low=2, whole=True)
    whole, knowledge = find_category(snapshot.state, key), snapshot.knowledge
    chosen = None if names is None else _check_names(snapshot.state, whole, names, n_parts or 2)
    found = _find(snapshot, whole, read, extra)
    rows = np.concatenate([found.vectors[found.inside], found.guides])
    codes = _codes(snapshot, whole, found, rows, n_parts)
    size = int(codes.max()) + 1
    rough = statistics_by_label(rows, codes, size, structure=knowledge.prior.structure)
    parts = _places(knowledge, found, codes, rough)
    statistics, shared = _statistics(snapshot, whole, found, parts, rough)
    _check_taught(whole, statistics)
    new_ids = [snapshot.history.next_id + i for i in range(size)]
    part_names = chosen or _part_names(snapshot, whole, found, parts, size)
    categories = [
        replace(whole, status="split", into=tuple(new_ids)),
        *(
            Category(i, name, named_by, whole.birth, parents=(whole.id,))
            for i, (name, named_by) in zip(new_ids, part_names, strict=True)
        ),
    ]
    counts = np.bincount(parts[found.inside], minlength=size).tolist()
    summary = {
        "counts": dict(zip(new_ids, counts, strict=True)),
        "novel": new_ids,
        "missing": found.missing,
        "shared": round(shared, 6),
        "judged": n_parts is None,
    }
    files: dict[str, Content] = {
        SEGMENT: Segment(knowledge.posterior_of(statistics), tuple(new_ids)),
        CORRECTIONS: _corrections(whole, found, parts, new_ids),
    }
    excerpts = _excerpts(snapshot, found, parts, new_ids)
    draft = Draft(
        "split",
        changes={"categories": [category.as_json() for category in categories], "posteriors": new_ids},
        parameters={"category": whole.id, "n_parts": n_parts},
        summary=plain(summary),
        files=files | excerpts,
    )
    return draft, found.failures


def _find(
    snapshot: Snapshot, whole: Category, read: Callable[[Sequence[ItemInfo]], Reread], extra: Extra | None
) -> _Found:
    """The items of a category, corrected ones from what is stored of them, and the others read again."""
    members, known = members_of(snapshot, whole.id), ledger_of(snapshot).vectors
    keys = [(member.item.commit, member.item.row) for member in members]
    unread = [place for place, key in enumerate(keys) if key not in known]
    again = read([members[place].item for place in unread])
    vectors: dict[int, Array] = {place: known[key] for place, key in enumerate(keys) if key in known}
    values: dict[int, Any] = {}
    for place, vector, value in zip(again.places, again.vectors, again.values, strict=True):
        vectors[unread[place]], values[unread[place]] = vector, value
    there = sorted(vectors)
    guides, failures = np.empty((0, snapshot.knowledge.posterior.dim)), tuple[Failure, ...]()
    if extra is not None and not _recognised(snapshot, extra, [members[place] for place in values]):
        batch = extra.load()
        best = score(snapshot.knowledge, batch.vectors).best
        mine = batch.vectors[best == snapshot.state.ids.index(whole.id)]
        guides, failures = snapshot.knowledge.reduced(mine) if len(mine) else guides, batch.failures
    dtype = snapshot.knowledge.posterior.mean.dtype
    return _Found(
        [members[place] for place in there],
        np.array([vectors[place] for place in there], dtype=dtype).reshape(len(there), guides.shape[1]),
        [values.get(place) for place in there],
        guides.astype(dtype),
        sum(members[place].belongs for place in set(range(len(members))) - set(there)),
        again.problems,
        failures,
    )


def _recognised(snapshot: Snapshot, extra: Extra, members: Sequence[Member]) -> bool:
    """Whether the further items are those of a session, which have been read already."""
    commits = snapshot.history.in_effect()
    if extra.source.path and find_session(extra.source, commits) is not None:
        return True
    memory = {c.number for c in commits if not Source.from_json(c.summary).path}
    return any(member.item.commit in memory for member in members)


def _codes(snapshot: Snapshot, whole: Category, found: _Found, rows: Array, n_parts: int | None) -> Array:
    """Part of each row, or an error if there are too few rows or parts."""
    needed = PART_ROWS * (n_parts or 2)
    if len(rows) < needed:
        reason = f" {found.problems[0]}" if found.problems else ""
        there = f"Only {plural(len(rows), 'item')} of {whole.name!r} could be found"
        if found.missing:
            there += f", and {found.missing} cannot be read"
        if found.missing and not len(rows):
            there = f"None of the {plural(found.missing, 'item')} of {whole.name!r} can be read"
        raise InputError(
            f"{there}; splitting it into {n_parts or 'two'} parts needs at least {needed}.{reason}",
            option="data" if found.problems and found.problems[0].option == "data" else None,
        )
    knowledge = snapshot.knowledge
    others = [row for row, category in enumerate(snapshot.state.ids) if category != whole.id]
    beside = replace(
        knowledge,
        posterior=knowledge.posterior.take(others),
        reliability=None,
        later=None,
        seedlings=None,
        head=None,
    )
    codes = find_parts(rows, beside, n_parts, np.random.default_rng(0))
    if codes is None:
        raise InputError(
            f"Judging by its {len(rows)} items, {whole.name!r} is one category: no parts of it differ as "
            "other categories do. Give the number of parts to split it all the same, or move items to a "
            "new category.",
            option="n_parts",
        )
    return codes


def _places(knowledge: Knowledge, found: _Found, codes: Array, rough: Statistics) -> Array:
    """Part of each member, int array (M,): its cluster, or the most probable part if it is outside."""
    inside = found.inside
    parts = np.empty(len(found.members), dtype=np.intp)
    parts[inside] = codes[: int(inside.sum())]
    if not inside.all():
        parts[~inside] = part_weights(found.vectors[~inside], rough, knowledge).argmax(axis=1)
    return parts


def _statistics(
    snapshot: Snapshot, whole: Category, found: _Found, parts: Array, rough: Statistics
) -> tuple[Statistics, float]:
    """Statistics of the parts, and the weight of what they shared; together they are those of the whole."""
    knowledge, position = snapshot.knowledge, snapshot.state.ids.index(whole.id)
    before = recover_statistics(knowledge.prior, knowledge.posterior.take([position]))
    weight = np.array([member.weight_in(whole.id) for member in found.members])
    own = statistics_by_label(
        found.vectors, parts, len(rough), weight=weight, structure=knowledge.prior.structure
    )
    rest = before - own.merged()
    return own + share_out(rest, rough, knowledge, np.random.default_rng(0)), float(rest.count[0])


def _check_taught(whole: Category, statistics: Statistics) -> None:
    if statistics.count.min() < PART_WEIGHT:
        raise InputError(
            f"One of the {len(statistics)} parts would get less than one of the {statistics.count.sum():g} "
            f"items that {whole.name!r} has learned from; use fewer parts, or let it learn from all its "
            f"items first with 'vbcgcd items confirm --where category={whole.id}'."
        )


def _corrections(whole: Category, found: _Found, parts: Array, new_ids: Sequence[int]) -> Corrections:
    """Where each item goes with what it taught; a weight of 0 says that it taught an unknown amount."""
    entries = []
    for member, place in zip(found.members, parts.tolist(), strict=True):
        item, part, own = member.item, new_ids[place], (whole.id, -1)
        state: Any = item.state
        before = member.taught or {}
        after = {(part, -1) if target == own else target: weight for target, weight in before.items()}
        if member.taught is None:
            after = {own: 0.0}
        category = part if member.belongs else -1 if item.category is None else item.category
        entries.append(Correction((item.commit, item.row), category, state, before, after))
    return Corrections(tuple(entries))


def _check_names(
    state: State, whole: Category, names: Sequence[str], n_parts: int
) -> list[tuple[str, NamedBy]]:
    chosen = [check_name(name) for name in names]
    if len(set(chosen)) != n_parts or len(chosen) != n_parts:
        raise InputError(f"The parts need {n_parts} different names, got {chosen!r}.", option="names")
    for place, name in enumerate(chosen):
        check_free(state, name, [whole])
        check_distinct(name, chosen[:place])
    return [(name, "user") for name in chosen]


def _part_names(
    snapshot: Snapshot, whole: Category, found: _Found, parts: Array, n_parts: int
) -> list[tuple[str, NamedBy]]:
    taken = [category.name for category in snapshot.state.live if category.id != whole.id]
    stem = whole.name[: LONGEST - 20]
    part_names: list[tuple[str, NamedBy]] = []
    for part, terms in enumerate(_terms(snapshot, found, parts, n_parts)):
        name = f"{stem}: {terms}"[:LONGEST] if terms else f"{stem} {part + 1}"
        unique = unique_name(name, [*taken, *(other for other, _ in part_names)])
        part_names.append((unique, "terms" if terms else "number"))
    return part_names


def _terms(snapshot: Snapshot, found: _Found, parts: Array, n_parts: int) -> list[str]:
    """Distinctive terms of the parts' texts; empty where the items are no texts or theirs are not there."""
    texts: list[str] = []
    for member, value in zip(found.members, found.values, strict=True):
        text = value if isinstance(value, str) else None
        if text is None and snapshot.history.commit(member.item.commit).summary.get("kind") == "text":
            text = full_texts(snapshot, member.item.commit).get(member.item.reference)
        texts.append(text or "")
    known = [row for row, text in enumerate(texts) if text]
    mark: Any = snapshot.state.embedder
    if not known or len(np.unique(parts[known])) < n_parts:
        return [""] * n_parts
    items = Items("text", [texts[row] for row in known], [str(row) for row in known], "the category")
    return terms_of_groups(Batch(items, found.vectors[known], mark), parts[known], n_parts)


def _excerpts(snapshot: Snapshot, found: _Found, parts: Array, new_ids: Sequence[int]) -> dict[str, Content]:
    """Excerpts of typical items of each part, if the settings ask for them."""
    rows = [row for row, value in enumerate(found.values) if value is not None and found.inside[row]]
    kinds = {snapshot.history.commit(found.members[row].item.commit).summary["kind"] for row in rows}
    if not snapshot.state.config["excerpts"] or len(kinds) != 1:
        return {}
    infos = [found.members[row].item for row in rows]
    items = Items(kinds.pop(), [found.values[row] for row in rows], [i.reference for i in infos], "")
    nothing = np.full(len(rows), -1)
    table = Assignments(
        items.references,
        np.array(new_ids)[parts[rows]],
        np.array([info.probability for info in infos]),
        nothing,
        np.zeros(len(rows)),
        np.array([info.novelty for info in infos]),
    )
    excerpts = excerpts_of(items, table, new_ids, snapshot.state.config["excerpts"])
    return {EXCERPTS: excerpts} if excerpts.by_category else {}
