"""Rivals that differ from ours in the classifier only: our clustering and relabelling label their rows."""

from __future__ import annotations

import copy
import warnings
from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning

from vbcgcd.errors import InputError
from vbcgcd.labels import appended
from vbcgcd.model import CategoryDiscoverer
from vbcgcd.study.rivals.base import Rival
from vbcgcd.validation import check_choice, check_labels, check_rows

Array = NDArray[Any]

__all__ = ["LabelledByOurs"]


class LabelledByOurs(Rival):
    """Base class of rivals with their own estimator and somebody else's row labels.

    ``cluster="ours"``: an inner `CategoryDiscoverer` learns the same rows and decides which of a session's
    rows are novel and to which novel category each belongs. ``cluster="kmeans"``: plain k-means with
    ``n_novel`` centres over all rows, then one relabelling by the rival itself, in which a row goes to a
    known category where that explains it better than every cluster does; the others stay in their cluster,
    or, where a rival has ``relabel = "reassign"``, go to the cluster that explains them best. A category that
    ends without rows keeps its id and is never predicted.

    A rival implements `_start`, `_add` and `_scores`; they number the categories that have rows.

    Attributes
    ----------
    inner_ : CategoryDiscoverer or None
        Labels the rows where ``cluster="ours"``.
    codes_ : int array (M,)
        Code of each category that has rows, in the order of `_scores`.
    """

    cluster: str
    count: str
    relabel: str = "filter"
    inner_: CategoryDiscoverer | None
    codes_: Array
    _pending: tuple[Array, CategoryDiscoverer, Any] | None = None

    @abstractmethod
    def _start(self, rows: Array, codes: Array, n_categories: int) -> None:
        """Learn the labelled rows (N, d) of categories 0..n_categories-1; forget what was known before."""

    @abstractmethod
    def _add(self, rows: Array, codes: Array, n_categories: int) -> None:
        """Append categories with at least one row each; codes 0..n_categories-1 count among them."""

    @abstractmethod
    def _scores(self, rows: Array) -> Array:
        """How well each category with rows explains each row, (N, M): the larger the better."""

    def _clustered(self, rows: Array) -> Array:
        """Rows (N, d) as k-means sees them."""
        return rows

    def partial_fit(self, X: Any, y: Any) -> LabelledByOurs:
        """Learn labelled rows of categories that are not known yet.

        Before `fit` this is `fit`. What was learned before stays as it is.

        Parameters
        ----------
        X : array-like (N, d)
        y : array-like (N,)
        """
        if not hasattr(self, "classes_"):
            self.fit(X, y)
            return self
        rows = check_rows(self, X).astype(np.float64)
        labels = check_labels(y, len(rows))
        known = np.intersect1d(labels, self.classes_)
        if len(known):
            raise InputError(
                f"partial_fit takes rows of categories that are not known yet, but {known[0]!r} is known; "
                "pass its rows to fit."
            )
        unseen, codes = np.unique(labels, return_inverse=True)
        n_known = len(self.classes_)
        if self.inner_ is not None:
            inner = copy.copy(self.inner_)
            self.inner_ = inner.partial_fit(rows, len(inner.classes_) + codes)
        self._add(rows, codes, len(unseen))
        self.codes_ = np.concatenate([self.codes_, n_known + np.arange(len(unseen))])
        self.classes_ = appended(self.classes_, unseen)
        return self

    def _fit(self, rows: Array, codes: Array, n_categories: int) -> None:
        check_choice("cluster", self.cluster, ("ours", "kmeans"))
        self.inner_ = None
        if self.cluster == "ours":
            inner = CategoryDiscoverer(count=self.count, unassigned=False, random_state=self.random_state)
            self.inner_ = inner.fit(rows, codes)
        self._start(rows, codes, n_categories)
        self.codes_ = np.arange(n_categories)

    def _estimate(self, rows: Array) -> int:
        if self.inner_ is None:
            return super()._estimate(rows)
        inner = copy.copy(self.inner_)  # `discover` replaces its parts and changes none in place
        record = inner.discover(rows)
        self._pending = (rows, inner, record)
        return int(record.n_novel)

    def _discover(self, rows: Array, n_novel: int) -> tuple[Array, Array | None]:
        if self.inner_ is None:
            novelty = -self._scores(rows).max(axis=1)
            position = self._cluster_alone(rows, n_novel)
        else:
            position, novelty = self._ask_inner(rows, n_novel)
        n_known, total = len(self.codes_), len(self.classes_)
        is_novel = position >= n_known
        alive, codes = np.unique(position[is_novel], return_inverse=True)
        if len(alive):
            self._add(rows[is_novel], codes, len(alive))
        self.codes_ = np.concatenate([self.codes_, total + alive - n_known]).astype(np.int64)
        named = np.concatenate([self.codes_[:n_known], total + np.arange(n_novel)])
        return named[position], novelty

    def _predict(self, rows: Array) -> Array:
        return np.asarray(self.codes_[self._scores(rows).argmax(axis=1)])

    def _every_score(self, rows: Array) -> Array:
        """Scores of all categories, (N, K); minus infinity of those without rows."""
        scores = np.full((len(rows), len(self.classes_)), -np.inf)
        scores[:, self.codes_] = self._scores(rows)
        return scores

    def _ask_inner(self, rows: Array, n_novel: int) -> tuple[Array, Array]:
        """Position of each row, known ones first, and its novelty, from the inner model.

        The inner model makes no category without rows, so that its labels are positions.
        """
        pending, self._pending = self._pending, None
        if pending is not None and pending[0] is rows:
            _, inner, record = pending
        else:
            assert self.inner_ is not None
            inner = copy.copy(self.inner_)
            record = inner.discover(rows, n_novel=n_novel)
        self.inner_ = inner
        return np.asarray(record.labels_), np.asarray(record.novelty_)

    def _cluster_alone(self, rows: Array, n_novel: int) -> Array:
        """Position of each row, known ones first, from k-means and one relabelling by this rival."""
        n_known = len(self.codes_)
        if n_novel == 0:
            return self._scores(rows).argmax(axis=1)
        seed = int(self._rng().integers(2**31))
        with warnings.catch_warnings():
            # Repeated rows give fewer clusters than requested.
            warnings.simplefilter("ignore", ConvergenceWarning)
            clusters = KMeans(n_novel, n_init=10, random_state=seed).fit(self._clustered(rows)).labels_
        alive, clusters = np.unique(clusters, return_inverse=True)
        provisional = copy.copy(self)
        provisional._add(rows, clusters, len(alive))
        best = provisional._scores(rows).argmax(axis=1)
        if self.relabel == "reassign":
            return best
        return np.where(best < n_known, best, n_known + clusters)
