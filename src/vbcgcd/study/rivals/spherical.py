"""Mixtures of spherical Gaussians whose components keep their places."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

Array = NDArray[Any]

__all__ = ["SphericalMixture", "em", "estimated", "log_joint", "responsibilities", "sample"]


class SphericalMixture(NamedTuple):
    """Weights (C,), means (C, d) and variances (C,) of the components."""

    weights: Array
    means: Array
    variances: Array


def log_joint(rows: Array, mixture: SphericalMixture) -> Array:
    """Log of weight times density of each component at each row, array (N, C)."""
    dim = rows.shape[1]
    own = np.einsum("nd,nd->n", rows, rows)[:, None]
    squared = own + np.einsum("cd,cd->c", mixture.means, mixture.means) - 2 * rows @ mixture.means.T
    scale = dim * np.log(2 * np.pi * mixture.variances)
    with np.errstate(divide="ignore"):  # a component may have lost all of its weight
        weights = np.log(mixture.weights)
    return np.asarray(weights - 0.5 * (scale + np.maximum(squared, 0) / mixture.variances))


def responsibilities(rows: Array, mixture: SphericalMixture) -> Array:
    """Probability of each component for each row, array (N, C)."""
    joint = log_joint(rows, mixture)
    return np.asarray(np.exp(joint - logsumexp(joint, axis=1, keepdims=True)))


def estimated(
    rows: Array, responsibility: Array, *, floor: float = 1e-6, before: SphericalMixture | None = None
) -> SphericalMixture:
    """The mixture of largest likelihood for given responsibilities (the M-step).

    Parameters
    ----------
    rows : array (N, d)
    responsibility : array (N, C)
    floor : float
        No variance is smaller: without it a component on one row would be infinitely dense there.
    before : SphericalMixture, optional
        Where a component has no rows, its mean and variance are taken from here.
    """
    dim, mass = rows.shape[1], responsibility.sum(axis=0)
    safe = np.maximum(mass, 1e-10)
    means = responsibility.T @ rows / safe[:, None]
    second = responsibility.T @ np.einsum("nd,nd->n", rows, rows) / safe
    variances = np.maximum((second - np.einsum("cd,cd->c", means, means)) / dim, floor)
    if before is not None:
        empty = mass <= 1e-10
        means = np.where(empty[:, None], before.means, means)
        variances = np.where(empty, before.variances, variances)
    return SphericalMixture(mass / mass.sum(), means, variances)


def em(
    rows: Array,
    start: SphericalMixture,
    *,
    max_iterations: int = 100,
    tolerance: float = 1e-3,
    floor: float = 1e-6,
) -> tuple[SphericalMixture, Array]:
    """Expectation-maximisation from a start, and the mean log-likelihood before each step.

    Ends where the mean log-likelihood gains less than ``tolerance``.
    """
    mixture, path = start, list[float]()
    for _ in range(max_iterations):
        joint = log_joint(rows, mixture)
        total = logsumexp(joint, axis=1, keepdims=True)
        path.append(float(total.mean()))
        if len(path) > 1 and path[-1] - path[-2] <= tolerance:
            break
        mixture = estimated(rows, np.exp(joint - total), floor=floor, before=mixture)
    return mixture, np.array(path)


def sample(mixture: SphericalMixture, n_each: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Rows drawn from each component (C n_each, d), and their components."""
    codes = np.repeat(np.arange(len(mixture.weights)), n_each)
    noise = rng.standard_normal((len(codes), mixture.means.shape[1]))
    return mixture.means[codes] + np.sqrt(mixture.variances[codes])[:, None] * noise, codes
