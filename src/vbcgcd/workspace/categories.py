"""Operations on categories: they work on sufficient statistics, make new ids and leave the old ones pointing.

Statistics add, so a merge is exact: the posterior of the merged category is the one that all rows of its
parts would have given. Statistics do not tell how to split; rows of a batch that is given do.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.bayes import Posterior, recover_statistics, statistics_by_label
from vbcgcd.discovery.cluster import k_means
from vbcgcd.discovery.knowledge import Knowledge
from vbcgcd.errors import InputError
from vbcgcd.validation import check_number
from vbcgcd.workspace.commits import Draft
from vbcgcd.workspace.data import Batch
from vbcgcd.workspace.naming import check_name, unique_name
from vbcgcd.workspace.posteriors import SEGMENT, write_segment
from vbcgcd.workspace.predictions import scored
from vbcgcd.workspace.sessions import assigned_to, batch_files, batch_summary, named_by_terms
from vbcgcd.workspace.state import Category, History, NamedBy, State

Array = NDArray[Any]
Key = int | str
#: Rows of a batch that each part of a split has to have at least.
PART_ROWS = 2
_RANK: dict[NamedBy, int] = {"user": 0, "label": 1, "terms": 2, "likeness": 3, "number": 4}

__all__ = ["Key", "drop_draft", "find", "merge_draft", "merged_posterior", "rename_draft", "split_draft"]


def find(state: State, key: Key) -> Category:
    """The live category with an id (an integer, or text such as ``"12"`` and ``"#12"``) or a name.

    Raises
    ------
    InputError
        There is none; it is retired; or the text is the name of one category and the id of another.
    """
    named = None
    number: int | None = None
    if isinstance(key, str):
        named = next((category for category in state.live if category.name == key.strip()), None)
        digits = key.strip().removeprefix("#")
        number = int(digits) if digits.isascii() and digits.isdigit() else None
    elif isinstance(key, int | np.integer) and not isinstance(key, bool):
        number = int(key)
    else:
        raise InputError(f"A category is given by its id or its name, got {key!r}.")
    numbered = None if number is None else state.categories.get(number)
    if named is not None and numbered is not None and numbered.live and named.id != numbered.id:
        raise InputError(
            f"{key!r} is the name of category {named.id} and the id of {numbered.name!r}; write "
            f"'#{numbered.id}' for the id, or '#{named.id}' for the other."
        )
    found = named or numbered
    if found is None:
        raise InputError(f"There is no category {key!r}; {_present(state, by_id=number is not None)}.")
    if not found.live:
        became = ", ".join(_called(state.categories[i]) for i in found.into)
        into = f" into {became}" if became else ""
        raise InputError(
            f"Category {found.id} ({found.name!r}) was {found.status}{into} and is no longer live."
        )
    return found


def rename_draft(state: State, key: Key, name: str) -> Draft:
    """Give a category a name of the user's."""
    category, name = find(state, key), check_name(name)
    _check_free(state, name, [category])
    return Draft(
        "rename",
        changes={"categories": [replace(category, name=name, named_by="user").as_json()]},
        parameters={"category": category.id, "name": name},
        summary={"before": category.name},
    )


def merge_draft(
    history: History, knowledge: Knowledge, keys: Sequence[Key], name: str | None, sizes: dict[int, int]
) -> Draft:
    """Pour categories into a new one; they retire and point to it."""
    state = history.state
    parts = [find(state, key) for key in ([keys] if isinstance(keys, str | int | np.integer) else keys)]
    if len(parts) < 2:
        given = f"only {_called(parts[0])}; say what to merge it with" if parts else "none"
        raise InputError(f"A merge takes at least two categories, got {given}.")
    ids = [part.id for part in parts]
    twice = next((part for part in parts if ids.count(part.id) > 1), None)
    if twice is not None:
        raise InputError(f"A merge takes different categories, got {_called(twice)} more than once.")
    best = min(parts, key=lambda part: (_RANK[part.named_by], -sizes.get(part.id, 0), part.id))
    if name is not None:
        name = check_name(name)
        _check_free(state, name, parts)
    merged = Category(
        history.next_id,
        best.name if name is None else name,
        best.named_by if name is None else "user",
        min(part.birth for part in parts),
        parents=tuple(ids),
    )
    position = {category: row for row, category in enumerate(state.where)}
    posterior = merged_posterior(knowledge, [position[i] for i in ids])
    retired = [replace(part, status="merged", into=(merged.id,)) for part in parts]
    return Draft(
        "merge",
        changes={
            "categories": [category.as_json() for category in (*retired, merged)],
            "posteriors": [merged.id],
        },
        parameters={"categories": ids, "name": name},
        files={SEGMENT: lambda path: write_segment(path, posterior, [merged.id])},
    )


