"""Consensus of several heads, after ICCE (arXiv 2511.16213).

Each head sees its own random part of the dimensions and starts elsewhere. Their categories are matched to
those of the likeliest head, memberships are averaged, and the average is what the session goes on with.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from vbcgcd.discovery.count import CountProblem
from vbcgcd.discovery.mixture import Mixture, MixtureState
from vbcgcd.discovery.search import EVEN_SHARE, SOLUTION_STEPS, search, seed

#: Heads, and the share of the dimensions that each sees.
HEADS, SHARE = 8, 0.6


def of_starts(problem: CountProblem, number: int) -> MixtureState:
    """Consensus of single starts."""
    return _consensus(
        problem, lambda mixture: mixture.em(seed(mixture, number, problem.rng), EVEN_SHARE, SOLUTION_STEPS)
    )


def of_searches(problem: CountProblem, number: int) -> MixtureState:
    """Consensus of whole searches."""
    return _consensus(problem, lambda mixture: search(mixture, number, problem.rng))


def _consensus(problem: CountProblem, solve: object) -> MixtureState:
    mixture = problem.mixture
    states = [solve(_view(problem)) for _ in range(HEADS)]  # type: ignore[operator]
    judged = [mixture.em(state.responsibility, state.share, 1) for state in states]
    reference = states[int(np.argmax([state.objective for state in judged]))].responsibility
    total = np.zeros_like(reference)
    for state in states:
        overlap = reference.T @ state.responsibility
        total += state.responsibility[:, linear_sum_assignment(-overlap)[1]]
    share = float(np.clip(total.sum(axis=1).mean() / HEADS, 0.005, 0.995))
    return mixture.em(total / HEADS, share, SOLUTION_STEPS)


def _view(problem: CountProblem) -> Mixture:
    """The session in some of the dimensions."""
    known, rows = problem.knowledge, problem.rows
    size = max(2, int(SHARE * rows.shape[1]))
    dims = np.sort(problem.rng.permutation(rows.shape[1])[:size])
    return Mixture.of(
        rows[:, dims],
        known.posterior.mean[:, dims],
        known.novelty.geometry,
        counts=known.counts,
        size_spread=known.size_spread,
    )
