"""How much each novel category is worth: remove them one by one from a crowded mixture.

A crowd of too many novel categories is fitted, then the one whose loss costs the least likelihood is removed,
the rest refitted, and so on down to none. Fragments of one category go first and cost little; once only real
categories are left, each removal costs the likelihood of a whole category. What divides the two is learned by
rehearsal on labelled categories (see `vbcgcd.discovery.rehearsal`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vbcgcd.discovery.mixture import Mixture, MixtureState
from vbcgcd.discovery.search import EVEN_SHARE, START_STEPS, seed

Array = NDArray[Any]
#: Seeded starts of a crowd, and EM steps of the crowd and after each removal.
RESTARTS, CROWD_STEPS, REFIT_STEPS = 4, 25, 8

__all__ = ["Path", "eliminate"]


class Path(NamedTuple):
    """Mixtures from a crowd down to no novel category.

    Attributes
    ----------
    size : int array
        Number of novel categories, falling.
    log_likelihood : array
        Of the mixture of that size.
    novel_rows : array
        Its estimated number of novel rows.
    states : dict
        The mixture of each size but 0.
    complete : bool
        Whether it goes down to 0.
    """

    size: Array
    log_likelihood: Array
    novel_rows: Array
    states: dict[int, MixtureState]
    complete: bool


def eliminate(
    mixture: Mixture,
    crowd: int,
    rng: np.random.Generator,
    *,
    give_up: Callable[[Path], bool] = lambda path: False,
) -> Path:
    """Fit a crowd of novel categories and remove the cheapest, one by one.

    Parameters
    ----------
    mixture : Mixture
        At the sharpness of a search; see `vbcgcd.discovery.search.cooled`.
    crowd : int
        Novel categories to begin with.
    rng : Generator
    give_up : callable
        Called with the path so far after each removal; True ends it.

    Returns
    -------
    Path
    """
    starts = (mixture.em(seed(mixture, crowd, rng), EVEN_SHARE, START_STEPS) for _ in range(RESTARTS))
    state = max(starts, key=lambda s: s.log_likelihood)
    state = mixture.em(state.responsibility, state.share, CROWD_STEPS)
    states: dict[int, MixtureState] = {}
    while True:
        size = state.responsibility.shape[1]
        states[size] = state
        if size == 1:
            return _path(mixture, states, complete=True)
        path = _path(mixture, states, complete=False)
        if give_up(path):
            return path
        similarity, _, part = mixture.parts(state)
        cheapest = int(mixture.deletion_losses(part).argmin())
        responsibility = mixture.expectation(np.delete(similarity, cheapest, axis=1), state.share)[0]
        state = mixture.em(responsibility, state.share, REFIT_STEPS)


def _path(mixture: Mixture, states: dict[int, MixtureState], *, complete: bool) -> Path:
    sizes = list(states)
    likelihood = [s.log_likelihood for s in states.values()]
    novel = [s.share * mixture.total for s in states.values()]
    if complete:
        sizes, likelihood, novel = [*sizes, 0], [*likelihood, mixture.known_log_likelihood], [*novel, 0.0]
    return Path(np.array(sizes), np.array(likelihood), np.array(novel), states, complete)
