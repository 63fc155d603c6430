"""A category in parts: how many there are, which rows belong to each, and what was learned from rows that are
gone.

The parts are found as the novel categories of a session are, beside all other categories, and judged by the
same odds: two halves of one category lose their rows to each other, so that one of them is improbable.

Of rows that are not there any more only their sufficient statistics are known. They are shared as if the rows
were normal: rows with just this mean and scatter are drawn, and each belongs to the parts by its posterior
weight. What the parts get adds up to what there was.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.bayes import Statistics, log_normalise, statistics_by_responsibility
from vbcgcd.bayes.threads import one_thread
from vbcgcd.discovery.count import CountProblem, given, rehearsal
from vbcgcd.discovery.knowledge import Knowledge
from vbcgcd.discovery.rows import SessionRows
from vbcgcd.discovery.strategies import fewer_clusters_allowed, k_means
from vbcgcd.errors import InputError

Array = NDArray[Any]
#: Rows that are drawn for each dimension, and the fewest.
DRAWN, FEWEST_DRAWN = 2, 500

__all__ = ["find_parts", "part_weights", "share_out"]


@one_thread()
def find_parts(rows: Array, others: Knowledge, n_parts: int | None, rng: np.random.Generator) -> Array | None:
    """Part of each row, int array (N,), the largest first; None if one part explains them best.

    Parameters
    ----------
    rows : array (N, D)
        Reduced embeddings of the items of a category.
    others : Knowledge
        Without that category.
    n_parts : int or None
        None judges how many there are.
    rng : Generator

    Raises
    ------
    InputError
        So many parts cannot be told apart, or the number cannot be judged.
    """
    if n_parts is not None and len(np.unique(rows, axis=0)) < n_parts:
        raise InputError(f"Too few distinct items for {n_parts} parts; use fewer parts or more items.")
    beside = len(others.posterior) > 0 and others.novelty.geometry.within is not None
    if n_parts is None:
        if not beside:
            raise InputError(
                "The number of parts can only be judged beside other categories, and not by a model of "
                "release 0.1.0; give the number.",
                option="n_parts",
            )
        return _judged(_problem(rows, others, rng))
    if beside:
        labels = given(_problem(rows, others, rng), n_parts).responsibility.argmax(axis=1)
        if len(np.unique(labels)) == n_parts:
            return _largest_first(labels)
    prepared = others.novelty.geometry.prepared(rows)
    return _largest_first(k_means(prepared, n_parts, rng))


def share_out(
    rest: Statistics, parts: Statistics, knowledge: Knowledge, rng: np.random.Generator
) -> Statistics:
    """What each of K parts gets of the statistics of rows that are not there; counts add up exactly.

    Parameters
    ----------
    rest : Statistics
        Of one category.
    parts : Statistics
        Of the rows that are there, by part; their counts are the prior weights of the parts.
    knowledge : Knowledge
    rng : Generator
    """
    if not rest.count[0] > 0:
        return Statistics.empty(len(parts), rest.dim, rest.structure)
    drawn = _drawn(rest, rng)
    weight = part_weights(drawn, parts, knowledge) * (rest.count[0] / len(drawn))
    return statistics_by_responsibility(drawn, weight, structure=rest.structure)


def part_weights(rows: Array, parts: Statistics, knowledge: Knowledge) -> Array:
    """Posterior weight of each part for reduced embeddings, array (N, K): rows add up to 1."""
    posterior = knowledge.posterior_of(parts)
    density = knowledge.classifier.log_density(rows.astype(posterior.mean.dtype), posterior)
    score = knowledge.temperature * density.astype(np.float64) + np.log(parts.count)
    return np.asarray(np.exp(log_normalise(score)))


def _problem(rows: Array, others: Knowledge, rng: np.random.Generator) -> CountProblem:
    here = SessionRows(rows, others, None, lambda step: None)
    return CountProblem(
        rows, others.novelty_of(rows), lambda: here.mixture, lambda: here.known_density, others, rng
    )


def _judged(problem: CountProblem) -> Array | None:
    with fewer_clusters_allowed():
        state = rehearsal(problem)[1]
    if state is None:
        return None
    labels = state.responsibility.argmax(axis=1)
    return _largest_first(labels) if len(np.unique(labels)) > 1 else None


def _largest_first(labels: Array) -> Array:
    different, codes = np.unique(labels, return_inverse=True)
    place = np.empty(len(different), dtype=np.intp)
    place[np.argsort(-np.bincount(codes), kind="stable")] = np.arange(len(different))
    return place[codes]


def _drawn(rest: Statistics, rng: np.random.Generator) -> Array:
    """Rows (N, D) whose mean is that of the statistics, and whose scatter is theirs for a count of N."""
    dim, count = rest.dim, float(rest.count[0])
    n_rows = max(DRAWN * dim + 2, FEWEST_DRAWN)
    noise = rng.normal(size=(n_rows, dim))
    axes = np.linalg.qr(noise - noise.mean(axis=0))[0]  # orthonormal columns of mean 0
    value, vector = np.linalg.eigh(rest.form.square(rest.scatter[0]))
    offset = axes @ (vector * np.sqrt(np.maximum(value, 0.0))).T
    return np.asarray(rest.mean[0] + np.sqrt(n_rows / count) * offset)
