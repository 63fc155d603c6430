"""K-means in which the centroids of known categories are pinned: by distance, or by angle on unit vectors."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

Array = NDArray[Any]
TINY = 1e-12
#: Entries of the distance matrix of one block of restarts.
BLOCK = 2**24
#: Rows drawn for each start of a spherical centroid, of which the best is used.
CANDIDATES = 10

__all__ = ["PinnedClusters", "pinned_kmeans", "squared_distances", "unit_rows"]


class PinnedClusters(NamedTuple):
    """Result of `pinned_kmeans`.

    Parameters
    ----------
    centroids : array (J, d)
        The novel ones.
    labels : int array (N,)
        Nearest centroid, pinned ones first.
    inertia : float
        Sum of the squared distances of rows to their centroids.
    path : list of float arrays
        Inertia of each restart of a block before each of its steps, block after block.
    """

    centroids: Array
    labels: Array
    inertia: float
    path: list[Array]


def pinned_kmeans(
    rows: Array,
    pinned: Array,
    n_novel: int,
    *,
    rng: np.random.Generator,
    n_restarts: int = 100,
    max_iterations: int = 200,
    tolerance: float = 1e-4,
    spherical: bool = False,
) -> PinnedClusters:
    """K-means in which some centroids never move.

    Parameters
    ----------
    rows : array (N, d)
    pinned : array (K, d)
        Centroids that stay where they are; K may be 0 unless ``spherical``.
    n_novel : int
        Number of further centroids, started by k-means++ from the pinned ones.
    rng : Generator
    n_restarts, max_iterations : int
    tolerance : float
        A block of restarts ends when no restart's centroids move by more than this (squared distance, summed
        over its centroids).
    spherical : bool
        Rows and pinned centroids are unit vectors, and so is every novel centroid. Each starts at the mean of
        a neighbourhood instead of a single row: pinned means are nearer to a row than other rows of its own
        category are, so a single row would win none of them.

    Returns
    -------
    PinnedClusters
        Of the restart with the smallest inertia.
    """
    rows = np.asarray(rows, dtype=np.float32)
    to_pinned = np.full((len(rows), 1), np.inf, dtype=np.float32)
    if len(pinned):
        to_pinned = squared_distances(rows, pinned.astype(np.float32)).min(axis=1, keepdims=True)
    path: list[Array] = []
    best, inertia = np.empty((0, rows.shape[1])), np.inf
    size = max(1, BLOCK // max(len(rows) * max(n_novel, 1), 1))
    for first in range(0, n_restarts if n_novel else 0, size):
        count = min(size, n_restarts - first)
        if spherical:
            nearest = (rows @ pinned.astype(np.float32).T).max(axis=1)
            starts = [_neighbourhoods(rows, nearest, n_novel, len(pinned), rng) for _ in range(count)]
            centroids = np.stack(starts).astype(rows.dtype)
        else:
            centroids = _plus_plus(rows, to_pinned, n_novel, count, rng)
        centroids, inertias, steps = _lloyd(rows, to_pinned, centroids, max_iterations, tolerance, spherical)
        path.extend(steps)
        if inertias.min() < inertia:
            best, inertia = centroids[inertias.argmin()], float(inertias.min())
    distances = squared_distances(rows, np.vstack([pinned, best]))
    return PinnedClusters(
        best.astype(np.float64), distances.argmin(axis=1), float(distances.min(axis=1).sum()), path
    )


def unit_rows(rows: Array) -> Array:
    """Rows (N, d) scaled to unit length; a row of zeros stays as it is."""
    return np.asarray(rows / np.maximum(np.linalg.norm(rows, axis=-1, keepdims=True), TINY))


def _plus_plus(
    rows: Array, to_pinned: Array, n_novel: int, n_restarts: int, rng: np.random.Generator
) -> Array:
    """Starts (R, J, d): rows drawn by squared distance to the centroids so far, each the best of a few."""
    nearest = np.repeat(to_pinned, n_restarts, axis=1)
    starts = np.empty((n_restarts, n_novel, rows.shape[1]), dtype=rows.dtype)
    n_trials, restart = 2 + int(np.log(n_novel)), np.arange(n_restarts)
    for j in range(n_novel):
        weight = np.where(np.isfinite(nearest), nearest, 1.0)
        weight = np.where(weight.sum(axis=0) > 0, weight, 1.0)
        level = np.cumsum(weight, axis=0, dtype=np.float64)
        best = np.full(n_restarts, np.inf)
        remaining = nearest.copy()
        for _ in range(n_trials):
            drawn = (level < rng.random(n_restarts) * level[-1]).sum(axis=0)
            candidate = rows[np.minimum(drawn, len(rows) - 1)]
            reached = np.minimum(nearest, squared_distances(rows, candidate))
            left = reached.sum(axis=0, dtype=np.float64)
            better = restart[left < best]
            starts[better, j], best[better], remaining[:, better] = (
                candidate[better],
                left[better],
                reached[:, better],
            )
        nearest = remaining
    return starts


def _neighbourhoods(
    rows: Array, nearest: Array, n_novel: int, n_known: int, rng: np.random.Generator
) -> Array:
    """Starts (J, d) on the sphere: of several neighbourhoods drawn, each time the one that gains most cosine.

    A neighbourhood is the mean of the N / (K + J) rows with the largest cosine to a row that is drawn by its
    distance to the centroids so far; ``nearest`` (N,) has the cosine of each row to the nearest of them.
    """
    starts = []
    size = max(1, len(rows) // (n_known + n_novel))
    for _ in range(n_novel):
        shares = np.maximum(1 - nearest, 0).astype(np.float64) + TINY
        drawn = rng.choice(len(rows), CANDIDATES, p=shares / shares.sum())
        around = np.argpartition(-(rows[drawn] @ rows.T), size - 1, axis=1)[:, :size]
        means = unit_rows(rows[around].mean(axis=1)).astype(np.float32)
        reached = np.maximum(nearest, means @ rows.T)
        winner = int(reached.sum(axis=1).argmax())
        starts.append(means[winner])
        nearest = reached[winner]
    return np.stack(starts)


def _lloyd(
    rows: Array, to_pinned: Array, centroids: Array, max_iterations: int, tolerance: float, spherical: bool
) -> tuple[Array, Array, list[Array]]:
    """Lloyd's steps for all restarts at once: centroids (R, J, d), inertias (R,), their path."""
    n_restarts, n_novel, dim = centroids.shape
    path = []
    for _ in range(max_iterations + 1):
        distances = squared_distances(rows, centroids.reshape(-1, dim)).reshape(
            len(rows), n_restarts, n_novel
        )
        nearest = distances.min(axis=2)
        path.append(np.minimum(nearest, to_pinned).sum(axis=0, dtype=np.float64))
        if len(path) > max_iterations:
            break
        taken = nearest < to_pinned
        row, restart = np.nonzero(taken)
        target = restart * n_novel + distances.argmin(axis=2)[taken]
        members = csr_array(
            (np.ones(len(row), dtype=rows.dtype), (target, row)), shape=(n_restarts * n_novel, len(rows))
        )
        counts = np.bincount(target, minlength=n_restarts * n_novel)[:, None]
        moved = np.where(counts > 0, members @ rows / np.maximum(counts, 1), centroids.reshape(-1, dim))
        moved = (unit_rows(moved) if spherical else moved).reshape(centroids.shape).astype(rows.dtype)
        shift = ((moved - centroids) ** 2).sum(axis=(1, 2))
        centroids = moved
        if shift.max() <= tolerance:
            break
    distances = squared_distances(rows, centroids.reshape(-1, dim)).reshape(len(rows), n_restarts, n_novel)
    return centroids, np.minimum(distances.min(axis=2), to_pinned).sum(axis=0, dtype=np.float64), path


def squared_distances(rows: Array, points: Array) -> Array:
    """Squared Euclidean distances (N, M), never negative."""
    own = np.einsum("nd,nd->n", rows, rows)[:, None]
    return np.asarray(np.maximum(own + np.einsum("md,md->m", points, points) - 2 * rows @ points.T, 0))
