"""The Normal-inverse-Wishart prior and posterior of many categories, and the exact update between them.

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
import scipy
from numpy.typing import DTypeLike, NDArray

from vbcgcd.bayes.statistics import Statistics
from vbcgcd.bayes.structures import CovarianceStructure, Structure, structure_of
from vbcgcd.bayes.threads import in_parallel, one_thread
from vbcgcd.errors import InputError

Array = NDArray[Any]

#: Smallest share of the scale matrix that is scatter: factors are kept in float32, less is their rounding.
MEASURABLE = 1e-5

__all__ = [
    "Posterior",
    "Prior",
    "deviation",
    "factor_work",
    "posterior_from_parts",
    "posterior_of",
    "recover_statistics",
]


@dataclass(frozen=True)
class Prior:
    """Normal-inverse-Wishart prior of each category's mean and covariance.

    mu | Sigma ~ N(0, Sigma / kappa),  Sigma ~ IW(Psi, nu) with Psi = scale I.

    Parameters
    ----------
    dim : int
        Number of dimensions D.
    kappa : float
        How many rows the prior mean 0 is worth (``mean_precision_prior`` of scikit-learn).
    nu : float
        Degrees of freedom: how many rows the prior covariance is worth (``degrees_of_freedom_prior``).
        It must exceed ``block + 1`` for the expected covariance to exist.
    variance : float
        Expected covariance is ``variance`` times the identity.
    structure : str
        See `structure_of`. ``diagonal`` is one independent prior of this kind for each dimension.

    Examples
    --------
    >>> from vbcgcd.bayes import Prior
    >>> Prior(dim=3, kappa=0.01, nu=10.0).scale
    6.0
    """

    dim: int
    kappa: float = 0.01
    nu: float = 0.0
    variance: float = 1.0
    structure: Structure = "full"

    def __post_init__(self) -> None:
        if self.nu == 0.0:
            object.__setattr__(self, "nu", self.block + 2.0)
        if not self.nu > self.block + 1:
            raise InputError(
                f"Prior strength nu must exceed {self.block + 1} ({self.structure} covariance in {self.dim} "
                f"dimensions), got {self.nu}; use 'auto' to choose it from the labelled rows."
            )
        if not self.kappa > 0 or not self.variance > 0:
            raise InputError(f"kappa and variance must be positive, got {self.kappa} and {self.variance}.")

    @property
    def form(self) -> CovarianceStructure:
        """The covariance structure itself."""
        return structure_of(self.structure, self.dim)

    @property
    def block(self) -> int:
        """Size of one covariance block: D, or 1 where the dimensions are independent."""
        return self.form.block

    @property
    def scale(self) -> float:
        """Psi = scale I, such that E[Sigma] = variance I."""
        return float((self.nu - self.block - 1) * self.variance)

    @property
    def log_det_covariance(self) -> float:
        """Log-determinant of the expected covariance, where training starts."""
        return float(self.dim * np.log(self.variance))

    @property
    def log_det_scale(self) -> float:
        """Log-determinant of Psi (over all dimensions)."""
        return float(self.dim * np.log(self.scale))


def log_gamma_blocks(form: CovarianceStructure, nu: Array) -> Array:
    """Sum over the blocks of b dimensions of log Gamma_b(nu / 2)."""
    nu = np.asarray(nu, dtype=np.float64)
    blocks = form.dim // form.block
    values = {v: blocks * float(scipy.special.multigammaln(v / 2, form.block)) for v in np.unique(nu)}
    return np.vectorize(values.__getitem__, otypes=[np.float64])(nu)


@dataclass(frozen=True)
class Posterior:
    """Normal-inverse-Wishart distributions of the mean and covariance of K categories.

    Parameters
    ----------
    mean : array (K, D)
    kappa : array (K,)
    nu : array (K,)
    factor : array (K, W)
        Factor of Psi, packed as the structure wants it: the lower triangle of its Cholesky factor
        (``full``), its leading directions (``lowrank``) or the roots of its diagonal (``diagonal``).
    structure : str
        See `structure_of`.

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
    def form(self) -> CovarianceStructure:
        """The covariance structure itself."""
        return structure_of(self.structure, self.dim)

    @property
    def block(self) -> int:
        """Size of one covariance block: D, or 1 where the dimensions are independent."""
        return self.form.block

    @property
    def plugin_weight(self) -> Array:
        """Nu - D - 1, array (K,): the plug-in covariance is Psi divided by it."""
        return self.nu - self.block - 1

    @property
    def log_det_scale(self) -> Array:
        """Log det Psi of each category, array (K,)."""
        return self.form.log_dets(self.factor)

    @property
    def trace_scale(self) -> Array:
        """Trace of Psi of each category, array (K,)."""
        return self.form.traces(self.factor)

    @property
    def log_det_covariance(self) -> Array:
        """Log det of the plug-in covariance of each category, array (K,)."""
        return self.log_det_scale - self.dim * np.log(self.plugin_weight)

    @property
    def nbytes(self) -> int:
        """Bytes that the state takes."""
        return int(self.mean.nbytes + self.kappa.nbytes + self.nu.nbytes + self.factor.nbytes)

    def scale(self, k: int) -> Array:
        """Psi of category ``k`` as a square matrix, array (D, D)."""
        return self.form.square(self.form.scale(self.factor[k]))

    def covariance(self, k: int) -> Array:
        """Plug-in covariance Psi / (nu - D - 1) of category ``k``, array (D, D)."""
        return self.scale(k) / self.plugin_weight[k]

    def distances(self, rows: Array) -> Array:
        """Squared distances (z - m)^T Psi^-1 (z - m) of rows to categories, float64 array (N, K)."""
        return self.form.distances(rows, self.mean, self.factor)

    def mahalanobis(self, row: Array, k: int) -> float:
        """Mahalanobis distance of a row, array (D,), to category ``k`` under its plug-in covariance."""
        whitened = self.form.whiten(row - self.mean[k], self.factor[k])
        return float(np.sqrt(self.plugin_weight[k] * (whitened**2).sum()))

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
            prior.form.isotropic(prior.scale)[None],
            prior.structure,
        )


