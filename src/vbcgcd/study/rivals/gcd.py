"""GCD on frozen embeddings: semi-supervised k-means."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from vbcgcd.study.rivals.base import Rival
from vbcgcd.study.rivals.ncm import category_means

Array = NDArray[Any]
TINY = 1e-12
#: Entries of the distance matrix of one block of restarts.
BLOCK = 2**24

__all__ = ["GcdFrozen", "SemiSupervised", "semi_supervised_kmeans", "unit_rows"]


class GcdFrozen(Rival):
    """Semi-supervised k-means on unit vectors.

    Vaze et al., "Generalized category discovery" (CVPR 2022). Kept: unit vectors, k-means in which known
    categories hold their places, k-means++ for the others, many restarts, the smallest inertia wins. The
    original keeps its labelled rows in the clustering; a stream keeps none, so that here the centroids of
    known categories are pinned instead. The frozen setting drops the contrastive training of the backbone.

    Parameters
    ----------
    n_restarts : int, default=100
    max_iterations : int, default=200
    tolerance : float, default=1e-4
        A restart ends where its centroids move less than this in all (squared distance).
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
        found = semi_supervised_kmeans(
            unit,
            self.centroids_,
            n_novel,
            rng=self._rng(),
            n_restarts=self.n_restarts,
            max_iterations=self.max_iterations,
            tolerance=self.tolerance,
        )
        novelty = _squared_distances(unit, self.centroids_).min(axis=1)
        self.centroids_ = np.vstack([self.centroids_, found.centroids])
        return found.labels, novelty

    def _predict(self, rows: Array) -> Array:
        return _squared_distances(unit_rows(rows), self.centroids_).argmin(axis=1)


class SemiSupervised(NamedTuple):
    """Result of `semi_supervised_kmeans`.

    Parameters
    ----------
    centroids : array (J, d)
        The new ones.
    labels : int array (N,)
        Nearest centroid, pinned ones first.
    inertia : float
    path : list of float arrays
        Inertia of each restart of a block before each of its steps, block after block.
    """

    centroids: Array
    labels: Array
    inertia: float
    path: list[Array]


def semi_supervised_kmeans(
    rows: Array,
    pinned: Array,
    n_new: int,
    *,
    rng: np.random.Generator,
    n_restarts: int = 100,
    max_iterations: int = 200,
    tolerance: float = 1e-4,
) -> SemiSupervised:
    """K-means in which some centroids never move.

    Parameters
    ----------
    rows : array (N, d)
    pinned : array (K, d)
        Centroids that stay; K may be 0.
    n_new : int
        Centroids to be found, started by k-means++ from the pinned ones.
    rng : Generator
    n_restarts, max_iterations : int
    tolerance : float

    Returns
    -------
    SemiSupervised
        Of the restart with the smallest inertia.
    """
    rows = np.asarray(rows, dtype=np.float32)
    to_pinned = np.full((len(rows), 1), np.inf, dtype=np.float32)
    if len(pinned):
        to_pinned = _squared_distances(rows, pinned.astype(np.float32)).min(axis=1, keepdims=True)
    path: list[Array] = []
    best, inertia = np.empty((0, rows.shape[1])), np.inf
    size = max(1, BLOCK // max(len(rows) * max(n_new, 1), 1))
    for first in range(0, n_restarts if n_new else 0, size):
        count = min(size, n_restarts - first)
        centroids = _plus_plus(rows, to_pinned, n_new, count, rng)
        centroids, inertias, steps = _lloyd(rows, to_pinned, centroids, max_iterations, tolerance)
        path.extend(steps)
        if inertias.min() < inertia:
            best, inertia = centroids[inertias.argmin()], float(inertias.min())
    distances = _squared_distances(rows, np.vstack([pinned, best]))
    return SemiSupervised(
        best.astype(np.float64), distances.argmin(axis=1), float(distances.min(axis=1).sum()), path
    )


def unit_rows(rows: Array) -> Array:
    """Rows (N, d) scaled to unit length."""
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), TINY))


def _plus_plus(rows: Array, to_pinned: Array, n_new: int, n_restarts: int, rng: np.random.Generator) -> Array:
    """Starts (R, n_new, d): rows drawn by the squared distance to what is there, each the best of a few."""
    nearest = np.repeat(to_pinned, n_restarts, axis=1)
    starts = np.empty((n_restarts, n_new, rows.shape[1]), dtype=rows.dtype)
    n_trials, restart = 2 + int(np.log(n_new)), np.arange(n_restarts)
    for j in range(n_new):
        weight = np.where(np.isfinite(nearest), nearest, 1.0)
        weight = np.where(weight.sum(axis=0) > 0, weight, 1.0)
        level = np.cumsum(weight, axis=0, dtype=np.float64)
        best = np.full(n_restarts, np.inf)
        kept = nearest.copy()
        for _ in range(n_trials):
            drawn = (level < rng.random(n_restarts) * level[-1]).sum(axis=0)
            candidate = rows[np.minimum(drawn, len(rows) - 1)]
            reached = np.minimum(nearest, _squared_distances(rows, candidate))
            left = reached.sum(axis=0, dtype=np.float64)
            better = restart[left < best]
            starts[better, j], best[better], kept[:, better] = (
                candidate[better],
                left[better],
                reached[:, better],
            )
        nearest = kept
    return starts


def _lloyd(
    rows: Array, to_pinned: Array, centroids: Array, max_iterations: int, tolerance: float
) -> tuple[Array, Array, list[Array]]:
    """Lloyd's steps for all restarts at once: centroids (R, J, d), inertias (R,), their path."""
    n_restarts, n_new, dim = centroids.shape
    path = []
    for _ in range(max_iterations + 1):
        distances = _squared_distances(rows, centroids.reshape(-1, dim)).reshape(len(rows), n_restarts, n_new)
        nearest = distances.min(axis=2)
        path.append(np.minimum(nearest, to_pinned).sum(axis=0, dtype=np.float64))
        if len(path) > max_iterations:
            break
        taken = nearest < to_pinned
        row, restart = np.nonzero(taken)
        target = restart * n_new + distances.argmin(axis=2)[taken]
        members = csr_array(
            (np.ones(len(row), dtype=rows.dtype), (target, row)), shape=(n_restarts * n_new, len(rows))
        )
        counts = np.bincount(target, minlength=n_restarts * n_new)[:, None]
        moved = np.where(counts > 0, members @ rows / np.maximum(counts, 1), centroids.reshape(-1, dim))
        moved = moved.reshape(centroids.shape).astype(rows.dtype)
        shift = ((moved - centroids) ** 2).sum(axis=(1, 2))
        centroids = moved
        if shift.max() <= tolerance:
            break
    distances = _squared_distances(rows, centroids.reshape(-1, dim)).reshape(len(rows), n_restarts, n_new)
    return centroids, np.minimum(distances.min(axis=2), to_pinned).sum(axis=0, dtype=np.float64), path


def _squared_distances(rows: Array, points: Array) -> Array:
    """Squared Euclidean distances (N, M), never negative."""
    own = np.einsum("nd,nd->n", rows, rows)[:, None]
    return np.asarray(np.maximum(own + np.einsum("md,md->m", points, points) - 2 * rows @ points.T, 0))
