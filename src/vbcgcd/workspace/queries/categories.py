"""Queries about categories and their items: finding one, sizes, neighbours, typical and doubtful items."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vbcgcd.bayes import deviation
from vbcgcd.errors import InputError
from vbcgcd.workspace.log.commits import Commit
from vbcgcd.workspace.log.files import TABLE, Assignments
from vbcgcd.workspace.queries.sources import item_texts
from vbcgcd.workspace.snapshot import Category, Key, Snapshot, State, once_per_snapshot
from vbcgcd.workspace.values import CategoryInfo, ItemInfo

Array = NDArray[Any]

#: How many categories an error suggests, and how similar their names must be (0 to 1).
SUGGESTIONS, SIMILAR = 3, 0.6

__all__ = [
    "TypicalItems",
    "assigning_commits",
    "category_sizes",
    "commit_counts",
    "count_items",
    "describe",
    "doubtful_items",
    "find_category",
    "get_category",
    "items_by_session",
    "list_categories",
    "nearest_means",
    "resolved_categories",
    "session_of_commit",
    "typical_items",
    "typical_samples",
]


@once_per_snapshot
def assigning_commits(snapshot: Snapshot) -> list[Commit]:
    """The commits in effect that assigned items: sessions and splits."""
    return [commit for commit in snapshot.history.in_effect() if TABLE in commit.files]


@once_per_snapshot
def session_of_commit(snapshot: Snapshot) -> dict[int, int]:
    """Session of each assigning commit; that of a split is the last one before it."""
    sessions: dict[int, int] = {}
    session = -1
    for commit in assigning_commits(snapshot):
        session = commit.changes.get("session", session)
        sessions[commit.number] = session
    return sessions


def count_items(snapshot: Snapshot) -> int:
    """Items that sessions in effect have assigned, whatever became of their categories.

    The items that a category was split by are items of a session already, and are not counted again.
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


def commit_counts(commit: Commit, state: State) -> dict[int, int]:
    """Items of a commit in each category, merged ones resolved."""
    counts: dict[int, int] = {}
    for category, count in commit.summary.get("counts", {}).items():
        now = state.resolve(int(category))
        counts[now] = counts.get(now, 0) + count
    return counts


def typical_items(snapshot: Snapshot, category: int, n: int) -> tuple[ItemInfo, ...]:
    """The surest items, and of equally sure ones the least novel."""
    columns = _columns(snapshot)
    return _first(
        snapshot, category, n, lambda rows: (columns.novelty[rows], -np.round(columns.probability[rows], 2))
    )


def doubtful_items(snapshot: Snapshot, category: int, n: int) -> tuple[ItemInfo, ...]:
    """The items whose next category is nearly as probable."""
    columns = _columns(snapshot)
    return _first(snapshot, category, n, lambda rows: (-columns.novelty[rows], columns.margin[rows]))


def resolved_categories(state: State, categories: Array) -> Array:
    """Categories of items, merged ones resolved, int array (N,)."""
    different, places = np.unique(categories, return_inverse=True)
    return np.array([state.resolve(int(i)) for i in different], dtype=np.int64)[places]


@once_per_snapshot
def _counts(snapshot: Snapshot) -> list[tuple[Commit, dict[int, int]]]:
    return [(commit, commit_counts(commit, snapshot.state)) for commit in assigning_commits(snapshot)]


@dataclass(frozen=True, eq=False)
class _Columns:
    """All assigned items side by side, arrays (N,); ``table`` and ``row`` say where each one is."""

    table: Array
    row: Array
    category: Array
    probability: Array
    second: Array
    second_probability: Array
    margin: Array
    novelty: Array


@once_per_snapshot
def _columns(snapshot: Snapshot) -> _Columns:
    tables: list[Assignments] = [snapshot.content(c, TABLE) for c in assigning_commits(snapshot)]

    def joined(name: str) -> Array:
        return np.concatenate([getattr(table, name) for table in tables] or [np.empty(0)])

    rows: list[Array] = [np.arange(len(table)) for table in tables]
    category = resolved_categories(snapshot.state, joined("category"))
    second = resolved_categories(snapshot.state, joined("second"))
    probability, second_probability = joined("probability"), joined("second_probability")
    # If the next category was merged with the item's own, both probabilities are those of its own.
    own = second == category
    return _Columns(
        table=np.repeat(np.arange(len(tables)), [len(table) for table in tables]),
        row=np.concatenate(rows or [np.empty(0)]),
        category=category,
        probability=probability,
        second=np.where(own, -1, second),
        second_probability=np.where(own, 0.0, second_probability),
        margin=probability + np.where(own, second_probability, -second_probability),
        novelty=joined("novelty"),
    )


