"""River's streaming clusterers, which learn one row at a time."""

from __future__ import annotations

from collections import Counter
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.study.rivals.base import BaseRival, Learned, Rival
from vbcgcd.study.rivals.kmeans import pinned_kmeans, squared_distances, unit_rows
from vbcgcd.study.rivals.ncm import category_means
from vbcgcd.study.rivals.reduced import Axes, axes_of

Array = NDArray[Any]

__all__ = ["RiverDbstream", "RiverKMeans"]


class RiverKMeans(Rival):
    """Sequential k-means: each row moves the centre that is nearest to it.

    Montiel et al., "River" (JMLR 2021): ``river.cluster.KMeans``. Each row is a dictionary there, and every
    centre is compared with it value by value, so rows are reduced first by a PCA of the labelled rows.

    The labelled session gives one centre for each category; a centre's number is its id, so ids last. River's
    number of centres is fixed and they start at random; here a session adds ``n_novel`` centres, each at the
    mean of a neighbourhood that is far from the centres so far (a single row would win no others). Then its
    rows are learned one after another, and known centres move too.

    Parameters
    ----------
    halflife : float, default=0.01
        How far a row moves its centre, from 0 to 1. River's default of 0.5 halves the distance each time,
        and a centre then follows its last rows.
    n_components : int, default=64
        Dimensions of the PCA, at most.
    random_state : int or None, default=0

    Attributes
    ----------
    model_ : river.cluster.KMeans
    axes_ : Axes
    centres_ : array (K, q)
        The model's centres.
    """

    model_: Any
    axes_: Axes
    centres_: Array

    _limits = MappingProxyType({"halflife": (0, 1)})

    def __init__(
        self, *, halflife: float = 0.01, n_components: int = 64, random_state: int | None = 0
    ) -> None:
        self.halflife = halflife
        self.n_components = n_components
        self.random_state = random_state

    def _fit(self, rows: Array, codes: Array, n_categories: int) -> None:
        from river import cluster

        self.axes_ = axes_of(rows, self.n_components)
        self.model_ = cluster.KMeans(n_clusters=0, halflife=self.halflife)
        self._add(category_means(self.axes_(rows), codes, n_categories))

    def _add(self, centres: Array) -> None:
        first = len(self.model_.centers)
        for k, centre in enumerate(centres, start=first):
            self.model_.centers[k] = _as_dict(centre)
        self._read()

    def _read(self) -> None:
        self.centres_ = np.array([_as_row(centre) for centre in self.model_.centers.values()])

    def _discover(self, rows: Array, n_novel: int) -> tuple[Array, Array | None]:
        reduced = self.axes_(rows)
        novelty = squared_distances(reduced, self.centres_).min(axis=1)
        unit = unit_rows(rows)
        known = unit_rows(self.axes_.back(self.centres_))
        starts = pinned_kmeans(
            unit, known, n_novel, rng=self._rng(), n_restarts=1, max_iterations=0, spherical=True
        )
        self._add(self.axes_.project(starts.centroids))
        for row in reduced:
            self.model_.learn_one(_as_dict(row))
        self._read()
        return self._nearest(reduced), novelty

    def _nearest(self, reduced: Array) -> Array:
        """What the model's `predict_one` answers for each row, at once."""
        return squared_distances(reduced, self.centres_).argmin(axis=1)

    def _predict(self, rows: Array) -> Array:
        return self._nearest(self.axes_(rows))


