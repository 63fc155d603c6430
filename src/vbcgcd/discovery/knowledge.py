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

__all__ = ["Knowledge", "learn_more"]


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
        """Exact posterior of categories with these statistics."""
        return posterior_of(self.prior, statistics, dtype=self.posterior.mean.dtype)

    def extended(self, posterior: Posterior | None) -> Knowledge:
        """With these categories appended; what was known stays untouched."""
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
        before = recover_statistics(self.prior, self.posterior.take(touched))
        return replace(self, posterior=self.posterior.replaced(touched, self.posterior_of(before + extra)))


def learn_more(knowledge: Knowledge, reduced: Array, codes: Array, *, update_known: bool = True) -> Knowledge:
    """What is known after more labelled rows.

    The projection, the prior and the calibration stay.

    Parameters
    ----------
    knowledge : Knowledge
    reduced : array (N, D)
        Reduced embeddings.
    codes : int array (N,)
        Categories: positions of known ones, and K, K + 1, ... for those to be added.
    update_known : bool
        Whether rows of known categories update their posteriors.
    """
    n_known = len(knowledge.posterior)
    n_novel = max(int(codes.max()) + 1 - n_known, 0) if len(codes) else 0
    if update_known:
        knowledge = knowledge.absorbed(reduced, np.where(codes < n_known, codes, -1))
    if n_novel == 0:
        return knowledge
    part = np.where(codes >= n_known, codes - n_known, -1)
    statistics = statistics_by_label(reduced, part, n_novel, structure=knowledge.prior.structure)
    return knowledge.extended(knowledge.posterior_of(statistics))
