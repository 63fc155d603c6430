"""The start of a session: which rows may belong together, before known and novel are told apart for good.

The default, ``mixture``, weighs novel clusters against the known categories. The others cluster all rows, as
the paper does; they and functions of a user's own have the form ``(rows, n_clusters, rng) -> labels``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.mixture import GaussianMixture

from vbcgcd.discovery.mixture import Mixture, MixtureState
from vbcgcd.discovery.relabel import one_hot
from vbcgcd.discovery.search import search

Array = NDArray[Any]

#: Starts of k-means.
KMEANS_STARTS = 10
#: Added to the diagonal of a Gaussian mixture's covariances, so that they are not singular.
GMM_FLOOR = 1e-3
#: HDBSCAN's smallest cluster: five rows, or a twentieth of an average cluster in large sessions.
HDBSCAN_FEWEST, HDBSCAN_SHARE = 5, 20

__all__ = ["CLUSTERERS", "Clusterer", "Start", "gaussian_mixture", "hdbscan", "k_means", "start_of"]


class Clusterer(Protocol):
    """Anything that groups rows; a function of your own can be used as ``cluster``."""

    def __call__(self, rows: Array, n_clusters: int, rng: np.random.Generator) -> Array:
        """Cluster of each row, 0 to at most ``n_clusters - 1``; -1 leaves a row out."""


class Start(NamedTuple):
    """Responsibilities of the clusters (N, K), and the share of novel rows where the start estimates it."""

    responsibility: Array
    share: float | None


def start_of(
    cluster: str | Clusterer,
    rows: Array,
    mixture: Callable[[], Mixture],
    n_novel: int,
    rng: np.random.Generator,
    solution: MixtureState | None = None,
) -> Start:
    """The start of a session with ``n_novel`` clusters.

    Parameters
    ----------
    cluster : str or Clusterer
        "mixture" or one of `CLUSTERERS` by name, or a function of the user's.
    rows : array (N, D)
        Reduced embeddings.
    mixture : callable
        Gives the mixture of the session.
    n_novel : int
    rng : Generator
    solution : MixtureState, optional
        Of that size, where the number was estimated with the mixture.
    """
    if n_novel == 0:
        return Start(np.zeros((len(rows), 0)), 0.0)
    if cluster == "mixture":
        state = search(mixture(), n_novel, rng, solution)
        return Start(state.responsibility.astype(np.float64), state.share)
    clusterer = CLUSTERERS[cluster] if isinstance(cluster, str) else cluster
    labels = np.asarray(clusterer(rows, n_novel, rng))
    return Start(one_hot(labels, max(int(labels.max()) + 1, 0)), None)


def k_means(rows: Array, n_clusters: int, rng: np.random.Generator) -> Array:
    """k-means on all rows, as in the paper, with ten starts."""
    seed = int(rng.integers(2**31))
    return np.asarray(KMeans(n_clusters, n_init=KMEANS_STARTS, random_state=seed).fit_predict(rows))


def gaussian_mixture(rows: Array, n_clusters: int, rng: np.random.Generator) -> Array:
    """Gaussian mixture with full covariances, as in the authors' code."""
    seed = int(rng.integers(2**31))
    if len(rows) < 2:
        return np.zeros(len(rows), dtype=int)
    model = GaussianMixture(n_clusters, reg_covar=GMM_FLOOR, random_state=seed)
    return np.asarray(model.fit_predict(rows.astype(np.float64)))


def hdbscan(rows: Array, n_clusters: int, rng: np.random.Generator) -> Array:
    """HDBSCAN chooses its own number of clusters, of which the largest ``n_clusters`` are used."""
    if len(rows) < HDBSCAN_FEWEST:
        return np.full(len(rows), -1)
    smallest = max(HDBSCAN_FEWEST, len(rows) // (HDBSCAN_SHARE * n_clusters))
    labels = np.asarray(HDBSCAN(min_cluster_size=smallest, copy=True).fit_predict(rows))
    clusters, sizes = np.unique(labels[labels >= 0], return_counts=True)
    largest = clusters[np.argsort(-sizes, kind="stable")][:n_clusters]
    numbered = np.full(len(rows), -1)
    for number, cluster in enumerate(largest):
        numbered[labels == cluster] = number
    return numbered


CLUSTERERS: dict[str, Clusterer] = {"kmeans": k_means, "gmm": gaussian_mixture, "hdbscan": hdbscan}