class RiverDbstream(BaseRival):
    """DBSTREAM: micro-clusters of one radius, joined where they share rows; it finds their number itself.

    Hahsler and Bolaños (TKDE 2016), as ``river.cluster.DBSTREAM`` has it, on rows reduced by a PCA of the
    labelled rows. River numbers its clusters anew at each question. To have ids that last, each micro-cluster
    keeps its category.

    The labelled session is learned row by row, and each micro-cluster belongs to the category with most of
    the labelled rows that are nearest to it. In a session a micro-cluster that is heavy enough and has no
    category yet takes the one that its cluster has; clusters without any become categories, the heaviest
    first, and no more than the number that is given. A row belongs to the category of the nearest
    micro-cluster that has one.

    Parameters
    ----------
    radius : float, default=1.0
        Radius of a micro-cluster, relative to the labelled categories (root mean squared distance to the
        mean).
    fading : float, default=1e-6
        River's default of 0.01 halves all weights every hundred rows and forgets the labelled categories.
    min_weight : float, default=5.0
        Rows that a micro-cluster needs to count.
    intersection : float, default=0.3
        Share of rows that micro-clusters of one cluster have in common.
    n_components : int, default=32
        Dimensions of the PCA, at most.
    random_state : int or None, default=0

    Attributes
    ----------
    model_ : river.cluster.DBSTREAM
    axes_ : Axes
    centres_ : array (M, q)
        Of the micro-clusters that have a category.
    codes_ : int array (M,)
        Their categories.
    """

    model_: Any
    axes_: Axes
    centres_: Array
    codes_: Array

    _limits = MappingProxyType({"radius": (0.01, np.inf), "fading": (1e-12, np.inf), "intersection": (0, 1)})

    def __init__(
        self,
        *,
        radius: float = 1.0,
        fading: float = 1e-6,
        min_weight: float = 5.0,
        intersection: float = 0.3,
        n_components: int = 32,
        random_state: int | None = 0,
    ) -> None:
        self.radius = radius
        self.fading = fading
        self.min_weight = min_weight
        self.intersection = intersection
        self.n_components = n_components
        self.random_state = random_state

    def _fit(self, rows: Array, codes: Array, n_categories: int) -> None:
        from river import cluster

        self.axes_ = axes_of(rows, self.n_components)
        reduced = self.axes_(rows)
        means = category_means(reduced, codes, n_categories)
        spread = float(np.sqrt(((reduced - means[codes]) ** 2).sum(axis=1).mean()))
        self.model_ = cluster.DBSTREAM(
            clustering_threshold=max(self.radius * spread, 1e-6),
            fading_factor=self.fading,
            cleanup_interval=1000,
            intersection_factor=self.intersection,
            minimum_weight=self.min_weight,
        )
        self._stream(self._rng().permutation(reduced))
        parts = self.model_.micro_clusters
        centres = np.array([_as_row(part.center) for part in parts.values()])
        members = np.zeros((len(centres), n_categories))
        np.add.at(members, (squared_distances(reduced, centres).argmin(axis=1), codes), 1)
        best = np.where(members.any(axis=1), members.argmax(axis=1), -1).tolist()
        named = zip(parts.items(), best, strict=True)
        self._category = {i: (part, code) for (i, part), code in named if code >= 0}
        self._read()

    def _stream(self, reduced: Array) -> None:
        for row in reduced:
            self.model_.learn_one(_as_dict(row))

    def _read(self) -> None:
        """Centres and categories of the micro-clusters that have one and still exist.

        River drops weak micro-clusters and may give their number away, so the object itself is compared.
        """
        parts = self.model_.micro_clusters
        self._category = {i: pair for i, pair in self._category.items() if parts.get(i) is pair[0]}
        self.centres_ = np.array([_as_row(part.center) for part, _ in self._category.values()])
        self.codes_ = np.array([code for _, code in self._category.values()])

    def _learn(self, rows: Array, n_novel: int | None) -> Learned:
        reduced = self.axes_(rows)
        novelty = squared_distances(reduced, self.centres_).min(axis=1)
        self._stream(reduced)
        self._read()
        added = self._name_clusters(len(self.classes_), n_novel)
        self._read()
        return Learned(self._predict(rows), added, novelty)

    def _name_clusters(self, n_known: int, most: int | None) -> int:
        """Give heavy micro-clusters a category; how many categories are new."""
        parts = self.model_.micro_clusters
        heavy = [i for i, part in parts.items() if part.weight >= self.min_weight]
        cluster_of = {i: self.model_.predict_one(parts[i].center) for i in {*heavy, *self._category}}
        votes: dict[int, Counter[int]] = {}
        for i, (part, code) in self._category.items():
            votes.setdefault(cluster_of[i], Counter())[code] += part.weight
        weight: Counter[int] = Counter()
        for i in heavy:
            if cluster_of[i] not in votes:
                weight[cluster_of[i]] += parts[i].weight
        fresh = [c for c, _ in weight.most_common(most)]
        code_of = {c: shares.most_common(1)[0][0] for c, shares in votes.items()}
        code_of |= {c: n_known + j for j, c in enumerate(fresh)}
        for i in heavy:
            if i not in self._category and cluster_of[i] in code_of:
                self._category[i] = (parts[i], code_of[cluster_of[i]])
        return len(fresh)

    def _predict(self, rows: Array) -> Array:
        nearest = squared_distances(self.axes_(rows), self.centres_).argmin(axis=1)
        return np.asarray(self.codes_[nearest])


def _as_dict(row: Array) -> dict[int, float]:
    return dict(enumerate(row.tolist()))


def _as_row(values: dict[int, float]) -> list[float]:
    return [values[i] for i in range(len(values))]
