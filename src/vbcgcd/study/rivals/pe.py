"""The point estimate: a mean and an empirical covariance for each category."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular

from vbcgcd.errors import InputError
from vbcgcd.study.rivals.base import Probabilistic
from vbcgcd.study.rivals.labelled_by_ours import LabelledByOurs
from vbcgcd.study.rivals.ncm import category_means
from vbcgcd.validation import check_choice, check_number

Array = NDArray[Any]

__all__ = ["PointEstimate", "gaussian_log_density"]

#: A covariance counts as full rank where its smallest eigenvalue is at least this share of its largest.
FULL_RANK = 1e-8


class PointEstimate(LabelledByOurs, Probabilistic):
    """Gaussians by maximum likelihood, the PE of the VB-CGCD paper (ICML 2025), its equation 5.

    Kept: mean and empirical covariance (divided by n) of each category, Gaussian log-density with equal
    weights. The dimension is reduced by principal components of the labelled rows until the covariance of
    every labelled category is full rank, that is below the rows of the smallest one, and then halved while
    that predicts labelled rows better which were left out: an estimate with hardly more rows than dimensions
    is worth little. A category of a later session whose own covariance is not full rank, for want of rows
    or because rows repeat, takes the mean covariance of the labelled categories instead. The frozen setting
    drops the training of the backbone.

    Parameters
    ----------
    n_components : int, "held-out" or None, default="held-out"
        Most dimensions; None is as many as full rank allows, and "held-out" the best of that number, its
        half, its quarter, ... for a fifth of the labelled rows, learned from the rest.
    cluster : {"ours", "kmeans"}, default="ours"
        Which clustering labels the rows of a session; see `LabelledByOurs`.
    count : str, default="rehearsal"
        How the inner model estimates the number of novel categories if it is unknown.
    standardise : bool, default=False
        Scale each dimension to unit variance over the labelled rows first, as the preset of the paper does.
        Then k-means, too, works on these rows, in the principal components.
    relabel : {"filter", "reassign"}, default="filter"
        Whether a novel row stays in its cluster of k-means, or goes to the one that explains it best.
    log_determinant : bool, default=True
        Gaussian density, or without the log-determinant the distance of equation 6 alone.
    random_state : int or None, default=0

    Attributes
    ----------
    centre_, components_ : arrays (d,) and (D, d)
        The principal components.
    means_ : array (M, D)
    factors_ : array (M, D, D)
        Lower Cholesky factors of the covariances.
    mean_covariance_ : array (D, D)
        Of the labelled categories.
    """

    centre_: Array
    components_: Array
    means_: Array
    factors_: Array
    mean_covariance_: Array
    scale_: Array

    def __init__(
        self,
        *,
        n_components: int | str | None = "held-out",
        cluster: str = "ours",
        count: str = "rehearsal",
        standardise: bool = False,
        relabel: str = "filter",
        log_determinant: bool = True,
        random_state: int | None = 0,
    ) -> None:
        self.n_components = n_components
        self.cluster = cluster
        self.count = count
        self.standardise = standardise
        self.relabel = relabel
        self.log_determinant = log_determinant
        self.random_state = random_state

    def _start(self, rows: Array, codes: Array, n_categories: int) -> None:
        check_number("n_components", self.n_components, low=1, whole=True, words=("held-out", None))
        check_choice("relabel", self.relabel, ("filter", "reassign"))
        wanted = self.n_components if isinstance(self.n_components, int) else None
        if self.n_components == "held-out":
            wanted = self._best_held_out(rows, codes, n_categories)
        self.centre_ = rows.mean(axis=0)
        spread = rows.std(axis=0) if self.standardise else np.ones(rows.shape[1])
        self.scale_ = np.where(spread > 0, spread, 1.0)
        scaled = (rows - self.centre_) / self.scale_
        self.components_ = _full_rank_components(scaled, codes, n_categories, wanted)
        reduced = self._reduced(rows)
        covariances = _covariances(reduced, codes, n_categories)
        self.mean_covariance_ = covariances.mean(axis=0)
        self.means_ = category_means(reduced, codes, n_categories)
        self.factors_ = np.stack([cholesky(c, lower=True) for c in covariances])

    def _best_held_out(self, rows: Array, codes: Array, n_categories: int) -> int | None:
        """The number of dimensions that predicts a left-out fifth of the rows best; None: too few rows."""
        shuffled = self._rng().permutation(len(rows))
        turn = np.empty(len(rows), dtype=np.int64)
        for k in range(n_categories):
            members = shuffled[codes[shuffled] == k]
            turn[members] = np.arange(len(members))
        out = turn % 5 == 4
        if np.bincount(codes[~out], minlength=n_categories).min() < 2 or not out.any():
            return None
        centred = rows[~out] - rows[~out].mean(axis=0)
        if self.standardise:
            centred = centred / np.maximum(centred.std(axis=0), np.finfo(float).tiny)
        dim = len(_full_rank_components(centred, codes[~out], n_categories, None))
        best, accuracy = None, -1.0
        while dim >= 1:
            part = copy.copy(self)
            part.n_components = dim
            part._start(rows[~out], codes[~out], n_categories)
            right = float(np.mean(part._scores(rows[out]).argmax(axis=1) == codes[out]))
            if right <= accuracy:
                break
            best, accuracy, dim = dim, right, dim // 2
        return best

    def _add(self, rows: Array, codes: Array, n_categories: int) -> None:
        reduced = self._reduced(rows)
        covariances = _covariances(reduced, codes, n_categories)
        factors = [
            cholesky(c if _is_full_rank(c) else self.mean_covariance_, lower=True) for c in covariances
        ]
        self.means_ = np.vstack([self.means_, category_means(reduced, codes, n_categories)])
        self.factors_ = np.concatenate([self.factors_, factors])

    def _scores(self, rows: Array) -> Array:
        density = gaussian_log_density(self._reduced(rows), self.means_, self.factors_)
        if not self.log_determinant:
            density = density + np.log(np.diagonal(self.factors_, axis1=1, axis2=2)).sum(axis=1)
        return density

    def _clustered(self, rows: Array) -> Array:
        return self._reduced(rows) if self.standardise else rows

    def _log_joint(self, rows: Array) -> Array:
        return self._every_score(rows)

    def _reduced(self, rows: Array) -> Array:
        return np.asarray((rows - self.centre_) / self.scale_ @ self.components_.T)


def gaussian_log_density(rows: Array, means: Array, factors: Array) -> Array:
    """Log of N(z; m_k, L_k L_k^T) of each row (N, D) and category, array (N, K).

    Parameters
    ----------
    rows : array (N, D)
    means : array (K, D)
    factors : array (K, D, D)
        Lower Cholesky factors.
    """
    density = np.empty((len(rows), len(means)))
    for k, (mean, factor) in enumerate(zip(means, factors, strict=True)):
        white = solve_triangular(factor, (rows - mean).T, lower=True, check_finite=False)
        log_det = 2 * np.log(np.diag(factor)).sum()
        density[:, k] = -0.5 * (np.einsum("dn,dn->n", white, white) + log_det)
    return np.asarray(density - 0.5 * rows.shape[1] * np.log(2 * np.pi))


def _covariances(rows: Array, codes: Array, n_categories: int) -> Array:
    members = [rows[codes == k] for k in range(n_categories)]
    centred = [m - m.mean(axis=0) for m in members]
    return np.stack([c.T @ c / len(c) for c in centred])


def _is_full_rank(covariance: Array) -> bool:
    values = np.linalg.eigvalsh(covariance)
    return bool(values[0] > FULL_RANK * values[-1])


def _full_rank_components(centred: Array, codes: Array, n_categories: int, most: int | None) -> Array:
    """Leading principal components (D, d) in which the covariance of every category is full rank."""
    smallest = int(np.bincount(codes, minlength=n_categories).min())
    dim = min(smallest - 1, centred.shape[1], most or centred.shape[1])
    if dim < 1:
        raise InputError(
            "A point estimate needs at least two rows of each labelled category, one category has "
            f"{smallest}; leave it out or label more of it."
        )
    components = np.linalg.eigh(centred.T @ centred)[1][:, ::-1][:, :dim].T
    return components[: _largest_full_rank(_covariances(centred @ components.T, codes, n_categories))]


def _largest_full_rank(covariances: Array) -> int:
    """The most leading dimensions in which every covariance (K, D, D) is full rank."""
    # The eigenvalues of leading blocks interlace: blocks lose rank in order, so bisection finds the place.
    low, high = 0, covariances.shape[1]
    while low < high:
        middle = (low + high + 1) // 2
        if all(_is_full_rank(c[:middle, :middle]) for c in covariances):
            low = middle
        else:
            high = middle - 1
    if low == 0:
        raise InputError(
            "The rows of a labelled category are all the same, which leaves it no covariance; "
            "give rows that differ."
        )
    return low
