"""Operations on categories: they work on sufficient statistics, create new ids and retire the old ones.

Statistics add, so a merge is exact: the posterior of the merged category is the one that all rows of its
parts would have given. Statistics do not say how to split a category; the rows of a batch do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.bayes import Posterior, recover_statistics, statistics_by_label
from vbcgcd.checks import check_number
from vbcgcd.discovery.knowledge import Knowledge, score
from vbcgcd.discovery.strategies import k_means
from vbcgcd.errors import InputError
from vbcgcd.items import Failure
from vbcgcd.record import plain
from vbcgcd.workspace.batch import Batch
from vbcgcd.workspace.commands.naming import LONGEST, check_distinct, check_name, terms_of_groups
from vbcgcd.workspace.commands.sessions import assign, batch_facts, batch_files, unique_name
from vbcgcd.workspace.log.commits import NAMED_FAILURES, Commit, Draft, on_disk
from vbcgcd.workspace.log.files import SEGMENT, Segment
from vbcgcd.workspace.queries.categories import category_sizes, describe, find_category
from vbcgcd.workspace.queries.sources import Source
from vbcgcd.workspace.snapshot import Category, Key, NamedBy, Snapshot, State
from vbcgcd.workspace.values import CategoryResult

Array = NDArray[Any]
#: Rows of a batch that each part of a split needs.
PART_ROWS = 2
#: Which name a merged category takes over: the user's first.
_RANK: dict[NamedBy, int] = {"user": 0, "label": 1, "terms": 2, "likeness": 3, "number": 4}

__all__ = ["category_result", "drop_draft", "merge_draft", "merge_posteriors", "rename_draft", "split_draft"]


def rename_draft(snapshot: Snapshot, key: Key, name: str) -> Draft:
    """Give a category a name chosen by the user."""
    category, name = find_category(snapshot.state, key), check_name(name)
    _check_free(snapshot.state, name, [category])
    return Draft(
        "rename",
        changes={"categories": [replace(category, name=name, named_by="user", reliability=1.0).as_json()]},
        parameters={"category": category.id, "name": name},
        summary={"before": category.name},
    )


def merge_draft(snapshot: Snapshot, keys: Sequence[Key], name: str | None) -> Draft:
    """Merge categories into a new one; they retire and point to it."""
    state, knowledge = snapshot.state, snapshot.knowledge
    parts = _parts_of_merge(state, keys)
    ids = [part.id for part in parts]
    if name is not None:
        name = check_name(name)
        _check_free(state, name, parts)
    sizes = category_sizes(snapshot)
    best = min(parts, key=lambda part: (_RANK[part.named_by], -sizes.get(part.id, 0), part.id))
    merged = Category(
        snapshot.history.next_id,
        best.name if name is None else name,
        best.named_by if name is None else "user",
        min(part.birth for part in parts),
        parents=tuple(ids),
    )
    position = {category: row for row, category in enumerate(state.ids)}
    posterior = merge_posteriors(knowledge, [position[i] for i in ids])
    retired = [replace(part, status="merged", into=(merged.id,)) for part in parts]
    return Draft(
        "merge",
        changes={
            "categories": [category.as_json() for category in (*retired, merged)],
            "posteriors": [merged.id],
        },
        parameters={"categories": ids, "name": name},
        files={SEGMENT: Segment(posterior, (merged.id,))},
    )


def merge_posteriors(knowledge: Knowledge, rows: Sequence[int]) -> Posterior:
    """The exact posterior of several categories as one: from the sum of their statistics."""
    parts = recover_statistics(knowledge.prior, knowledge.posterior.take(list(rows)))
    return knowledge.posterior_of(parts.merged())


def split_draft(
    snapshot: Snapshot, key: Key, batch: Batch, source: Source, n_parts: int, names: Sequence[str] | None
) -> Draft:
    """Cluster the items of a batch that belong to a category; it retires and points to its parts."""
    check_number("n_parts", n_parts, low=2, whole=True)
    state, knowledge = snapshot.state, snapshot.knowledge
    whole = find_category(state, key)
    batch = _members(knowledge, batch, whole, state.ids.index(whole.id), n_parts)
    reduced = knowledge.reduced(batch.vectors)
    codes = _cluster(knowledge, reduced, n_parts)
    new_ids = [snapshot.history.next_id + i for i in range(n_parts)]
    part_names = _part_names(state, whole, batch, codes, names, n_parts)
    parts = [
        Category(i, name, named_by, whole.birth, parents=(whole.id,))
        for i, (name, named_by) in zip(new_ids, part_names, strict=True)
    ]
    structure = knowledge.prior.structure
    posterior = knowledge.posterior_of(statistics_by_label(reduced, codes, n_parts, structure=structure))
    after = replace(knowledge, posterior=posterior, reliability=None, later=None)
    scores = score(after, batch.vectors, codes)
    table = assign(batch, scores, new_ids)
    retired = replace(whole, status="split", into=tuple(new_ids))
    return Draft(
        "split",
        changes={"categories": [category.as_json() for category in (retired, *parts)], "posteriors": new_ids},
        parameters={"category": whole.id, "n_parts": n_parts},
        summary=_split_summary(batch_facts(batch, source, table, scores), new_ids),
        files={SEGMENT: Segment(posterior, tuple(new_ids))}
        | batch_files(snapshot, batch, table, after, new_ids),
    )


def drop_draft(snapshot: Snapshot, key: Key) -> Draft:
    """Retire a category; items like its own go to the others from now on."""
    state, _ = snapshot.state, snapshot.base
    category = find_category(state, key)
    if len(state.ids) == 1:
        raise InputError(f"{category.name!r} is the only category left; a workspace needs at least one.")
    return Draft(
        "drop",
        changes={"categories": [replace(category, status="dropped").as_json()]},
        parameters={"category": category.id},
    )


def category_result(commit: Commit, failures: tuple[Failure, ...] = ()) -> CategoryResult:
    """What rename, merge, split or drop did.

    Parameters
    ----------
    commit : Commit
    failures : tuple of Failure
        Items of a split that could not be embedded.
    """
    changed = [Category.from_json(values) for values in commit.changes["categories"]]
    return CategoryResult(
        commit.number,
        commit.command,
        {category.id: category.name for category in changed if category.live},
        {category.id: category.name for category in changed if not category.live},
        {int(category): count for category, count in commit.summary.get("counts", {}).items()},
        failures,
    )


def _parts_of_merge(state: State, keys: Sequence[Key]) -> list[Category]:
    parts = [
        find_category(state, key) for key in ([keys] if isinstance(keys, str | int | np.integer) else keys)
    ]
    if len(parts) < 2:
        number = f"only {describe(parts[0])}; name the category to merge it with" if parts else "none"
        raise InputError(f"Merging needs at least two categories, got {number}.")
    ids = [part.id for part in parts]
    twice = next((part for part in parts if ids.count(part.id) > 1), None)
    if twice is not None:
        raise InputError(
            f"Categories to merge must be different; {describe(twice)} was named more than once."
        )
    return parts


def _check_free(state: State, name: str, own: Sequence[Category]) -> None:
    taken = next((c for c in state.live if c.name == name and c.id not in {o.id for o in own}), None)
    if taken is not None:
        raise InputError(
            f"Category {taken.id} is already named {name!r}; choose another name, or merge the two.",
            option="name",
        )
    check_distinct(name, (c.name for c in state.live if c.id not in {o.id for o in own}))


def _members(knowledge: Knowledge, batch: Batch, whole: Category, position: int, n_parts: int) -> Batch:
    """The items of a batch that belong to a category, or an error if there are too few to split it by."""
    members = np.flatnonzero(score(knowledge, batch.vectors).best == position)
    if len(members) < PART_ROWS * n_parts:
        raise InputError(
            f"{len(members)} of the {len(batch)} items belong to {whole.name!r}; splitting it into {n_parts} "
            f"parts needs at least {PART_ROWS * n_parts}. Add more items of this category."
        )
    return batch.take(members)


def _cluster(knowledge: Knowledge, reduced: Array, n_parts: int) -> Array:
    """Part of each row, the largest first: k-means in the geometry in which sessions are clustered."""
    rows = knowledge.novelty.geometry.prepared(reduced)
    if len(np.unique(rows, axis=0)) < n_parts:
        raise InputError(f"Too few distinct items for {n_parts} parts; use fewer parts or more items.")
    labels = k_means(rows, n_parts, np.random.default_rng(0))
    sizes = np.bincount(labels, minlength=n_parts)
    place = np.empty(n_parts, dtype=np.intp)
    place[np.argsort(-sizes, kind="stable")] = np.arange(n_parts)
    return place[labels]


def _part_names(
    state: State, whole: Category, batch: Batch, codes: Array, names: Sequence[str] | None, n_parts: int
) -> list[tuple[str, NamedBy]]:
    if names is not None:
        chosen = [check_name(name) for name in names]
        if len(set(chosen)) != n_parts:
            raise InputError(f"The parts need {n_parts} different names, got {chosen!r}.", option="names")
        for place, name in enumerate(chosen):
            _check_free(state, name, [whole])
            check_distinct(name, chosen[:place])
        return [(name, "user") for name in chosen]
    taken = [category.name for category in state.live if category.id != whole.id]
    stem = whole.name[: LONGEST - 20]
    part_names: list[tuple[str, NamedBy]] = []
    for part, terms in enumerate(terms_of_groups(batch, codes, n_parts)):
        name = f"{stem}: {terms}"[:LONGEST] if terms else f"{stem} {part + 1}"
        unique = unique_name(name, [*taken, *(other for other, _ in part_names)])
        part_names.append((unique, "terms" if terms else "number"))
    return part_names


def _split_summary(facts: Mapping[str, Any], new_ids: Sequence[int]) -> dict[str, Any]:
    """What a split stores: the same names as a session, whose items its own are."""
    summary = {**facts, "failures": facts["failures"][:NAMED_FAILURES], "novel": list(new_ids)}
    return dict(plain(on_disk(summary)))
