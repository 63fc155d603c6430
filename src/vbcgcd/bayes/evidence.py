"""How well a posterior explains its rows: log evidence, evidence lower bound (ELBO) and KL divergence."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from vbcgcd.bayes.posterior import Posterior, Prior, log_gamma_blocks
from vbcgcd.bayes.statistics import Statistics

Array = NDArray[Any]

__all__ = ["elbo", "expected_log_likelihood", "kl_divergence", "log_evidence"]


def log_evidence(prior: Prior, posterior: Posterior) -> Array:
    """Log marginal likelihood of the rows behind each exact posterior, array (K,).

    Examples
    --------
    >>> import numpy as np
    >>> from vbcgcd.bayes import Prior, log_evidence, posterior_of, statistics_by_label
    >>> prior, rows = Prior(dim=1), np.array([[0.1], [0.2], [8.0], [8.1]])
    >>> together = posterior_of(prior, statistics_by_label(rows, np.array([0, 0, 0, 0]), 1))
    >>> apart = posterior_of(prior, statistics_by_label(rows, np.array([0, 0, 1, 1]), 2))
    >>> bool(log_evidence(prior, apart).sum() > log_evidence(prior, together).sum())
    True
    """
    count = posterior.kappa - prior.kappa
    result = -0.5 * count * prior.dim * np.log(np.pi)
    result += 0.5 * prior.dim * (np.log(prior.kappa) - np.log(posterior.kappa))
    gammas = log_gamma_blocks(prior.form, posterior.nu) - log_gamma_blocks(prior.form, np.array([prior.nu]))
    scales = 0.5 * prior.nu * prior.log_det_scale - 0.5 * posterior.nu * posterior.log_det_scale
    return np.asarray(result + (gammas + scales))


def _expected_log_det_precision(posterior: Posterior) -> Array:
    """E log det Sigma^-1 of each category."""
    dim, block = posterior.dim, posterior.block
    digammas = scipy.special.digamma((posterior.nu[:, None] - np.arange(block)) / 2).sum(axis=1)
    return (dim // block) * digammas + dim * np.log(2.0) - posterior.log_det_scale


def kl_divergence(first: Posterior, second: Posterior) -> Array:
    """KL(first || second) between Normal-inverse-Wishart distributions, category by category, array (K,).

    Parameters
    ----------
    first, second : Posterior
        Of the same structure and length; a ``second`` of one category is compared with all of ``first``.

    Examples
    --------
    >>> from vbcgcd.bayes import Posterior, Prior, kl_divergence
    >>> same = Posterior.of_prior(Prior(dim=2))
    >>> bool(abs(kl_divergence(same, same)[0]) < 1e-9)
    True
    """
    dim = first.dim
    if len(second) == 1 and len(first) > 1:
        second = second.take([0] * len(first))
    gap = (first.mean - second.mean).astype(np.float64)
    ratio = second.kappa / first.kappa
    result = 0.5 * dim * (ratio - 1 - np.log(ratio))
    form = first.form
    result += log_gamma_blocks(form, second.nu) - log_gamma_blocks(form, first.nu)
    result += 0.5 * second.nu * (first.log_det_scale - second.log_det_scale)
    # E log det Sigma^-1 minus its log-determinant part is the multivariate digamma of the Wishart's KL.
    digammas = _expected_log_det_precision(first) - dim * np.log(2.0) + first.log_det_scale
    result += 0.5 * (first.nu - second.nu) * digammas
    for k in range(len(first)):
        quad = float((form.whiten(gap[k], first.factor[k]) ** 2).sum())
        trace = form.trace_ratio(form.scale(second.factor[k]), first.factor[k])
        result[k] += 0.5 * second.kappa[k] * first.nu[k] * quad + 0.5 * first.nu[k] * (trace - dim)
    return result


def expected_log_likelihood(posterior: Posterior, statistics: Statistics) -> Array:
    """E_q log p(rows | mu, Sigma) for the rows behind ``statistics``, category by category, array (K,)."""
    dim, count = posterior.dim, statistics.count
    result = 0.5 * count * (_expected_log_det_precision(posterior) - dim * np.log(2 * np.pi))
    gap = statistics.mean - posterior.mean
    form = posterior.form
    for k in range(len(posterior)):
        own = form.trace_ratio(statistics.scatter[k], posterior.factor[k])
        quad = own + count[k] * float((form.whiten(gap[k], posterior.factor[k]) ** 2).sum())
        result[k] -= 0.5 * (dim * count[k] / posterior.kappa[k] + posterior.nu[k] * quad)
    return result


def elbo(prior: Prior, posterior: Posterior, statistics: Statistics) -> Array:
    """Evidence lower bound of each category (equation 7 of the paper), array (K,).

    It equals the log evidence at the exact posterior and is below it anywhere else.

    Examples
    --------
    >>> import numpy as np
    >>> from vbcgcd.bayes import Prior, elbo, log_evidence, posterior_of, statistics_by_label
    >>> statistics = statistics_by_label(np.array([[1.0], [3.0]]), np.array([0, 0]), 1)
    >>> posterior = posterior_of(Prior(dim=1), statistics)
    >>> bool(np.allclose(elbo(Prior(dim=1), posterior, statistics), log_evidence(Prior(dim=1), posterior)))
    True
    """
    divergence = kl_divergence(posterior, Posterior.of_prior(prior))
    return expected_log_likelihood(posterior, statistics) - divergence
