"""The number of clusters with the best silhouette, every number a candidate: the paper's extension."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

#: Numbers whose silhouette is computed first, evenly spread on a logarithmic scale; those around the best
#: of them follow, one by one.
FIRST_NUMBERS = 14
#: Starts of k-means for each number.
STARTS = 2

__all__ = ["silhouettes"]


def silhouettes(rows: Array, fewest: int, most: int, seed: int) -> dict[int, float]:
    """Silhouette of k-means by the number of clusters.

    Parameters
    ----------
    rows : array (N, D)
    fewest, most : int
        Range of numbers, 2 <= fewest <= most < N.
    seed : int
        Of k-means.

    Returns
    -------
    dict of int to float
        In order. Between two numbers of a coarse grid all are computed where the best of the grid is at one
        end, so the best of all is the answer to any true number in the range.

    Examples
    --------
    >>> import numpy as np
    >>> rows = np.repeat(np.eye(4), 5, axis=0) + 0.01 * np.random.default_rng(0).normal(size=(20, 4))
    >>> scores = silhouettes(rows, 2, 10, seed=0)
    >>> max(scores, key=scores.get)
    4
    """
    from sklearn.cluster import KMeans
    from sklearn.metrics import silhouette_score

    def score(number: int) -> float:
        labels = KMeans(number, n_init=STARTS, random_state=seed).fit_predict(rows)
        return float(silhouette_score(rows, labels)) if len(np.unique(labels)) > 1 else -1.0

    grid = np.unique(np.geomspace(fewest, most, FIRST_NUMBERS).round().astype(int)).tolist()
    scores = {number: score(number) for number in grid}
    at = grid.index(max(grid, key=scores.__getitem__))
    for number in range(grid[max(at - 1, 0)] + 1, grid[min(at + 1, len(grid) - 1)]):
        if number not in scores:
            scores[number] = score(number)
    return dict(sorted(scores.items()))
