"""Category, probability, runner-up and novelty of each row, and the rules for refusing and for numbers."""

from __future__ import annotations

import numbers
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.bayes import log_normalise
from vbcgcd.discovery.knowledge import Knowledge
from vbcgcd.errors import InputError

Array = NDArray[Any]
#: Rows scored at a time: rows times categories bounds the memory.
CHUNK_ROWS = 4096

__all__ = ["Scores", "check_n_novel", "check_reject", "log_probabilities", "refuse", "score", "top_two"]


@dataclass(frozen=True, eq=False)
class Scores:
    """What can be said of each row.

    Parameters
    ----------
    best, second : int array (N,)
        Positions of the best and second best category; -1 where there is no second.
    probability, second_probability : array (N,)
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


def top_two(probabilities: Array, best: Array | None = None) -> tuple[Array, Array, Array, Array]:
    """Best and second best column of each row with their values; ``best`` may be fixed beforehand."""
    index = np.arange(len(probabilities))
    best = probabilities.argmax(axis=1) if best is None else best
    first = probabilities[index, best]
    if probabilities.shape[1] < 2:
        return best, first, np.full(len(best), -1), np.zeros(len(best))
    rest = probabilities.copy()
    rest[index, best] = -np.inf
    second = rest.argmax(axis=1)
    return best, first, second, rest[index, second]


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
        density = knowledge.classifier.log_density(reduced, knowledge.posterior)
        probabilities = np.exp(log_probabilities(density, knowledge.temperature))
        novelty = knowledge.novelty.score(reduced, knowledge.posterior.mean)
        chosen = None if own is None else own[start : start + CHUNK_ROWS]
        parts.append((*top_two(probabilities, chosen), novelty))
    return Scores(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def refuse(novelty: Array, rate: float | None) -> Array:
    """Whether each row fits no category, boolean array (N,).

    Parameters
    ----------
    novelty : array (N,)
    rate : float or None
        Share of rows of known categories that may be refused wrongly; None refuses nothing.
    """
    return np.zeros(len(novelty), dtype=bool) if rate is None else np.asarray(novelty > 1 - rate)


def check_reject(rate: Any) -> float | None:
    """The rate at which rows of known categories may be refused wrongly; None and 0 refuse nothing."""
    if rate is None:
        return None
    if isinstance(rate, numbers.Real) and not isinstance(rate, bool) and 0 <= float(rate) < 1:
        return float(rate) or None
    raise InputError(
        f"reject must be at least 0 and below 1, got {rate!r}; 0.05 refuses one known row in twenty.",
        option="reject",
    )


def check_n_novel(n_novel: Any, n_rows: int) -> int | None:
    """The number of novel categories to look for among so many rows; None estimates it."""
    if n_novel is None:
        return None
    number = isinstance(n_novel, numbers.Real) and not isinstance(n_novel, bool)
    if number and 0 <= n_novel <= n_rows // 2 and float(n_novel).is_integer():
        return int(n_novel)
    raise InputError(
        f"The number of novel categories must be a whole number from 0 to {n_rows // 2}, got {n_novel!r}: a "
        f"category needs at least two of the {n_rows} rows. Leave it out to have it estimated.",
        option="n_novel",
    )
