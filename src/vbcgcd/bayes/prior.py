"""The Normal-inverse-Wishart prior, and its strength chosen by the evidence of the labelled categories."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar
from scipy.special import multigammaln

from vbcgcd.bayes.statistics import Statistics
from vbcgcd.bayes.structures import CovarianceStructure, Structure, structure_of
from vbcgcd.errors import InputError

Array = NDArray[Any]

__all__ = ["Prior", "choose_strength"]

#: The strength nu = D + 1 + excess is searched for an excess between `WEAKEST_EXCESS` and ``STRONGEST * D +
#: STRONGEST_ROWS``: at the top all categories have the prior's covariance, in however few dimensions.
WEAKEST_EXCESS, STRONGEST, STRONGEST_ROWS = 0.5, 64.0, 64
#: The logarithm of the excess is found this closely; the evidence is flat there.
LOG_EXCESS_TOLERANCE = 0.02
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
    values = {v: blocks * float(multigammaln(v / 2, form.block)) for v in np.unique(nu)}
    return np.vectorize(values.__getitem__, otypes=[np.float64])(nu)


def choose_strength(prior: Prior, statistics: Statistics) -> Prior:
    """The same prior with ``nu`` that maximises the evidence of these categories.

    The scatter of each category is decomposed once; the evidence then costs O(D) for each candidate.

    Parameters
    ----------
    prior : Prior
    statistics : Statistics
        Of the labelled categories. At most `EVIDENCE_CATEGORIES` of them, evenly spaced, are used.

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

    low, high = np.log(WEAKEST_EXCESS), np.log(STRONGEST * prior.block + STRONGEST_ROWS)
    best = minimize_scalar(
        loss, bounds=(low, high), method="bounded", options={"xatol": LOG_EXCESS_TOLERANCE}
    )
    return replace(prior, nu=float(prior.block + 1 + np.exp(best.x)))


def _spectra(prior: Prior, statistics: Statistics) -> list[tuple[float, Array]]:
    """For each category: count, and eigenvalues of what its rows add to the scale."""
    usable = np.flatnonzero(statistics.count > 1)
    if len(usable) > EVIDENCE_CATEGORIES:
        usable = usable[np.linspace(0, len(usable) - 1, EVIDENCE_CATEGORIES).round().astype(int)]
    spectra = []
    for k in usable:
        count, mean = float(statistics.count[k]), statistics.mean[k].astype(np.float64)
        weight = prior.kappa * count / (prior.kappa + count)
        spectra.append((count, prior.form.spectrum(statistics.scatter[k], mean, weight)))
    return spectra


def _evidence_of_spectrum(prior: Prior, count: float, values: Array) -> float:
    """Log evidence up to terms that do not depend on nu."""
    log_det = np.log(prior.scale + values).sum()
    nu = prior.nu + count
    gammas = log_gamma_blocks(prior.form, np.array([nu, prior.nu]))
    return float(gammas[0] - gammas[1] + 0.5 * prior.nu * prior.log_det_scale - 0.5 * nu * log_det)
