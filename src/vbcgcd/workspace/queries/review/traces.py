"""The traces of all sessions side by side: what each said about each category."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.workspace.log.files import TRACES
from vbcgcd.workspace.queries.review.evidence import evidence_of
from vbcgcd.workspace.snapshot import Snapshot, once_per_snapshot

Array = NDArray[Any]
#: Sessions that are looked at, the last ones.
SESSIONS = 104

__all__ = ["Traced", "traced"]


@dataclass(frozen=True, eq=False)
class Traced:
    """Traces of live categories, arrays (M,) in the order of their sessions.

    Parameters
    ----------
    place : int array
        Position among the live categories.
    session : int array
    count, shift, spread, halves, smaller : array
        As in `vbcgcd.discovery.traces.Traces`.
    """

    place: Array
    session: Array
    count: Array
    shift: Array
    spread: Array
    halves: Array
    smaller: Array


@once_per_snapshot
def traced(snapshot: Snapshot) -> Traced:
    """The traces of the last sessions; what a merged category left belongs to no live one."""
    ids = evidence_of(snapshot).ids
    commits = [commit for commit in snapshot.history.in_effect() if TRACES in commit.files][-SESSIONS:]
    parts: list[Array] = []
    for commit in commits:
        found = snapshot.decoration(commit, TRACES)
        if found is None:
            continue
        place = np.searchsorted(ids, found.category)
        live = (place < len(ids)) & (ids[np.minimum(place, len(ids) - 1)] == found.category)
        session = np.full(len(place), commit.changes["session"])
        columns = (place, session, found.count, found.shift, found.spread, found.halves, found.smaller)
        parts.append(np.stack([np.asarray(column, dtype=np.float64)[live] for column in columns]))
    every = np.concatenate(parts, axis=1) if parts else np.empty((7, 0))
    return Traced(every[0].astype(np.int64), every[1].astype(np.int64), *every[2:])
