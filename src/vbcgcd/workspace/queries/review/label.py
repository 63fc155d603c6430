"""Label these first: the few items whose label would teach the most.

A label settles the item itself, and it teaches: it moves the mean of the smaller of the two categories in
doubt by a share 1 / (n + 1), and so bears on all items that are in doubt between the same two, by as many
bits as the answer is uncertain. Items are chosen one after the other: each answer leaves less doubt between
its two categories, so the next item lies elsewhere.
"""

from __future__ import annotations

import heapq
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.workspace.log.files import UNASSIGNED
from vbcgcd.workspace.log.lessons import STATES
from vbcgcd.workspace.queries.review.evidence import Evidence, Finding, evidence_of
from vbcgcd.workspace.snapshot import Snapshot

Array = NDArray[Any]
#: Items that are proposed, and how doubtful each is at least.
MOST, LEAST = 20, 0.1
#: Doubt that an answer leaves in the items between the same two categories.
LEFT = 0.5
#: Seconds to label one item.
SECONDS = 8.0

__all__ = ["find_labels"]


def find_labels(snapshot: Snapshot) -> list[Finding]:
    """The items whose labels would teach the most, different ones."""
    evidence = evidence_of(snapshot)
    rows, doubt = _candidates(evidence)
    if not len(rows):
        return []
    pair, influence = _influence(evidence, rows, doubt)
    bits = -doubt * np.log2(doubt) - (1 - doubt) * np.log2(1 - doubt)
    gain = doubt + bits * influence
    chosen = _different(gain, pair)
    return [_finding(evidence, int(rows[k]), float(doubt[k]), value) for k, value in chosen]


def _candidates(evidence: Evidence) -> tuple[Array, Array]:
    columns = evidence.columns
    loose = (columns.category == UNASSIGNED) & (columns.state == STATES.index("unassigned"))
    doubt = np.where(loose, np.clip(1 - columns.second_probability, 0, 1), evidence.doubt)
    rows = np.flatnonzero((evidence.guessed | loose) & (doubt >= LEAST))
    return rows, np.clip(doubt[rows].astype(np.float64), 1e-6, 1 - 1e-6)


def _influence(evidence: Evidence, rows: Array, doubt: Array) -> tuple[Array, Array]:
    """The pair of categories that each item is in doubt between, and the items that its label bears on."""
    one, other = evidence.place[rows], evidence.second[rows]
    code = (np.minimum(one, other) + 1) * (len(evidence.ids) + 1) + np.maximum(one, other) + 1
    _, pair = np.unique(code, return_inverse=True)
    mass = np.bincount(pair, doubt)
    taught = np.append(evidence.taught, np.inf)  # the last one is no category
    fewer = np.minimum(taught[one], taught[other])
    fewer = np.where(np.isfinite(fewer), fewer, 1.0)
    return pair, (mass[pair] - doubt) / (fewer + 1)


def _different(gain: Array, pair: Array) -> list[tuple[int, float]]:
    """Positions of the best items and their gains, a pair's gains less with each item that was taken."""
    order = np.lexsort((-gain, pair))
    starts = np.flatnonzero(np.diff(pair[order], prepend=-1))
    ends = [*starts[1:].tolist(), len(order)]
    heap = [(-float(gain[order[s]]), s, e, 1.0) for s, e in zip(starts.tolist(), ends, strict=True)]
    heapq.heapify(heap)
    chosen: list[tuple[int, float]] = []
    while heap and len(chosen) < MOST:
        value, place, end, share = heapq.heappop(heap)
        chosen.append((int(order[place]), -value))
        if place + 1 < end:
            share *= LEFT
            heapq.heappush(heap, (-share * float(gain[order[place + 1]]), place + 1, end, share))
    return chosen


def _finding(evidence: Evidence, row: int, doubt: float, gain: float) -> Finding:
    commit = int(evidence.columns.commit[row])
    number = row - int(np.searchsorted(evidence.columns.commit, commit))
    places = (int(evidence.place[row]), int(evidence.second[row]))
    categories = tuple(int(evidence.ids[place]) for place in places if place >= 0)
    return Finding(
        f"label-{commit}-{number}",
        "label",
        doubt,
        gain / doubt,
        SECONDS,
        categories,
        (row,),
        {"doubt": doubt},
    )
