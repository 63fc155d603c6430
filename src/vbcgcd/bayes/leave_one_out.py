"""Leave one labelled row out, in closed form.

Take row z out of its category of n rows with mean m, and let r = z - m:

- Its category's mean becomes z - c r, with c = n / (n - 1); the row's distance to it grows by c^2.
- Its category's scatter loses c r r^T. A covariance that pools the scatters with weight w loses w c r r^T.
- A row that counts v times takes all of it along: c = n / (n - v), and what is lost is v times as much.

A matrix A that loses omega r r^T keeps a closed inverse and determinant (Sherman-Morrison, matrix determinant
lemma). With s = omega r^T A^-1 r, the *share* that is removed,

    u^T (A - omega r r^T)^-1 v = u^T A^-1 v + omega / (1 - s) (u^T A^-1 r)(v^T A^-1 r)
    log det(A - omega r r^T)   = log det A + log(1 - s)

so that leaving out every row in turn costs no more than scoring every row once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vbcgcd.bayes.classifier import Predictive, log_gamma_ratio
from vbcgcd.bayes.linalg import cholesky_upper, solve_lower, unpack_upper
from vbcgcd.bayes.posterior import Prior
from vbcgcd.bayes.statistics import Statistics
from vbcgcd.bayes.threads import in_parallel, one_thread
from vbcgcd.devices import HeldRows
from vbcgcd.errors import NumericalError

Array = NDArray[Any]

#: A single row never makes up all of a positive definite matrix; rounding may say so.
LARGEST_SHARE = 1 - 1e-6
#: Keeps n / (n - 1) finite for a category of one row, which callers leave out.
FEWEST_OTHERS = 1e-12
#: Rows that remain in a category, at least: the predictive of no rows does not exist.
FEWEST_REMAINING = 1e-3

__all__ = [
    "Downdate",
    "LeftOut",
    "Others",
    "downdate",
    "left_out_densities",
    "mean_correction",
    "others_of_each_row",
    "squared_lengths",
]


@dataclass(frozen=True)
class LeftOut:
    """Labelled rows to leave out in turn.

    Parameters
    ----------
    rows : array (M, D)
        Reduced embeddings.
    labels : int array (M,)
        Their categories, as positions in the statistics.
    pooled_weight : float
        Weight of one row's outer product in the pooled covariance that whitened the space, (1 - a) / (N - K);
        0 where the space was not whitened.
    weight : array (M,), optional
        What each row counts for in its category, and takes with it; 1 by default.
    """

    rows: Array
    labels: Array
    pooled_weight: float
    weight: Array | None = None

    def first(self, n: int) -> LeftOut:
        """The first ``n`` of the rows."""
        some = None if self.weight is None else self.weight[:n]
        return LeftOut(self.rows[:n], self.labels[:n], self.pooled_weight, some)

    @property
    def own(self) -> Array | float:
        """The weight of each row."""
        return 1.0 if self.weight is None else self.weight


def mean_correction(sizes: Array, weight: Array | float = 1.0) -> Array:
    """The factor c = n / (n - w) of categories with n rows for a row of weight w, usually 1."""
    return np.asarray(sizes / np.maximum(sizes - weight, FEWEST_OTHERS))


class Downdate(NamedTuple):
    """A - omega r r^T for many rows r: the weights omega, and the shares s that are removed, arrays (M,)."""

    omega: Array
    share: Array

    @property
    def gain(self) -> Array:
        """What products gain for each unit of (u^T A^-1 r)(v^T A^-1 r), omega / (1 - s)."""
        return np.asarray(self.omega / (1 - self.share))

    @property
    def log_det(self) -> Array:
        """What the log-determinant changes by, log(1 - s)."""
        return np.asarray(np.log1p(-self.share))


def downdate(omega: Array, length: Array) -> Downdate:
    """The rank-one downdate of weights ``omega`` by rows of squared length r^T A^-1 r, arrays (M,)."""
    return Downdate(omega, np.minimum(omega * length, LARGEST_SHARE))


class Others(NamedTuple):
    """Each row against the weighted sum of all *other* rows of each cluster, arrays (N, K)."""

    product: Array
    length: Array
    own: Array


def squared_lengths(rows: Array) -> Array:
    """Squared length of each row (N, D), array (N, 1)."""
    return np.asarray(np.einsum("nd,nd->n", rows, rows)[:, None])


def others_of_each_row(
    rows: Array, weight: Array, held: HeldRows | None = None, own: Array | None = None
) -> Others:
    """Product of each row with the sum of the others, squared length of that sum, and of the row (N, 1).

    Parameters
    ----------
    rows : array (N, D)
    weight : array (N, K)
        Weight of each row in each cluster.
    held : HeldRows, optional
        The same rows on a device, which computes.
    own : array (N, 1), optional
        Squared lengths of the rows, where they are known already.
    """
    if held is not None:
        return Others(*held.others_of_each_row(weight))
    sums = weight.T @ rows
    if own is None:
        own = squared_lengths(rows)
    product = rows @ sums.T
    length = np.einsum("kd,kd->k", sums, sums) - 2 * weight * product + weight**2 * own
    return Others(product - weight * own, length, own)


@one_thread()
def left_out_densities(
    prior: Prior, statistics: Statistics, left_out: LeftOut, predictive: Predictive, rivals: Array
) -> Array:
    """Log-density of each row under each category, the row itself left out, array (M, K).

    Constants that all categories have in common are left out.

    Parameters
    ----------
    prior : Prior
        Of a structure with triangular factors. Its scale is that of the pooled covariance, which the row is
        left out of as well.
    statistics : Statistics of K categories
    left_out : LeftOut
        Rows of categories with at least two rows.
    predictive : {"plugin", "student"}
    rivals : bool array (M, K)
        Categories to score for each row; the others get -inf.
    """
    count = statistics.count
    taken = left_out.own * np.ones(len(left_out.labels))
    correction = mean_correction(count[left_out.labels], taken)
    residual = (left_out.rows - statistics.mean[left_out.labels]).astype(np.float32)
    pooled = prior.scale * left_out.pooled_weight * correction * taken
    log_density = _student if predictive == "student" else _plugin
    density = np.full(rivals.shape, -np.inf)

    def score(k: int) -> None:
        i = np.flatnonzero(rivals[:, k])
        own = left_out.labels[i] == k
        upper, log_det = _scale_factor(prior, statistics, k)
        rest = solve_lower(upper, residual[i])
        # From the row to this mean by way of its own: there are far fewer means than rows to solve for.
        others, which = np.unique(left_out.labels[i], return_inverse=True)
        apart = statistics.mean[others] - statistics.mean[k]
        gap = rest + solve_lower(upper, apart.astype(np.float32))[which]
        change = downdate(pooled[i] + own * taken[i] * correction[i], np.einsum("nd,nd->n", rest, rest))
        cross = np.einsum("nd,nd->n", gap, rest).astype(np.float64)  # its square may be too large
        distance = np.einsum("nd,nd->n", gap, gap) + change.omega * cross**2 / (1 - change.share)
        distance *= np.where(own, correction[i] ** 2, 1.0)
        remaining = np.maximum(count[k] - own * taken[i], FEWEST_REMAINING)
        density[i, k] = log_density(distance, log_det + change.log_det, remaining, prior)

    work = prior.dim**3 / 6 + rivals.sum() / len(statistics) * prior.dim**2
    for _ in in_parallel(score, range(len(statistics)), work=work):
        pass
    return density


def _scale_factor(prior: Prior, statistics: Statistics, k: int) -> tuple[Array, float]:
    # Single precision is enough to compare strengths, and twice as fast, unless magnitudes differ too much.
    try:
        with np.errstate(over="ignore"):
            upper = unpack_upper(statistics.scatter[k].astype(np.float32), prior.dim)
        upper[np.diag_indices(prior.dim)] += np.float32(prior.scale)
        upper = cholesky_upper(upper)
    except NumericalError:
        factor = prior.form.factor(statistics.scatter[k], statistics.mean[k], 0.0, prior.scale)
        upper = unpack_upper(factor.astype(np.float32), prior.dim)
    return upper, 2 * float(np.log(np.diag(upper).astype(np.float64)).sum())


def _student(distance: Array, log_det: Array, count: Array, prior: Prior) -> Array:
    dim = prior.dim
    freedom, spread = prior.nu + count - dim + 1, (count + 1) / count
    scale = 0.5 * (log_det + dim * np.log(spread))
    slope = 0.5 * (freedom + dim)
    return np.asarray(log_gamma_ratio(freedom, dim) - scale - slope * np.log1p(distance / spread))


def _plugin(distance: Array, log_det: Array, count: Array, prior: Prior) -> Array:
    weight = prior.nu + count - prior.dim - 1
    return np.asarray(-0.5 * (weight * distance + log_det - prior.dim * np.log(weight)))
