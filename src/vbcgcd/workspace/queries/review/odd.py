"""Odd items: the items of a category that are most likely wrong where they are, several at a time."""

from __future__ import annotations

import numpy as np

from vbcgcd.workspace.queries.review.evidence import Finding, evidence_of
from vbcgcd.workspace.snapshot import Snapshot

#: Items of a category that are shown together, and how doubtful each is at least.
MOST, LEAST = 8, 0.4
#: Seconds to remember what a category is, and to judge one item.
SECONDS, SECONDS_EACH = 6.0, 3.0

__all__ = ["find_odd"]


def find_odd(snapshot: Snapshot) -> list[Finding]:
    """For each category its most doubtful items, if there are any."""
    evidence = evidence_of(snapshot)
    rows = np.flatnonzero(evidence.guessed & (evidence.doubt >= LEAST))
    rows = rows[np.lexsort((-evidence.doubt[rows], evidence.place[rows]))]
    places, starts = np.unique(evidence.place[rows], return_index=True)
    findings = []
    for place, members in zip(places.tolist(), np.split(rows, starts[1:]), strict=False):
        shown = members[:MOST]
        doubts, category = evidence.doubt[shown], int(evidence.ids[place])
        right = float(np.prod(1 - doubts))
        findings.append(
            Finding(
                f"odd-{category}",
                "odd",
                1 - right,
                float(doubts.sum()) / max(1 - right, 1e-9),
                SECONDS + SECONDS_EACH * len(shown),
                (category,),
                tuple(shown.tolist()),
                {"doubtful": float(len(members))},
            )
        )
    return findings
