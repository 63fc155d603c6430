"""Clusterings of a session's rows, as exchangeable parts: ``(rows, n_clusters, rng) -> labels``."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.mixture import GaussianMixture

Array = NDArray[Any]

__all__ = ["CLUSTERERS", "Clusterer", "gaussian_mixture", "hdbscan", "k_means"]


class Clusterer(Protocol):
    """Anything that groups rows; a function of your own can be given as ``cluster``."""

    def __call__(self, rows: Array, n_clusters: int, rng: np.random.Generator) -> Array:
        """Cluster of each row, 0 to at most ``n_clusters - 1``; -1 leaves a row out."""


def k_means(rows: Array, n_clusters: int, rng: np.random.Generator) -> Array:
    """k-means on all rows, as in the paper, with ten starts."""
    seed = int(rng.integers(2**31))
    return np.asarray(KMeans(n_clusters, n_init=10, random_state=seed).fit_predict(rows))


def gaussian_mixture(rows: Array, n_clusters: int, rng: np.random.Generator) -> Array:
    """Gaussian mixture with full covariances, as in the authors' code."""
    seed = int(rng.integers(2**31))
    if len(rows) < 2:
        return np.zeros(len(rows), dtype=int)
    model = GaussianMixture(n_clusters, reg_covar=1e-3, random_state=seed)
    return np.asarray(model.fit_predict(rows.astype(np.float64)))


def hdbscan(rows: Array, n_clusters: int, rng: np.random.Generator) -> Array:
    """HDBSCAN; it finds its own number of clusters and the largest ``n_clusters`` are kept."""
    if len(rows) < 5:
        return np.full(len(rows), -1)
    labels = np.asarray(
        HDBSCAN(min_cluster_size=max(5, len(rows) // (20 * n_clusters)), copy=True).fit_predict(rows)
    )
    found, sizes = np.unique(labels[labels >= 0], return_counts=True)
    kept = found[np.argsort(-sizes, kind="stable")][:n_clusters]
    renamed = np.full(len(rows), -1)
    for new, old in enumerate(kept):
        renamed[labels == old] = new
    return renamed


CLUSTERERS: dict[str, Clusterer] = {"kmeans": k_means, "gmm": gaussian_mixture, "hdbscan": hdbscan}
