"""GCD on frozen embeddings: semi-supervised k-means, with known categories pinned."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.study.rivals.base import Rival
from vbcgcd.study.rivals.kmeans import pinned_kmeans, squared_distances, unit_rows
from vbcgcd.study.rivals.ncm import category_means

Array = NDArray[Any]

__all__ = ["GcdFrozen"]


class GcdFrozen(Rival):
    """Semi-supervised k-means on unit vectors.

    Vaze et al., "Generalized category discovery" (CVPR 2022). Kept: unit vectors, k-means in which known
    categories hold their places, k-means++ for the others, many restarts, the smallest inertia wins. The
    original keeps its labelled rows in the clustering. A stream keeps no rows, so here the centroids of known
    categories are pinned instead. The frozen setting drops the contrastive training of the backbone.

    Parameters
    ----------
    n_restarts : int, default=100
    max_iterations : int, default=200
    tolerance : float, default=1e-4
        Restarts end when no centroids move by more than this (squared distance, summed over centroids).
    random_state : int or None, default=0

    Attributes
    ----------
    centroids_ : array (K, d)
    """

    centroids_: Array

    def __init__(
        self,
        *,
        n_restarts: int = 100,
        max_iterations: int = 200,
        tolerance: float = 1e-4,
        random_state: int | None = 0,
    ) -> None:
        self.n_restarts = n_restarts
        self.max_iterations = max_iterations
        self.tolerance = tolerance
        self.random_state = random_state

    def _fit(self, rows: Array, codes: Array, n_categories: int) -> None:
        self.centroids_ = category_means(unit_rows(rows), codes, n_categories)

    def _discover(self, rows: Array, n_novel: int) -> tuple[Array, Array | None]:
        unit = unit_rows(rows)
        clusters = pinned_kmeans(
            unit,
            self.centroids_,
            n_novel,
            rng=self._rng(),
            n_restarts=self.n_restarts,
            max_iterations=self.max_iterations,
            tolerance=self.tolerance,
        )
        novelty = squared_distances(unit, self.centroids_).min(axis=1)
        self.centroids_ = np.vstack([self.centroids_, clusters.centroids])
        return clusters.labels, novelty

    def _predict(self, rows: Array) -> Array:
        return squared_distances(unit_rows(rows), self.centroids_).argmin(axis=1)
