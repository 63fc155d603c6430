"""The nearest class mean."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics.pairwise import euclidean_distances

from vbcgcd.study.rivals.labelled_by_ours import LabelledByOurs

Array = NDArray[Any]

__all__ = ["Ncm", "category_means"]


class Ncm(LabelledByOurs):
    """Nearest class mean by Euclidean distance: the CM of the VB-CGCD paper (ICML 2025), its equation 4.

    Mensink et al., "Distance-based image classification" (TPAMI 2013), and the prototypes of Snell et al.
    (NeurIPS 2017). Kept: one mean for each category, equal weights. The frozen setting drops the training of
    the backbone. With ``cluster="kmeans"`` nothing of ours is in it: the baseline that every learned rival
    has to beat.

    Parameters
    ----------
    cluster : {"ours", "kmeans"}, default="ours"
        Which clustering labels the rows of a session; see `LabelledByOurs`.
    count : str, default="rehearsal"
        How the inner model estimates the number of novel categories if it is unknown.
    random_state : int or None, default=0

    Attributes
    ----------
    means_ : array (M, d)
    """

    means_: Array

    def __init__(
        self, *, cluster: str = "ours", count: str = "rehearsal", random_state: int | None = 0
    ) -> None:
        self.cluster = cluster
        self.count = count
        self.random_state = random_state

    def _start(self, rows: Array, codes: Array, n_categories: int) -> None:
        self.means_ = category_means(rows, codes, n_categories)

    def _add(self, rows: Array, codes: Array, n_categories: int) -> None:
        self.means_ = np.vstack([self.means_, category_means(rows, codes, n_categories)])

    def _scores(self, rows: Array) -> Array:
        return -euclidean_distances(rows, self.means_, squared=True)


def category_means(rows: Array, codes: Array, n_categories: int) -> Array:
    """Mean of the rows (N, d) of each category, array (n_categories, d); each has at least one row."""
    return np.stack([rows[codes == k].mean(axis=0) for k in range(n_categories)])
