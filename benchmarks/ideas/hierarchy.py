"""A hierarchical inverse-Wishart prior: a scale learned over categories, and a strength for each.

Psi_0 = (nu_k - D - 1) (U diag(s) U^T + diag(d)): the leading directions and the diagonal of the covariance
within labelled categories. The strength nu_k of a category is common, or the one of some multiples of it with
the highest evidence of its own rows.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg
from scipy.special import multigammaln

from vbcgcd import CategoryDiscoverer
from vbcgcd.bayes import recover_statistics

#: Directions of the low-rank part, and the strengths of a category as multiples of the common one.
RANK, MULTIPLES = 32, (0.5, 1.0, 2.0)


def common_strength(base: CategoryDiscoverer, model: CategoryDiscoverer, rows: np.ndarray) -> np.ndarray:
    """Positions of categories under the learned scale, at the common strength."""
    return _classified(base, model, rows, (1.0,))


def own_strength(base: CategoryDiscoverer, model: CategoryDiscoverer, rows: np.ndarray) -> np.ndarray:
    """Positions of categories under the learned scale, each with its own strength."""
    return _classified(base, model, rows, MULTIPLES)


def _classified(
    base: CategoryDiscoverer, model: CategoryDiscoverer, rows: np.ndarray, multiples: tuple[float, ...]
) -> np.ndarray:
    knowledge, prior = model.knowledge_, model.knowledge_.prior
    scale = _scale(base)
    reduced = knowledge.reduced(rows).astype(np.float64)
    statistics = recover_statistics(prior, knowledge.posterior)
    density = np.empty((len(reduced), len(statistics)))
    for k in range(len(statistics)):
        n, mean = float(statistics.count[k]), statistics.mean[k]
        kappa = prior.kappa + n
        scatter = prior.form.square(statistics.scatter[k])
        scatter = scatter + prior.kappa * n / kappa * np.outer(mean, mean)
        best = max(
            (
                _posterior(scale, scatter, n, 1 + prior.dim + x * (prior.nu - prior.dim - 1))
                for x in multiples
            ),
            key=lambda found: found[0],
        )
        lower, weight = best[1], best[2]
        white = linalg.solve_triangular(lower, (reduced - n / kappa * mean).T, lower=True)
        log_det = 2 * np.log(np.diag(lower)).sum() - prior.dim * np.log(weight)
        density[:, k] = -0.5 * (weight * (white**2).sum(axis=0) + log_det)
    return density.argmax(axis=1)


def _posterior(
    scale: np.ndarray, scatter: np.ndarray, n: float, nu: float
) -> tuple[float, np.ndarray, float]:
    """Log evidence up to what no strength changes, Cholesky factor of Psi, and nu - D - 1 after the rows."""
    dim, weight = len(scale), nu - len(scale) - 1
    lower = linalg.cholesky(weight * scale + scatter, lower=True)
    prior_log_det = np.linalg.slogdet(weight * scale)[1]
    evidence = (
        multigammaln((nu + n) / 2, dim)
        - multigammaln(nu / 2, dim)
        + nu / 2 * prior_log_det
        - (nu + n) * np.log(np.diag(lower)).sum()
    )
    return float(evidence), lower, weight + n


def _scale(base: CategoryDiscoverer) -> np.ndarray:
    """Low rank plus diagonal of the covariance within labelled categories, of mean variance 1."""
    prior = base.knowledge_.prior
    statistics = recover_statistics(prior, base.knowledge_.posterior)
    pooled = prior.form.square(statistics.scatter.sum(axis=0)) / statistics.count.sum()
    values, vectors = linalg.eigh(pooled)
    leading = (vectors[:, -RANK:] * values[-RANK:]) @ vectors[:, -RANK:].T
    scale = leading + np.diag(np.maximum(np.diag(pooled - leading), 1e-3 * values.mean()))
    return np.asarray(prior.variance * scale / np.diag(scale).mean())