def posterior_of(prior: Prior, statistics: Statistics, *, dtype: DTypeLike = np.float64) -> Posterior:
    """Exact posterior of each category.

    Parameters
    ----------
    prior : Prior
    statistics : Statistics
    dtype : float64 or float32
        Storage type of means and factors, unless the structure keeps factors in half precision; the
        computation is in float64.

    Returns
    -------
    Posterior

    Examples
    --------
    >>> import numpy as np
    >>> from vbcgcd.bayes import Prior, posterior_of, statistics_by_label
    >>> statistics = statistics_by_label(np.array([[1.0], [3.0]]), np.array([0, 0]), 1)
    >>> posterior_of(Prior(dim=1, kappa=2.0), statistics).mean  # two rows of mean 2, two of the prior's 0
    array([[1.]])
    """
    parts = ((k, statistics.take([k])) for k in range(len(statistics)))
    return posterior_from_parts(prior, parts, len(statistics), dtype=dtype)


@one_thread()
def posterior_from_parts(
    prior: Prior, parts: Iterable[tuple[int, Statistics]], n_categories: int, *, dtype: DTypeLike = np.float64
) -> Posterior:
    """Exact posterior from statistics that arrive one category at a time, in any order: bounded memory.

    Examples
    --------
    >>> from vbcgcd.bayes import Prior, Statistics, posterior_from_parts
    >>> len(posterior_from_parts(Prior(dim=2), [(0, Statistics.empty(1, 2))], 1))
    1
    """
    mean = np.empty((n_categories, prior.dim), dtype=dtype)
    factor = np.empty((n_categories, prior.form.width), dtype=prior.form.stored_as(dtype))
    count = np.empty(n_categories)

    def update(item: tuple[int, Statistics]) -> None:
        k, part = item
        count[k] = part.count[0]
        mean[k] = part.count[0] / (prior.kappa + part.count[0]) * part.mean[0]
        shift = prior.kappa * part.count[0] / (prior.kappa + part.count[0])
        factor[k] = prior.form.factor(part.scatter[0], part.mean[0], shift, prior.scale)

    for _ in in_parallel(update, parts, work=factor_work(prior.form)):
        pass
    return Posterior(mean, prior.kappa + count, prior.nu + count, factor, prior.structure)


def factor_work(form: CovarianceStructure) -> float:
    """Multiplications of a factorisation, roughly."""
    return form.width * form.block / 3


@one_thread()
def recover_statistics(prior: Prior, posterior: Posterior) -> Statistics:
    """The statistics from which the exact update made this posterior, up to the rounding of its storage.

    Examples
    --------
    >>> from vbcgcd.bayes import Posterior, Prior, recover_statistics
    >>> recover_statistics(Prior(dim=2), Posterior.of_prior(Prior(dim=2))).count
    array([0.])
    """
    count = posterior.kappa - prior.kappa
    ratio = np.divide(posterior.kappa, count, out=np.zeros_like(count), where=count > 0)
    mean = posterior.mean.astype(np.float64) * ratio[:, None]
    shift = prior.kappa * count / posterior.kappa

    def scatter(k: int) -> Array:
        return prior.form.recover_scatter(posterior.factor[k], mean[k], shift[k], prior.scale)

    scatters = list(in_parallel(scatter, range(len(posterior)), work=factor_work(prior.form)))
    return Statistics(count, mean, np.stack(scatters), prior.structure)


def deviation(prior: Prior, posterior: Posterior) -> Array:
    """Root mean square over dimensions of the standard deviation of each category's own rows, array (K,).

    sqrt(tr S / (n D)), where tr S = tr Psi - tr Psi0 - (kappa0 n / kappa) ||z̄||². Tempering weighs S and n
    alike and does not change it. NaN without measurable scatter.

    Examples
    --------
    >>> from vbcgcd.bayes import Posterior, Prior, deviation
    >>> deviation(Prior(dim=2), Posterior.of_prior(Prior(dim=2)))  # no rows
    array([nan])
    """
    count = np.asarray(posterior.kappa - prior.kappa, dtype=np.float64)
    shift = prior.kappa * posterior.kappa / np.where(count > 0, count, 1.0)
    between = shift * np.einsum("kd,kd->k", posterior.mean, posterior.mean, dtype=np.float64)
    scale = posterior.form.traces(posterior.factor)
    scatter = scale - prior.dim * prior.scale - between
    measurable = (scatter > MEASURABLE * scale) & (count > 0)
    variance = np.where(measurable, scatter, np.nan) / (np.where(count > 0, count, 1.0) * prior.dim)
    return np.asarray(np.sqrt(variance))
