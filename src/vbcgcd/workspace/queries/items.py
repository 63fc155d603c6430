"""Queries about the items that sessions assigned: the typical, the doubtful and the unassigned ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vbcgcd.workspace.ledger import Standing, ledger_of
from vbcgcd.workspace.log.commits import Commit
from vbcgcd.workspace.log.files import TABLE, UNASSIGNED
from vbcgcd.workspace.log.lessons import BY_PEOPLE, STATES, ItemKey
from vbcgcd.workspace.log.rows import Positions, Rows
from vbcgcd.workspace.packing import assigned_rows, coarse_positions
from vbcgcd.workspace.queries.sources import item_texts
from vbcgcd.workspace.snapshot import Snapshot, State, once_per_snapshot
from vbcgcd.workspace.values import ItemInfo

Array = NDArray[Any]

__all__ = [
    "ItemColumns",
    "Placed",
    "TypicalItems",
    "assigned_category",
    "assigning_commits",
    "commit_counts",
    "count_unassigned",
    "doubtful_items",
    "item_columns",
    "item_info",
    "item_row",
    "labelled_items",
    "placed_items",
    "reference_of",
    "resolved_categories",
    "session_of_commit",
    "typical_items",
    "typical_samples",
    "unassigned_items",
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


def commit_counts(snapshot: Snapshot, commit: Commit) -> dict[int, int]:
    """Items of a commit in each category, merged ones resolved and items where people put them."""
    counts: dict[int, int] = {}
    for category, count in commit.summary.get("counts", {}).items():
        now = snapshot.state.resolve(int(category))
        counts[now] = counts.get(now, 0) + count
    for (before, after), number in _moves(snapshot).get(commit.number, {}).items():
        for category, change in ((before, -number), (after, number)):
            if category != UNASSIGNED:
                counts[category] = counts.get(category, 0) + change
    return {category: count for category, count in counts.items() if count}


@once_per_snapshot
def _moves(snapshot: Snapshot) -> dict[int, dict[tuple[int, int], int]]:
    """By commit, how many of its items corrections have moved from one category to another."""
    moves: dict[int, dict[tuple[int, int], int]] = {}
    if not ledger_of(snapshot).standing:
        return moves  # no table need be read
    columns = item_columns(snapshot)
    for row in columns.corrected:
        move = int(columns.assigned[row]), int(columns.category[row])
        if move[0] != move[1]:
            of_commit = moves.setdefault(int(columns.commit[row]), {})
            of_commit[move] = of_commit.get(move, 0) + 1
    return moves


def typical_items(snapshot: Snapshot, category: int, n: int) -> tuple[ItemInfo, ...]:
    """The surest items, and of equally sure ones the least novel."""
    columns = item_columns(snapshot)
    return _first(
        snapshot, category, n, lambda rows: (columns.novelty[rows], -np.round(columns.probability[rows], 2))
    )


def doubtful_items(snapshot: Snapshot, category: int, n: int) -> tuple[ItemInfo, ...]:
    """The items whose next category is nearly as probable."""
    columns = item_columns(snapshot)
    return _first(snapshot, category, n, lambda rows: (-columns.novelty[rows], columns.margin[rows]))


def unassigned_items(
    snapshot: Snapshot, n: int | None = None, *, session: int | None = None
) -> tuple[ItemInfo, ...]:
    """The items that fit no category well enough, the most novel first.

    They stay unassigned whatever later sessions find; ``predict`` says where they belong now.

    Parameters
    ----------
    snapshot : Snapshot
    n : int, optional
        At most so many; all by default.
    session : int, optional
        Only those of this session.
    """
    columns, rows = item_columns(snapshot), _members(snapshot).get(UNASSIGNED, np.empty(0, dtype=np.int64))
    if session is not None:
        of_session = [number for number, its in session_of_commit(snapshot).items() if its == session]
        rows = rows[np.isin(columns.commit[rows], of_session)]
    order = np.argsort(-columns.novelty[rows], kind="stable")[:n]
    return tuple(item_info(snapshot, int(row)) for row in rows[order])


def count_unassigned(snapshot: Snapshot, *, session: int | None = None) -> int:
    """Items of all sessions in effect, or of one, that fit no category well enough."""
    return sum(
        int(commit.summary.get("unassigned", 0))
        + sum(
            n * ((after == UNASSIGNED) - (before == UNASSIGNED))
            for (before, after), n in _moves(snapshot).get(commit.number, {}).items()
        )
        for commit in assigning_commits(snapshot)
        if session is None or commit.changes.get("session") == session
    )


def resolved_categories(state: State, categories: Array) -> Array:
    """Categories of items, merged ones resolved, int array (N,)."""
    different, places = np.unique(categories, return_inverse=True)
    return np.array([state.resolve(int(i)) for i in different], dtype=np.int64)[places]


@dataclass(frozen=True, eq=False)
class ItemColumns:
    """All assigned items side by side, arrays (N,); ``commit`` and ``parts`` say where each one is.

    ``assigned`` is the category that its session gave each item, ``category`` the one that counts; they
    differ at most for the rows ``corrected``. ``state`` is a code of `STATES`.
    """

    parts: list[Rows]
    commit: Array
    assigned: Array
    corrected: Array
    state: Array
    category: Array
    probability: Array
    second: Array
    second_probability: Array
    margin: Array
    novelty: Array

    def reference(self, row: int) -> str:
        """Reference of one item."""
        for part in self.parts:
            if row < len(part.commit):
                return part.table.name_of(row)
            row -= len(part.commit)
        raise IndexError(row)

    def references(self) -> Iterator[str]:
        """References of all items."""
        for part in self.parts:
            reference = part.table.reference
            yield from reference if isinstance(reference, list) else reference.to_pylist()


@once_per_snapshot
def item_columns(snapshot: Snapshot) -> ItemColumns:
    """All assigned items side by side."""
    parts = assigned_rows(snapshot)

    def joined(name: str) -> Array:
        return np.concatenate([getattr(part.table, name) for part in parts] or [np.empty(0)])

    category = resolved_categories(snapshot.state, joined("category"))
    second = resolved_categories(snapshot.state, joined("second"))
    probability, second_probability = joined("probability"), joined("second_probability")
    # If the next category was merged with the item's own, both probabilities are those of its own.
    own = second == category
    commit = np.concatenate([part.commit for part in parts] or [np.empty(0, dtype=np.int64)])
    learned = [c.number for c in assigning_commits(snapshot) if c.command == "learn"]
    state = np.where(np.isin(commit, learned), STATES.index("labelled"), STATES.index("guessed"))
    columns = ItemColumns(
        parts=parts,
        commit=commit,
        assigned=category,
        corrected=np.empty(0, dtype=np.int64),
        state=np.where(category == UNASSIGNED, STATES.index("unassigned"), state),
        category=category,
        probability=probability,
        second=np.where(own, -1, second),
        second_probability=np.where(own, 0.0, second_probability),
        margin=probability + np.where(own, second_probability, -second_probability),
        novelty=joined("novelty"),
    )
    standing = ledger_of(snapshot).standing
    return _corrected(snapshot, columns, standing) if standing else columns


def _corrected(snapshot: Snapshot, columns: ItemColumns, standing: Mapping[ItemKey, Standing]) -> ItemColumns:
    """The columns with what people said: the category that they gave is certain."""
    keys = np.array(list(standing), dtype=np.int64)
    rows = np.searchsorted(columns.commit, keys[:, 0]) + keys[:, 1]
    entries = [entry.correction for entry in standing.values()]
    given = resolved_categories(snapshot.state, np.array([entry.category for entry in entries]))
    state = np.array([STATES.index(entry.state) for entry in entries])
    names = ("category", "state", "probability", "second", "second_probability", "margin")
    new = {name: getattr(columns, name).copy() for name in names}
    new["category"][rows], new["state"][rows] = given, state
    told = rows[np.isin(state, [STATES.index(name) for name in ("moved", "confirmed")])]
    for name, value in (("probability", 1.0), ("second", -1), ("second_probability", 0.0), ("margin", 1.0)):
        new[name][told] = value
    # Without the category that it is not of, the others and none of them share the probability.
    refused = rows[state == STATES.index("rejected")]
    rest = np.maximum(1 - columns.probability[refused], 1e-12)
    next_best = np.where(
        columns.assigned[refused] == UNASSIGNED, 0.0, columns.second_probability[refused] / rest
    )
    new["second_probability"][refused] = np.clip(next_best, 0, 1)
    new["probability"][refused] = 1 - new["second_probability"][refused]
    new["margin"] = np.where(new["state"] == STATES.index("rejected"), 0.0, new["margin"])
    return replace(columns, corrected=np.sort(rows), **new)


def item_row(snapshot: Snapshot, key: ItemKey) -> int:
    """Where an item is among all assigned ones."""
    return int(np.searchsorted(item_columns(snapshot).commit, key[0])) + key[1]


def assigned_category(snapshot: Snapshot, key: ItemKey) -> int | None:
    """The category that its session gave an item; None if it is unassigned."""
    category = int(item_columns(snapshot).assigned[item_row(snapshot, key)])
    return None if category == UNASSIGNED else category


def labelled_items(snapshot: Snapshot) -> dict[int, int]:
    """Items that people put into each category."""
    columns = item_columns(snapshot)
    told = np.isin(columns.state, [STATES.index(state) for state in BY_PEOPLE])
    categories, counts = np.unique(columns.category[told], return_counts=True)
    return dict(zip(categories.tolist(), counts.tolist(), strict=True))


class Placed(NamedTuple):
    """A sample of the items: rows of all assigned ones, categories (N,), and coarse positions (N, s)."""

    rows: Array
    category: Array
    commit: Array
    sketch: Array


def placed_items(snapshot: Snapshot) -> Placed:
    """The items of which a coarse position is stored, in the order of their sessions."""
    columns, parts = item_columns(snapshot), coarse_positions(snapshot)
    if not parts:
        nothing = np.empty(0, dtype=np.int64)
        return Placed(nothing, nothing, nothing, np.empty((0, 0)))
    places = Positions.joined(parts)
    rows = np.searchsorted(columns.commit, places.commit) + places.sample.rows
    return Placed(rows, columns.category[rows], places.commit, places.sample.sketch)


def reference_of(snapshot: Snapshot, row: int) -> str:
    """Reference of a row of all assigned items."""
    return item_columns(snapshot).reference(row)


@once_per_snapshot
def _members(snapshot: Snapshot) -> dict[int, Array]:
    """Rows of each category in the columns."""
    category = item_columns(snapshot).category
    order = np.argsort(category, kind="stable")
    different, starts = np.unique(category[order], return_index=True)
    return {int(i): rows for i, rows in zip(different, np.split(order, starts[1:]), strict=False)}


def _first(snapshot: Snapshot, category: int, n: int, keys: Callable[[Array], Any]) -> tuple[ItemInfo, ...]:
    rows = _members(snapshot).get(category)
    if rows is None:
        return ()
    return tuple(item_info(snapshot, int(row)) for row in rows[np.lexsort(keys(rows))[:n]])


def item_info(snapshot: Snapshot, row: int) -> ItemInfo:
    """A row of all assigned items."""
    columns = item_columns(snapshot)
    commit = snapshot.history.commit(int(columns.commit[row]))
    second = int(columns.second[row])
    return ItemInfo(
        columns.reference(row),
        commit.summary["source"],
        session_of_commit(snapshot)[commit.number],
        float(columns.probability[row]),
        float(columns.novelty[row]),
        None if second < 0 else second,
        float(columns.second_probability[row]),
        commit.number,
        row - int(np.searchsorted(columns.commit, commit.number)),
        None if columns.category[row] == UNASSIGNED else int(columns.category[row]),
        STATES[int(columns.state[row])],
    )


class TypicalItems(NamedTuple):
    """Typical items of a category: references, texts if they were asked for, and sources."""

    references: tuple[str, ...]
    texts: tuple[str, ...]
    sources: tuple[str, ...]


def typical_samples(snapshot: Snapshot, category: int, n: int, *, texts: bool) -> TypicalItems:
    """The ``n`` most typical items of a category, with their texts if asked for."""
    if n == 0:  # no table need be read
        return TypicalItems((), (), ())
    items = typical_items(snapshot, category, n)
    return TypicalItems(
        tuple(item.reference for item in items),
        tuple(item_texts(snapshot, items)) if texts else (),
        tuple(item.source for item in items),
    )
