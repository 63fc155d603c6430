# ruff: noqa: D102 (the members are documented once, in `CovarianceStructure`)
"""Full covariances: scatter and factor are packed lower triangles, D (D + 1) / 2 numbers each.

The factor is the lower Cholesky factor L of Psi = L L^T: densities, determinants and samples come from it
directly, and the scatter can be recovered from it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from vbcgcd.bayes.linalg import (
    check_factor,
    cholesky_upper,
    diagonal_positions,
    outer_packed,
    pack_lower,
    packed_size,
    solve_lower,
    symmetric,
    unpack_lower,
    unpack_upper,
)
from vbcgcd.bayes.structures.additive import Additive
from vbcgcd.bayes.threads import in_parallel
from vbcgcd.errors import NumericalError

if TYPE_CHECKING:
    from vbcgcd.bayes.classifier import StudentTerms

Array = NDArray[Any]

__all__ = ["Full"]


@dataclass(frozen=True)
class Full(Additive):
    """The covariance of every pair of dimensions; see `CovarianceStructure` for its members."""

    dim: int
    complete = True
    triangular = True
    precise = 0
    left_out_as = "full"

    @property
    def block(self) -> int:
        return self.dim

    @property
    def width(self) -> int:
        return packed_size(self.dim)

    @property
    def scatter_width(self) -> int:
        return self.width

    def stored_as(self, dtype: DTypeLike) -> DTypeLike:
        return dtype

    def scatter(self, centred: Array) -> Array:
        return pack_lower(centred.T @ centred)

    def between(self, weights: Array, gaps: Array) -> Array:
        return np.stack([w * outer_packed(g) for w, g in zip(weights, gaps, strict=True)])

    def diagonals(self, scatters: Array) -> Array:
        return np.asarray(scatters[:, diagonal_positions(self.dim)])

    def square(self, scatter: Array) -> Array:
        return symmetric(scatter, self.dim)

    def spectrum(self, scatter: Array, mean: Array, weight: float) -> Array:
        matrix = self.square(scatter.astype(np.float64)) + weight * np.outer(mean, mean)
        return np.maximum(np.linalg.eigvalsh(matrix), 0)

    def log_det_path(self, scatter: Array, mean: Array) -> Callable[[float, float, float], float]:
        values, vectors = np.linalg.eigh(self.square(scatter.astype(np.float64)))
        values, squared = np.maximum(values, 0.0), (vectors.T @ mean) ** 2

        def log_det(scale: float, tau: float, shift: float) -> float:
            spread = scale + tau * values
            # det(A + c v v^T) = det A (1 + c v^T A^-1 v)
            return float(np.log(spread).sum() + np.log1p(shift * (squared / spread).sum()))

        return log_det

    def factor(self, scatter: Array, mean: Array, shift: float, scale: float) -> Array:
        upper = unpack_upper(scatter.astype(np.float64, copy=False), self.dim)
        upper += shift * np.outer(mean, mean)
        upper[np.diag_indices(self.dim)] += scale
        try:
            return pack_lower(cholesky_upper(upper).T)
        except NumericalError:
            return self._factor_by_parts(scatter, mean, shift, scale)

    def _factor_by_parts(self, scatter: Array, mean: Array, shift: float, scale: float) -> Array:
        """The factor where parts differ so much in magnitude that their sum would lose the smaller ones.

        It is the triangle of a QR decomposition of the roots of all parts, which are never added.
        """
        values, vectors = np.linalg.eigh(self.square(scatter.astype(np.float64, copy=False)))
        rotated = np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T
        roots = np.vstack([rotated, np.sqrt(shift) * mean, np.sqrt(scale) * np.eye(self.dim)])
        upper = np.asarray(np.linalg.qr(roots, mode="r"))
        return pack_lower(check_factor(upper * np.where(np.diag(upper) < 0, -1.0, 1.0)[:, None]).T)

    def isotropic(self, scale: float) -> Array:
        factor = np.zeros(self.width)
        factor[diagonal_positions(self.dim)] = np.sqrt(scale)
        return factor

    def divided(self, factors: Array, by: Array) -> Array:
        return np.asarray(factors / by[:, None])

    def recover_scatter(self, factor: Array, mean: Array, shift: float, scale: float) -> Array:
        packed = self.scale(factor)
        packed[diagonal_positions(self.dim)] -= scale
        return np.asarray(packed - shift * outer_packed(mean))

    def scale(self, factor: Array) -> Array:
        lower = unpack_lower(factor.astype(np.float64), self.dim)
        return pack_lower(lower @ lower.T)

    def traces(self, factors: Array) -> Array:
        return np.asarray(np.einsum("kp,kp->k", factors, factors, dtype=np.float64))

    def log_dets(self, factors: Array) -> Array:
        return np.asarray(2.0 * np.log(self.diagonals(factors).astype(np.float64)).sum(axis=1))

    def whiten(self, rows: Array, factor: Array) -> Array:
        rows = np.array(rows, dtype=np.float64, order="C", ndmin=2)
        return solve_lower(unpack_upper(factor.astype(np.float64), self.dim), rows)

    def colour(self, noise: Array, factor: Array) -> Array:
        return np.asarray(noise @ unpack_lower(factor.astype(np.float64), self.dim).T)

    def trace_ratio(self, scatter: Array, factor: Array) -> float:
        half = self.whiten(self.square(scatter), factor)  # rows of S L^-T
        return float(np.trace(self.whiten(half.T, factor)))

    def distances(self, rows: Array, means: Array, factors: Array) -> Array:
        out = np.empty((len(rows), len(means)))

        def to_category(k: int) -> None:
            upper = unpack_upper(factors[k].astype(rows.dtype, copy=False), self.dim)
            solved = solve_lower(upper, rows - means[k].astype(rows.dtype, copy=False))
            out[:, k] = np.einsum("nd,nd->n", solved, solved)

        for _ in in_parallel(to_category, range(len(means)), work=len(rows) * self.width):
            pass
        return out

    def student(self, rows: Array, means: Array, factors: Array, terms: StudentTerms) -> Array:
        distance = np.log1p(self.distances(rows, means, factors) / terms.spread)
        return np.asarray(terms.constant - terms.volume - terms.slope * distance)
