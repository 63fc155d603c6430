"""The Normal-inverse-Wishart prior, and its strength chosen by the evidence of the labelled categories."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import gammaln, multigammaln

from vbcgcd.bayes.linalg import diagonal_positions, packed_size, symmetric
from vbcgcd.bayes.statistics import Statistics, Structure
from vbcgcd.errors import InputError

Array = NDArray[Any]

__all__ = ["Prior", "choose_strength"]

#: Prior strength is searched between D + 2 and this many times D.
STRONGEST = 64.0
#: Categories used to choose the strength: one number needs no more, and each costs an eigendecomposition.
EVIDENCE_CATEGORIES = 32


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
    structure : {"full", "diagonal"}
        ``diagonal`` is one independent prior of this kind for each dimension.

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
                f"dimensions), got {self.nu}; use 'auto' to let it be chosen."
            )
        if not self.kappa > 0 or not self.variance > 0:
            raise InputError(f"kappa and variance must be positive, got {self.kappa} and {self.variance}.")

    @property
    def block(self) -> int:
        """Size of one covariance block: D, or 1 where the dimensions are independent."""
        return 1 if self.structure == "diagonal" else self.dim

    @property
    def scale(self) -> float:
        """Psi = scale I, such that E[Sigma] = variance I."""
        return float((self.nu - self.block - 1) * self.variance)

    @property
    def log_det_scale(self) -> float:
        """Log-determinant of Psi (over all dimensions)."""
        return float(self.dim * np.log(self.scale))


def log_gamma_block(prior: Prior, nu: Array) -> Array:
    """Log Gamma_D(nu / 2), or the sum of D univariate ones for a diagonal covariance."""
    nu = np.asarray(nu, dtype=np.float64)
    if prior.structure == "diagonal":
        return np.asarray(prior.dim * gammaln(nu / 2))
    values = {v: float(multigammaln(v / 2, prior.dim)) for v in np.unique(nu)}
    return np.vectorize(values.__getitem__, otypes=[np.float64])(nu)


def choose_strength(prior: Prior, statistics: Statistics) -> Prior:
    """The same prior with ``nu`` that maximises the evidence of the given categories.

    The scatter of each category is decomposed once; the evidence then costs O(D) for each candidate.

    Parameters
    ----------
    prior : Prior
    statistics : Statistics
        Of the labelled categories. At most 32 of them, evenly spaced, are used.

    Returns
    -------
    Prior
    """
    spectra = _spectra(prior, statistics)
    if not spectra:
        return prior

    def loss(log_excess: float) -> float:
        candidate = replace(prior, nu=prior.block + 1 + np.exp(log_excess))
        return -sum(_evidence_of_spectrum(candidate, *s) for s in spectra)

    low, high = np.log(0.5), np.log(STRONGEST * prior.block + 64)
    found = minimize_scalar(loss, bounds=(low, high), method="bounded", options={"xatol": 0.02})
    return replace(prior, nu=float(prior.block + 1 + np.exp(found.x)))


def _spectra(prior: Prior, statistics: Statistics) -> list[tuple[float, Array, Array]]:
    """For each category: count, eigenvalues of the scatter, squared mean along its eigenvectors."""
    usable = np.flatnonzero(statistics.count > 1)
    if len(usable) > EVIDENCE_CATEGORIES:
        usable = usable[np.linspace(0, len(usable) - 1, EVIDENCE_CATEGORIES).round().astype(int)]
    spectra = []
    for k in usable:
        mean = statistics.mean[k].astype(np.float64)
        if prior.structure == "diagonal":
            spectra.append((float(statistics.count[k]), statistics.scatter[k].astype(np.float64), mean**2))
        else:
            matrix = symmetric(statistics.scatter[k].astype(np.float64), prior.dim)
            # kappa n / (kappa + n) mean mean^T is part of the posterior scale: add it before decomposing.
            weight = prior.kappa * statistics.count[k] / (prior.kappa + statistics.count[k])
            values = np.linalg.eigvalsh(matrix + weight * np.outer(mean, mean))
            spectra.append((float(statistics.count[k]), np.maximum(values, 0), np.zeros(prior.dim)))
    return spectra


def _evidence_of_spectrum(prior: Prior, count: float, values: Array, mean_squared: Array) -> float:
    """Log evidence up to terms that do not depend on nu."""
    kappa = prior.kappa + count
    values = values + prior.kappa * count / kappa * mean_squared
    log_det = np.log(prior.scale + values).sum()
    nu = prior.nu + count
    gammas = log_gamma_block(prior, np.array([nu, prior.nu]))
    return float(gammas[0] - gammas[1] + 0.5 * prior.nu * prior.log_det_scale - 0.5 * nu * log_det)


def prior_factor(prior: Prior) -> Array:
    """Packed Cholesky factor of Psi, array (1, T) or (1, D)."""
    root = np.sqrt(prior.scale)
    if prior.structure == "diagonal":
        return np.full((1, prior.dim), root)
    factor = np.zeros((1, packed_size(prior.dim)))
    factor[0, diagonal_positions(prior.dim)] = root
    return factor
