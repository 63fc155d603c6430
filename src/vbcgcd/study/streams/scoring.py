"""Scores of realistic streams: pure functions of ids and true classes.

True classes are codes; ``JUNK`` marks a row that belongs to no category. Ids are labels of any kind. A class
is *novel* in a session if it is neither labelled nor was hit in an earlier one; its size is its number of
rows in the session. A novel class is

hit
    if a novel id has it as its largest class and holds at least half of its rows;
missed
    if it is not hit;
split
    if two or more novel ids each hold at least a fifth of its rows, and at least two of them.

A novel id is *merged* if it holds at least half of the rows of two or more novel classes, and *invented* if
its largest class is not novel: a category that was known, hit before, or junk. Where two classes are the
largest, the one with the smaller code counts.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
#: Code of rows that belong to no category.
JUNK = -1
#: Share of a class's rows that an id must hold to hit it, and that a piece of a split class has.
HIT_SHARE, PIECE_SHARE, PIECE_ROWS = 0.5, 0.2, 2
#: Sizes of novel classes by which hit rates are told apart: (least, most).
SIZE_BINS = ((5, 9), (10, 20), (21, 40), (41, None))
#: The number found is off beyond this factor, plus one.
OFF_FACTOR = 1.5
N_BINS = 10

__all__ = [
    "JUNK",
    "SIZE_BINS",
    "Discovery",
    "StreamResult",
    "StreamSession",
    "answers_right",
    "b_cubed",
    "calibration_error",
    "hit_rates",
    "is_off",
    "judge_discovery",
]


class Discovery(NamedTuple):
    """What became of the novel classes of one session.

    Parameters
    ----------
    classes, sizes : int array (C,)
        Codes of the novel classes that have rows in the session, and their rows.
    hits : dict
        Id that hit each class that was hit, by the class.
    split : int array
        Classes that were split.
    merged, invented : list
        Ids that were merged or invented.
    """

    classes: Array
    sizes: Array
    hits: dict[int, Any]
    split: Array
    merged: list[Any]
    invented: list[Any]


def judge_discovery(ids: Array, truth: Array, novel_ids: Array, novel_classes: Array) -> Discovery:
    """Compare the novel ids of a session with its novel classes.

    Parameters
    ----------
    ids : array (N,)
        Id of each row.
    truth : int array (N,)
        Code of its class, or ``JUNK``.
    novel_ids : array (J,)
        Ids that the session added.
    novel_classes : int array
        Codes of the classes that are novel; those without rows in the session do not count.

    Examples
    --------
    >>> import numpy as np
    >>> ids, truth = np.array([9, 9, 9, 0, 7, 7]), np.array([1, 1, 1, 1, 0, 0])
    >>> judged = judge_discovery(ids, truth, np.array([9, 7]), np.array([1]))
    >>> judged.hits, judged.invented
    ({1: 9}, [7])
    """
    # JUNK stands first, with or without rows, so that there is always a class.
    every = np.union1d(truth, [JUNK]).astype(np.int64)
    codes = np.searchsorted(every, truth)
    names = np.asarray(novel_ids).tolist()
    row = {name: j for j, name in enumerate(names)}
    rows = np.array([row.get(name, -1) for name in np.asarray(ids).tolist()], dtype=np.int64)
    counts = np.zeros((len(names), len(every)), dtype=np.int64)
    np.add.at(counts, (rows[rows >= 0], codes[rows >= 0]), 1)
    is_novel = np.isin(every, novel_classes) & (every != JUNK)
    sizes = np.bincount(codes, minlength=len(every))
    # An id without rows has no largest class.
    largest = np.where(counts.any(axis=1), counts.argmax(axis=1), -1)
    holds_half = counts >= HIT_SHARE * sizes
    hits = {}
    for k in np.flatnonzero(is_novel):
        hitting = np.flatnonzero((largest == k) & holds_half[:, k])
        if len(hitting):
            hits[int(every[k])] = names[hitting[counts[hitting, k].argmax()]]
    pieces = ((counts >= PIECE_SHARE * sizes) & (counts >= PIECE_ROWS)).sum(axis=0)
    merged = (holds_half & is_novel).sum(axis=1) >= 2
    invented = [name for j, name in enumerate(names) if largest[j] < 0 or not is_novel[largest[j]]]
    return Discovery(
        every[is_novel],
        sizes[is_novel],
        hits,
        every[is_novel & (pieces >= 2)],
        [name for j, name in enumerate(names) if merged[j]],
        invented,
    )


def b_cubed(ids: Array, truth: Array, unassigned: Array) -> float:
    """B-cubed F1 of ids against classes: each unassigned row is a cluster, each junk row a class of its own.

    Precision is the mean over rows of the share of a row's cluster that has its class; recall the mean of the
    share of its class that is in its cluster (Bagga and Baldwin, 1998).

    Parameters
    ----------
    ids, truth : array (N,)
    unassigned : boolean array (N,)

    Examples
    --------
    >>> import numpy as np
    >>> b_cubed(np.array([0, 0, 1]), np.array([5, 5, 5]), np.zeros(3, dtype=bool))
    0.7142857142857143
    """
    if not len(truth):
        return math.nan
    clusters = _with_singles(ids, np.asarray(unassigned))
    classes = _with_singles(truth, np.asarray(truth) == JUNK)
    n_clusters, n_classes = np.bincount(clusters), np.bincount(classes)
    pairs = clusters * len(n_classes) + classes
    _, place, size = np.unique(pairs, return_inverse=True, return_counts=True)
    both = size[place]
    precision = float(np.mean(both / n_clusters[clusters]))
    recall = float(np.mean(both / n_classes[classes]))
    return 2 * precision * recall / (precision + recall)


def _with_singles(labels: Array, alone: Array) -> Array:
    """Codes of labels; rows that stand alone have a code each."""
    codes = np.unique(np.asarray(labels), return_inverse=True)[1]
    codes = np.where(alone, codes.max() + 1 + np.arange(len(codes)), codes)
    return np.asarray(np.unique(codes, return_inverse=True)[1])


def answers_right(ids: Array, truth: Array, unassigned: Array, stands_for: Mapping[Any, int]) -> Array:
    """Whether each answer is right, boolean array (N,).

    An id is right where it stands for the row's class; "unassigned" where no id stands for it.

    Parameters
    ----------
    ids : array (N,)
    truth : int array (N,)
        Codes, or ``JUNK``.
    unassigned : boolean array (N,)
    stands_for : mapping
        Code of the class of each id that stands for one.
    """
    found = set(stands_for.values())
    triples = zip(np.asarray(ids).tolist(), np.asarray(truth).tolist(), unassigned, strict=True)
    return np.array([c not in found if u else stands_for.get(i) == c for i, c, u in triples], dtype=bool)


def calibration_error(confidence: Array, right: Array, n_bins: int = N_BINS) -> float:
    """Expected calibration error over bins of equal width: mean gap between confidence and share right.

    Parameters
    ----------
    confidence : array (N,)
        In [0, 1]; a bin holds its lower end.
    right : boolean array (N,)
    n_bins : int

    Examples
    --------
    >>> calibration_error([0.9, 0.9], [True, False])
    0.4
    """
    confidence, right = np.asarray(confidence, dtype=np.float64), np.asarray(right, dtype=np.float64)
    if not len(confidence):
        return math.nan
    bins = np.clip((confidence * n_bins).astype(np.int64), 0, n_bins - 1)
    gaps = np.bincount(bins, weights=confidence - right, minlength=n_bins)
    return float(np.abs(gaps).sum() / len(confidence))


def is_off(found: int, true: int) -> bool:
    """Whether a number of categories is off by more than a factor of 1.5, plus one.

    Examples
    --------
    >>> is_off(4, 2), is_off(5, 2)
    (False, True)
    """
    return found > OFF_FACTOR * true + 1 or found < true / OFF_FACTOR - 1


@dataclass(frozen=True)
class StreamSession:
    """One session of a realistic stream.

    Parameters
    ----------
    kind : str
    sizes : tuple of int
        Rows of each novel class.
    hits : tuple of bool
        Whether it was hit.
    found : int
        Novel ids.
    split, merged, invented : int
        Split classes, merged ids, invented ids.
    b_cubed : float
        F1 over the session's rows.
    missed_rows : int
        Rows of novel classes that were missed.
    noticed_rows : int or None
        Those of them that were flagged as novel or left unassigned; None where the method reports no
        probabilities.
    doubted_rows : int or None
        Those that were noticed or got an answer that is less probable than not; None likewise, and in
        records that are older than this measure.
    """

    kind: str
    sizes: tuple[int, ...]
    hits: tuple[bool, ...]
    found: int
    split: int
    merged: int
    invented: int
    b_cubed: float
    missed_rows: int
    noticed_rows: int | None
    doubted_rows: int | None = None

    @property
    def true(self) -> int:
        """Novel classes."""
        return len(self.sizes)

    @property
    def hit(self) -> int:
        """Novel classes that were hit."""
        return sum(self.hits)

    @property
    def ratio(self) -> float:
        """Novel ids for each novel class; NaN where there is none."""
        return self.found / self.true if self.true else math.nan

    @property
    def off(self) -> bool:
        """Whether the number found is off; see `is_off`."""
        return is_off(self.found, self.true)


@dataclass(frozen=True)
class StreamResult:
    """A run over a realistic stream.

    Parameters
    ----------
    sessions : tuple of StreamSession
    calibration_error : float
        Over all rows of the stream; NaN where the method reports no probabilities.
    macro : float
        Test accuracy after the last session on all classes that arrived, with the same weight for each.
    fewest_labels : int
        Labelled rows of the labelled class that has the fewest.
    """

    sessions: tuple[StreamSession, ...]
    calibration_error: float
    macro: float
    fewest_labels: int

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> StreamResult:
        """From plain values."""
        sessions = [
            StreamSession(**{**s, "sizes": tuple(s["sizes"]), "hits": tuple(s["hits"])})
            for s in content["sessions"]
        ]
        names = ("calibration_error", "macro")
        error, macro = (math.nan if content[name] is None else content[name] for name in names)
        return cls(tuple(sessions), error, macro, content["fewest_labels"])


def hit_rates(sessions: Iterable[StreamSession]) -> list[tuple[int, int]]:
    """(hit, all) novel classes of sessions, for each of ``SIZE_BINS``."""
    pairs = [pair for s in sessions for pair in zip(s.sizes, s.hits, strict=True)]
    rates = []
    for low, high in SIZE_BINS:
        hits = [hit for size, hit in pairs if low <= size and (high is None or size <= high)]
        rates.append((sum(hits), len(hits)))
    return rates
