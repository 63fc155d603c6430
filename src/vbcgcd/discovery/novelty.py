"""Novelty: how badly the best known category explains a row, as a calibrated number.

The statistic is the similarity to the best known category in the calibrated geometry. Its distribution for
known rows is measured at ``fit`` on labelled rows that are left out, and kept as quantiles, so the score of a
held-out known row is uniform on [0, 1] and a threshold of ``1 - alpha`` rejects a share ``alpha`` of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.discovery.geometry import Geometry

Array = NDArray[Any]
#: Most quantiles that are kept of the calibration rows.
QUANTILES = 513
#: Rows with a novelty above this are flagged: one in twenty of those of known categories is.
FLAGGED = 0.95
#: Rows compared at a time.
CHUNK_ROWS = 8192

__all__ = ["FLAGGED", "Novelty"]


@dataclass(frozen=True)
class Novelty:
    """Calibrated novelty score.

    Parameters
    ----------
    geometry : Geometry
    quantiles : array (Q,)
        Rising quantiles of the best similarity of left-out known rows.
    """

    geometry: Geometry
    quantiles: Array

    @classmethod
    def calibrate(cls, geometry: Geometry, best_similarity: Array) -> Novelty:
        """From the best similarities of labelled rows that were left out."""
        levels = np.linspace(0, 1, min(QUANTILES, max(len(best_similarity), 2)))
        return cls(geometry, np.quantile(best_similarity, levels))

    def score(self, rows: Array, known_means: Array) -> Array:
        """One minus the p-value of each row under its best known category, array (N,): high is novel."""
        out = np.empty(len(rows))
        for start in range(0, len(rows), CHUNK_ROWS):
            part = self.geometry.prepared(rows[start : start + CHUNK_ROWS])
            out[start : start + CHUNK_ROWS] = self.geometry.similarity(part, known_means).max(axis=1)
        return 1 - self.p_value(out)

    def p_value(self, similarity: Array) -> Array:
        """Share of known rows that are less similar to their best category.

        Beyond the least similar one seen, the tail falls exponentially, so that the ranking goes on.
        """
        q = self.quantiles
        ranks = np.linspace(0, 1, len(q))
        floor = 1 / (2 * len(q))
        inside = np.interp(similarity, q, floor + (1 - floor) * ranks)
        tail = q[: max(len(q) // 10, 2)]
        scale = max(float(tail[-1] - tail[0]) / 2, 1e-9)
        below = floor * np.exp(np.minimum((similarity - q[0]) / scale, 0.0))
        return np.where(similarity < q[0], below, inside)
