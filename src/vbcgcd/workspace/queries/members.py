"""Who is in a category: the items that belong to it, and all that have taught it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vbcgcd.errors import InputError
from vbcgcd.workspace.ledger import ledger_of, taught_now
from vbcgcd.workspace.log.files import LESSONS, TABLE
from vbcgcd.workspace.log.lessons import Target
from vbcgcd.workspace.queries.items import assigning_commits, item_columns, item_info
from vbcgcd.workspace.snapshot import Snapshot, State
from vbcgcd.workspace.values import ItemInfo

Array = NDArray[Any]

__all__ = ["Member", "members_of"]


class Member(NamedTuple):
    """An item of a category, or one that has taught it.

    Attributes
    ----------
    item : ItemInfo
    belongs : bool
        Whether it is in the category: a doubtful item teaches others too, and one may have waited in a
        seedling.
    taught : dict of target -> weight, or None
        All that it teaches; None if that was not recorded.
    """

    item: ItemInfo
    belongs: bool
    taught: dict[Target, float] | None

    def weight_in(self, category: int) -> float:
        """By what weight it teaches a category, as far as that is known."""
        return (self.taught or {}).get((category, -1), 0.0)


def members_of(snapshot: Snapshot, category: int) -> list[Member]:
    """The items of a live category and those that teach it, in the order of their sessions."""
    columns = item_columns(snapshot)
    belongs = columns.category == category
    members = []
    for row in np.flatnonzero(belongs | _may_teach(snapshot, category)).tolist():
        item = item_info(snapshot, row)
        try:
            taught = taught_now(snapshot, (item.commit, item.row))
        except InputError:
            taught = None
        member = Member(item, bool(belongs[row]), taught)
        if member.belongs or member.weight_in(category) > 0:
            members.append(member)
    return members


def _may_teach(snapshot: Snapshot, category: int) -> Array:
    """Whether an item has ever taught a category, what it was made from, or a seedling; bool array (N,)."""
    columns, past = item_columns(snapshot), sorted(_ancestors(snapshot.state, category))
    may = np.zeros(len(columns.commit), dtype=bool)
    for commit in assigning_commits(snapshot):
        first = int(np.searchsorted(columns.commit, commit.number))
        if LESSONS in commit.files:
            lessons = snapshot.content(commit, LESSONS)
            may[first + lessons.row[np.isin(lessons.category, past) | (lessons.seedling >= 0)]] = True
        elif commit.command != "discover":
            rows = np.flatnonzero(np.isin(snapshot.content(commit, TABLE).category, past))
            may[first + rows] = True
    for (number, row), standing in ledger_of(snapshot).standing.items():
        if any(target in past for target, _ in standing.correction.after):
            may[int(np.searchsorted(columns.commit, number)) + row] = True
    return may


def _ancestors(state: State, category: int) -> set[int]:
    """A category and all that it was made from."""
    found, left = set[int](), [category]
    while left:
        found.add(left[-1])
        left.extend(parent for parent in state.categories[left.pop()].parents if parent not in found)
    return found
