"""Ridge regression of categories on random features, from sums alone.

A row z, scaled to unit length, has the features phi(z) = sqrt(2 / F) max(0, W^T z) with W drawn once from a
seed: their inner products are those of the arc-cosine kernel, on average. Row i counts for category k with
its responsibility r_ik times the weight a_k of a row of that category. The sums

    G = sum_ik a_k r_ik phi_i phi_i^T        b_k = a_k sum_i r_ik phi_i

are all that is kept; the regression of one-hot targets is

    V = (G + penalty I)^-1 [b_1 ... b_K]        score_k(z) = phi(z)^T v_k

The weight of a row is fixed when its category is born, one over its rows, so that categories count equally
and rows can be added and taken back later: sums add and subtract, in any order.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from vbcgcd.bayes.linalg import (
    cholesky_upper,
    diagonal_positions,
    pack_lower,
    packed_size,
    solve_lower,
    unpack_upper,
)
from vbcgcd.errors import InputError

Array = NDArray[Any]

#: Rows whose features are held at a time: 48 MB of 3,000 features in float32.
CHUNK_ROWS = 4096
#: Lengths below this are zero.
TINY = 1e-12

__all__ = ["RandomFeatures", "RidgeStatistics", "ridge_statistics", "ridge_weights"]


@dataclass(frozen=True)
class RandomFeatures:
    """Random ReLU features of the direction of a row.

    Parameters
    ----------
    seed : int
        From which the directions are drawn, here and wherever the same features are needed again.
    dim : int
        Dimensions of a row.
    size : int
        Number of features.

    Examples
    --------
    >>> import numpy as np
    >>> features = RandomFeatures(seed=0, dim=2, size=10_000)
    >>> phi = features(np.array([[3.0, 0.0], [0.0, 1.0]]))
    >>> print(np.round(phi @ phi.T, 1))
    [[1.  0.3]
     [0.3 1. ]]
    """

    seed: int
    dim: int
    size: int

    @functools.cached_property
    def directions(self) -> Array:
        """The directions W, scaled, float32 array (D, F)."""
        # The legacy generator: NumPy promises that its numbers never change, and they are not stored.
        drawn = np.random.RandomState(self.seed).standard_normal((self.dim, self.size))
        return np.asarray(drawn * np.sqrt(2 / self.size), dtype=np.float32)

    def __call__(self, rows: Array) -> Array:
        """Features of rows (N, D), array (N, F) of their type."""
        length = np.sqrt(np.einsum("nd,nd->n", rows, rows))[:, None]
        unit = rows / np.maximum(length, TINY)
        features = unit @ self.directions.astype(rows.dtype, copy=False)
        return np.asarray(np.maximum(features, 0, out=features))


@dataclass(frozen=True, eq=False)
class RidgeStatistics:
    """The sums of a ridge regression of K categories on F features.

    Parameters
    ----------
    gram : array (F (F + 1) / 2,)
        Lower triangle of G, row by row, float64.
    sums : array (K, F)
        The vectors b_k, float64.
    row_weight : array (K,)
        Weight a_k of a row of each category, fixed at its birth.
    """

    gram: Array
    sums: Array
    row_weight: Array

    def __len__(self) -> int:
        return len(self.row_weight)

    @property
    def size(self) -> int:
        """Number of features F."""
        return int(self.sums.shape[1])

    @property
    def n_present(self) -> int:
        """Number of categories that have rows; the others have no scores."""
        return int(np.count_nonzero(self.row_weight))

    @property
    def nbytes(self) -> int:
        """Bytes of the sums."""
        return int(self.gram.nbytes + self.sums.nbytes + self.row_weight.nbytes)

    @property
    def trace(self) -> float:
        """Trace of G."""
        return float(self.gram[diagonal_positions(self.size)].sum())

    def extended(self, other: RidgeStatistics) -> RidgeStatistics:
        """With the categories of another appended."""
        return RidgeStatistics(
            self.gram + other.gram,
            np.concatenate([self.sums, other.sums]),
            np.concatenate([self.row_weight, other.row_weight]),
        )

    def __add__(self, other: RidgeStatistics) -> RidgeStatistics:
        self._check_same_categories(other)
        return RidgeStatistics(self.gram + other.gram, self.sums + other.sums, self.row_weight)

    def __sub__(self, other: RidgeStatistics) -> RidgeStatistics:
        self._check_same_categories(other)
        return RidgeStatistics(self.gram - other.gram, self.sums - other.sums, self.row_weight)

    def _check_same_categories(self, other: RidgeStatistics) -> None:
        if self.sums.shape != other.sums.shape or not np.array_equal(self.row_weight, other.row_weight):
            raise InputError(
                f"Ridge statistics must be of the same categories, got {len(self)} and {len(other)} with "
                f"{self.size} and {other.size} features; use the row weights of the first for both."
            )


def ridge_statistics(
    features: RandomFeatures, rows: Array, responsibility: Array, row_weight: Array | None = None
) -> RidgeStatistics:
    """The sums over rows.

    Parameters
    ----------
    features : RandomFeatures
    rows : array (N, D)
    responsibility : array (N, K), not negative
        How much each row belongs to each category.
    row_weight : array (K,), optional
        Weight of a row of each category; by default one over its rows, for categories that are born.

    Examples
    --------
    >>> import numpy as np
    >>> rows, belongs = np.eye(3), np.array([[1.0, 0], [1, 0], [0, 1]])
    >>> ridge_statistics(RandomFeatures(0, 3, 5), rows, belongs).row_weight
    array([0.5, 1. ])
    """
    responsibility = np.asarray(responsibility, dtype=np.float64)
    if row_weight is None:
        count = responsibility.sum(axis=0)
        row_weight = np.divide(1.0, count, out=np.zeros_like(count), where=count > 0)
    weight = responsibility * row_weight
    taking_part = np.flatnonzero(weight.any(axis=1))
    gram, sums = np.zeros(packed_size(features.size)), np.zeros((weight.shape[1], features.size))
    for start in range(0, len(taking_part), CHUNK_ROWS):
        chosen = taking_part[start : start + CHUNK_ROWS]
        phi, part = features(rows[chosen]), weight[chosen]
        sums += part.T @ phi
        phi *= np.sqrt(part.sum(axis=1))[:, None].astype(phi.dtype)
        gram += _gram(phi)
    return RidgeStatistics(gram, sums, np.asarray(row_weight))


def ridge_weights(statistics: RidgeStatistics, penalty: float) -> Array:
    """The regression V of one-hot targets, array (F, K).

    Parameters
    ----------
    statistics : RidgeStatistics
    penalty : float
        What is added to the diagonal of the Gram matrix.
    """
    diagonal = diagonal_positions(statistics.size)
    gram = statistics.gram.copy()
    gram[diagonal] += penalty + TINY
    upper = cholesky_upper(unpack_upper(gram, statistics.size))
    half = solve_lower(upper, statistics.sums.copy())
    return np.asarray(scipy.linalg.blas.dtrsm(1.0, upper, half.T, lower=0, trans_a=0))


def _gram(rows: Array) -> Array:
    """Packed lower triangle of ``rows^T rows``, float64: half of the products of a square one."""
    kind = scipy.linalg.blas.ssyrk if rows.dtype == np.float32 else scipy.linalg.blas.dsyrk
    upper = kind(1.0, rows.T, lower=0)
    return pack_lower(np.asarray(upper).T).astype(np.float64)
