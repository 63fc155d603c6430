# ruff: noqa: D102 (the members are documented once, in `CovarianceStructure`)
"""Diagonal covariances: independent dimensions, D numbers for each category.

A scatter is the diagonal of the sum of outer products, a factor the square roots of the diagonal of Psi. Each
dimension is a block of its own, with a univariate prior, posterior and predictive.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from vbcgcd.bayes.linalg import centred_together
from vbcgcd.bayes.structures.additive import Additive

if TYPE_CHECKING:
    from vbcgcd.bayes.classifier import StudentTerms

Array = NDArray[Any]

__all__ = ["Diagonal"]


@dataclass(frozen=True)
class Diagonal(Additive):
    """Independent dimensions; see `CovarianceStructure` for its members."""

    dim: int
    block = 1
    complete = False
    triangular = False
    precise = 0
    left_out_as = None

    @property
    def width(self) -> int:
        return self.dim

    @property
    def scatter_width(self) -> int:
        return self.width

    def stored_as(self, dtype: DTypeLike) -> DTypeLike:
        return dtype

    def scatter(self, centred: Array) -> Array:
        return np.asarray(np.einsum("nd,nd->d", centred, centred))

    def between(self, weights: Array, gaps: Array) -> Array:
        return np.asarray(weights[:, None] * gaps**2)

    def diagonals(self, scatters: Array) -> Array:
        return scatters

    def square(self, scatter: Array) -> Array:
        return np.diag(scatter)

    def spectrum(self, scatter: Array, mean: Array, weight: float) -> Array:
        return np.asarray(scatter.astype(np.float64) + weight * mean**2)

    def log_det_path(self, scatter: Array, mean: Array) -> Callable[[float, float, float], float]:
        values, squared = np.maximum(scatter.astype(np.float64), 0.0), mean**2

        def log_det(scale: float, tau: float, shift: float) -> float:
            return float(np.log(scale + tau * values + shift * squared).sum())

        return log_det

    def factor(self, scatter: Array, mean: Array, shift: float, scale: float) -> Array:
        return np.asarray(np.sqrt(scale + scatter + shift * mean**2))

    def isotropic(self, scale: float) -> Array:
        return np.full(self.dim, np.sqrt(scale))

    def divided(self, factors: Array, by: Array) -> Array:
        return np.asarray(factors / by[:, None])

    def recover_scatter(self, factor: Array, mean: Array, shift: float, scale: float) -> Array:
        return np.maximum(self.scale(factor) - scale - shift * mean**2, 0.0)

    def scale(self, factor: Array) -> Array:
        return np.asarray(factor.astype(np.float64) ** 2)

    def traces(self, factors: Array) -> Array:
        return np.asarray(np.einsum("kp,kp->k", factors, factors, dtype=np.float64))

    def log_dets(self, factors: Array) -> Array:
        return np.asarray(2.0 * np.log(factors.astype(np.float64)).sum(axis=1))

    def whiten(self, rows: Array, factor: Array) -> Array:
        return np.array(rows, dtype=np.float64, ndmin=2) / factor.astype(np.float64)

    def colour(self, noise: Array, factor: Array) -> Array:
        return np.asarray(noise * factor.astype(np.float64))

    def trace_ratio(self, scatter: Array, factor: Array) -> float:
        return float((scatter / self.scale(factor)).sum())

    def distances(self, rows: Array, means: Array, factors: Array) -> Array:
        roots = factors.astype(np.float64)
        rows, means = centred_together(rows, means)
        weighted = means / roots**2
        cross = rows**2 @ (1 / roots**2).T - 2 * rows @ weighted.T
        return np.maximum(cross + (means * weighted).sum(axis=1), 0.0)

    def student(self, rows: Array, means: Array, factors: Array, terms: StudentTerms) -> Array:
        # The logarithm is taken dimension by dimension: a product of univariate Student-t densities.
        out = np.empty((len(rows), len(means)))
        for k in range(len(means)):
            ratio = (rows - means[k]) ** 2 / (factors[k] ** 2 * terms.spread[k])
            out[:, k] = terms.slope[k] * np.log1p(ratio).sum(axis=1, dtype=np.float64)
        return np.asarray(terms.constant - out - terms.volume)
