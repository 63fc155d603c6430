"""HDBSCAN on the rows of each session that no known category is near to."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import HDBSCAN

from vbcgcd.study.rivals.base import BaseRival, Learned
from vbcgcd.study.rivals.kmeans import squared_distances, unit_rows
from vbcgcd.study.rivals.ncm import category_means
from vbcgcd.study.rivals.reduced import Axes, axes_of

Array = NDArray[Any]

__all__ = ["HdbscanPerSession"]


class HdbscanPerSession(BaseRival):
    """Flag the rows that are far from every category, cluster them by HDBSCAN, append what it finds.

    What people build around HDBSCAN (Campello et al., PAKDD 2013; scikit-learn's implementation), which has
    no ids that last: a new batch is compared with what is known by nearest neighbours, the rest is clustered,
    and each cluster becomes a category. Its users reduce embeddings first, since densities mean little in
    hundreds of dimensions; here that is a PCA of the labelled rows.

    The labelled session gives the centres of the known categories, and the distance that only the share
    ``flagged`` of the labelled rows has to its own centre: rows farther from every centre are flagged. A
    stream keeps no rows, so a row's neighbours are the centres. HDBSCAN decides the number; a number that is
    given is the most that are used, the largest clusters first. Flagged rows outside of them are unassigned,
    and `predict` answers with the nearest centre.

    Parameters
    ----------
    min_cluster_size : int, default=5
        Fewest rows of a cluster.
    n_components : int, default=50
        Dimensions of the PCA, at most.
    flagged : float, default=0.2
        Share of labelled rows that would be flagged themselves.
    random_state : int or None, default=0

    Attributes
    ----------
    centres_ : array (K, d)
    axes_ : Axes
        The PCA.
    limit_ : float
        Squared distance above which a row is flagged.
    """

    centres_: Array
    axes_: Axes
    limit_: float

    _limits = MappingProxyType({"min_cluster_size": (2, np.inf), "flagged": (0, 1)})

    def __init__(
        self,
        *,
        min_cluster_size: int = 5,
        n_components: int = 50,
        flagged: float = 0.2,
        random_state: int | None = 0,
    ) -> None:
        self.min_cluster_size = min_cluster_size
        self.n_components = n_components
        self.flagged = flagged
        self.random_state = random_state

    def _fit(self, rows: Array, codes: Array, n_categories: int) -> None:
        unit = unit_rows(rows)
        self.centres_ = category_means(unit, codes, n_categories)
        self.limit_ = float(np.quantile(((unit - self.centres_[codes]) ** 2).sum(axis=1), 1 - self.flagged))
        self.axes_ = axes_of(rows, self.n_components)

    def _learn(self, rows: Array, n_novel: int | None) -> Learned:
        unit = unit_rows(rows)
        distance = squared_distances(unit, self.centres_)
        codes, novelty = distance.argmin(axis=1), distance.min(axis=1)
        flagged = np.flatnonzero(novelty > self.limit_)
        clusters = self._clusters(self.axes_(unit[flagged]))
        found, sizes = np.unique(clusters[clusters >= 0], return_counts=True)
        kept = found[np.argsort(-sizes, kind="stable")][:n_novel]
        codes[flagged] = -1
        for j, cluster in enumerate(kept):
            codes[flagged[clusters == cluster]] = len(self.centres_) + j
        new = [unit[flagged[clusters == cluster]].mean(axis=0) for cluster in kept]
        self.centres_ = np.vstack([self.centres_, *new])
        return Learned(codes, len(kept), novelty)

    def _clusters(self, rows: Array) -> Array:
        """Cluster of each row, -1 where it is noise."""
        if len(rows) <= self.min_cluster_size:
            return np.full(len(rows), -1)
        labels = HDBSCAN(min_cluster_size=self.min_cluster_size, copy=True).fit(rows).labels_
        return np.asarray(labels)

    def _predict(self, rows: Array) -> Array:
        return squared_distances(unit_rows(rows), self.centres_).argmin(axis=1)
