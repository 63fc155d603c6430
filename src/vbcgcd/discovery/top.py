"""The most probable categories of each row, where there are too many for a table of all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vbcgcd.bayes.shortlist import FEW_CATEGORIES, category_densities, list_length, top_with_rest
from vbcgcd.bayes.threads import one_thread

if TYPE_CHECKING:
    from vbcgcd.discovery.knowledge import Knowledge

Array = NDArray[Any]

#: Densities that are computed of each row at least: what is estimated beyond counts for little.
SCORED = 16
#: Beside a bound that is this much higher, in nats, the probability of what was scored vanishes.
UNPROVEN = 50.0
#: Rows whose probabilities are computed together where those of all categories are.
CHUNK_ROWS = 4096

__all__ = ["FEW_CATEGORIES", "TopProbabilities", "best_and_second", "is_listed", "top_probabilities"]


class TopProbabilities(NamedTuple):
    """The most probable categories of each row.

    Attributes
    ----------
    categories : int array (N, m)
        Their positions, the most probable first.
    log_probability : array (N, m)
        Calibrated, with equal prior weights.
    rest : array (N,)
        Probability of all other categories together, partly estimated where only candidates were scored.
    bound : array (N,)
        What that probability is at most, if the listed densities are right; 1 where nothing is proven.
    """

    categories: Array
    log_probability: Array
    rest: Array
    bound: Array


def is_listed(knowledge: Knowledge) -> bool:
    """Whether probabilities come from a short-list: many categories, and nothing that needs all of them."""
    many = len(knowledge.posterior) > FEW_CATEGORIES
    return (
        many and knowledge.head is None and list_length(knowledge.classifier, knowledge.posterior) is not None
    )


@one_thread()
def top_probabilities(
    knowledge: Knowledge, reduced: Array, m: int, *, certify: bool = False
) -> TopProbabilities:
    """The ``m`` most probable categories of reduced embeddings (N, D).

    Parameters
    ----------
    knowledge : Knowledge
    reduced : array (N, D)
    m : int
        K where there are fewer categories.
    certify : bool
        Bound the probability of the others, which takes longer.
    """
    if not is_listed(knowledge):
        return _of_all(knowledge, reduced, m)
    n_categories, temperature = len(knowledge.posterior), knowledge.temperature
    top, outside = top_with_rest(
        reduced,
        knowledge.posterior,
        knowledge.classifier,
        max(m, SCORED),
        temperature=temperature,
        certify=certify,
    )
    scores = temperature * top.log_density
    best, further = scores[:, :m], np.logaddexp.reduce(scores[:, m:], axis=1, initial=-np.inf)
    listed, rest = np.logaddexp.reduce(scores, axis=1), np.logaddexp(further, outside)
    total = np.logaddexp(listed, outside)
    # No other category exceeds the bound; an exponent so large says that nothing is proven.
    others = max(n_categories - scores.shape[1], 1)
    most = np.minimum(temperature * top.bound + np.log(others), listed + UNPROVEN)
    bound = np.exp(np.logaddexp(further, most) - np.logaddexp(listed, most))
    return TopProbabilities(top.categories[:, :m], best - total[:, None], np.exp(rest - total), bound)


def _of_all(knowledge: Knowledge, reduced: Array, m: int) -> TopProbabilities:
    m = min(m, len(knowledge.posterior))
    parts = [TopProbabilities(np.empty((0, m), np.intp), np.empty((0, m)), np.empty(0), np.empty(0))]
    for start in range(0, len(reduced), CHUNK_ROWS):
        values = knowledge.log_probabilities(reduced[start : start + CHUNK_ROWS])
        order = np.argsort(-values, axis=1, kind="stable")
        best = np.take_along_axis(values, order[:, :m], axis=1)
        rest = np.exp(np.take_along_axis(values, order[:, m:], axis=1)).sum(axis=1)
        parts.append(TopProbabilities(order[:, :m], best, rest, rest))
    return TopProbabilities(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def best_and_second(
    knowledge: Knowledge, reduced: Array, own: Array | None
) -> tuple[Array, Array, Array, Array]:
    """Best and second best category of each row from a short-list, and their log-probabilities, arrays (N,).

    Parameters
    ----------
    knowledge : Knowledge
    reduced : array (N, D)
    own : int array (N,), optional
        The best categories, where they are fixed beforehand.
    """
    top = top_probabilities(knowledge, reduced, 2)
    first, second = top.categories.T
    if own is None:
        return first, second, *top.log_probability.T
    best, runner_up = top.log_probability.T
    both = np.stack([first, own], axis=1)
    density = category_densities(reduced, knowledge.posterior, knowledge.classifier, both)
    # A category of one's own that was not among the best two is compared with the best of all.
    behind = best + knowledge.temperature * (density[:, 1] - density[:, 0])
    probability = np.where(own == first, best, np.where(own == second, runner_up, behind))
    return own, np.where(own == first, second, first), probability, np.where(own == first, runner_up, best)
