"""The number of novel clusters: split and merge by marginal likelihoods, as in PromptCCD and GPC.

Zhao et al., "Learning semi-supervised Gaussian mixture models for generalized category discovery" (ICCV
2023), adopted by PromptCCD (ECCV 2024). A cluster is split in two, or two clusters are merged, with the
probability min(1, H) of the Hastings ratio

    H_split = alpha Gamma(n1) f(X1) Gamma(n2) f(X2) / (Gamma(n) f(X)),    H_merge = 1 / H_split,

where f is the marginal likelihood of rows under a Normal-inverse-Wishart prior.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky
from scipy.special import gammaln, multigammaln

from vbcgcd.study.rivals.kmeans import pinned_kmeans

Array = NDArray[Any]

__all__ = ["NiwPrior", "SplitMerge", "log_hastings_split", "niw_log_marginal", "split_and_merge"]

#: A part of at most this many rows is never split off.
SMALL = 5


@dataclass(frozen=True)
class NiwPrior:
    """Normal-inverse-Wishart prior with an isotropic scale.

    Parameters
    ----------
    mean : array (d,)
    kappa : float
        Rows that the mean is worth.
    nu : float
        Degrees of freedom, above d - 1.
    scale : float
        Psi is ``scale`` times the identity.
    """

    mean: Array
    kappa: float
    nu: float
    scale: float


class SplitMerge(NamedTuple):
    """Result of `split_and_merge`: novel centroids (J, d), cluster of each row (pinned first), rounds."""

    centroids: Array
    labels: Array
    n_rounds: int


def niw_log_marginal(rows: Array, prior: NiwPrior) -> float:
    """Log marginal likelihood of rows (n, d).

    -(n d / 2) log pi + log Gamma_d(nu_n / 2) - log Gamma_d(nu / 2)
    + (nu / 2) log|Psi| - (nu_n / 2) log|Psi_n| + (d / 2) (log kappa - log kappa_n)
    """
    n, dim = rows.shape
    mean = rows.mean(axis=0)
    shift = np.sqrt(prior.kappa * n / (prior.kappa + n)) * (mean - prior.mean)
    parts = np.vstack([rows - mean, shift]) / np.sqrt(prior.scale)
    # Psi_n = scale (I + parts^T parts); the smaller of the two Gram matrices has the same determinant.
    gram = parts @ parts.T if len(parts) < dim else parts.T @ parts
    factor = cholesky(gram + np.eye(len(gram)), lower=True, check_finite=False)
    log_psi = dim * np.log(prior.scale)
    log_psi_n = log_psi + 2 * np.log(np.diag(factor)).sum()
    nu_n = prior.nu + n
    return float(
        -0.5 * n * dim * np.log(np.pi)
        + multigammaln(nu_n / 2, dim)
        - multigammaln(prior.nu / 2, dim)
        + 0.5 * prior.nu * log_psi
        - 0.5 * nu_n * log_psi_n
        + 0.5 * dim * (np.log(prior.kappa) - np.log(prior.kappa + n))
    )


def log_hastings_split(first: Array, second: Array, prior: NiwPrior, *, alpha: float = 1.0) -> float:
    """Log of the Hastings ratio for a split into parts (n1, d) and (n2, d); a merge has its minus."""
    n1, n2 = len(first), len(second)
    apart = niw_log_marginal(first, prior) + niw_log_marginal(second, prior)
    together = niw_log_marginal(np.vstack([first, second]), prior)
    return float(np.log(alpha) + gammaln(n1) + gammaln(n2) - gammaln(n1 + n2) + apart - together)


def split_and_merge(
    rows: Array,
    pinned: Array,
    prior: NiwPrior,
    *,
    rng: np.random.Generator,
    n_start: int = 5,
    alpha: float = 1.0,
    max_rounds: int = 20,
) -> SplitMerge:
    """Find novel clusters beside pinned ones, and their number.

    Each round proposes to split every novel cluster by 2-means, then to merge each of the others with its
    nearest, then lets pinned k-means settle. It ends when a round changes nothing.

    Parameters
    ----------
    rows : array (N, d)
    pinned : array (K, d)
        Centroids of known categories: they are neither moved nor split nor merged.
    prior : NiwPrior
    rng : Generator
    n_start : int
        Novel clusters at the start.
    alpha : float
        Concentration of the Dirichlet process.
    max_rounds : int

    Returns
    -------
    SplitMerge
    """
    clusters = pinned_kmeans(rows, pinned, min(n_start, len(rows)), rng=rng, n_restarts=10)
    centroids, labels = _without_empty(clusters.centroids, clusters.labels, len(pinned))
    n_rounds = 0
    for n_rounds in range(1, max_rounds + 1):  # noqa: B007
        members = [rows[labels == len(pinned) + j] for j in range(len(centroids))]
        if not members:
            break
        proposed, changed = _one_round(members, prior, alpha, rng)
        if not changed:
            break
        centroids, labels = _settle(rows, pinned, proposed)
    return SplitMerge(centroids, labels, n_rounds)


def _one_round(
    members: list[Array], prior: NiwPrior, alpha: float, rng: np.random.Generator
) -> tuple[Array, bool]:
    """Centroids after the splits and merges of one round, and whether there were any."""
    split: list[Array] = []
    whole: list[Array] = []
    for rows in members:
        parts = _halves(rows, rng)
        if min(map(len, parts)) > SMALL and _accepted(log_hastings_split(*parts, prior, alpha=alpha), rng):
            split.extend(part.mean(axis=0) for part in parts)
        else:
            whole.append(rows)
    merged = _merge(whole, prior, alpha, rng)
    centroids = [*split, *(rows.mean(axis=0) for rows in merged)]
    return np.stack(centroids), bool(split) or len(merged) < len(whole)


def _merge(clusters: list[Array], prior: NiwPrior, alpha: float, rng: np.random.Generator) -> list[Array]:
    """Clusters after each was proposed for a merge with its nearest; each is merged at most once a round."""
    if len(clusters) < 2:
        return clusters
    means = np.stack([rows.mean(axis=0) for rows in clusters])
    distances = ((means[:, None] - means) ** 2).sum(axis=2)
    np.fill_diagonal(distances, np.inf)
    merged: set[int] = set()
    result = []
    for i in np.argsort(distances.min(axis=1)).tolist():
        j = int(distances[i].argmin())
        if i in merged or j in merged:
            continue
        if _accepted(-log_hastings_split(clusters[i], clusters[j], prior, alpha=alpha), rng):
            merged |= {i, j}
            result.append(np.vstack([clusters[i], clusters[j]]))
    return result + [rows for i, rows in enumerate(clusters) if i not in merged]


def _halves(rows: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    if len(rows) < 2:
        return rows, rows[:0]
    labels = pinned_kmeans(rows, rows[:0], 2, rng=rng, n_restarts=5).labels
    return rows[labels == 0], rows[labels == 1]


def _accepted(log_ratio: float, rng: np.random.Generator) -> bool:
    return bool(np.log(rng.random()) < log_ratio)


def _settle(rows: Array, pinned: Array, start: Array) -> tuple[Array, Array]:
    """Lloyd's steps from the centroids ``start``, with the pinned ones fixed."""
    centroids = start
    for _ in range(20):
        every = np.vstack([pinned, centroids])
        labels = ((every**2).sum(axis=1) - 2 * rows @ every.T).argmin(axis=1)
        centroids, labels = _without_empty(centroids, labels, len(pinned))
        before, centroids = centroids, centroids.copy()
        for j in range(len(centroids)):
            centroids[j] = rows[labels == len(pinned) + j].mean(axis=0)
        if np.allclose(before, centroids):
            break
    return centroids, labels


def _without_empty(centroids: Array, labels: Array, n_pinned: int) -> tuple[Array, Array]:
    """Novel centroids that have rows, and labels renumbered among them."""
    alive = np.bincount(labels, minlength=n_pinned + len(centroids))[n_pinned:] > 0
    renamed = np.concatenate([np.arange(n_pinned), n_pinned + np.cumsum(alive) - 1])
    return centroids[alive], renamed[labels]
