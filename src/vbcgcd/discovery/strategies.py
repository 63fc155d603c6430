"""Strategies of a session: the start (which rows may belong together) and relabelling (known or novel?).

The default start, ``mixture``, weighs novel clusters against the known categories. The others cluster all
rows, as the paper does; they and functions of a user's own are called as ``(rows, n_clusters, rng)`` and
return labels. ``plugin:NAME`` is a clusterer of an installed package.

Relabelling decides row by row between the known categories and the novel ones, and which rows teach. Each way
takes the responsibilities of the start, array (N, K), and two densities, and returns a `Relabelling`. A row
without any responsibility belongs to a known category.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy
from numpy.typing import NDArray

from vbcgcd.discovery.mixture import Mixture, MixtureState
from vbcgcd.discovery.search import search
from vbcgcd.errors import InputError
from vbcgcd.plugins import call_plugin

Array = NDArray[Any]

#: Before the name of a clusterer of an installed package, and its entry point group.
PLUGIN, CLUSTERER_GROUP = "plugin:", "vbcgcd.clusterers"

#: Starts of k-means.
KMEANS_STARTS = 10
#: Added to the diagonal of a Gaussian mixture's covariances, so that they are not singular.
GMM_FLOOR = 1e-3
#: HDBSCAN's smallest cluster: five rows, or a twentieth of an average cluster in large sessions.
HDBSCAN_FEWEST, HDBSCAN_SHARE = 5, 20

#: A row is novel if its probability of being novel is at least this.
NOVEL = 0.5
#: With "confident", a row teaches a novel category if its probability of being novel is at least this.
CONFIDENT = 0.7
#: Fewest confident rows with which a category can do without its doubtful ones.
FEWEST_TEACHERS = 2
#: Steps of "em", and the responsibility below which a row is taken out of a category.
EM_STEPS, NEGLIGIBLE = 5, 1e-6

__all__ = [
    "CLUSTERERS",
    "CLUSTERER_GROUP",
    "PLUGIN",
    "RELABELLERS",
    "Clusterer",
    "Densities",
    "Relabeller",
    "Relabelling",
    "Start",
    "fewer_clusters_allowed",
    "gaussian_mixture",
    "hard_labels",
    "hdbscan",
    "is_novel",
    "k_means",
    "one_hot",
    "start_of",
]


class Densities(NamedTuple):
    """Log-densities that a strategy may ask for.

    Parameters
    ----------
    known : callable
        Gives the log-density of every row under every known category, array (N, Kk).
    novel : callable
        Fits provisional novel posteriors to responsibilities (N, K) and gives the log-density of every row
        under them, array (N, K).
    """

    known: Callable[[], Array]
    novel: Callable[[Array], Array]


class Relabelling(NamedTuple):
    """What a strategy decided.

    Parameters
    ----------
    responsibility : array (N, K)
        Probability of each novel category for each row.
    teaching : array (N, K)
        Weight with which each row teaches each novel category.
    changed : bool
        Whether the responsibilities differ from those of the start.
    """

    responsibility: Array
    teaching: Array
    changed: bool


class Relabeller(Protocol):
    """A way to relabel."""

    def __call__(self, responsibility: Array, densities: Densities) -> Relabelling:
        """Decide for every row."""


def is_novel(responsibility: Array) -> Array:
    """Whether each row is more probably novel than known, boolean array (N,)."""
    return np.asarray(responsibility.sum(axis=1) >= NOVEL)


def hard_labels(responsibility: Array) -> Array:
    """The best novel category of each novel row, and -1 for a known row, int array (N,)."""
    if responsibility.shape[1] == 0:
        return np.full(len(responsibility), -1)
    return np.where(is_novel(responsibility), responsibility.argmax(axis=1), -1)


def one_hot(labels: Array, n_categories: int) -> Array:
    """Responsibilities of hard labels; -1 belongs to none."""
    out = np.zeros((len(labels), n_categories))
    rows = np.flatnonzero(labels >= 0)
    out[rows, labels[rows]] = 1.0
    return out


def confident(responsibility: Array, densities: Densities) -> Relabelling:
    """``confident``: the start decides, and rows that are probably novel teach.

    A category with fewer than two confident rows is taught by the rows that prefer it, and if those are too
    few as well, by all rows in proportion.
    """
    if responsibility.shape[1] == 0:
        return Relabelling(responsibility, responsibility, changed=False)
    mass, best = responsibility.sum(axis=1), responsibility.argmax(axis=1)
    teaching = one_hot(np.where(mass >= CONFIDENT, best, -1), responsibility.shape[1])
    preferred = hard_labels(responsibility)
    for k in np.flatnonzero(teaching.sum(axis=0) < FEWEST_TEACHERS):
        preferring = preferred == k
        teaching[:, k] = preferring if preferring.sum() >= FEWEST_TEACHERS else responsibility[:, k]
    return Relabelling(responsibility, teaching, changed=False)


def keep(responsibility: Array, densities: Densities) -> Relabelling:
    """``none``: the clusters stay as they are, and all of their rows teach."""
    return Relabelling(responsibility, responsibility, changed=False)


def filter_known(responsibility: Array, densities: Densities) -> Relabelling:
    """``filter``: rows that a known category explains better leave their cluster (the authors' code)."""
    fits_known = densities.known().max(axis=1) > densities.novel(responsibility).max(axis=1)
    return _taught_by_all(np.where(fits_known[:, None], 0.0, responsibility))


def reassign(responsibility: Array, densities: Densities) -> Relabelling:
    """``reassign``: every row moves to the category, known or novel, that explains it best (the paper)."""
    density = densities.novel(responsibility)
    best = density.argmax(axis=1)
    best[densities.known().max(axis=1) > density.max(axis=1)] = -1
    return _taught_by_all(one_hot(best, responsibility.shape[1]))


def soft_em(responsibility: Array, densities: Densities) -> Relabelling:
    """``em``: soft expectation-maximisation with frozen known categories and equal class weights."""
    known_total = scipy.special.logsumexp(densities.known(), axis=1)
    for _ in range(EM_STEPS):
        density = densities.novel(responsibility)
        total = np.logaddexp(known_total, scipy.special.logsumexp(density, axis=1))
        responsibility = np.exp(density - total[:, None])
        responsibility[responsibility < NEGLIGIBLE] = 0.0
    return _taught_by_all(responsibility)


def _taught_by_all(responsibility: Array) -> Relabelling:
    return Relabelling(responsibility, responsibility, changed=True)


#: By name. With no novel category there is nothing to decide, and none of them is called.
RELABELLERS: dict[str, Relabeller] = {
    "confident": confident,
    "none": keep,
    "filter": filter_known,
    "reassign": reassign,
    "em": soft_em,
}


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
        "mixture", one of `CLUSTERERS` by name, "plugin:NAME", or a function of the user's.
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
    labels = np.asarray(_clusterer(cluster)(rows, n_novel, rng))
    if labels.shape != (len(rows),) or labels.dtype.kind not in "iu" or labels.max(initial=-1) >= n_novel:
        raise InputError(
            f"cluster must return one whole number below {n_novel} for each of the {len(rows)} rows (-1 "
            f"leaves a row out), got {labels.dtype} of shape {labels.shape} up to {labels.max(initial=-1)}.",
            option="cluster",
        )
    return Start(one_hot(labels, int(labels.max(initial=-1)) + 1), None)


def _clusterer(cluster: str | Clusterer) -> Clusterer:
    if not isinstance(cluster, str):
        return cluster
    if cluster.startswith(PLUGIN):
        return partial(call_plugin, CLUSTERER_GROUP, cluster.removeprefix(PLUGIN))
    return CLUSTERERS[cluster]


def k_means(rows: Array, n_clusters: int, rng: np.random.Generator) -> Array:
    """k-means on all rows, as in the paper, with ten starts."""
    from sklearn.cluster import KMeans

    seed = int(rng.integers(2**31))
    with fewer_clusters_allowed():
        return np.asarray(KMeans(n_clusters, n_init=KMEANS_STARTS, random_state=seed).fit_predict(rows))


def gaussian_mixture(rows: Array, n_clusters: int, rng: np.random.Generator) -> Array:
    """Gaussian mixture with full covariances, as in the authors' code."""
    from sklearn.mixture import GaussianMixture

    seed = int(rng.integers(2**31))
    if len(rows) < 2:
        return np.zeros(len(rows), dtype=int)
    model = GaussianMixture(n_clusters, reg_covar=GMM_FLOOR, random_state=seed)
    with fewer_clusters_allowed():
        return np.asarray(model.fit_predict(rows.astype(np.float64)))


@contextmanager
def fewer_clusters_allowed() -> Iterator[None]:
    """Equal rows make fewer clusters than were asked for, which is no reason to warn."""
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield


def hdbscan(rows: Array, n_clusters: int, rng: np.random.Generator) -> Array:
    """HDBSCAN chooses its own number of clusters, of which the largest ``n_clusters`` are used."""
    from sklearn.cluster import HDBSCAN

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
