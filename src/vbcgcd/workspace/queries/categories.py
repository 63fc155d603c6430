"""Queries about categories: finding one, sizes, neighbours, and all of them in a list."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.errors import InputError
from vbcgcd.names import normalised
from vbcgcd.workspace.log.commits import Commit
from vbcgcd.workspace.queries.items import assigning_commits, commit_counts, labelled_items, typical_samples
from vbcgcd.workspace.snapshot import Category, Key, Snapshot, State, once_per_snapshot
from vbcgcd.workspace.values import CategoryInfo

Array = NDArray[Any]

#: How many categories an error suggests, and how similar their names must be (0 to 1).
SUGGESTIONS, SIMILAR = 3, 0.6
#: Pairs of means up to which they are compared in double precision, and pairs compared at a time.
EXACT_PAIRS, BLOCK_PAIRS = 2**22, 2**23

__all__ = [
    "category_sizes",
    "count_items",
    "describe",
    "find_category",
    "get_category",
    "items_by_session",
    "list_categories",
    "list_entries",
    "nearest_means",
]


def count_items(snapshot: Snapshot) -> int:
    """Items that sessions in effect have assigned, whatever became of their categories.

    Unassigned items are not among them. The items that a category was split by are items of a session
    already, and are not counted again.
    """
    return sum(
        sum(counts.values())
        for commit, counts in _counts(snapshot)
        if commit.changes.get("session") is not None
    )


@once_per_snapshot
def category_sizes(snapshot: Snapshot) -> dict[int, int]:
    """Items assigned to each category; those of merged ones count for what they became.

    A part has the items that its split gave it, while the category that was split keeps those of its
    sessions: live sizes count no item twice, the sum over live and retired ones does; see `count_items`.
    """
    sizes: dict[int, int] = {}
    for _, counts in _counts(snapshot):
        for category, count in counts.items():
            sizes[category] = sizes.get(category, 0) + count
    return sizes


def items_by_session(snapshot: Snapshot, category: int) -> dict[int, int]:
    """Items of a category in each session."""
    by_session: dict[int, int] = {}
    for commit, counts in _counts(snapshot):
        count = counts.get(category, 0)
        session = commit.changes.get("session")
        if count and session is not None:
            by_session[session] = by_session.get(session, 0) + count
    return by_session


@once_per_snapshot
def _counts(snapshot: Snapshot) -> list[tuple[Commit, dict[int, int]]]:
    return [(commit, commit_counts(snapshot, commit)) for commit in assigning_commits(snapshot)]


def get_category(snapshot: Snapshot, key: Key, *, retired: bool = False) -> Category:
    """The live category with this id or name; with ``retired`` also a retired one, by its id."""
    return find_category(snapshot.state, key, retired=retired)


def list_entries(snapshot: Snapshot, *, retired: bool = False) -> tuple[Category, ...]:
    """The live categories by rising id, then the retired ones if asked for: only what the log says of them.

    No file of a commit is read, so this is much faster than `list_categories`.
    """
    state = snapshot.state
    gone = (category for category in state.categories.values() if not category.live)
    return (*state.live, *(gone if retired else ()))


def list_categories(
    snapshot: Snapshot,
    *,
    n_samples: int = 5,
    retired: bool = False,
    items: bool = False,
    only: Collection[int] | None = None,
) -> tuple[CategoryInfo, ...]:
    """The live categories by rising id, then the retired ones if asked for.

    Parameters
    ----------
    snapshot : Snapshot
    n_samples : int
        Typical items of each.
    retired : bool
        Add those that were merged, split or dropped.
    items : bool
        Read the texts of the typical items from the user's own files.
    only : collection of int, optional
        Ids; no other category is looked up.
    """
    state = snapshot.state
    ids = state.categories if only is None else only
    infos = _live(snapshot, n_samples, items, ids) if state.ids else []
    if retired:
        sizes = category_sizes(snapshot)
        gone = (c for c in state.categories.values() if not c.live and c.id in ids)
        infos += [_info(category, sizes.get(category.id, 0)) for category in gone]
    return tuple(infos)


def _live(snapshot: Snapshot, n_samples: int, texts: bool, ids: Collection[int]) -> list[CategoryInfo]:
    from vbcgcd.bayes import deviation

    knowledge, live, sizes = snapshot.knowledge, snapshot.state.live, category_sizes(snapshot)
    posterior = knowledge.posterior
    rows = [row for row, category in enumerate(live) if category.id in ids]
    nearest, distance = nearest_means(posterior.mean, rows)
    volume, spread = posterior.log_det_covariance, deviation(knowledge.prior, posterior)
    labelled = labelled_items(snapshot)
    infos = []
    for place, row in enumerate(rows):
        category = live[row]
        samples = typical_samples(snapshot, category.id, n_samples, texts=texts)
        near = None if nearest[place] < 0 else live[nearest[place]]
        infos.append(
            _info(
                category,
                sizes.get(category.id, 0),
                taught=round(float(posterior.kappa[row] - knowledge.prior.kappa), 6),
                spread=None if np.isnan(spread[row]) else float(spread[row]),
                log_volume=float(volume[row]),
                nearest=None if near is None else near.id,
                nearest_name="" if near is None else near.name,
                nearest_distance=None if near is None else float(distance[place]),
                samples=samples.references,
                sample_texts=samples.texts,
                sample_sources=samples.sources,
                labelled=labelled.get(category.id, 0),
            )
        )
    return infos


def _info(category: Category, size: int, **further: Any) -> CategoryInfo:
    return CategoryInfo(
        id=category.id,
        name=category.name,
        named_by=category.named_by,
        status=category.status,
        birth=category.birth,
        size=size,
        into=category.into,
        parents=category.parents,
        reliability=round(category.reliability, 4),
        **further,
    )


def nearest_means(means: Array, rows: Sequence[int] | None = None) -> tuple[Array, Array]:
    """Position of the nearest other mean (-1 for none) and its distance, arrays (K,) or (len(rows),).

    Parameters
    ----------
    means : array (K, D)
    rows : sequence of int, optional
        Those of which the nearest other one is sought; all by default.
    """
    chosen = np.arange(len(means)) if rows is None else np.asarray(rows, dtype=np.int64)
    if len(means) < 2:
        return np.full(len(chosen), -1), np.full(len(chosen), np.nan)
    if len(means) * len(chosen) <= EXACT_PAIRS:
        means = means.astype(np.float64)
    half_squares = 0.5 * np.einsum("kd,kd->k", means, means)
    nearest = np.empty(len(chosen), dtype=np.int64)
    block = max(BLOCK_PAIRS // len(means), 1)
    for start in range(0, len(chosen), block):
        part = chosen[start : start + block]
        # Half the squared distance, without what is the same for all others.
        distance = half_squares - means[part] @ means.T
        distance[np.arange(len(part)), part] = np.inf
        nearest[start : start + block] = distance.argmin(axis=1)
    gap = means[chosen].astype(np.float64) - means[nearest]
    return nearest, np.sqrt(np.einsum("kd,kd->k", gap, gap))


def find_category(state: State, key: Key, *, retired: bool = False) -> Category:
    """The live category with an id (an integer, or text such as ``"12"`` and ``"#12"``) or a name.

    Parameters
    ----------
    state : State
    key : int or str
    retired : bool
        Also find a retired category by its id.

    Raises
    ------
    InputError
        There is no such category, it is retired, or the text is the name of one and the id of another.
    """
    named, number = None, None
    if isinstance(key, str):
        text = key.strip()
        digits = text.removeprefix("#")
        number = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 19 else None
        if number is None or not text.startswith("#"):  # "#12" always means the id
            named = _named(state, text)
    elif isinstance(key, int | np.integer) and not isinstance(key, bool):
        number = int(key)
    else:
        raise InputError(f"Give a category by its id or its name, got {key!r}.")
    numbered = None if number is None else state.categories.get(number)
    if named is not None and numbered is not None and numbered.live and named.id != numbered.id:
        raise InputError(
            f"{key!r} is both the name of category {named.id} and the id of {numbered.name!r}; write "
            f"'#{named.id}' for the first or '#{numbered.id}' for the second."
        )
    category = named or numbered
    if category is None:
        raise InputError(f"There is no category {key!r}. {_suggest(state, key, number)}")
    if not category.live and not retired:
        successors = ", ".join(describe(state.categories[i]) for i in category.into)
        into = f" into {successors}" if successors else ""
        raise InputError(
            f"Category {category.id} ({category.name!r}) was {category.status}{into} and is no longer live."
        )
    return category


def _named(state: State, text: str) -> Category | None:
    """The live category with this name, however its accents are written."""
    live = state.live
    exact = next((category for category in live if category.name == text), None)
    wanted = normalised(text)
    return exact or next((c for c in live if normalised(c.name) == wanted), None)


def describe(category: Category) -> str:
    """A category in a message: its name and id."""
    return f"{category.name!r} (category {category.id})"


def _suggest(state: State, key: Key, number: int | None) -> str:
    """The end of a message: what the user may have meant."""
    if not state.categories:
        return "No categories have been learned yet."
    if number is not None:
        return f"Ids go from {min(state.categories)} to {max(state.categories)}."
    similar = sorted((-_similarity(str(key), c.name), c.id, c.name) for c in state.live)
    close = [f"{i} {name!r}" for score, i, name in similar[:SUGGESTIONS] if -score >= SIMILAR]
    if close:
        return f"Did you mean {' or '.join(close)}?"
    names = ", ".join(f"{category.id} {category.name!r}" for category in state.live[:8])
    return f"There are {names}" + (f" and {len(state.live) - 8} more." if len(state.live) > 8 else ".")


def _similarity(key: str, name: str) -> float:
    """How similar a text is to a name or to a word of it, from 0 to 1."""
    text, name = key.strip().casefold(), name.casefold()
    if text and text in name:
        return 1.0
    parts = (name, *name.replace("_", " ").split())
    return max(difflib.SequenceMatcher(None, text, part).ratio() for part in parts)
