"""Operations on categories: they work on sufficient statistics, create new ids and retire the old ones.

Statistics add, so a merge is exact: the posterior of the merged category is the one that all rows of its
parts would have given. `vbcgcd.workspace.commands.splitting` splits one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.bayes import Posterior, recover_statistics
from vbcgcd.discovery.knowledge import Knowledge
from vbcgcd.errors import InputError
from vbcgcd.items import Failure
from vbcgcd.workspace.commands.naming import check_distinct, check_name
from vbcgcd.workspace.log.commits import Commit, Draft
from vbcgcd.workspace.log.files import SEGMENT, Segment
from vbcgcd.workspace.queries.categories import category_sizes, describe, find_category
from vbcgcd.workspace.snapshot import Category, Key, NamedBy, Snapshot, State
from vbcgcd.workspace.values import CategoryResult

Array = NDArray[Any]
#: Which name a merged category takes over: the user's first.
_RANK: dict[NamedBy, int] = {"user": 0, "label": 1, "terms": 2, "likeness": 3, "number": 4}

__all__ = [
    "category_result",
    "check_free",
    "drop_draft",
    "merge_draft",
    "merge_posteriors",
    "rename_draft",
]


def rename_draft(snapshot: Snapshot, key: Key, name: str) -> Draft:
    """Give a category a name chosen by the user."""
    category, name = find_category(snapshot.state, key), check_name(name)
    check_free(snapshot.state, name, [category])
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
        check_free(state, name, parts)
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
        commit.summary.get("missing", 0),
        commit.summary.get("shared", 0.0),
        commit.summary.get("judged", False),
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


def check_free(state: State, name: str, own: Sequence[Category]) -> None:
    """Raise if a live category other than its own has this name, or one that looks the same."""
    taken = next((c for c in state.live if c.name == name and c.id not in {o.id for o in own}), None)
    if taken is not None:
        raise InputError(
            f"Category {taken.id} is already named {name!r}; choose another name, or merge the two.",
            option="name",
        )
    check_distinct(name, (c.name for c in state.live if c.id not in {o.id for o in own}))
