"""The search for good mixtures: restarts and swaps for a number of categories, elimination for all numbers.

Restarts place seeds at badly explained rows; swaps delete a category that is cheap to lose and put one where
rows are badly explained.

Elimination shows how much each novel category is worth. A crowd of too many is fitted, then the one whose
loss costs the least likelihood is removed, the rest refitted, and so on down to none. Fragments of one
category go first and cost little; once only real categories are left, each removal costs the likelihood of a
whole category. What divides the two is learned by rehearsal on labelled categories (see
`vbcgcd.discovery.rehearsal`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vbcgcd.discovery.known_side import SEARCH_SHARPNESS
from vbcgcd.discovery.mixture import Mixture, MixtureState

Array = NDArray[Any]

#: Seeded starts of a crowd, and EM steps of the crowd and after each removal.
CROWD_RESTARTS, CROWD_STEPS, REFIT_STEPS = 4, 25, 8
#: Outliers are taken to be worth so many times what rehearsal shows.
SAFETY = 1.25

#: Seeded starts, how many of them are refined, and swaps tried beyond two for each novel category.
RESTARTS, REFINED, SWAPS = 8, 2, 20
#: Seeded starts of a quick search, which does without the further swaps, and share of a crowd that it removes
#: at a time.
QUICK_RESTARTS, QUICK_AT_ONCE = 2, 0.04
#: EM steps of a start, of a swap on trial, of a promising swap, and of a solution.
START_STEPS, TRIAL_STEPS, SWAP_STEPS, SOLUTION_STEPS = 6, 8, 30, 40
#: Share of novel rows from which every search starts: nothing is known about it yet.
EVEN_SHARE = 0.5
#: Rows tried for each seed, and places tried for each swap.
SEED_TRIALS, SWAP_TRIALS = 4, 8
#: A swap on trial is refined if it comes within this share of the objective, and taken if it gains a nat.
PROMISING, GAIN = 0.002, 1.0
#: A row is drawn as a seed with exp(-0.1 nats): badly explained rows often, single outliers not always.
SURPRISE = 0.1
#: A category is drawn for deletion with exp(-2 standard deviations of the losses).
CHEAPNESS = 2.0
#: A swapped-in category starts from an eighth of an average category's rows, and at least three.
NEIGHBOURHOOD, FEWEST_NEIGHBOURS = 8, 3

__all__ = [
    "CategoryPrice",
    "Path",
    "cooled",
    "eliminate",
    "gains",
    "improve",
    "least_valuable",
    "search",
    "seed",
]


def search(
    mixture: Mixture,
    n_novel: int,
    rng: np.random.Generator,
    start: MixtureState | None = None,
    *,
    finish: bool = True,
) -> MixtureState:
    """The best mixture with ``n_novel`` novel categories that restarts and swaps find.

    Parameters
    ----------
    mixture : Mixture
        At the calibrated sharpness, at which the solution is finished.
    n_novel : int
    rng : Generator
    start : MixtureState, optional
        A mixture of that size from elsewhere, which competes with the restarts.
    finish : bool
        False leaves the solution at the lower sharpness of the search.
    """
    cool = cooled(mixture)
    starts = [] if start is None else [start]
    restarts, swaps = (QUICK_RESTARTS, SWAPS) if mixture.quick else (RESTARTS, SWAPS + 2 * n_novel)
    starts += [cool.em(seed(cool, n_novel, rng), EVEN_SHARE, START_STEPS) for _ in range(restarts)]
    starts = sorted(starts, key=lambda s: -s.objective)[:REFINED]
    refined = (cool.em(s.responsibility, s.share, SOLUTION_STEPS) for s in starts)
    best = improve(cool, max(refined, key=lambda s: s.objective), rng, swaps)
    return mixture.em(best.responsibility, best.share, SOLUTION_STEPS) if finish else best


def cooled(mixture: Mixture) -> Mixture:
    """The mixture at the lower sharpness of a search."""
    return mixture.at(SEARCH_SHARPNESS * mixture.geometry.sharpness)


def improve(mixture: Mixture, state: MixtureState, rng: np.random.Generator, n_swaps: int) -> MixtureState:
    """Try swaps and keep those that raise the objective."""
    for _ in range(n_swaps):
        trial = mixture.em(_swap(mixture, state, rng), state.share, TRIAL_STEPS)
        if trial.objective > state.objective - PROMISING * abs(state.objective):
            trial = mixture.em(trial.responsibility, trial.share, SWAP_STEPS)
        if trial.objective > state.objective + GAIN:
            state = trial
    return state


def seed(mixture: Mixture, n_novel: int, rng: np.random.Generator) -> Array:
    """Responsibilities (N, n_novel) of novel categories placed one by one at badly explained rows."""
    share = EVEN_SHARE
    explained = mixture.known.astype(np.float64) + np.log(1 - share)
    similarities = np.empty((len(mixture.rows), n_novel), np.float32)
    for c in range(n_novel):
        candidates = rng.choice(len(mixture.rows), SEED_TRIALS, p=_surprise(mixture, explained))
        similarity = _to_rows(mixture, candidates)
        scores = mixture.sharpness * similarity.astype(np.float64) + np.log(share / n_novel)
        likelihood = np.logaddexp(explained[:, None], scores)
        best = int((mixture.weight @ likelihood).argmax())
        explained, similarities[:, c] = likelihood[:, best], similarity[:, best]
    return mixture.expectation(similarities, share)[0]


def _swap(mixture: Mixture, state: MixtureState, rng: np.random.Generator) -> Array:
    """Delete a novel category that is cheap to lose, put one where rows are badly explained."""
    n_rows, n_novel = state.responsibility.shape
    similarity, total, part = mixture.parts(state)
    loss = mixture.deletion_losses(part)
    cheap = np.exp(-CHEAPNESS * (loss - loss.min()) / (loss.std() + 1e-9))
    out = int(rng.choice(n_novel, p=cheap / cheap.sum()))
    without = total + np.log1p(-part[:, out])
    seeds = rng.choice(n_rows, min(SWAP_TRIALS, n_rows), p=_surprise(mixture, without))
    places = _neighbourhoods(mixture, seeds, int(state.share * n_rows / n_novel / NEIGHBOURHOOD))
    scores = mixture.sharpness * places + np.log(state.share / n_novel)
    likelihood = np.logaddexp(without[:, None], scores)
    similarity[:, out] = places[:, int((mixture.weight @ likelihood).argmax())]
    return mixture.expectation(similarity, state.share)[0]


def _surprise(mixture: Mixture, explained: Array) -> Array:
    """Probability of drawing each row: high where its log-likelihood ``explained`` is low."""
    least = explained[mixture.weight > 0].min()
    p = np.exp(-SURPRISE * np.maximum(explained - least, 0.0)) * mixture.weight
    return np.asarray(p / p.sum())


def _to_rows(mixture: Mixture, chosen: Array) -> Array:
    """Similarity to single rows; a row is as similar to itself as the nearest other is."""
    similarity = mixture.geometry.similarity(mixture.rows, mixture.rows[chosen])
    itself = chosen, np.arange(len(chosen))
    similarity[itself] = -np.inf
    similarity[itself] = similarity.max(axis=0) if len(mixture.rows) > 1 else 0.0
    return similarity


def _neighbourhoods(mixture: Mixture, seeds: Array, size: int) -> Array:
    """Similarity to the mean of the rows nearest to each seed."""
    rows, geometry = mixture.rows, mixture.geometry
    size = min(max(size, FEWEST_NEIGHBOURS), len(rows))
    nearest = np.argpartition(-geometry.similarity(rows, rows[seeds]), size - 1, axis=0)
    return geometry.similarity(rows, rows[nearest[:size]].mean(axis=0))


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
    starts = (mixture.em(seed(mixture, crowd, rng), EVEN_SHARE, START_STEPS) for _ in range(CROWD_RESTARTS))
    state = max(starts, key=lambda s: s.log_likelihood)
    state = mixture.em(state.responsibility, state.share, CROWD_STEPS)
    states: dict[int, MixtureState] = {}
    while True:
        size = state.responsibility.shape[1]
        states[size] = state.packed() if mixture.quick else state
        if size == 1:
            return _path(mixture, states, complete=True)
        path = _path(mixture, states, complete=False)
        if give_up(path):
            return path
        similarity, _, part = mixture.parts(state)
        cheapest = least_valuable(mixture, state, mixture.deletion_losses(part), QUICK_AT_ONCE)
        responsibility = mixture.expectation(np.delete(similarity, cheapest, axis=1), state.share)[0]
        state = mixture.em(responsibility, state.share, REFIT_STEPS)


def least_valuable(mixture: Mixture, state: MixtureState, value: Array, at_once: float) -> Array:
    """The category of least value, or in a quick search this share of them, int array.

    Of two that are nearest to each other only one goes at a time: they may be halves of one category, and
    each is worth little beside the other.
    """
    number = int(at_once * len(value)) if mixture.quick else 1
    if number <= 1:
        return np.array([int(value.argmin())])
    means = (state.responsibility * mixture.weight[:, None]).T @ mixture.rows
    means /= np.maximum(state.responsibility.T @ mixture.weight, 1e-9)[:, None]
    alike = mixture.geometry.similarity(mixture.geometry.prepared(means), means)
    np.fill_diagonal(alike, -np.inf)
    nearest, out = alike.argmax(axis=1), list[int]()
    for k in np.argsort(value, kind="stable").tolist():
        if len(out) < number and nearest[k] not in out and not np.isin(nearest[out], k).any():
            out.append(k)
    return np.array(out)


def _path(mixture: Mixture, states: dict[int, MixtureState], *, complete: bool) -> Path:
    sizes = list(states)
    likelihood = [s.log_likelihood for s in states.values()]
    novel = [s.share * mixture.total for s in states.values()]
    if complete:
        sizes, likelihood, novel = [*sizes, 0], [*likelihood, mixture.known_log_likelihood], [*novel, 0.0]
    return Path(np.array(sizes), np.array(likelihood), np.array(novel), states, complete)


class CategoryPrice(NamedTuple):
    """What a novel category has to be worth.

    Attributes
    ----------
    per_row : float
        Nats per row of an average category.
    outliers : array
        Nats that the best, second best, ... group of outliers is worth, divided by the root of the number
        of known rows.
    """

    per_row: float
    outliers: Array


def gains(path: Path, n_rows: float, outliers: Array) -> Array:
    """Worth of the first, second, ... novel category, in nats per row of an average one, less outliers'."""
    size, novel = path.size[:-1], path.novel_rows[:-1]
    steps = path.size[:-1] - path.size[1:]  # several at a time in a quick search, which are taken as equal
    lost = (path.log_likelihood[:-1] - path.log_likelihood[1:]) / steps
    chance = np.interp(size, np.arange(1, len(outliers) + 1), outliers, right=0.0)
    spurious = SAFETY * chance * np.sqrt(np.maximum(n_rows - novel, 0.0))
    return np.repeat((lost - spurious) / np.maximum(novel / size, 1e-9), steps)[::-1]
