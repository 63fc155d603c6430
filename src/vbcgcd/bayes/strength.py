"""The strength of the prior, nu, that maximises the evidence of the labelled categories."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from vbcgcd.bayes.posterior import Prior, factor_work, log_gamma_blocks
from vbcgcd.bayes.statistics import Statistics
from vbcgcd.bayes.threads import in_parallel, one_thread

Array = NDArray[Any]

#: The strength nu = D + 1 + excess is searched for an excess between `WEAKEST_EXCESS` and ``STRONGEST * D +
#: STRONGEST_ROWS``: at the top all categories have the prior's covariance, in however few dimensions.
WEAKEST_EXCESS, STRONGEST, STRONGEST_ROWS = 0.5, 64.0, 64
#: The logarithm of the excess is found this closely; the evidence is flat there.
LOG_EXCESS_TOLERANCE = 0.02
#: Categories used to choose the strength: one number needs no more, and each costs an eigendecomposition.
EVIDENCE_CATEGORIES = 32

__all__ = ["choose_strength"]


@one_thread()
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

    Examples
    --------
    >>> from vbcgcd.bayes import Prior, Statistics, choose_strength
    >>> choose_strength(Prior(dim=2), Statistics.empty(1, 2)).nu  # no rows: unchanged
    4.0
    """
    spectra = _spectra(prior, statistics)
    if not spectra:
        return prior

    def loss(log_excess: float) -> float:
        candidate = replace(prior, nu=prior.block + 1 + np.exp(log_excess))
        return -sum(_evidence_of_spectrum(candidate, *s) for s in spectra)

    low, high = np.log(WEAKEST_EXCESS), np.log(STRONGEST * prior.block + STRONGEST_ROWS)
    best = scipy.optimize.minimize_scalar(
        loss, bounds=(low, high), method="bounded", options={"xatol": LOG_EXCESS_TOLERANCE}
    )
    return replace(prior, nu=float(prior.block + 1 + np.exp(best.x)))


def _spectra(prior: Prior, statistics: Statistics) -> list[tuple[float, Array]]:
    """For each category: count, and eigenvalues of what its rows add to the scale."""
    usable = np.flatnonzero(statistics.count > 1)
    if len(usable) > EVIDENCE_CATEGORIES:
        usable = usable[np.linspace(0, len(usable) - 1, EVIDENCE_CATEGORIES).round().astype(int)]

    def spectrum(k: int) -> tuple[float, Array]:
        count, mean = float(statistics.count[k]), statistics.mean[k].astype(np.float64)
        weight = prior.kappa * count / (prior.kappa + count)
        return count, prior.form.spectrum(statistics.scatter[k], mean, weight)

    return list(in_parallel(spectrum, usable.tolist(), work=factor_work(prior.form)))


def _evidence_of_spectrum(prior: Prior, count: float, values: Array) -> float:
    """Log evidence up to terms that do not depend on nu."""
    log_det = np.log(prior.scale + values).sum()
    nu = prior.nu + count
    gammas = log_gamma_blocks(prior.form, np.array([nu, prior.nu]))
    return float(gammas[0] - gammas[1] + 0.5 * prior.nu * prior.log_det_scale - 0.5 * nu * log_det)
