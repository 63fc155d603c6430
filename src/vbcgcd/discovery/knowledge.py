"""What is known between sessions: a projection, a prior, posteriors and their calibration. No rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.bayes import (
    Classifier,
    Posterior,
    Prior,
    Statistics,
    posterior_of,
    recover_statistics,
    statistics_by_label,
)
from vbcgcd.discovery.novelty import Novelty
from vbcgcd.discovery.reduce import Reducer
from vbcgcd.discovery.rehearsal import CategoryPrice

Array = NDArray[Any]

__all__ = ["Knowledge"]


@dataclass(frozen=True)
class Knowledge:
    """The state of a discoverer.

    Parameters
    ----------
    reducer : Reducer
        The frozen projection.
    prior : Prior
        Of every category.
    posterior : Posterior
        Of all categories, in order of birth.
    classifier : Classifier
        How rows are scored.
    temperature : float
        Probabilities are softmax(temperature log-density).
    novelty : Novelty
        The calibrated novelty score, and the geometry in which sessions are clustered.
    size_spread : float
        Squared coefficient of variation of the labelled categories' sizes.
    price : CategoryPrice or None
        What a novel category has to be worth; None where it was not rehearsed.
    """

    reducer: Reducer
    prior: Prior
    posterior: Posterior
    classifier: Classifier
    temperature: float
    novelty: Novelty
    size_spread: float
    price: CategoryPrice | None

    def reduced(self, rows: Array) -> Array:
        """Reduced embeddings in the precision of the posteriors."""
        return self.reducer.transform(rows, dtype=self.posterior.mean.dtype)

    def posterior_of(self, statistics: Statistics) -> Posterior:
        """Exact posterior of new categories."""
        return posterior_of(self.prior, statistics, dtype=self.posterior.mean.dtype)

    def extended(self, posterior: Posterior | None) -> Knowledge:
        """With these categories appended; what was known is untouched."""
        if posterior is None:
            return self
        return replace(self, posterior=Posterior.concatenate([self.posterior, posterior]))

    def absorbed(self, reduced: Array, codes: Array, weight: Array | None = None) -> Knowledge:
        """With these rows added to the statistics of their categories (-1 to none)."""
        touched = np.unique(codes[codes >= 0])
        if len(touched) == 0:
            return self
        part = np.where(codes >= 0, np.searchsorted(touched, codes), -1)
        extra = statistics_by_label(
            reduced, part, len(touched), weight=weight, structure=self.prior.structure
        )
        old = self.posterior.take(touched)
        new = self.posterior_of(recover_statistics(self.prior, old) + extra)
        return replace(self, posterior=self.posterior.replaced(touched, new))
