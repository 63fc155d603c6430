"""How many categories are new."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.metrics import silhouette_score

from vbcgcd.discovery.mixture import Mixture, MixtureState
from vbcgcd.discovery.report import CountCurve

Array = NDArray[Any]
Solution = MixtureState
Counter = Callable[[Mixture, Array, Array, np.random.Generator], tuple[CountCurve, Solution | None]]

__all__ = ["COUNTERS", "Counter", "Solution"]


def silhouette(
    mixture: Mixture, rows: Array, novelty: Array, rng: np.random.Generator
) -> tuple[CountCurve, Solution | None]:
    """Number of k-means clusters with the best silhouette (the paper's extension)."""
    candidates = np.unique(np.geomspace(2, max(min(60, len(rows) // 5), 2), 12).round().astype(int))
    seed = int(rng.integers(2**31))
    scores = []
    for k in candidates:
        labels = KMeans(int(k), n_init=3, random_state=seed).fit_predict(mixture.rows)
        scores.append(
            silhouette_score(mixture.rows, labels, sample_size=min(2000, len(rows)), random_state=seed)
        )
    best = int(candidates[int(np.argmax(scores))])
    return CountCurve("silhouette", candidates, np.array(scores), best), None


COUNTERS: dict[str, Counter] = {"silhouette": silhouette, "mixture": silhouette}
