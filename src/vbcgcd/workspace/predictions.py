"""Category, probability, runner-up and novelty of each row, in chunks of bounded memory; and reasons."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.bayes import log_normalise
from vbcgcd.discovery.knowledge import Knowledge
from vbcgcd.errors import InputError
from vbcgcd.labels import NONE_OF_THESE
from vbcgcd.validation import check_number
from vbcgcd.workspace.data import Batch
from vbcgcd.workspace.results import Predictions, Result
from vbcgcd.workspace.state import State

Array = NDArray[Any]
CHUNK_ROWS = 4096
#: References, texts and sources of items.
Members = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]

__all__ = [
    "Candidate",
    "Explanation",
    "Members",
    "Scores",
    "check_reject",
    "explained",
    "predicted",
    "scored",
    "top_two",
]


@dataclass(frozen=True, eq=False)
class Scores:
    """Positions of the best and second best category (-1 for none), probabilities and novelty, (N,) each."""

    best: Array
    probability: Array
    second: Array
    second_probability: Array
    novelty: Array


def top_two(probabilities: Array, best: Array | None = None) -> tuple[Array, Array, Array, Array]:
    """Best and second best column of each row with their values; ``best`` may be given."""
    index = np.arange(len(probabilities))
    best = probabilities.argmax(axis=1) if best is None else best
    first = probabilities[index, best]
    if probabilities.shape[1] < 2:
        return best, first, np.full(len(best), -1), np.zeros(len(best))
    rest = probabilities.copy()
    rest[index, best] = -np.inf
    second = rest.argmax(axis=1)
    return best, first, second, rest[index, second]


def scored(knowledge: Knowledge, vectors: Array, own: Array | None = None) -> Scores:
    """Score embeddings.

    Parameters
    ----------
    knowledge : Knowledge
    vectors : array (N, d)
    own : int array (N,), optional
        Positions of the categories that the rows belong to, where that is known.
    """
    parts = []
    for start in range(0, len(vectors), CHUNK_ROWS):
        reduced = knowledge.reduced(vectors[start : start + CHUNK_ROWS])
        density = knowledge.classifier.log_density(reduced, knowledge.posterior)
        probabilities = np.exp(log_normalise(knowledge.temperature * density))
        novelty = knowledge.novelty.score(reduced, knowledge.posterior.mean)
        chosen = None if own is None else own[start : start + CHUNK_ROWS]
        parts.append((*top_two(probabilities, chosen), novelty))
    return Scores(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def check_reject(reject: Any) -> float | None:
    """The share of known rows that may be wrongly refused; 0 and None refuse nothing."""
    if reject is None or reject == 0:
        return None
    check_number("reject", reject, above=0, high=0.999, words=(None,))
    return float(reject)


def predicted(knowledge: Knowledge, state: State, batch: Batch, reject: float | None) -> Predictions:
    """Predictions for a batch."""
    scores = scored(knowledge, batch.vectors)
    ids = np.array([*state.where, -1])
    names = [*(category.name for category in state.live), ""]
    best = ids[scores.best]
    refused = np.zeros(len(batch), dtype=bool) if reject is None else scores.novelty > 1 - reject
    return Predictions(
        references=batch.references,
        category=np.where(refused, -1, best),
        name=[NONE_OF_THESE if no else names[k] for no, k in zip(refused, scores.best, strict=True)],
        probability=scores.probability,
        novelty=scores.novelty,
        best=best,
        second=ids[scores.second],
        second_name=[names[k] for k in scores.second],
        second_probability=scores.second_probability,
        reject=reject,
        failures=batch.failures,
    )


@dataclass(frozen=True)
class Candidate(Result):
    """A category that an item may belong to.

    Parameters
    ----------
    id : int
    name : str
    probability : float
    log_density : float
    distance : float
        Mahalanobis distance to its mean; about the root of the number of dimensions for its own items.
    log_volume : float
        Half the log-determinant of its covariance: wide categories have to be nearer to win.
    typical : tuple of str
        References of its most typical items.
    typical_texts : tuple of str
        Their texts, "" where they are not known; empty unless asked for.
    typical_sources : tuple of str
        Where each of them came from.
    """

    id: int
    name: str
    probability: float
    log_density: float
    distance: float
    log_volume: float
    typical: tuple[str, ...] = ()
    typical_texts: tuple[str, ...] = ()
    typical_sources: tuple[str, ...] = ()


@dataclass(frozen=True)
class Explanation(Result):
    """Why an item belongs to a category.

    Parameters
    ----------
    reference : str
    novelty : float
    candidates : tuple of Candidate
        The most probable first.
    log_odds : float
        Evidence for the first against the second, in calibrated nats; infinite without a second.
    from_distance, from_volume : float
        Its parts: how much nearer the first is, and how much narrower.
    dimensions : int
    text : str
        All of this in a few sentences.
    """

    reference: str
    novelty: float
    candidates: tuple[Candidate, ...]
    log_odds: float
    from_distance: float
    from_volume: float
    dimensions: int
    text: str


def explained(
    knowledge: Knowledge, state: State, batch: Batch, typical: Callable[[int], Members], *, n: int = 3
) -> Explanation:
    """Reasons for the category of the single item of a batch.

    ``typical`` gives references of members of a category, their texts or nothing, and their sources.

    The plug-in Gaussian's log-density is -d²/2 - log volume + constant, so the difference between two
    categories splits into a part from distances and a part from volumes. Other classifiers have other
    terms: what they do not take from the volume is counted to the distance.
    """
    if len(batch) != 1:
        raise InputError(f"One item is explained at a time, got {len(batch)}; choose one with row=.")
    reduced = knowledge.reduced(batch.vectors)
    posterior = knowledge.posterior
    density = knowledge.classifier.log_density(reduced, posterior)[0]
    log_probability = log_normalise(knowledge.temperature * density[None])[0]
    order = np.argsort(-density, kind="stable")[:n]
    volume = 0.5 * posterior.log_det_covariance
    found = tuple(
        Candidate(
            state.live[k].id,
            state.live[k].name,
            float(np.exp(log_probability[k])),
            float(density[k]),
            posterior.mahalanobis(reduced[0], int(k)),
            float(volume[k]),
            *typical(state.live[k].id),
        )
        for k in order
    )
    novelty = float(knowledge.novelty.score(reduced, posterior.mean)[0])
    odds = from_volume = float("inf") if len(order) < 2 else 0.0
    if len(order) > 1:
        first, second = order[:2]
        odds = float(knowledge.temperature * (density[first] - density[second]))
        if knowledge.classifier.log_determinant and knowledge.classifier.metric == "mahalanobis":
            from_volume = float(knowledge.temperature * (volume[second] - volume[first]))
    rest = odds - from_volume if len(order) > 1 else float("inf")
    text = _told(batch.references[0], found, novelty, odds, posterior.dim)
    return Explanation(batch.references[0], novelty, found, odds, rest, from_volume, posterior.dim, text)


def _told(reference: str, found: Sequence[Candidate], novelty: float, odds: float, dim: int) -> str:
    first = found[0]
    lines = [
        f"{reference} belongs to {first.name} (category {first.id}) with probability "
        f"{first.probability:.3f}: its distance is {first.distance:.1f}, where {np.sqrt(dim):.1f} is usual."
    ]
    if len(found) > 1:
        second = found[1]
        lines.append(
            f"Next is {second.name} (category {second.id}) with probability {second.probability:.3f} at "
            f"distance {second.distance:.1f}; the evidence for {first.name} is {odds:.1f} nats."
        )
    share = 1 - novelty
    lines.append(f"Of items of known categories {share:.1%} fit their best category worse than this one.")
    if first.typical:
        lines.append(f"Most typical of {first.name}: {', '.join(first.typical)}.")
    return " ".join(lines)
