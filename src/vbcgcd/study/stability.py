"""Id stability: whether items that arrived in earlier sessions keep the category that they were given.

An item is a row as it arrived: a labelled row of the base session, or a row of an unlabelled one; a row that
arrives twice is two items. When it arrives, an item is given an id: by `predict` right after `fit` in the
base session, by `discover` in the others. After the last session all items are predicted again. An item of an
earlier session is *kept* if

1. it is given the same id again, and
2. the id still means the same: the true class that most items with that id had when the item arrived (of all
   items so far) is the class that most items with that id have at the end (of all items). Of two classes with
   equally many items, the smaller code counts.

Items that were left unassigned were given no id and do not count. True classes are used here only, to score.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

__all__ = ["IdStability", "ItemLog"]


@dataclass(frozen=True)
class IdStability:
    """What became of the items of the sessions before the last, the base session among them.

    Parameters
    ----------
    items : int
        Items that arrived.
    given : int
        Those that were given a category when they arrived.
    same_id : int
        Those of them that have the same id after the last session.
    kept : int
        Those of them whose id also means the same true class.

    Examples
    --------
    >>> IdStability(items=10, given=8, same_id=7, kept=6).share
    0.75
    """

    items: int
    given: int
    same_id: int
    kept: int

    @property
    def share(self) -> float:
        """Items that are kept, of those that were given a category; NaN where none was."""
        return self.kept / self.given if self.given else math.nan

    @classmethod
    def from_json(cls, content: Mapping[str, int]) -> IdStability:
        """From plain values."""
        return cls(content["items"], content["given"], content["same_id"], content["kept"])


class ItemLog:
    """The evaluator's own list of all items and of the ids that they were given.

    Examples
    --------
    >>> import numpy as np
    >>> log = ItemLog()
    >>> log.add(np.array([[0.0], [9.0]]), ["a", "b"], np.array([0, 1]), {"a", "b"})
    >>> log.add(np.array([[5.0]]), ["c"], np.array([2]), {"a", "b", "c"})
    >>> log.judge(lambda rows: np.where(rows[:, 0] < 7, "a", "c"))
    IdStability(items=2, given=2, same_id=1, kept=1)
    """

    def __init__(self) -> None:
        self._rows: list[Array] = []
        self._codes: list[Array] = []
        self._truth: list[Array] = []
        self._code_of: dict[Any, int] = {}

    def add(self, rows: Array, ids: Any, truth: Array, categories: Collection[Any]) -> None:
        """Write down the items of one session.

        Parameters
        ----------
        rows : array (N, d)
        ids : array (N,)
            What each item was given; what is not among the categories is no id.
        truth : int array (N,)
            Codes of the true classes, from -1.
        categories : collection
            All ids so far.
        """
        self._rows.append(rows)
        self._codes.append(np.array([self._code(i) if i in categories else -1 for i in _plain(ids)]))
        self._truth.append(np.asarray(truth))

    def judge(self, predict: Callable[[Array], Array]) -> IdStability:
        """Predict all items again and compare; to be called after the last session."""
        every = np.array([self._code(i) for i in _plain(predict(np.concatenate(self._rows)))])
        truths = np.concatenate(self._truth)
        shape = (len(self._code_of), int(truths.max()) + 2)
        at_end = _count(every, truths, shape).argmax(axis=1)
        now = np.split(every, np.cumsum([len(codes) for codes in self._codes])[:-1])
        so_far = np.zeros(shape, dtype=np.int64)
        items = given = same_id = kept = 0
        for before, after, truth in zip(self._codes[:-1], now[:-1], self._truth[:-1], strict=True):
            so_far += _count(before, truth, shape)
            same = (before >= 0) & (before == after)
            items += len(before)
            given += int((before >= 0).sum())
            same_id += int(same.sum())
            kept += int((so_far.argmax(axis=1) == at_end)[before[same]].sum())
        return IdStability(items, given, same_id, kept)

    def _code(self, label: Any) -> int:
        return self._code_of.setdefault(label, len(self._code_of))


def _plain(ids: Any) -> list[Any]:
    return list(np.asarray(ids).tolist())


def _count(codes: Array, truth: Array, shape: tuple[int, int]) -> Array:
    """Items of each id and true class; those without an id do not count."""
    counts = np.zeros(shape, dtype=np.int64)
    has_id = codes >= 0
    np.add.at(counts, (codes[has_id], truth[has_id] + 1), 1)
    return counts
