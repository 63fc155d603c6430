"""Same? Pairs of categories that the evidence calls one.

The evidence is the one by which a session tells groups apart: how far the exact means are from each other, as
far as means of so many items can tell, in units of the margin between labelled categories. Pieces of one
class are found in one session; a category of another session was compared with the older ones when it was
found, and one that is near a labelled category was told from it. So both lower the odds. The three weights
come from streams of four datasets; `benchmarks/review.py --weights` fits them and shows how they do on the
dataset that was left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.workspace.queries.review.evidence import Evidence, Finding, evidence_of, shared_odds
from vbcgcd.workspace.snapshot import Snapshot

Array = NDArray[Any]
#: Log odds of being one category: for each margin between the means, if one of them is labelled, and if they
#: were found in different sessions.
WEIGHTS = {"common": 3.8, "gap": -1.2, "labelled": -5.2, "apart": -4.8}
#: Nearest categories of each that are compared, and how many of them at a time.
NEAREST, BLOCK = 5, 512
#: Pairs that are less probable are not asked about.
LEAST = 0.02
#: Seconds to compare two categories by their examples.
SECONDS = 20.0

__all__ = ["find_same", "pair_gaps"]


def find_same(snapshot: Snapshot) -> list[Finding]:
    """Pairs that are probably one category, found ones and found with labelled ones."""
    evidence = evidence_of(snapshot)
    first, second, gap = pair_gaps(evidence)
    birth = np.array([category.birth for category in evidence.live])
    labelled = evidence.labelled[first] | evidence.labelled[second]
    probability = shared_odds(
        WEIGHTS, gap=gap, labelled=labelled, apart=~labelled & (birth[first] != birth[second])
    )
    findings = []
    for k in np.flatnonzero(probability >= LEAST):
        one, other = int(evidence.ids[first[k]]), int(evidence.ids[second[k]])
        fewer = float(min(evidence.size[first[k]], evidence.size[second[k]]))
        findings.append(
            Finding(
                f"same-{one}-{other}",
                "same",
                float(probability[k]),
                fewer,
                SECONDS,
                (one, other),
                facts={"gap": float(gap[k])},
            )
        )
    return findings


def pair_gaps(evidence: Evidence) -> tuple[Array, Array, Array]:
    """Pairs of near categories, not both labelled, and the distances of their means in margins.

    Returns
    -------
    first, second : int array (P,)
        Positions, the smaller first.
    gap : array (P,)
    """
    found = np.flatnonzero(~evidence.labelled & (evidence.size > 0))
    candidates = np.flatnonzero(evidence.size > 0)
    pairs: list[Array] = []
    for start in range(0, len(found), BLOCK):
        rows = found[start : start + BLOCK]
        gap = _gaps(evidence, rows, candidates)
        gap[rows[:, None] == candidates] = np.inf
        near = np.argsort(gap, axis=1)[:, :NEAREST]
        value = np.take_along_axis(gap, near, axis=1)
        other = candidates[near]
        one = np.broadcast_to(rows[:, None], other.shape)
        pairs.append(
            np.stack([np.minimum(one, other), np.maximum(one, other), value], axis=-1).reshape(-1, 3)
        )
    every = np.concatenate(pairs) if pairs else np.empty((0, 3))
    every = every[np.isfinite(every[:, 2])]
    _, kept = np.unique(every[:, :2], axis=0, return_index=True)
    return every[kept, 0].astype(np.int64), every[kept, 1].astype(np.int64), every[kept, 2]


def _gaps(evidence: Evidence, rows: Array, others: Array) -> Array:
    """Nats for each item that telling two categories apart gains, in margins, array (R, C)."""
    geometry, taught = evidence.geometry, np.maximum(evidence.taught, 1.0)
    similarity = geometry.similarity(geometry.prepared(evidence.mean[rows]), evidence.mean[others])
    exact = geometry.corrected(geometry.corrected(similarity, taught[others]), taught[rows][:, None])
    if geometry.kind == "direction":
        nats = geometry.sharpness * np.sqrt(geometry.within or 1.0) * (1 - exact)
    else:
        nats = -geometry.sharpness * exact
    return np.asarray(nats / evidence.margin, dtype=np.float64)
