"""The head: a second opinion on the category of a row, beside the Gaussians.

A Gaussian for each category describes where its rows lie; a ridge regression on random features
(`vbcgcd.bayes.ridge`) tells categories apart where they touch. Both are added:

    log p_k(z) = T log N(z; category k) + weight score_k(z) + constant

The temperature T, the weight and the penalty of the regression are chosen together on labelled rows that are
left out (`vbcgcd.discovery.head_choice`), of K0 categories. Scores are near 1 for the own category and
near 0 for others, each of which takes its share of the probability however far away it is. So that their
odds together stay what they were when there are K of them,

    weight - log(K - 1) = weight0 - log(K0 - 1)

Novelty, refusal, reliability and the search for novel categories remain the Gaussians'.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.bayes import Posterior, log_normalise
from vbcgcd.bayes.ridge import RandomFeatures, RidgeStatistics, ridge_statistics, ridge_weights

Array = NDArray[Any]

__all__ = ["Head"]


@dataclass(frozen=True, eq=False)
class Head:
    """A ridge regression and how it is added to the Gaussians. It keeps sums, no rows.

    Parameters
    ----------
    features : RandomFeatures
    statistics : RidgeStatistics
        Of all categories, in order of birth.
    penalty : float
        Of the regression; the same however many categories there will be.
    chosen_weight : float
        What scores are multiplied by, in nats, among the categories with which that was chosen.
    temperature : float
        What log-densities are multiplied by beside it.
    n_chosen : int
        Number of these categories.
    """

    features: RandomFeatures
    statistics: RidgeStatistics
    penalty: float
    chosen_weight: float
    temperature: float
    n_chosen: int

    @functools.cached_property
    def weights(self) -> Array:
        """The regression, array (F, K); solved when it is first asked for."""
        return ridge_weights(self.statistics, self.penalty)

    @property
    def weight(self) -> float:
        """What scores are multiplied by among the present categories, in nats."""
        more = np.log(max(self.statistics.n_present - 1, 1) / max(self.n_chosen - 1, 1))
        return float(max(self.chosen_weight + more, 0.0))

    @property
    def nbytes(self) -> int:
        """Bytes that are kept between sessions."""
        return self.statistics.nbytes

    def scores(self, reduced: Array) -> Array:
        """Score of each category for reduced embeddings (N, D): near 1 for the own one, array (N, K)."""
        features = self.features(reduced)
        return np.asarray(features @ self.weights.astype(features.dtype, copy=False), dtype=np.float64)

    def log_probabilities(self, reduced: Array, density: Array, posterior: Posterior | None = None) -> Array:
        """Calibrated log-probabilities of both, array (N, K).

        Parameters
        ----------
        reduced : array (N, D)
        density : array (N, K)
            Log-densities under the Gaussians.
        posterior : Posterior, optional
            Not used: it has learned from rows.
        """
        return log_normalise(self.temperature * density + self.weight * self.scores(reduced))

    def taught(self, reduced: Array, responsibility: Array) -> Head:
        """With further rows of the categories that it has; ``responsibility`` is an array (N, K)."""
        more = ridge_statistics(self.features, reduced, responsibility, self.statistics.row_weight)
        return replace(self, statistics=self.statistics + more)

    def extended(self, reduced: Array, responsibility: Array) -> Head:
        """With further categories, which learn from rows by their responsibilities (N, P)."""
        if not responsibility.shape[1]:
            return self
        born = ridge_statistics(self.features, reduced, responsibility)
        return replace(self, statistics=self.statistics.extended(born))

    def arrays(self) -> dict[str, Array]:
        """Named arrays, for the disk."""
        return {
            "head.gram": self.statistics.gram,
            "head.sums": self.statistics.sums,
            "head.row_weight": self.statistics.row_weight,
            "head.settings": np.array([self.penalty, self.chosen_weight, self.temperature, self.n_chosen]),
            "head.features": np.array([self.features.seed, self.features.dim, self.features.size]),
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array]) -> Head | None:
        """What `arrays` named; None where there is nothing."""
        if "head.settings" not in arrays:
            return None
        features = RandomFeatures(*map(int, arrays["head.features"]))
        statistics = RidgeStatistics(*(arrays[f"head.{name}"] for name in ("gram", "sums", "row_weight")))
        settings = [float(value) for value in arrays["head.settings"]]
        if len(settings) == 3:  # the penalty used to be a share of the trace, which grows
            share, weight, temperature = settings
            penalty = share * statistics.trace
            return cls(features, statistics, penalty, weight, temperature, statistics.n_present)
        penalty, weight, temperature, n_chosen = settings
        return cls(features, statistics, penalty, weight, temperature, int(n_chosen))
