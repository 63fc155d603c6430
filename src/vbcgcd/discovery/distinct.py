"""Which categories are novel, and how many: each must explain its own rows clearly better than others do.

The *worth* of a novel category is the log-likelihood that its rows lose without it, per row. It does not
depend on how large the category is, so that two of 640 rows are judged like forty of 8. What it must be
worth, the margin, follows from how far apart the labelled categories are (`vbcgcd.discovery.calibrate`). A
few rows that happen to be alike are no category: picking them out of N rows costs log N nats each, and a
category pays that for its first ones.

The first pass removes the least valuable category from a crowd, one after the other, as if all had the
average size: it finds the large ones and leaves them whole. The second looks among the rows that are still
badly explained, each category by its own size: it finds the small ones. Groups that are worth less than the
margin, but more than chance, are left over for seedlings.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vbcgcd.discovery.calibrate import Margins
from vbcgcd.discovery.geometry import Novelty
from vbcgcd.discovery.mixture import SHARE_BOUNDS, Mixture, MixtureState
from vbcgcd.discovery.search import EVEN_SHARE, SOLUTION_STEPS, START_STEPS, cooled, search, seed
from vbcgcd.discovery.strategies import hard_labels
from vbcgcd.record import CountCurve

Array = NDArray[Any]

#: Rows for which a category pays the price of being picked, log N nats.
PICKED = 3.0
#: Rows for each category of the crowd in the first and in a later pass, and the largest crowd.
FIRST_ROWS, LATER_ROWS, LARGEST_CROWD = 8, 4, 100
#: Starts of a crowd; EM steps of a crowd, after a removal, and of two passes put together.
CROWD_STARTS, CROWD_STEPS, REFIT_STEPS, JOINT_STEPS = 2, 25, 5, 15
#: Share of a crowd that is removed at a time.
AT_ONCE = 0.06
#: Rows with a novelty above this after one pass take part in the next, if there are enough of them.
UNEXPLAINED, FEWEST_UNEXPLAINED = 0.8, 6
#: From so many rows on, a category is judged as in the first pass: it should have been found there.
LARGE = 60.0
#: From this squared coefficient of variation on, the sizes of the categories found are uneven.
UNEVEN = 0.35
#: A seedling is worth at least this share of what a category must be, of rows above this novelty.
SEEDLING_WORTH, SEEDLING_NOVELTY, SEEDLING_ROWS = 0.75, 0.9, 3

__all__ = ["Found", "Judge", "Stream", "find", "find_number", "weak_groups", "without_indistinct", "worths"]


class Judge(NamedTuple):
    """What a category must be worth: the margin, for its rows and as many more as chance brings together."""

    margin: float
    chance: float
    first: float

    def needed(self, rows: Array) -> Array:
        """Margin for categories of so many rows: the larger, the more like that of the first pass."""
        return np.asarray(self.margin + (self.first - self.margin) * np.minimum(rows / LARGE, 1.0))


@dataclass(frozen=True, eq=False)
class Stream:
    """The rows of a session and what they are judged by.

    Parameters
    ----------
    mixture : Mixture
        At the calibrated sharpness.
    novelty : Novelty
    margins : Margins
        What a category must be worth for each of its rows.
    rng : Generator
    """

    mixture: Mixture
    novelty: Novelty
    margins: Margins
    rng: np.random.Generator

    @property
    def judge(self) -> Judge:
        """What categories of this session must be worth."""
        price = PICKED * float(np.log(max(self.mixture.total, 2.0)))
        return Judge(self.margins.later, price / self.margins.later, self.margins.first)


class Found(NamedTuple):
    """The mixture with the categories that were found, None if there is none, and the curve of the number."""

    state: MixtureState | None
    curve: CountCurve


class Worth(NamedTuple):
    """Likelihood lost without each category, its rows, and its worth per row; arrays (K,)."""

    lost: Array
    rows: Array
    per_row: Array


class _Removal(NamedTuple):
    """A mixture of a path, and the worth of each of its categories, by which the least are removed."""

    state: MixtureState
    worth: Array


def worths(mixture: Mixture, state: MixtureState, chance: float, *, even: float = 0.0) -> Worth:
    """What each novel category is worth.

    Parameters
    ----------
    mixture : Mixture
    state : MixtureState
    chance : float
        See `Judge`.
    even : float from 0 to 1
        Weight of the average size in the size by which the loss is divided: at 0 each category has its own.
    """
    return _worths(mixture, state, mixture.parts(state)[2], chance, even)


def _worths(mixture: Mixture, state: MixtureState, part: Array, chance: float, even: float) -> Worth:
    """`worths`, from the part that each category has in each row (N, K)."""
    lost = mixture.deletion_losses(part)
    rows = mixture.weight.astype(np.float64) @ state.responsibility
    size = np.maximum(rows, 1e-9) ** (1 - even) * max(float(rows.mean()), 1e-9) ** even
    return Worth(lost, rows, lost / (size + chance))


def find(stream: Stream) -> Found:
    """The distinct categories, however many."""
    mixture, cool = stream.mixture, cooled(stream.mixture)
    path = _path(cool, _crowd_size(len(cool.rows), FIRST_ROWS), stream, even=1.0)
    scores, chosen = _choose(path, stream.margins.first)
    state = None
    if chosen:
        state = search(mixture, chosen, stream.rng, _of_size(cool, path, chosen), finish=False)
        state = _pruned(cool, state, stream.judge)
    state = _second_pass(stream, cool, state)
    if state is not None:
        state = _finished(mixture, state)
    number = 0 if state is None else state.responsibility.shape[1]
    curve = CountCurve("distinct", tuple(range(len(scores))), tuple(scores.tolist()), number)
    return Found(state, curve)


def without_indistinct(stream: Stream, state: MixtureState) -> MixtureState | None:
    """A mixture of a search without the categories that are not distinct; None if none is."""
    return _pruned(cooled(stream.mixture), state, stream.judge)


def find_number(stream: Stream, number: int) -> MixtureState:
    """So many categories.

    Where the distinct categories are about equally large, the search for mixtures of that size, which expects
    that, is best. Where they are not, it would cut large ones in two, and the answer is the distinct ones:
    the least valuable of them are removed, or the most valuable groups of badly explained rows added.
    """
    mixture, cool = stream.mixture, cooled(stream.mixture)
    found = find(stream).state
    state = None if found is None else _fewer(cool, found, number, stream.judge.chance)
    if found is None or _spread(cool, found) < UNEVEN:
        whole = state is not None and state.responsibility.shape[1] == number
        return search(mixture, number, stream.rng, state if whole else None)
    if state is None or state.responsibility.shape[1] < number:
        state = _second_pass(stream, cool, state, number=number)
    if state is None or state.responsibility.shape[1] < number:
        return search(mixture, number, stream.rng)
    return _finished(mixture, state)


def weak_groups(stream: Stream, state: MixtureState | None) -> tuple[Array, Worth]:
    """Groups of badly explained rows that are worth something, but not enough to be categories.

    Returns
    -------
    members : array (N, S)
        0 or 1.
    worth : Worth
    """
    cool = cooled(stream.mixture)
    similarity = None if state is None else _similarity(cool, state)
    rows = np.flatnonzero(_novelty(stream, cool, state, similarity) > SEEDLING_NOVELTY)
    nothing = np.zeros((len(cool.rows), 0)), Worth(*(np.zeros(0) for _ in range(3)))
    if len(rows) < FEWEST_UNEXPLAINED:
        return nothing
    part = cool.part(rows, similarity)
    path = _path(part, _crowd_size(len(rows), LATER_ROWS), stream, even=0.0)
    chosen = _choose(path, SEEDLING_WORTH * stream.judge.margin)[1]
    if not chosen:
        return nothing
    weak = _of_size(part, path, chosen)
    worth = worths(part, weak, stream.judge.chance)
    belongs = (weak.responsibility > 0.5) & (part.weight[:, None] > 0)
    enough = (belongs.sum(axis=0) >= SEEDLING_ROWS) & (worth.per_row >= SEEDLING_WORTH * stream.judge.margin)
    members = np.zeros((len(cool.rows), int(enough.sum())))
    members[rows] = belongs[:, enough]
    return members, Worth(*(values[enough] for values in worth))


def _second_pass(
    stream: Stream, cool: Mixture, state: MixtureState | None, *, number: int | None = None
) -> MixtureState | None:
    """With the distinct categories among the rows that are still badly explained, or so many in all."""
    similarity = None if state is None else _similarity(cool, state)
    rows = np.flatnonzero(_novelty(stream, cool, state, similarity) > UNEXPLAINED)
    if len(rows) < FEWEST_UNEXPLAINED:
        return state
    part = cool.part(rows, similarity)
    path = _path(part, _crowd_size(len(rows), LATER_ROWS), stream, even=0.0)
    before = 0 if state is None else state.responsibility.shape[1]
    chosen = _choose(path, stream.judge.margin)[1] if number is None else number - before
    chosen = min(chosen, max(len(removal.worth) for removal in path))
    if chosen <= 0:
        return state
    extra = np.zeros((len(cool.rows), chosen), np.float32)
    extra[rows] = _of_size(part, path, chosen).responsibility
    if state is not None:
        rest = state.responsibility * (1 - extra.sum(axis=1, keepdims=True))
        extra = np.hstack([rest, extra])
    joint = cool.em(extra, _share(cool, extra), JOINT_STEPS)
    return _pruned(cool, joint, stream.judge) if number is None else joint


def _similarity(cool: Mixture, state: MixtureState) -> Array:
    weight = state.responsibility * cool.weight[:, None]
    return cool.geometry.left_out_similarity(cool.rows, weight)


def _novelty(stream: Stream, cool: Mixture, state: MixtureState | None, similarity: Array | None) -> Array:
    """Novelty of each row under the known categories and those found so far.

    It is calibrated for rows of the labelled categories; those of a novel one, which the projection has never
    seen, are less like their mean. A row of a novel category is therefore at most as novel as its rank among
    the rows of that category says.
    """
    best = cool.known_similarity.max(axis=1)
    if state is None or similarity is None:
        return 1 - stream.novelty.p_value(best)
    novelty = 1 - stream.novelty.p_value(np.maximum(best, similarity.max(axis=1)))
    labels = hard_labels(state.responsibility)
    for k in range(similarity.shape[1]):
        members = np.flatnonzero(labels == k)
        if len(members):
            rank = np.argsort(np.argsort(-similarity[members, k])) / len(members)
            novelty[members] = np.minimum(novelty[members], rank)
    return np.asarray(novelty)


def _crowd_size(n_rows: int, rows_each: int) -> int:
    return int(np.clip(n_rows // rows_each, 1, LARGEST_CROWD))


def _path(cool: Mixture, crowd: int, stream: Stream, *, even: float) -> list[_Removal]:
    """Mixtures from a crowd down to one category, the least valuable removed first."""
    rng, chance = stream.rng, stream.judge.chance
    starts = (cool.em(seed(cool, crowd, rng), EVEN_SHARE, START_STEPS) for _ in range(CROWD_STARTS))
    state = max(starts, key=lambda s: s.log_likelihood)
    state = cool.em(state.responsibility, state.share, CROWD_STEPS)
    path = list[_Removal]()
    while True:
        similarity, _, part = cool.parts(state)
        worth = _worths(cool, state, part, chance, even).per_row
        path.append(_Removal(state, worth))
        size = len(worth)
        if size == 1:
            return path
        out = np.argsort(worth, kind="stable")[: min(max(1, int(AT_ONCE * size)), size - 1)]
        rest = np.delete(similarity, out, axis=1)
        state = cool.em(cool.expectation(rest, state.share)[0], state.share, REFIT_STEPS)


def _choose(path: list[_Removal], margin: float) -> tuple[Array, int]:
    """Worth of the first k categories less their margins, k = 0, 1, ..., and the number.

    It is the largest that beats every number from its half on: a few categories spread over many are worth
    little, so far smaller numbers are no judges.
    """
    sizes = [len(removal.worth) for removal in path]
    worth = np.zeros(sizes[0])
    for removal, smaller in zip(path, [*sizes[1:], 0], strict=True):
        size = len(removal.worth)
        worth[smaller:size] = np.sort(removal.worth)[: size - smaller][::-1]
    scores = np.concatenate([[0.0], np.cumsum(worth - margin)])
    better = (k for k in range(1, len(scores)) if scores[k] > scores[k // 2 : k].max())
    return scores, max(better, default=0)


def _of_size(cool: Mixture, path: list[_Removal], size: int) -> MixtureState:
    """The mixture of a path with so many categories."""
    removal = next(r for r in reversed(path) if len(r.worth) >= size)
    return _without_least(cool, removal.state, size, removal.worth)


def _fewer(cool: Mixture, state: MixtureState, size: int, chance: float) -> MixtureState:
    """The mixture without the least valuable of its categories, at most ``size``."""
    return _without_least(cool, state, size, worths(cool, state, chance).per_row)


def _without_least(cool: Mixture, state: MixtureState, size: int, worth: Array) -> MixtureState:
    if state.responsibility.shape[1] <= size:
        return state
    kept = np.sort(np.argsort(-worth, kind="stable")[:size])
    return cool.em(state.responsibility[:, kept], state.share, 2 * REFIT_STEPS)


def _pruned(cool: Mixture, state: MixtureState, judge: Judge) -> MixtureState | None:
    """Without the categories that are worth less than they need, the least valuable removed first."""
    while True:
        worth = worths(cool, state, judge.chance)
        surplus = worth.per_row / judge.needed(worth.rows)
        if surplus.min() >= 1:
            return state
        if len(surplus) == 1:
            return None
        rest = np.delete(state.responsibility, int(surplus.argmin()), axis=1)
        state = cool.em(rest, state.share, REFIT_STEPS)


def _finished(mixture: Mixture, state: MixtureState) -> MixtureState:
    """The mixture at the calibrated sharpness."""
    return mixture.em(state.responsibility, state.share, SOLUTION_STEPS)


def _spread(mixture: Mixture, state: MixtureState) -> float:
    """Squared coefficient of variation of the sizes."""
    sizes = mixture.weight.astype(np.float64) @ state.responsibility
    return float(sizes.var() / sizes.mean() ** 2)


def _share(mixture: Mixture, responsibility: Array) -> float:
    return float(np.clip((responsibility.sum(axis=1) @ mixture.weight) / mixture.total, *SHARE_BOUNDS))
