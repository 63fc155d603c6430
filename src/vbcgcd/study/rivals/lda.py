"""Linear discriminant analysis that grows with its categories."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from vbcgcd.study.rivals.base import Probabilistic
from vbcgcd.study.rivals.labelled_by_ours import LabelledByOurs
from vbcgcd.study.rivals.ncm import category_means

Array = NDArray[Any]
TINY = 1e-12

__all__ = ["Lda"]


class Lda(LabelledByOurs, Probabilistic):
    """One mean for each category and one covariance for all: streaming linear discriminant analysis.

    Hayes and Kanan, "Lifelong machine learning with deep streaming linear discriminant analysis" (CVPR
    Workshops 2020). Kept: class means, a pooled covariance that later sessions go on to fill, its
    shrinkage, equal class weights. Not kept: updates row by row (here session by session, the same sums), and
    the shrinkage target, here the mean variance rather than one, so that the units of the embedding do not
    matter.

    Parameters
    ----------
    shrinkage : float, default=1e-4
        Weight of the mean variance in the covariance.
    cluster : {"ours", "kmeans"}, default="ours"
        Which clustering labels the rows of a session; see `LabelledByOurs`.
    count : str, default="rehearsal"
        How the inner model estimates the number of novel categories if it is unknown.
    random_state : int or None, default=0

    Attributes
    ----------
    means_ : array (M, d)
    scatter_ : array (d, d)
        Sum over all rows so far of the outer product of the row minus its category's mean.
    n_rows_ : int
    """

    means_: Array
    scatter_: Array
    n_rows_: int

    _limits = MappingProxyType({"shrinkage": (0, 1)})

    def __init__(
        self,
        *,
        shrinkage: float = 1e-4,
        cluster: str = "ours",
        count: str = "rehearsal",
        random_state: int | None = 0,
    ) -> None:
        self.shrinkage = shrinkage
        self.cluster = cluster
        self.count = count
        self.random_state = random_state

    @property
    def covariance_(self) -> Array:
        """The shared covariance, shrunk, array (d, d)."""
        pooled = self.scatter_ / self.n_rows_
        variance = max(float(np.trace(pooled)) / len(pooled), TINY)
        return np.asarray((1 - self.shrinkage) * pooled + self.shrinkage * variance * np.eye(len(pooled)))

    def _start(self, rows: Array, codes: Array, n_categories: int) -> None:
        self.means_ = np.empty((0, rows.shape[1]))
        self.scatter_ = np.zeros((rows.shape[1], rows.shape[1]))
        self.n_rows_ = 0
        self._add(rows, codes, n_categories)

    def _add(self, rows: Array, codes: Array, n_categories: int) -> None:
        means = category_means(rows, codes, n_categories)
        centred = rows - means[codes]
        self.means_ = np.vstack([self.means_, means])
        self.scatter_ = self.scatter_ + centred.T @ centred
        self.n_rows_ += len(rows)

    def _scores(self, rows: Array) -> Array:
        # log N(z; m_k, S) without the terms that all categories share: z S^-1 m_k - m_k S^-1 m_k / 2
        weights = cho_solve(cho_factor(self.covariance_, lower=True), self.means_.T)
        return np.asarray(rows @ weights - 0.5 * np.einsum("kd,dk->k", self.means_, weights))

    def _log_joint(self, rows: Array) -> Array:
        return self._every_score(rows)
