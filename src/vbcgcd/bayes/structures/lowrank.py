# ruff: noqa: D102 (the members are documented once, in `CovarianceStructure`)
"""Low-rank covariances: a multiple of the identity and a few directions, R D + 2 numbers for each category.

In a whitened space the pooled covariance of all categories is the identity: it is the core that they share,
and the prior's scale is a multiple of it. What a category adds is its scatter, of which the leading
directions are kept and the rest is spread evenly over all dimensions:

    Psi = (scale + residual) I + G^T G,      G of shape (R, D), its rows orthogonal.

Scatter and factor have one layout, ``[sqrt(scale), sqrt(residual), G]``; the scale of a scatter is 0. A
scatter keeps R - 1 directions, so that the mean, of which the prior makes one more, always has a place.

What is exact, and what is not. A category of at most R rows is kept exactly, and statistics add, subtract
and are recovered exactly as long as the sum has at most R rows. Beyond that, each sum S is reduced to its
leading directions; with the eigenvalues v_1 >= v_2 >= ... of what is to be reduced

    spare = (v_R + v_{R+1} + ...) / (D - R + 1),     |g_i|^2 = v_i - spare,     residual grows by spare.

So traces add exactly, G^T G never exceeds the true sum, and what it lacks has the trace D residual:

    G^T G <= S <= G^T G + D residual I           (in the order of positive semidefinite matrices),

however often statistics were merged (the kind of bound that Frequent Directions has). Where rows are taken
away that only the residual remembers, they are taken from the residual, and the bound no longer holds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from vbcgcd.bayes.linalg import leading_directions, signed_directions
from vbcgcd.bayes.threads import in_parallel

if TYPE_CHECKING:
    from vbcgcd.bayes.classifier import StudentTerms

Array = NDArray[Any]

#: Directions kept unless another number is asked for: 57 kB for each category in 384 dimensions, in single
#: precision. Four datasets lose at most 0.4 points of accuracy, and half as many directions up to 0.7.
USUAL_RANK = 36
#: Numbers before the directions: the roots of scale and residual.
HEADER = 2
#: A scale that differs from the prior's by less than this share is the prior's, rounded for storage.
SAME_SCALE = 1e-6

__all__ = ["USUAL_RANK", "LowRank"]


@dataclass(frozen=True)
class LowRank:
    """Identity plus low rank; see `CovarianceStructure` for its members.

    Parameters
    ----------
    dim : int
    most : int
        Directions kept for each category, at least 2. More than D + 1 are never needed.
    """

    dim: int
    most: int = USUAL_RANK
    triangular = False
    precise = HEADER
    left_out_as = "full"

    @property
    def rank(self) -> int:
        """Directions R that are kept for each category."""
        return min(self.most, self.dim + 1)

    @property
    def block(self) -> int:
        return self.dim

    @property
    def width(self) -> int:
        return HEADER + self.rank * self.dim

    @property
    def scatter_width(self) -> int:
        return self.width

    @property
    def complete(self) -> bool:
        return self.rank > self.dim

    def stored_as(self, dtype: DTypeLike) -> DTypeLike:
        return dtype

    def scatter(self, centred: Array) -> Array:
        return self._packed(0.0, *leading_directions(centred, self.rank - 1))

    def between(self, weights: Array, gaps: Array) -> Array:
        out = np.zeros((len(weights), self.width))
        out[:, HEADER : HEADER + self.dim] = np.sqrt(weights)[:, None] * gaps
        return out

    def plus(self, scatters: Array, *others: Array) -> Array:
        def total(k: int) -> Array:
            parts = [part[k] for part in (scatters, *others)]
            rows = np.concatenate([self._rows(part) for part in parts])
            found, spare = leading_directions(rows[rows.any(axis=1)], self.rank - 1)
            return self._packed(0.0, found, spare + sum(self._level(part) for part in parts))

        return np.stack([total(k) for k in range(len(scatters))])

    def minus(self, scatters: Array, *others: Array) -> Array:
        def rest(k: int) -> Array:
            parts = [part[k] for part in others]
            level = self._level(scatters[k]) - sum(self._level(part) for part in parts)
            removed = np.concatenate([self._rows(part) for part in parts])
            return self._without(self._rows(scatters[k]), removed, level)

        return np.stack([rest(k) for k in range(len(scatters))])

    def times(self, scatters: Array, weights: Array) -> Array:
        return np.asarray(scatters * np.sqrt(weights)[:, None])

    def diagonals(self, scatters: Array) -> Array:
        rows = scatters[:, HEADER:].reshape(len(scatters), self.rank, self.dim)
        level = np.einsum("kh,kh->k", scatters[:, :HEADER], scatters[:, :HEADER])
        return np.asarray(level[:, None] + np.einsum("krd,krd->kd", rows, rows))

    def square(self, scatter: Array) -> Array:
        rows = self._rows(scatter)
        return self._level(scatter) * np.eye(self.dim) + rows.T @ rows

    def spectrum(self, scatter: Array, mean: Array, weight: float) -> Array:
        rows = np.vstack([self._rows(scatter), np.sqrt(weight) * mean])
        values = np.zeros(max(self.dim, len(rows)))
        values[: len(rows)] = np.maximum(np.linalg.eigvalsh(rows @ rows.T)[::-1], 0.0)
        return values[: self.dim] + self._level(scatter)

    def log_det_path(self, scatter: Array, mean: Array) -> Callable[[float, float, float], float]:
        rows, level = self._rows(scatter), self._level(scatter)
        values = np.einsum("rd,rd->r", rows, rows)
        along = np.divide((rows @ mean) ** 2, values, out=np.zeros_like(values), where=values > 0)
        across = max(float(mean @ mean - along.sum()), 0.0)

        def log_det(scale: float, tau: float, shift: float) -> float:
            rest = scale + tau * level
            spread = rest + tau * values
            total = self.dim * np.log(rest) + np.log1p(tau * values / rest).sum()
            # det(A + c v v^T) = det A (1 + c v^T A^-1 v)
            return float(total + np.log1p(shift * ((along / spread).sum() + across / rest)))

        return log_det

    def factor(self, scatter: Array, mean: Array, shift: float, scale: float) -> Array:
        rows = np.vstack([self._rows(scatter), np.sqrt(shift) * mean])
        found, spare = leading_directions(rows[rows.any(axis=1)], self.rank)
        return self._packed(scale, found, self._level(scatter) + spare)

    def isotropic(self, scale: float) -> Array:
        return self._packed(scale, np.empty((0, self.dim)), 0.0)

    def divided(self, factors: Array, by: Array) -> Array:
        return np.asarray(factors / by[:, None])

    def recover_scatter(self, factor: Array, mean: Array, shift: float, scale: float) -> Array:
        kept, residual = (float(root) ** 2 for root in factor[:HEADER])
        excess = 0.0 if abs(kept - scale) <= SAME_SCALE * scale else kept - scale
        by_mean = np.sqrt(shift) * mean[None].astype(np.float64)
        return self._without(self._rows(factor), by_mean, residual + excess)

    def scale(self, factor: Array) -> Array:
        return np.asarray(factor.astype(np.float64))

    def traces(self, factors: Array) -> Array:
        squares = np.einsum("kp,kp->k", factors, factors, dtype=np.float64)
        return np.asarray(squares + (self.dim - 1) * self._levels(factors))

    def log_dets(self, factors: Array) -> Array:
        level = self._levels(factors)
        values = self._lengths(factors)
        return np.asarray(self.dim * np.log(level) + np.log1p(values / level[:, None]).sum(axis=1))

    def whiten(self, rows: Array, factor: Array) -> Array:
        # Psi^-1/2 = (I - sum_i (1 - sqrt(level / (level + v_i))) g_i g_i^T / v_i) / sqrt(level)
        rows, found, level = (
            np.array(rows, dtype=np.float64, ndmin=2),
            self._rows(factor),
            self._level(factor),
        )
        spread = level + np.einsum("rd,rd->r", found, found)
        share = 1 / (spread * (1 + np.sqrt(level / spread)))
        return np.asarray((rows - (rows @ found.T * share) @ found) / np.sqrt(level))

    def colour(self, noise: Array, factor: Array) -> Array:
        # Psi^1/2 = sqrt(level) (I + sum_i (sqrt(1 + v_i / level) - 1) g_i g_i^T / v_i)
        found, level = self._rows(factor), self._level(factor)
        share = 1 / (level * (1 + np.sqrt(1 + np.einsum("rd,rd->r", found, found) / level)))
        return np.asarray(np.sqrt(level) * (noise + (noise @ found.T * share) @ found))

    def trace_ratio(self, scatter: Array, factor: Array) -> float:
        level, values = self._level(factor), self._lengths(factor[None])[0]
        inverse = (self.dim - (values / (level + values)).sum()) / level
        whitened = self.whiten(self._rows(scatter), factor)
        return float(self._level(scatter) * inverse + (whitened**2).sum())

    def distances(self, rows: Array, means: Array, factors: Array) -> Array:
        out = np.empty((len(rows), len(means)))
        levels = self._levels(factors)
        spread = levels[:, None] + self._lengths(factors)

        def to_category(k: int) -> None:
            # Woodbury: Psi^-1 = (I - sum_i g_i g_i^T / (level + v_i)) / level
            gap = rows - means[k].astype(rows.dtype, copy=False)
            found = factors[k, HEADER:].reshape(self.rank, self.dim).astype(rows.dtype, copy=False)
            along = (gap @ found.T).astype(np.float64)
            along *= along
            total = np.einsum("nd,nd->n", gap, gap).astype(np.float64)
            out[:, k] = (total - along @ (1 / spread[k])) / levels[k]

        for _ in in_parallel(to_category, range(len(means)), work=len(rows) * self.width):
            pass
        return np.maximum(out, 0.0)

    def student(self, rows: Array, means: Array, factors: Array, terms: StudentTerms) -> Array:
        distance = np.log1p(self.distances(rows, means, factors) / terms.spread)
        return np.asarray(terms.constant - terms.volume - terms.slope * distance)

    def _without(self, rows: Array, removed: Array, level: float) -> Array:
        """The scatter level I + rows^T rows - removed^T removed."""
        found, spare = signed_directions(rows, removed, self.rank - 1, max(level, 0.0))
        return self._packed(0.0, found, level + spare)

    def _packed(self, scale: float, found: Array, residual: float) -> Array:
        out = np.zeros(self.width)
        out[:HEADER] = np.sqrt(scale), np.sqrt(max(residual, 0.0))
        out[HEADER : HEADER + found.size] = found.ravel()
        return out

    def _rows(self, packed: Array) -> Array:
        """The directions G, array (R, D)."""
        return packed[HEADER:].reshape(self.rank, self.dim).astype(np.float64, copy=False)

    def _level(self, packed: Array) -> float:
        """What there is of the identity, scale + residual."""
        return float(self._levels(packed[None])[0])

    def _levels(self, packed: Array) -> Array:
        return np.asarray((packed[:, :HEADER].astype(np.float64) ** 2).sum(axis=1))

    def _lengths(self, packed: Array) -> Array:
        """Squared lengths of the directions, float64 array (K, R)."""
        rows = packed[:, HEADER:].reshape(len(packed), self.rank, self.dim)
        return np.asarray(np.einsum("krd,krd->kr", rows, rows, dtype=np.float64))
