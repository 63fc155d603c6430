"""The Normal-inverse-Wishart posterior of many categories: exact update, evidence, ELBO, KL, sampling.

Equations (statistics n, mean z̄, scatter S; prior kappa0, nu0, Psi0 = psi0 I, mean 0)::

    kappa = kappa0 + n      nu = nu0 + n      m = n z̄ / kappa
    Psi   = Psi0 + S + (kappa0 n / kappa) z̄ z̄^T

The lower Cholesky factor of Psi is what is stored, packed: densities, determinants and samples come from
it directly, and the statistics can be recovered from it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy.special import digamma

from vbcgcd.bayes.linalg import (
    cholesky_upper,
    log_det_factor,
    outer_packed,
    pack_lower,
    packed_size,
    solve_lower,
    symmetric,
    unpack_lower,
    unpack_upper,
)
from vbcgcd.bayes.prior import Prior, log_gamma_block, prior_factor
from vbcgcd.bayes.statistics import Statistics, Structure

Array = NDArray[Any]

__all__ = [
    "Posterior",
    "deviation",
    "elbo",
    "kl_divergence",
    "log_evidence",
    "posterior_from_parts",
    "posterior_of",
    "recover_statistics",
    "sample_embeddings",
]


@dataclass(frozen=True)
class Posterior:
    """Normal-inverse-Wishart distributions of the mean and covariance of K categories.

    Parameters
    ----------
    mean : array (K, D)
    kappa : array (K,)
    nu : array (K,)
    factor : array (K, D (D + 1) / 2) or (K, D)
        Packed lower Cholesky factor of Psi; the roots of its diagonal for ``diagonal``.
    structure : {"full", "diagonal"}

    Examples
    --------
    >>> import numpy as np
    >>> from vbcgcd.bayes import Prior, posterior_of, statistics_by_label
    >>> rows = np.random.default_rng(0).normal(size=(100, 2))
    >>> stats = statistics_by_label(rows, np.zeros(100, int), 1)
    >>> posterior = posterior_of(Prior(dim=2), stats)
    >>> posterior.covariance(0).shape
    (2, 2)
    """

    mean: Array
    kappa: Array
    nu: Array
    factor: Array
    structure: Structure

    def __len__(self) -> int:
        return len(self.kappa)

    @property
    def dim(self) -> int:
        """Number of dimensions D."""
        return int(self.mean.shape[1])

    @property
    def block(self) -> int:
        """Size of one covariance block: D, or 1 where the dimensions are independent."""
        return 1 if self.structure == "diagonal" else self.dim

    @property
    def plugin_weight(self) -> Array:
        """Nu - D - 1, array (K,): the plug-in covariance is Psi divided by it."""
        return self.nu - self.block - 1

    @property
    def log_det_scale(self) -> Array:
        """Log det Psi of each category, array (K,)."""
        return log_det_factor(self.factor, self.dim)

    @property
    def log_det_covariance(self) -> Array:
        """Log det of the plug-in covariance of each category, array (K,)."""
        return self.log_det_scale - self.dim * np.log(self.plugin_weight)

    @property
    def nbytes(self) -> int:
        """Bytes that the state takes."""
        return int(self.mean.nbytes + self.kappa.nbytes + self.nu.nbytes + self.factor.nbytes)

    def packed_factor(self, k: int) -> Array:
        """The stored factor of category ``k``."""
        return np.asarray(self.factor[k])

    def scale(self, k: int) -> Array:
        """Psi of category ``k`` as a square matrix, array (D, D)."""
        packed = self.packed_factor(k).astype(np.float64)
        if self.structure == "diagonal":
            return np.diag(packed**2)
        lower = unpack_lower(packed, self.dim)
        return lower @ lower.T

    def covariance(self, k: int) -> Array:
        """Plug-in covariance Psi / (nu - D - 1) of category ``k``, array (D, D)."""
        return self.scale(k) / self.plugin_weight[k]

    def take(self, indices: Any) -> Posterior:
        """The categories at ``indices``."""
        return Posterior(
            self.mean[indices], self.kappa[indices], self.nu[indices], self.factor[indices], self.structure
        )

    def replaced(self, indices: Any, new: Posterior) -> Posterior:
        """A copy in which the categories at ``indices`` are those of ``new``."""
        mean, kappa, nu, factor = self.mean.copy(), self.kappa.copy(), self.nu.copy(), self.factor.copy()
        mean[indices], kappa[indices], nu[indices] = new.mean, new.kappa, new.nu
        factor[indices] = new.factor
        return Posterior(mean, kappa, nu, factor, self.structure)

    @classmethod
    def concatenate(cls, parts: Sequence[Posterior]) -> Posterior:
        """The categories of all parts, in order."""
        return cls(
            np.concatenate([p.mean for p in parts]),
            np.concatenate([p.kappa for p in parts]),
            np.concatenate([p.nu for p in parts]),
            np.concatenate([p.factor for p in parts]),
            parts[0].structure,
        )

    @classmethod
    def of_prior(cls, prior: Prior) -> Posterior:
        """The prior itself, as the posterior of one category without rows."""
        return cls(
            np.zeros((1, prior.dim)),
            np.array([prior.kappa]),
            np.array([prior.nu]),
            prior_factor(prior),
            prior.structure,
        )


def posterior_of(prior: Prior, statistics: Statistics, *, dtype: DTypeLike = np.float64) -> Posterior:
    """Exact posterior of each category.

    Parameters
    ----------
    prior : Prior
    statistics : Statistics
    dtype : float64 or float32
        Storage type of means and factors; the computation is in float64.

    Returns
    -------
    Posterior
    """
    parts = ((k, statistics.take([k])) for k in range(len(statistics)))
    return posterior_from_parts(prior, parts, len(statistics), dtype=dtype)


def posterior_from_parts(
    prior: Prior, parts: Iterable[tuple[int, Statistics]], n_categories: int, *, dtype: DTypeLike = np.float64
) -> Posterior:
    """Like `posterior_of` from statistics that arrive one category at a time: bounded memory."""
    width = prior.dim if prior.structure == "diagonal" else packed_size(prior.dim)
    mean = np.empty((n_categories, prior.dim), dtype=dtype)
    factor = np.empty((n_categories, width), dtype=dtype)
    count = np.empty(n_categories)
    for k, part in parts:
        count[k] = part.count[0]
        mean[k] = part.count[0] / (prior.kappa + part.count[0]) * part.mean[0]
        factor[k] = _factor(prior, part)
    return Posterior(mean, prior.kappa + count, prior.nu + count, factor, prior.structure)


def _factor(prior: Prior, part: Statistics) -> Array:
    """Packed Cholesky factor of Psi for one category."""
    count, mean = part.count[0], part.mean[0]
    shift = prior.kappa * count / (prior.kappa + count)
    if prior.structure == "diagonal":
        return np.sqrt(prior.scale + part.scatter[0] + shift * mean**2)
    upper = unpack_upper(part.scatter[0].astype(np.float64, copy=False), prior.dim)
    upper += shift * np.outer(mean, mean)
    upper[np.diag_indices(prior.dim)] += prior.scale
    return pack_lower(cholesky_upper(upper).T)


def recover_statistics(prior: Prior, posterior: Posterior) -> Statistics:
    """The statistics from which the exact update made this posterior, up to the rounding of its storage."""
    count = posterior.kappa - prior.kappa
    ratio = np.divide(posterior.kappa, count, out=np.zeros_like(count), where=count > 0)
    mean = posterior.mean.astype(np.float64) * ratio[:, None]
    shift = prior.kappa * count / posterior.kappa
    if posterior.structure == "diagonal":
        scatter = posterior.factor.astype(np.float64) ** 2 - prior.scale - shift[:, None] * mean**2
        return Statistics(count, mean, np.maximum(scatter, 0.0), "diagonal")
    rows = [
        pack_lower(posterior.scale(k) - prior.scale * np.eye(prior.dim)) - shift[k] * outer_packed(mean[k])
        for k in range(len(posterior))
    ]
    return Statistics(count, mean, np.stack(rows), "full")


def deviation(prior: Prior, posterior: Posterior) -> Array:
    """Root mean square over dimensions of the standard deviation of each category's own rows, array (K,).

    sqrt(tr S / (n D)), where tr S = tr Psi - tr Psi0 - (kappa0 n / kappa) ||z̄||². Tempering weighs S and n
    alike and does not change it. NaN without measurable scatter.
    """
    count = np.asarray(posterior.kappa - prior.kappa, dtype=np.float64)
    shift = prior.kappa * posterior.kappa / np.where(count > 0, count, 1.0)
    between = shift * np.einsum("kd,kd->k", posterior.mean, posterior.mean, dtype=np.float64)
    scale = np.einsum("kp,kp->k", posterior.factor, posterior.factor, dtype=np.float64)
    scatter = scale - prior.dim * prior.scale - between
    # Factors are stored in single precision: less than this is rounding.
    measurable = (scatter > 1e-5 * scale) & (count > 0)
    variance = np.where(measurable, scatter, np.nan) / (np.where(count > 0, count, 1.0) * prior.dim)
    return np.asarray(np.sqrt(variance))


def log_evidence(prior: Prior, posterior: Posterior) -> Array:
    """Log marginal likelihood of the rows behind each exact posterior, array (K,)."""
    count = posterior.kappa - prior.kappa
    result = -0.5 * count * prior.dim * np.log(np.pi)
    result += 0.5 * prior.dim * (np.log(prior.kappa) - np.log(posterior.kappa))
    gammas = log_gamma_block(prior, posterior.nu) - log_gamma_block(prior, np.array([prior.nu]))
    scales = 0.5 * prior.nu * prior.log_det_scale - 0.5 * posterior.nu * posterior.log_det_scale
    return np.asarray(result + (gammas + scales))


def _expected_log_det_precision(posterior: Posterior) -> Array:
    """E log det Sigma^-1 of each category."""
    nu, dim = posterior.nu, posterior.dim
    if posterior.structure == "diagonal":
        digammas = dim * digamma(nu / 2)
    else:
        digammas = digamma((nu[:, None] - np.arange(dim)) / 2).sum(axis=1)
    return digammas + dim * np.log(2.0) - posterior.log_det_scale


def _whitened(posterior: Posterior, k: int, rows: Array) -> Array:
    """Rows multiplied by the inverse Cholesky factor of Psi of category ``k``."""
    packed = posterior.packed_factor(k).astype(np.float64)
    rows = np.array(rows, dtype=np.float64, order="C", ndmin=2)
    if posterior.structure == "diagonal":
        return rows / packed
    return solve_lower(unpack_upper(packed, posterior.dim), rows)


def _trace_ratio(numerator: Array, posterior: Posterior, k: int) -> float:
    """Trace of A Psi_k^-1 for a symmetric matrix A (its diagonal for ``diagonal``)."""
    packed = posterior.packed_factor(k).astype(np.float64)
    if posterior.structure == "diagonal":
        return float((numerator / packed**2).sum())
    half = _whitened(posterior, k, numerator)  # rows of A L^-T
    return float(np.trace(_whitened(posterior, k, half.T)))


def kl_divergence(first: Posterior, second: Posterior) -> Array:
    """KL(first || second) between Normal-inverse-Wishart distributions, category by category, array (K,).

    Parameters
    ----------
    first, second : Posterior
        Of the same structure (``full`` or ``diagonal``) and length; ``second`` may have one category that
        is compared with all.
    """
    dim = first.dim
    if len(second) == 1 and len(first) > 1:
        second = second.take([0] * len(first))
    gap = (first.mean - second.mean).astype(np.float64)
    ratio = second.kappa / first.kappa
    result = 0.5 * dim * (ratio - 1 - np.log(ratio))
    prior_like = Prior(dim, structure=first.structure)
    result += log_gamma_block(prior_like, second.nu) - log_gamma_block(prior_like, first.nu)
    result += 0.5 * second.nu * (first.log_det_scale - second.log_det_scale)
    # E log det Sigma^-1 minus its log-determinant part is the multivariate digamma of the Wishart's KL.
    digammas = _expected_log_det_precision(first) - dim * np.log(2.0) + first.log_det_scale
    result += 0.5 * (first.nu - second.nu) * digammas
    for k in range(len(first)):
        quad = float((_whitened(first, k, gap[k]) ** 2).sum())
        scale = second.scale(k)
        trace = _trace_ratio(np.diag(scale) if first.structure == "diagonal" else scale, first, k)
        result[k] += 0.5 * second.kappa[k] * first.nu[k] * quad + 0.5 * first.nu[k] * (trace - dim)
    return result


def expected_log_likelihood(posterior: Posterior, statistics: Statistics) -> Array:
    """E_q log p(rows | mu, Sigma) for the rows behind ``statistics``, category by category, array (K,)."""
    dim, count = posterior.dim, statistics.count
    result = 0.5 * count * (_expected_log_det_precision(posterior) - dim * np.log(2 * np.pi))
    gap = statistics.mean - posterior.mean
    for k in range(len(posterior)):
        diagonal = posterior.structure == "diagonal"
        scatter = statistics.scatter[k] if diagonal else symmetric(statistics.scatter[k], dim)
        quad = _trace_ratio(scatter, posterior, k) + count[k] * float(
            (_whitened(posterior, k, gap[k]) ** 2).sum()
        )
        result[k] -= 0.5 * (dim * count[k] / posterior.kappa[k] + posterior.nu[k] * quad)
    return result


def elbo(prior: Prior, posterior: Posterior, statistics: Statistics) -> Array:
    """Evidence lower bound of each category (equation 7 of the paper), array (K,).

    It equals the log evidence at the exact posterior and is below it anywhere else.
    """
    divergence = kl_divergence(posterior, Posterior.of_prior(prior))
    return expected_log_likelihood(posterior, statistics) - divergence


def sample_embeddings(
    posterior: Posterior,
    n_per_category: int,
    *,
    predictive: str = "plugin",
    random_state: np.random.Generator | int | None = None,
) -> tuple[Array, Array]:
    """Reduced embeddings drawn from each category, as replay for a classifier that keeps no data.

    Parameters
    ----------
    posterior : Posterior
    n_per_category : int
    predictive : {"plugin", "student"}
        Gaussian with the plug-in covariance, or the Student-t predictive.
    random_state : Generator or int, optional

    Returns
    -------
    rows : array (K * n_per_category, D)
    labels : int array (K * n_per_category,)
    """
    rng = np.random.default_rng(random_state)
    blocks = []
    for k in range(len(posterior)):
        noise = rng.standard_normal((n_per_category, posterior.dim))
        if predictive == "student":
            freedom = posterior.nu[k] - posterior.block + 1
            width = (1, posterior.dim)[posterior.structure == "diagonal"]
            noise /= np.sqrt(rng.chisquare(freedom, size=(n_per_category, width)))
            noise *= np.sqrt(1 + 1 / posterior.kappa[k])
        else:
            noise /= np.sqrt(posterior.plugin_weight[k])
        packed = posterior.packed_factor(k).astype(np.float64)
        spread = (
            noise * packed
            if posterior.structure == "diagonal"
            else noise @ unpack_lower(packed, posterior.dim).T
        )
        blocks.append(posterior.mean[k] + spread)
    return np.concatenate(blocks), np.repeat(np.arange(len(posterior)), n_per_category)
