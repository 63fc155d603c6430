"""All items assigned by the commits in effect, and the typical and doubtful ones of a category."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.workspace.assignments import SAMPLE, TABLE, Assignments, read_assignments, read_sample
from vbcgcd.workspace.commits import Commit
from vbcgcd.workspace.state import History, State
from vbcgcd.workspace.store import Store
from vbcgcd.workspace.views import ItemInfo

Array = NDArray[Any]

__all__ = ["Ledger"]


class Ledger:
    """The items of a state. Tables are read when they are first needed.

    Parameters
    ----------
    store : Store
    history : History
    tables : dict of commit -> Assignments
        Those already read; others are added.
    """

    def __init__(self, store: Store, history: History, tables: dict[int, Assignments]) -> None:
        self.store, self.state, self.tables = store, history.state, tables
        self.commits: list[Commit] = [c for c in history.in_effect() if TABLE in c.files]
        #: Session of each commit; that of a split is the last one before it.
        self.sessions: dict[int, int] = {}
        session = -1
        for commit in self.commits:
            session = commit.changes.get("session", session)
            self.sessions[commit.number] = session

    def total(self) -> int:
        """Items assigned in sessions.

        Those that a category was split by are left out: they are items of a session, counted there already.
        """
        return sum(
            sum(counts.values())
            for commit, counts in zip(self.commits, self._counts, strict=True)
            if commit.changes.get("session") is not None
        )

    def sizes(self) -> dict[int, int]:
        """Items assigned to each category; those of merged ones count for what they became.

        A part has the items that its split gave it, while the category that was split keeps those of its
        sessions: live sizes count no item twice, the sum over live and retired ones does; see `total`.
        """
        found: dict[int, int] = {}
        for counts in self._counts:
            for category, count in counts.items():
                found[category] = found.get(category, 0) + count
        return found

    def by_session(self, category: int) -> dict[int, int]:
        """Items of a category in each session."""
        found: dict[int, int] = {}
        for commit, counts in zip(self.commits, self._counts, strict=True):
            count = counts.get(category, 0)
            session = commit.changes.get("session")
            if count and session is not None:
                found[session] = found.get(session, 0) + count
        return found

    def typical(self, category: int, n: int) -> tuple[ItemInfo, ...]:
        """The surest items, and of equally sure ones the least novel."""
        columns = self._columns
        return self._first(
            category, n, lambda rows: (columns["novelty"][rows], -np.round(columns["probability"][rows], 2))
        )

    def doubtful(self, category: int, n: int) -> tuple[ItemInfo, ...]:
        """The items whose next category is nearly as probable."""
        columns = self._columns
        return self._first(
            category,
            n,
            lambda rows: (-columns["novelty"][rows], columns["margin"][rows]),
        )

    def sample(self) -> list[tuple[Commit, Array, Array]]:
        """For each commit that kept some: rows (M,) in its table, and coarse positions (M, s)."""
        kept = [commit for commit in self.commits if SAMPLE in commit.files]
        return [(commit, *read_sample(self.store.file(commit, SAMPLE))) for commit in kept]

    def table(self, commit: Commit) -> Assignments:
        """The assignments of a commit."""
        if commit.number not in self.tables:
            self.tables[commit.number] = read_assignments(self.store.file(commit, TABLE))
        return self.tables[commit.number]

    def resolved(self, commit: Commit) -> Array:
        """Category of each item of a commit, merged ones followed, int array (N,)."""
        return self._followed(self.table(commit).category)

    def _followed(self, category: Array) -> Array:
        found, places = np.unique(category, return_inverse=True)
        return np.array([self.state.resolved(int(i)) for i in found], dtype=np.int64)[places]

    @cached_property
    def _counts(self) -> list[dict[int, int]]:
        return [counted(commit, self.state) for commit in self.commits]

    @cached_property
    def _columns(self) -> dict[str, Array]:
        tables = [self.table(commit) for commit in self.commits]
        columns = {
            name: np.concatenate([getattr(table, name) for table in tables] or [np.empty(0)])
            for name in ("probability", "second_probability", "novelty", "second")
        }
        columns["category"] = np.concatenate([self.resolved(c) for c in self.commits] or [np.empty(0)])
        columns["table"] = np.repeat(np.arange(len(tables)), [len(table) for table in tables])
        rows: list[Array] = [np.arange(len(table)) for table in tables]
        columns["row"] = np.concatenate(rows or [np.empty(0)])
        # Where the next category was merged with the item's own, both probabilities are those of its own.
        second, second_probability = self._followed(columns["second"]), columns["second_probability"]
        own = second == columns["category"]
        columns["margin"] = columns["probability"] + np.where(own, second_probability, -second_probability)
        columns["second"] = np.where(own, -1, second)
        columns["second_probability"] = np.where(own, 0.0, second_probability)
        return columns

    @cached_property
    def _members(self) -> dict[int, Array]:
        category = self._columns["category"]
        order = np.argsort(category, kind="stable")
        found, starts = np.unique(category[order], return_index=True)
        parts = np.split(order, starts[1:])
        return {int(i): rows for i, rows in zip(found, parts, strict=False)}

    def _first(self, category: int, n: int, keys: Callable[[Array], Any]) -> tuple[ItemInfo, ...]:
        rows = self._members.get(category)
        if rows is None:
            return ()
        return tuple(self._item(int(row)) for row in rows[np.lexsort(keys(rows))[:n]])

    def _item(self, row: int) -> ItemInfo:
        columns = self._columns
        commit = self.commits[columns["table"][row]]
        second = int(columns["second"][row])
        return ItemInfo(
            self.table(commit).name_of(columns["row"][row]),
            commit.summary["source"],
            self.sessions[commit.number],
            float(columns["probability"][row]),
            float(columns["novelty"][row]),
            None if second < 0 else second,
            float(columns["second_probability"][row]),
            commit.number,
        )


def counted(commit: Commit, state: State) -> dict[int, int]:
    """Items of a commit in each category, merged ones followed."""
    found: dict[int, int] = {}
    for category, count in commit.summary.get("counts", {}).items():
        now = state.resolved(int(category))
        found[now] = found.get(now, 0) + count
    return found