@once_per_snapshot
def _members(snapshot: Snapshot) -> dict[int, Array]:
    """Rows of each category in the columns."""
    category = _columns(snapshot).category
    order = np.argsort(category, kind="stable")
    different, starts = np.unique(category[order], return_index=True)
    return {int(i): rows for i, rows in zip(different, np.split(order, starts[1:]), strict=False)}


def _first(snapshot: Snapshot, category: int, n: int, keys: Callable[[Array], Any]) -> tuple[ItemInfo, ...]:
    rows = _members(snapshot).get(category)
    if rows is None:
        return ()
    return tuple(_item(snapshot, int(row)) for row in rows[np.lexsort(keys(rows))[:n]])


def _item(snapshot: Snapshot, row: int) -> ItemInfo:
    columns = _columns(snapshot)
    commit = assigning_commits(snapshot)[columns.table[row]]
    second = int(columns.second[row])
    return ItemInfo(
        snapshot.content(commit, TABLE).name_of(columns.row[row]),
        commit.summary["source"],
        session_of_commit(snapshot)[commit.number],
        float(columns.probability[row]),
        float(columns.novelty[row]),
        None if second < 0 else second,
        float(columns.second_probability[row]),
        commit.number,
    )


class TypicalItems(NamedTuple):
    """Typical items of a category: references, texts if they were asked for, and sources."""

    references: tuple[str, ...]
    texts: tuple[str, ...]
    sources: tuple[str, ...]


def typical_samples(snapshot: Snapshot, category: int, n: int, *, texts: bool) -> TypicalItems:
    """The ``n`` most typical items of a category, with their texts if asked for."""
    items = typical_items(snapshot, category, n)
    return TypicalItems(
        tuple(item.reference for item in items),
        tuple(item_texts(snapshot, items)) if texts else (),
        tuple(item.source for item in items),
    )


def get_category(snapshot: Snapshot, key: Key, *, retired: bool = False) -> Category:
    """The live category with this id or name; with ``retired`` also a retired one, by its id."""
    return find_category(snapshot.state, key, retired=retired)


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
    knowledge, live, sizes = snapshot.knowledge, snapshot.state.live, category_sizes(snapshot)
    posterior = knowledge.posterior
    nearest, distance = nearest_means(posterior.mean)
    volume, spread = posterior.log_det_covariance, deviation(knowledge.prior, posterior)
    infos = []
    for row, category in enumerate(live):
        if category.id not in ids:
            continue
        samples = typical_samples(snapshot, category.id, n_samples, texts=texts)
        near = None if nearest[row] < 0 else live[nearest[row]]
        infos.append(
            _info(
                category,
                sizes.get(category.id, 0),
                taught=round(float(posterior.kappa[row] - knowledge.prior.kappa), 6),
                spread=None if np.isnan(spread[row]) else float(spread[row]),
                log_volume=float(volume[row]),
                nearest=None if near is None else near.id,
                nearest_name="" if near is None else near.name,
                nearest_distance=None if near is None else float(distance[row]),
                samples=samples.references,
                sample_texts=samples.texts,
                sample_sources=samples.sources,
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
        **further,
    )


def nearest_means(means: Array) -> tuple[Array, Array]:
    """Position of the nearest other mean (-1 for none) and its distance, arrays (K,)."""
    means = means.astype(np.float64)
    if len(means) < 2:
        return np.full(len(means), -1), np.full(len(means), np.nan)
    squares = (means**2).sum(axis=1)
    distance = squares[:, None] + squares - 2 * means @ means.T
    np.fill_diagonal(distance, np.inf)
    nearest = distance.argmin(axis=1)
    return nearest, np.sqrt(np.maximum(distance[np.arange(len(means)), nearest], 0.0))


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
            named = next((category for category in state.live if category.name == text), None)
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
