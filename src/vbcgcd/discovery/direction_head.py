"""The direction head: a linear discriminant of directions as a second opinion, which costs hardly anything.

The rows of a category with the posterior mean m and plug-in covariance Sigma point, on average, to

    d = m / sqrt(|m|^2 + tr Sigma)

With C the covariance of directions within labelled categories, each of which counts alike, and u = z / |z|,

    score_k(z) = d_k^T (C + ridge tr(C) I)^-1 (u - d_k / 2)

C is fixed in the base session. The score of a category follows from its posterior alone: nothing else has to
be kept or taken back, and the odds between two categories do not change when others are found.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from vbcgcd.bayes import Posterior, log_normalise
from vbcgcd.bayes.linalg import (
    cholesky_upper,
    diagonal_positions,
    pack_lower,
    packed_size,
    solve_lower,
    unpack_upper,
)
from vbcgcd.bayes.statistics import iter_label_statistics

Array = NDArray[Any]

#: Lengths and traces below this are zero.
TINY = 1e-12

__all__ = ["DirectionHead", "direction_factor", "direction_scores", "within_directions"]


@dataclass(frozen=True, eq=False)
class DirectionHead:
    """A discriminant of directions and how it is added to the Gaussians.

    Parameters
    ----------
    factor : array (D (D + 1) / 2,)
        Packed Cholesky factor of the covariance of directions within categories, with the ridge.
    weight : float
        What scores are multiplied by, in nats.
    temperature : float
        What log-densities are multiplied by beside it.
    """

    factor: Array
    weight: float
    temperature: float

    @property
    def nbytes(self) -> int:
        """Bytes that are kept between sessions."""
        return int(self.factor.nbytes)

    def log_probabilities(self, reduced: Array, density: Array, posterior: Posterior) -> Array:
        """Calibrated log-probabilities of both, array (N, K).

        Parameters
        ----------
        reduced : array (N, D)
        density : array (N, K)
            Log-densities under the Gaussians.
        posterior : Posterior
        """
        scores = direction_scores(self.factor, reduced, posterior)
        return log_normalise(self.temperature * density + self.weight * scores)

    def taught(self, reduced: Array, responsibility: Array) -> DirectionHead:
        """Itself: what it says of a category follows from its posterior."""
        return self

    def extended(self, reduced: Array, responsibility: Array) -> DirectionHead:
        """Itself."""
        return self

    def arrays(self) -> dict[str, Array]:
        """Named arrays, for the disk."""
        return {
            "direction_head.factor": self.factor,
            "direction_head.settings": np.array([self.weight, self.temperature]),
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array]) -> DirectionHead | None:
        """What `arrays` named; None where there is nothing."""
        if "direction_head.factor" not in arrays:
            return None
        weight, temperature = map(float, arrays["direction_head.settings"])
        return cls(arrays["direction_head.factor"], weight, temperature)


def direction_scores(factor: Array, reduced: Array, posterior: Posterior) -> Array:
    """Score of each category for reduced embeddings (N, D), array (N, K).

    Parameters
    ----------
    factor : array (D (D + 1) / 2,)
        See `direction_factor`.
    reduced : array (N, D)
    posterior : Posterior
    """
    upper = unpack_upper(factor.astype(np.float64), posterior.dim)
    rows = solve_lower(upper, _unit(np.asarray(reduced, dtype=np.float64)))
    means = solve_lower(upper, mean_directions(posterior))
    return np.asarray(rows @ means.T - 0.5 * np.einsum("kd,kd->k", means, means))


def mean_directions(posterior: Posterior) -> Array:
    """Where the rows of each category point, on average; array (K, D).

    Examples
    --------
    >>> import numpy as np
    >>> from vbcgcd.bayes import Prior, posterior_of, statistics_by_label
    >>> rows = np.array([[3.0, 0.1], [3.0, -0.1]])
    >>> prior, statistics = Prior(2, nu=100.0, variance=8.0), statistics_by_label(rows, np.zeros(2, int), 1)
    >>> mean_directions(posterior_of(prior, statistics)).round(1)  # |m|^2 = 9, tr Sigma = 16
    array([[0.6, 0. ]])
    """
    means = posterior.mean.astype(np.float64)
    trace = posterior.trace_scale / posterior.plugin_weight
    length = np.sqrt(np.einsum("kd,kd->k", means, means) + trace)
    return np.asarray(means / np.maximum(length, TINY)[:, None])


def within_directions(reduced: Array, codes: Array) -> Array:
    """Covariance of directions within categories, each of which counts alike, packed, float64.

    Parameters
    ----------
    reduced : array (N, D)
    codes : int array (N,)
        Categories; numbers without rows do not count.
    """
    total, number = np.zeros(packed_size(reduced.shape[1])), 0
    for _, part in iter_label_statistics(_unit(reduced), codes, int(codes.max()) + 1):
        if part.count[0] > 0:
            total += part.scatter[0] / part.count[0]
            number += 1
    return total / max(number, 1)


def direction_factor(within: Array, dim: int, ridge: float, dtype: DTypeLike = np.float64) -> Array:
    """Packed Cholesky factor of a covariance, with a ridge as a share of its trace.

    Parameters
    ----------
    within : array (D (D + 1) / 2,)
        See `within_directions`.
    dim : int
    ridge : float
    dtype : float64 or float32
        Of the result.
    """
    diagonal = diagonal_positions(dim)
    packed = within.copy()
    packed[diagonal] += ridge * packed[diagonal].sum() + TINY
    upper = cholesky_upper(unpack_upper(packed, dim))
    return pack_lower(np.asarray(upper).T).astype(dtype)


def _unit(rows: Array) -> Array:
    return rows / np.maximum(np.sqrt(np.einsum("nd,nd->n", rows, rows)), TINY)[:, None]
