"""What is known between sessions, and how it scores rows.

A projection, a prior, posteriors and their calibration; no rows. `vbcgcd.discovery.model_file` is its form on
disk.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from vbcgcd.bayes import (
    Classifier,
    Posterior,
    Prior,
    Statistics,
    log_normalise,
    posterior_of,
    recover_statistics,
    statistics_by_label,
)
from vbcgcd.bayes.threads import one_thread
from vbcgcd.discovery.direction_head import DirectionHead
from vbcgcd.discovery.geometry import Novelty
from vbcgcd.discovery.head import Head
from vbcgcd.discovery.magnitude import check_reach
from vbcgcd.discovery.mixture import Mixture
from vbcgcd.discovery.reduce import Reducer
from vbcgcd.discovery.search import CategoryPrice
from vbcgcd.discovery.seedlings import Seedlings
from vbcgcd.discovery.strategies import one_hot
from vbcgcd.discovery.top import best_and_second, is_listed
from vbcgcd.discovery.watch import Watch
from vbcgcd.discovery.worth import Known, Stream
from vbcgcd.validation import check_finite

Array = NDArray[Any]

#: Rows scored at a time: rows times categories bounds the memory.
CHUNK_ROWS = 4096

__all__ = [
    "Knowledge",
    "Scores",
    "gather",
    "is_rejected",
    "learn_more",
    "log_probabilities",
    "score",
    "top_two",
]


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
    margin : float
        The unit of what novel categories are worth for each of their rows, in nats.
    seedlings : Seedlings or None
        Groups that are not categories yet; None where there are none.
    reliability : array (K,) or None
        Probability that each category stands for a class: 1 for labelled ones, less for those that were
        found; None where all are 1.
    head : Head, DirectionHead or None
        A second opinion on the category of a row; None where the Gaussians decide alone.
    watch : Watch or None
        What is remembered of rows that came one by one; None where none did.
    later : bool array (K,) or None
        Whether each category came after the base session; None where none did.
    """

    reducer: Reducer
    prior: Prior
    posterior: Posterior
    classifier: Classifier
    temperature: float
    novelty: Novelty
    size_spread: float
    price: CategoryPrice | None
    margin: float
    seedlings: Seedlings | None = None
    reliability: Array | None = None
    head: Head | DirectionHead | None = None
    watch: Watch | None = None
    later: Array | None = None

    @property
    def came_later(self) -> Array:
        """Whether each category came after the base session, bool array (K,)."""
        return np.zeros(len(self.posterior), dtype=bool) if self.later is None else self.later

    @property
    def reliabilities(self) -> Array:
        """Probability that each category stands for a class, array (K,)."""
        return np.ones(len(self.posterior)) if self.reliability is None else self.reliability

    @property
    def counts(self) -> Array:
        """Rows that each category has learned from, by weight, array (K,)."""
        return np.asarray(self.posterior.kappa - self.prior.kappa)

    def novelty_of(self, reduced: Array) -> Array:
        """Novelty of reduced embeddings, array (N,)."""
        novelty = self.novelty.score(reduced, self.posterior.mean, self.counts)
        check_finite("The novelty of a row", novelty)
        return novelty

    def stream(self, mixture: Mixture, rng: np.random.Generator) -> Stream:
        """The rows of a session with what its categories are judged by."""
        known = Known(self.posterior.mean, self.counts, self.came_later)
        return Stream(mixture, self.novelty, self.margin, rng, known)

    def for_workers(self) -> Knowledge:
        """To be computed with elsewhere: by NumPy, since devices differ and answers must not."""
        return replace(self, classifier=replace(self.classifier, device=None))

    def reduced(self, rows: Array, first: int = 0, *, dtype: DTypeLike | None = None) -> Array:
        """Reduced embeddings, by default in the precision of the posteriors.

        Parameters
        ----------
        rows : array (N, d)
        first : int
            The number of the first row, for errors.
        dtype : dtype, optional

        Raises
        ------
        InputError
            Where a row is so far out that nothing can be computed with it.
        """
        reduced = self.reducer.transform(rows, dtype=self.posterior.mean.dtype if dtype is None else dtype)
        check_reach(reduced, rows, float(np.sqrt(self.prior.variance)), first)
        return reduced

    def posterior_of(self, statistics: Statistics) -> Posterior:
        """Exact posterior of categories with these statistics."""
        posterior = posterior_of(self.prior, statistics, dtype=self.posterior.mean.dtype)
        check_finite("The posterior of a category", posterior.mean, posterior.factor)
        return posterior

    def log_probabilities(self, reduced: Array, density: Array | None = None) -> Array:
        """Calibrated log-probabilities of the categories for reduced embeddings, array (N, K).

        Parameters
        ----------
        reduced : array (N, D)
        density : array (N, K), optional
            Log-densities under the Gaussians, where they are known already.
        """
        if density is None:
            density = self.classifier.log_density(reduced, self.posterior)
        if self.head is None:
            return log_probabilities(density, self.temperature)
        return self.head.log_probabilities(reduced, density, self.posterior)

    def predict(self, reduced: Array) -> Array:
        """Position of the most probable category of each reduced embedding, int array (N,)."""
        if self.head is None:
            return self.classifier.predict(reduced, self.posterior)
        starts = range(0, len(reduced), CHUNK_ROWS)
        parts = [self.log_probabilities(reduced[i : i + CHUNK_ROWS]).argmax(axis=1) for i in starts]
        return np.concatenate([np.empty(0, dtype=np.intp), *parts])

    def extended(
        self,
        posterior: Posterior | None,
        reliability: Array | None = None,
        head: Head | DirectionHead | None = None,
    ) -> Knowledge:
        """With these categories appended, which stand for classes this probably, surely where it is None.

        The head is the one that knows them.
        """
        if posterior is None:
            return self
        if reliability is None:
            reliability = np.ones(len(posterior))
        return replace(
            self,
            posterior=Posterior.concatenate([self.posterior, posterior]),
            reliability=np.concatenate([self.reliabilities, reliability]),
            head=head,
            later=np.concatenate([self.came_later, np.ones(len(posterior), dtype=bool)]),
        )

    def absorbed(self, reduced: Array, codes: Array, weight: Array | None = None) -> Knowledge:
        """With these rows added to the statistics of their categories (-1 to none)."""
        touched = np.unique(codes[codes >= 0])
        if len(touched) == 0:
            return self
        part = np.where(codes >= 0, np.searchsorted(touched, codes), -1)
        extra = statistics_by_label(
            reduced,
            part,
            len(touched),
            weight=weight,
            structure=self.prior.structure,
            device=self.classifier.device,
        )
        before = recover_statistics(self.prior, self.posterior.take(touched))
        head = self.head
        if head is not None:
            belongs = one_hot(codes, len(self.posterior))
            head = head.taught(reduced, belongs if weight is None else belongs * weight[:, None])
        posterior = self.posterior.replaced(touched, self.posterior_of(before + extra))
        return replace(self, posterior=posterior, head=head)


