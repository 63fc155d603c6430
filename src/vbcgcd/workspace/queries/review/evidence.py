"""What all questions are made from: the live categories and their items side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.workspace.log.files import TABLE, UNASSIGNED
from vbcgcd.workspace.log.lessons import STATES
from vbcgcd.workspace.queries.items import ItemColumns, item_columns
from vbcgcd.workspace.queries.sessions import labelled_sessions
from vbcgcd.workspace.snapshot import Category, Snapshot, once_per_snapshot

if TYPE_CHECKING:
    from vbcgcd.discovery.geometry import Geometry

Array = NDArray[Any]
#: The least reliability that a probability is divided by.
LEAST_RELIABILITY = 0.05

__all__ = ["Evidence", "Finding", "evidence_of", "log_odds", "shared_odds"]


@dataclass(frozen=True)
class Finding:
    """A question in numbers: what is needed to rank it; the words are made for those that are shown.

    Parameters
    ----------
    id, kind : str
    probability, affected, seconds : float
        As for `Question`.
    categories : tuple of int
    rows : int array (M,)
        Rows of all assigned items that it is about.
    facts : dict of str -> number
    """

    id: str
    kind: Any
    probability: float
    affected: float
    seconds: float
    categories: tuple[int, ...] = ()
    rows: tuple[int, ...] = ()
    facts: Mapping[str, float] | None = None

    @property
    def rank(self) -> float:
        """Items gained for each second of a person."""
        return self.probability * self.affected / self.seconds


@dataclass(frozen=True, eq=False)
class Evidence:
    """Live categories (K) and items (N) of a snapshot.

    Parameters
    ----------
    live : list of Category
        By rising id, which is the order of all arrays (K,).
    ids : int array (K,)
    labelled : bool array (K,)
        Whether a category was born in a labelled session.
    mean : array (K, D)
    taught : array (K,)
        Items that each posterior was learned from.
    size : int array (K,)
        Items assigned to each.
    geometry : Geometry
    margin : float
    columns : ItemColumns
    place : int array (N,)
        Position of each item's category among the live ones; -1 if it has none that is live.
    second : int array (N,)
        The same of the next best category.
    guessed : bool array (N,)
        Whether nobody has said what the item is, and a live category has it.
    doubt : array (N,)
        Probability that an item is not of the category that it is in; 0 where a person put it.
    """

    live: list[Category]
    ids: Array
    labelled: Array
    mean: Array
    taught: Array
    size: Array
    geometry: Geometry
    margin: float
    columns: ItemColumns
    place: Array
    second: Array
    guessed: Array
    doubt: Array


@once_per_snapshot
def evidence_of(snapshot: Snapshot) -> Evidence:
    """What all questions are made from."""
    knowledge, live, columns = snapshot.knowledge, snapshot.state.live, item_columns(snapshot)
    ids = np.array(snapshot.state.ids, dtype=np.int64)
    by_label = labelled_sessions(snapshot)
    place, second = _places(ids, columns.category), _places(ids, columns.second)
    guessed = (columns.state == STATES.index("guessed")) & (place >= 0)
    own = np.maximum(columns.probability, columns.margin)  # the margin of merged neighbours is their sum
    doubt = 1 - np.clip(own / np.maximum(_reliability(snapshot), LEAST_RELIABILITY), 0, 1)
    return Evidence(
        live=live,
        ids=ids,
        labelled=np.array([category.birth in by_label for category in live], dtype=bool),
        mean=knowledge.posterior.mean,
        taught=knowledge.counts,
        size=np.bincount(place[place >= 0], minlength=len(ids)),
        geometry=knowledge.novelty.geometry,
        margin=knowledge.margin,
        columns=columns,
        place=place,
        second=second,
        guessed=guessed,
        doubt=np.where(guessed, doubt, 0.0),
    )


def _places(ids: Array, categories: Array) -> Array:
    place = np.searchsorted(ids, categories)
    inside = np.minimum(place, max(len(ids) - 1, 0))
    return np.where((ids[inside] == categories) if len(ids) else False, inside, -1)


def _reliability(snapshot: Snapshot) -> Array:
    """Reliability with which a session multiplied the probability of each item, array (N,).

    It says how probably a category stands for a class, which is not the question here. What it was in the
    session counts: since then somebody may have named the category.
    """
    columns = item_columns(snapshot)
    raw = np.concatenate([part.table.category for part in columns.parts] or [np.empty(0, dtype=np.int64)])
    known = np.ones(int(max(snapshot.state.categories, default=-1)) + 2)  # the last one is for unassigned
    reliability = np.ones(len(raw))
    for commit in snapshot.history.in_effect():
        for values in commit.changes.get("categories", ()):
            known[values["id"]] = values.get("reliability", 1.0)
        if TABLE in commit.files and commit.command == "discover":
            first, last = np.searchsorted(columns.commit, [commit.number, commit.number + 1])
            reliability[first:last] = known[raw[first:last]]
    return np.where(raw == UNASSIGNED, 1.0, reliability)


def log_odds(probability: float) -> float:
    """Logarithm of the odds of a probability, finite."""
    bounded = min(max(probability, 1e-6), 1 - 1e-6)
    return float(np.log(bounded / (1 - bounded)))


def shared_odds(weights: Mapping[str, float], **values: Any) -> Any:
    """Probability from a logistic regression: its weights by name, ``common`` the intercept."""
    total = weights["common"] + sum(weights[name] * value for name, value in values.items())
    return 1 / (1 + np.exp(-np.clip(total, -500, 500)))


#: Makes the findings of one kind.
Find = Callable[[Snapshot], list[Finding]]
