"""Two things? Categories that fit better as two: their items fall into halves, or are doubtful as a whole.

How much halves differ is measured in each session while its embeddings are there; see
`vbcgcd.discovery.traces`. Real classes have parts too, so a difference says less than one would think: the
weights come from streams of four datasets (`benchmarks/review.py --weights`).
"""

from __future__ import annotations

import numpy as np

from vbcgcd.workspace.queries.review.evidence import Finding, evidence_of, shared_odds
from vbcgcd.workspace.queries.review.traces import traced
from vbcgcd.workspace.snapshot import Snapshot

#: Log odds of being two: for each margin between the halves, and the mean doubt of the items.
WEIGHTS = {"common": -3.2, "halves": 0.35, "doubt": 3.1}
#: Improbable ones are not asked about.
LEAST = 0.08
#: Seconds to look at a category's items and to judge its parts.
SECONDS = 30.0

__all__ = ["find_two"]


def find_two(snapshot: Snapshot) -> list[Finding]:
    """Categories that are probably two."""
    evidence, traces = evidence_of(snapshot), traced(snapshot)
    halved = np.isfinite(traces.halves)
    place, weight = traces.place[halved], traces.count[halved]
    number = len(evidence.ids)
    rows = np.bincount(place, weight, minlength=number)
    mean = np.maximum(rows, 1.0)
    halves = np.bincount(place, weight * traces.halves[halved], minlength=number) / mean / evidence.margin
    smaller = np.bincount(place, weight * traces.smaller[halved], minlength=number) / mean
    guessed = np.flatnonzero(evidence.guessed)
    mass = np.bincount(evidence.place[guessed], evidence.doubt[guessed], minlength=number)
    doubt = mass / np.maximum(np.bincount(evidence.place[guessed], minlength=number), 1)
    probability = np.where(rows > 0, shared_odds(WEIGHTS, halves=halves, doubt=doubt), 0.0)
    return [
        Finding(
            f"two-{evidence.ids[k]}",
            "two",
            float(probability[k]),
            float(smaller[k] * evidence.size[k]),
            SECONDS,
            (int(evidence.ids[k]),),
            facts={"halves": float(halves[k]), "doubt": float(doubt[k]), "smaller": float(smaller[k])},
        )
        for k in np.flatnonzero(probability >= LEAST)
    ]
