"""The head: a second opinion on the category of a row, beside the Gaussians.

A Gaussian for each category describes where its rows lie; a ridge regression on random features
(`vbcgcd.bayes.ridge`) tells categories apart where they touch. Both are added:

    log p_k(z) = T log N(z; category k) + weight score_k(z) + constant

The temperature T, the weight and the penalty of the regression are chosen together on labelled rows that are
left out (`vbcgcd.discovery.head_choice`), of K0 categories whose mean rows score m0 higher for their own
category than for another. Scores lie in [0, 1]: among ever more categories, m of a margin is left, and K - 1
others share what the own one leaves. Their odds against a mean row stay what they were with

    weight m - log(K - 1) = weight0 m0 - log(K0 - 1)

Novelty, refusal, reliability and the search for novel categories remain the Gaussians'.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.bayes import Posterior, log_normalise
from vbcgcd.bayes.ridge import (
    RandomFeatures,
    RidgeStatistics,
    ridge_statistics,
    ridge_weights,
    score_margin,
)

Array = NDArray[Any]

#: Margins below this tell nothing.
LEAST_MARGIN = 1e-3

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
    margin : float
        How far their mean rows score above the others for their own.
    """

    features: RandomFeatures
    statistics: RidgeStatistics
    penalty: float
    chosen_weight: float
    temperature: float
    n_chosen: int
    margin: float

    @classmethod
    def chosen(
        cls,
        features: RandomFeatures,
        statistics: RidgeStatistics,
        penalty: float,
        weight: float,
        temperature: float,
    ) -> Head:
        """A head whose settings were chosen with the categories that it has."""
        margin = score_margin(statistics, ridge_weights(statistics, penalty))
        return cls(features, statistics, penalty, weight, temperature, len(statistics), margin)

    @functools.cached_property
    def weights(self) -> Array:
        """The regression, array (F, K); solved when it is first asked for."""
        return ridge_weights(self.statistics, self.penalty)

    @functools.cached_property
    def weight(self) -> float:
        """What scores are multiplied by among the present categories, in nats."""
        margin = score_margin(self.statistics, self.weights)
        if min(self.margin, margin) < LEAST_MARGIN:
            return self.chosen_weight
        more = np.log(max(len(self.statistics) - 1, 1) / max(self.n_chosen - 1, 1))
        return float(max(self.chosen_weight * self.margin + more, 0.0) / margin)

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
            "head.mass": self.statistics.mass,
            "head.settings": np.array(
                [self.penalty, self.chosen_weight, self.temperature, self.n_chosen, self.margin]
            ),
            "head.features": np.array([self.features.seed, self.features.dim, self.features.size]),
        }

    @classmethod
    def from_arrays(cls, arrays: dict[str, Array]) -> Head | None:
        """What `arrays` named; None where there is nothing."""
        if "head.settings" not in arrays:
            return None
        features = RandomFeatures(*map(int, arrays["head.features"]))
        gram, sums, row_weight = (arrays[f"head.{name}"] for name in ("gram", "sums", "row_weight"))
        mass = arrays.get("head.mass", (row_weight > 0).astype(np.float64))
        statistics = RidgeStatistics(gram, sums, row_weight, mass)
        settings = [float(value) for value in arrays["head.settings"]]
        if len(settings) == 3:  # up to release 0.1 the penalty was a share of the trace, which grows
            share, weight, temperature = settings
            return cls.chosen(features, statistics, share * statistics.trace, weight, temperature)
        penalty, weight, temperature, n_chosen, margin = settings
        return cls(features, statistics, penalty, weight, temperature, int(n_chosen), margin)
