"""FeCAM: Mahalanobis distances with shrunk, correlation-normalised covariances."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular

from vbcgcd.study.rivals.kmeans import unit_rows
from vbcgcd.study.rivals.labelled_by_ours import LabelledByOurs
from vbcgcd.study.rivals.ncm import category_means

Array = NDArray[Any]
TINY = 1e-12

__all__ = ["FeCam", "correlation", "shrunk"]


class FeCam(LabelledByOurs):
    """Heterogeneous class covariances for a frozen backbone.

    Goswami et al., "FeCAM: Exploiting the heterogeneity of class distributions in exemplar-free continual
    learning" (NeurIPS 2023). Kept: covariance of each category, shrinkage towards its mean variance and mean
    covariance, correlation normalisation, squared Mahalanobis distance of unit vectors without
    log-determinant. Its Tukey transform is left out as it is for ViT embeddings. The original is supervised
    throughout; here `LabelledByOurs` labels the rows of later sessions. A category whose rows do not vary
    takes the mean matrix of the labelled categories.

    Parameters
    ----------
    gamma1 : float, default=1.0
        Weight of the mean variance that is added to the diagonal.
    gamma2 : float, default=0.0
        Weight of the mean covariance that is added off the diagonal.
    cluster : {"ours", "kmeans"}, default="ours"
        Which clustering labels the rows of a session; see `LabelledByOurs`.
    count : str, default="rehearsal"
        How the inner model estimates the number of novel categories if it is unknown.
    random_state : int or None, default=0

    Attributes
    ----------
    means_ : array (M, d)
        Of the embeddings, scaled to unit length.
    factors_ : float32 array (M, d, d)
        Lower Cholesky factors of the normalised matrices.
    mean_matrix_ : array (d, d)
        Mean normalised matrix of the labelled categories.
    """

    means_: Array
    factors_: Array
    mean_matrix_: Array

    def __init__(
        self,
        *,
        gamma1: float = 1.0,
        gamma2: float = 0.0,
        cluster: str = "ours",
        count: str = "rehearsal",
        random_state: int | None = 0,
    ) -> None:
        self.gamma1 = gamma1
        self.gamma2 = gamma2
        self.cluster = cluster
        self.count = count
        self.random_state = random_state

    def _start(self, rows: Array, codes: Array, n_categories: int) -> None:
        dim = rows.shape[1]
        self.means_, self.factors_ = np.empty((0, dim)), np.empty((0, dim, dim), dtype=np.float32)
        total, count = np.zeros((dim, dim)), 0
        for k in range(n_categories):
            matrix = self._matrix(rows[codes == k])
            if matrix is not None:
                total, count = total + matrix, count + 1
        self.mean_matrix_ = total / count if count else np.eye(dim)
        self._add(rows, codes, n_categories)

    def _add(self, rows: Array, codes: Array, n_categories: int) -> None:
        factors = []
        for k in range(n_categories):
            matrix = self._matrix(rows[codes == k])
            factors.append(cholesky(self.mean_matrix_ if matrix is None else matrix, lower=True))
        self.means_ = np.vstack([self.means_, unit_rows(category_means(rows, codes, n_categories))])
        self.factors_ = np.concatenate([self.factors_, np.stack(factors).astype(np.float32)])

    def _scores(self, rows: Array) -> Array:
        unit, scores = unit_rows(rows), np.empty((len(rows), len(self.means_)))
        for k, (mean, factor) in enumerate(zip(self.means_, self.factors_, strict=True)):
            difference = (unit - mean).astype(np.float32)
            white = solve_triangular(factor, difference.T, lower=True, check_finite=False)
            scores[:, k] = -np.einsum("dn,dn->n", white, white)
        return scores

    def _matrix(self, rows: Array) -> Array | None:
        """The normalised matrix of a category; None where its rows do not vary."""
        centred = rows - rows.mean(axis=0)
        covariance = centred.T @ centred / len(rows)
        if np.trace(covariance) <= TINY * max(float((rows**2).sum(axis=1).mean()), TINY):
            return None
        matrix = correlation(shrunk(covariance, self.gamma1, self.gamma2))
        return matrix if np.linalg.eigvalsh(matrix)[0] > 1e-6 else None


def shrunk(covariance: Array, gamma1: float, gamma2: float) -> Array:
    """S + gamma1 V1 I + gamma2 V2 (1 - I), with V1 and V2 the mean diagonal and off-diagonal entries of S."""
    dim = len(covariance)
    diagonal = np.trace(covariance) / dim
    others = (covariance.sum() - np.trace(covariance)) / max(dim * (dim - 1), 1)
    identity = np.eye(dim)
    return np.asarray(covariance + gamma1 * diagonal * identity + gamma2 * others * (1 - identity))


def correlation(covariance: Array) -> Array:
    """Entries divided by the standard deviations of both dimensions, so that the diagonal is one."""
    deviation = np.sqrt(np.maximum(np.diag(covariance), TINY))
    return np.asarray(covariance / np.outer(deviation, deviation))