@one_thread()
def learn_more(
    knowledge: Knowledge,
    reduced: Array,
    codes: Array,
    *,
    update_known: bool = True,
    weight: Array | None = None,
) -> Knowledge:
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
    weight : array (N,), optional
        Weight of each row; not with a head.
    """
    n_known = len(knowledge.posterior)
    n_novel = max(int(codes.max()) + 1 - n_known, 0) if len(codes) else 0
    if update_known:
        knowledge = knowledge.absorbed(reduced, np.where(codes < n_known, codes, -1), weight)
    if knowledge.reliability is not None:  # a category for which somebody has labels stands for a class
        named = np.isin(np.arange(n_known), codes)
        knowledge = replace(knowledge, reliability=np.where(named, 1.0, knowledge.reliability))
    if n_novel == 0:
        return knowledge
    part = np.where(codes >= n_known, codes - n_known, -1)
    statistics = statistics_by_label(
        reduced,
        part,
        n_novel,
        weight=weight,
        structure=knowledge.prior.structure,
        device=knowledge.classifier.device,
    )
    head = knowledge.head
    if head is not None:
        head = head.extended(reduced, one_hot(part, n_novel))
    return knowledge.extended(knowledge.posterior_of(statistics), head=head)


@dataclass(frozen=True, eq=False)
class Scores:
    """Scores of each row.

    Parameters
    ----------
    best, second : int array (N,)
        Positions of the best and second best category; -1 where there is no second.
    probability, second_probability : array (N,)
        What they lack to 1 is the probability of the other categories and of none.
    novelty : array (N,)
    """

    best: Array
    probability: Array
    second: Array
    second_probability: Array
    novelty: Array


def log_probabilities(density: Array, temperature: float) -> Array:
    """Calibrated log-probabilities from log-densities (N, K), with equal prior weights."""
    return log_normalise(temperature * density)


def top_two(values: Array, best: Array | None = None) -> tuple[Array, Array]:
    """Best and second best column of each row, int arrays (N,); -1 where there is no second.

    Parameters
    ----------
    values : array (N, K)
        Probabilities or, better, their logarithms: a probability may be too small for a number, and then it
        cannot be compared. A column whose value is 0 (or -inf, of a logarithm) is never the second.
    best : int array (N,), optional
        The best columns, where they are fixed beforehand.
    """
    index = np.arange(len(values))
    best = values.argmax(axis=1) if best is None else best
    if values.shape[1] < 2:
        return best, np.full(len(best), -1)
    nothing = -np.inf if (values < 0).any() else 0.0
    rest = values.copy()
    rest[index, best] = nothing
    second = rest.argmax(axis=1)
    return best, np.where(rest[index, second] > nothing, second, -1)


def gather(values: Array, columns: Array) -> Array:
    """Value of each row in its column, array (N,); 0 for the column -1."""
    return np.where(columns < 0, 0.0, values[np.arange(len(values)), columns])


@one_thread()
def score(knowledge: Knowledge, embeddings: Array, own: Array | None = None) -> Scores:
    """Score embeddings, a chunk at a time.

    Parameters
    ----------
    knowledge : Knowledge
    embeddings : array (N, d)
    own : int array (N,), optional
        Positions of the categories that the rows belong to, where that is known: they are the best.
    """
    parts = []
    for start in range(0, len(embeddings), CHUNK_ROWS):
        reduced = knowledge.reduced(embeddings[start : start + CHUNK_ROWS])
        novelty = knowledge.novelty_of(reduced)
        chosen = None if own is None else own[start : start + CHUNK_ROWS]
        best, second, probability = _best_and_second(knowledge, reduced, chosen)
        if own is None:
            probability *= 1 - knowledge.novelty.strangeness(novelty)[:, None]
            probability *= knowledge.reliabilities[np.stack([best, second], axis=1)]
        parts.append((best, probability[:, 0], second, probability[:, 1], novelty))
    return Scores(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def _best_and_second(knowledge: Knowledge, reduced: Array, own: Array | None) -> tuple[Array, Array, Array]:
    """Best and second best category of each row, arrays (N,), and their probabilities, array (N, 2)."""
    if is_listed(knowledge):
        best, second, *logarithms = best_and_second(knowledge, reduced, own)
        return best, second, np.exp(np.stack(logarithms, axis=1))
    log_probability = knowledge.log_probabilities(reduced)
    best, second = top_two(log_probability, own)
    probability = np.exp(log_probability)
    return best, second, np.stack([gather(probability, best), gather(probability, second)], axis=1)


def is_rejected(novelty: Array, rate: float | None) -> Array:
    """Whether each row fits no category, boolean array (N,). A novelty that is no number is rejected.

    Parameters
    ----------
    novelty : array (N,)
    rate : float or None
        Share of rows of known categories that may be rejected wrongly; None rejects nothing.
    """
    return np.zeros(len(novelty), dtype=bool) if rate is None else np.asarray(~(novelty <= 1 - rate))
