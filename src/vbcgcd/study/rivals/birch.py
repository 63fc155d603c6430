"""BIRCH: one tree of subclusters that grows with the stream."""

from __future__ import annotations

import warnings
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.cluster import Birch
from sklearn.exceptions import ConvergenceWarning

from vbcgcd.study.rivals.base import Rival
from vbcgcd.study.rivals.kmeans import squared_distances, unit_rows
from vbcgcd.study.rivals.ncm import category_means

Array = NDArray[Any]

__all__ = ["BirchTree"]


class BirchTree(Rival):
    """A tree of subclusters, fed session after session, and a global clustering of its leaves.

    Zhang, Ramakrishnan and Livny, "BIRCH" (SIGMOD 1996), as scikit-learn has it: its users call `partial_fit`
    with each batch and let the global step (agglomerative, Ward) make ``n_clusters`` groups of the
    subclusters. That step starts anew each time and numbers its groups anew. To have ids that last, groups
    are matched to the categories before, one to one, by the subclusters that they share; groups without a
    match are novel.

    The labelled session builds the tree, and each subcluster belongs to the category with most of its rows.
    The global step then knows no labels. It needs a number: that of all categories so far.

    Parameters
    ----------
    radius : float, default=0.5
        Radius of a subcluster, relative to the labelled categories (root mean squared distance to the mean).
    branching_factor : int, default=50
    random_state : int or None, default=0

    Attributes
    ----------
    tree_ : Birch
    centres_ : array (M, d)
        Of the subclusters.
    codes_ : int array (M,)
        Code of the category of each subcluster.
    """

    tree_: Birch
    centres_: Array
    codes_: Array

    _limits = MappingProxyType({"radius": (0.01, np.inf), "branching_factor": (2, np.inf)})

    def __init__(
        self, *, radius: float = 0.5, branching_factor: int = 50, random_state: int | None = 0
    ) -> None:
        self.radius = radius
        self.branching_factor = branching_factor
        self.random_state = random_state

    def _fit(self, rows: Array, codes: Array, n_categories: int) -> None:
        unit = unit_rows(rows)
        spread = unit - category_means(unit, codes, n_categories)[codes]
        threshold = max(self.radius * float(np.sqrt((spread**2).sum(axis=1).mean())), 1e-6)
        self.tree_ = Birch(threshold=threshold, branching_factor=self.branching_factor, n_clusters=None)
        self.tree_.fit(unit)
        self.centres_ = self.tree_.subcluster_centers_
        members = np.zeros((len(self.centres_), n_categories))
        np.add.at(members, (self._nearest(unit), codes), 1)
        nearest_mean = squared_distances(self.centres_, category_means(unit, codes, n_categories))
        empty = ~members.any(axis=1)
        self.codes_ = np.where(empty, nearest_mean.argmin(axis=1), members.argmax(axis=1))

    def _discover(self, rows: Array, n_novel: int) -> tuple[Array, Array | None]:
        unit, n_known = unit_rows(rows), len(self.classes_)
        novelty = squared_distances(unit, self.centres_).min(axis=1)
        with warnings.catch_warnings():
            # Fewer subclusters than groups: each is a group then.
            warnings.simplefilter("ignore", ConvergenceWarning)
            self.tree_.set_params(n_clusters=n_known + n_novel).partial_fit(unit)
        centres = self.tree_.subcluster_centers_
        before, groups = self.codes_[self._nearest(centres)], self.tree_.subcluster_labels_
        shared = np.zeros((int(groups.max()) + 1, n_known))
        np.add.at(shared, (groups, before), 1)
        self.centres_, self.codes_ = centres, _matched(shared, n_novel)[groups]
        return self._predict(unit), novelty

    def _nearest(self, unit: Array) -> Array:
        return squared_distances(unit, self.centres_).argmin(axis=1)

    def _predict(self, rows: Array) -> Array:
        return np.asarray(self.codes_[self._nearest(unit_rows(rows))])


def _matched(shared: Array, n_novel: int) -> Array:
    """Code of each group (G,), from the subclusters that it shares with each known category (G, K)."""
    n_known = shared.shape[1]
    codes = np.full(len(shared), -1)
    for group, known in zip(*linear_sum_assignment(-shared), strict=True):
        if shared[group, known] > 0:
            codes[group] = known
    free = np.flatnonzero(codes < 0)
    codes[free[:n_novel]] = n_known + np.arange(min(n_novel, len(free)))
    # More groups are left than categories may be added: each joins what it shares most with.
    codes[free[n_novel:]] = shared[free[n_novel:]].argmax(axis=1)
    return codes