def merged_posterior(knowledge: Knowledge, rows: Sequence[int]) -> Posterior:
    """The exact posterior of several categories as one: from the sum of their statistics."""
    parts = recover_statistics(knowledge.prior, knowledge.posterior.take(list(rows)))
    return knowledge.posterior_of(parts.merged())


def split_draft(
    history: History,
    knowledge: Knowledge,
    key: Key,
    batch: Batch,
    n_parts: int,
    names: Sequence[str] | None,
) -> Draft:
    """Cluster the rows of a batch that belong to a category; it retires and points to its parts."""
    start = time.perf_counter()
    check_number("n_parts", n_parts, low=2, whole=True)
    state, whole = history.state, find(history.state, key)
    position = list(state.where).index(whole.id)
    members = np.flatnonzero(scored(knowledge, batch.vectors).best == position)
    if len(members) < PART_ROWS * n_parts:
        raise InputError(
            f"Of the {len(batch)} items given, {len(members)} belong to {whole.name!r}; splitting it into "
            f"{n_parts} takes at least {PART_ROWS * n_parts}. Give more of its items."
        )
    batch = batch.take(members)
    reduced = knowledge.reduced(batch.vectors)
    codes = _clustered(knowledge, reduced, n_parts)
    new_ids = [history.next_id + i for i in range(n_parts)]
    new = [
        Category(i, name, how, whole.birth, parents=(whole.id,))
        for i, (name, how) in zip(
            new_ids, _part_names(state, whole, batch, codes, names, n_parts), strict=True
        )
    ]
    structure = knowledge.prior.structure
    posterior = knowledge.posterior_of(statistics_by_label(reduced, codes, n_parts, structure=structure))
    after = replace(knowledge, posterior=posterior)
    assigned = assigned_to(batch, after, np.array(new_ids), codes)
    retired = replace(whole, status="split", into=tuple(new_ids))
    return Draft(
        "split",
        changes={"categories": [category.as_json() for category in (retired, *new)], "posteriors": new_ids},
        parameters={"category": whole.id, "n_parts": n_parts},
        summary={**batch_summary(batch, assigned, start), "novel": new_ids},
        files={SEGMENT: lambda path: write_segment(path, posterior, new_ids)}
        | batch_files(history, batch, assigned, after, new_ids),
    )


def drop_draft(state: State, key: Key) -> Draft:
    """Retire a category; its rows go to the others from now on."""
    category = find(state, key)
    if len(state.where) == 1:
        raise InputError(f"{category.name!r} is the only category left; a workspace needs one.")
    return Draft(
        "drop",
        changes={"categories": [replace(category, status="dropped").as_json()]},
        parameters={"category": category.id},
    )


def _present(state: State, *, by_id: bool) -> str:
    if not state.categories:
        return "there are none yet"
    if by_id:
        return f"ids go from {min(state.categories)} to {max(state.categories)}"
    names = ", ".join(f"{category.id} {category.name!r}" for category in state.live[:8])
    return f"there are {names}" + (f" and {len(state.live) - 8} more" if len(state.live) > 8 else "")


def _called(category: Category) -> str:
    return f"{category.name!r} (category {category.id})"


def _check_free(state: State, name: str, own: Sequence[Category]) -> None:
    taken = next((c for c in state.live if c.name == name and c.id not in {o.id for o in own}), None)
    if taken is not None:
        raise InputError(
            f"{name!r} is the name of category {taken.id} already; choose another, or merge the two."
        )


def _clustered(knowledge: Knowledge, reduced: Array, n_parts: int) -> Array:
    """Part of each row, the largest first: k-means in the geometry in which sessions are clustered."""
    rows = knowledge.novelty.geometry.prepared(reduced)
    if len(np.unique(rows, axis=0)) < n_parts:
        raise InputError(f"The items are not different enough to make {n_parts} parts.")
    labels = k_means(rows, n_parts, np.random.default_rng(0))
    sizes = np.bincount(labels, minlength=n_parts)
    place = np.empty(n_parts, dtype=np.intp)
    place[np.argsort(-sizes, kind="stable")] = np.arange(n_parts)
    return place[labels]


def _part_names(
    state: State, whole: Category, batch: Batch, codes: Array, names: Sequence[str] | None, n_parts: int
) -> list[tuple[str, NamedBy]]:
    if names is not None:
        given = [check_name(name) for name in names]
        if len(set(given)) != n_parts:
            raise InputError(f"{n_parts} different names are needed for the parts, got {given!r}.")
        for name in given:
            _check_free(state, name, [whole])
        return [(name, "user") for name in given]
    terms = named_by_terms(batch, codes, n_parts)
    taken = [category.name for category in state.live if category.id != whole.id]
    found: list[tuple[str, NamedBy]] = []
    for part, term in enumerate(terms):
        stem = whole.name[:180]
        name = unique_name(
            f"{stem}: {term}"[:200] if term else f"{stem} {part + 1}", [*taken, *(n for n, _ in found)]
        )
        found.append((name, "terms" if term else "number"))
    return found
