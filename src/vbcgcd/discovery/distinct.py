"""Which categories are novel, and how many: each must be probable enough (see `vbcgcd.discovery.worth`).

The first pass finds the large ones, by a rehearsed price (`vbcgcd.discovery.count`) or, where there is none,
by removing the least valuable category from a crowd, one after the other. The second looks among the rows
that are still badly explained: it finds the small ones. The least probable is removed and its rows go
elsewhere, one after the other, until all that are left are probable enough. One that cannot be told from a
labelled category is that category, however many rows of it came at once. One that is removed only because a
category that was found before lies where it lies is that category, come back. Groups that are worth
less, but more than chance, are left over for seedlings.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from vbcgcd.discovery.mixture import SHARE_BOUNDS, Mixture, MixtureState
from vbcgcd.discovery.search import (
    EVEN_SHARE,
    SOLUTION_STEPS,
    START_STEPS,
    cooled,
    least_valuable,
    search,
    seed,
)
from vbcgcd.discovery.strategies import hard_labels
from vbcgcd.discovery.worth import Evidence, Stream, Worth, worths
from vbcgcd.record import CountCurve

Array = NDArray[Any]

#: Rows for each category of the crowd in the first and in a later pass, and the largest crowd.
FIRST_ROWS, LATER_ROWS, LARGEST_CROWD = 8, 4, 100
#: The largest crowd of a quick search, which removes many at a time.
QUICK_CROWD = 600
#: Starts of a crowd; EM steps of a crowd, after a removal, and of two passes put together.
CROWD_STARTS, CROWD_STEPS, REFIT_STEPS, JOINT_STEPS = 2, 25, 5, 15
#: Share of a crowd that is removed at a time.
AT_ONCE = 0.06
#: Rows with a novelty above this after one pass take part in the next, if there are enough of them.
UNEXPLAINED, FEWEST_UNEXPLAINED = 0.8, 6
#: Candidates of the second pass are worth at least this share of the margin.
CANDIDATE_WORTH = 0.4
#: A real category that is kept is worth a whole one; a piece that is kept costs its share of the rows of the
#: other. So a category of n rows is kept from odds of this many times n / (n + typical n) on.
ODDS = 0.9
#: If the first pass found none, or there is only one, there may be nothing to find: these odds are needed of
#: one that the first pass found, and of one that it did not.
ODDS_ALONE, ODDS_LATE_ALONE = 8.0, 4.0
#: Where the rehearsed price lets a single category pass, so many by their worth alone are believed instead.
CLEARLY_MORE = 3
#: Fewer rows than this in one session are no category.
FEWEST_ROWS = 4
#: A seedling is worth at least this share of the margin, of rows above this novelty.
SEEDLING_WORTH, SEEDLING_NOVELTY, SEEDLING_ROWS = 0.5, 0.9, 3

__all__ = [
    "FIRST_ROWS",
    "Completed",
    "Returned",
    "complete",
    "crowd_size",
    "first_pass",
    "more",
    "of_number",
    "together",
    "weak_groups",
]


class Returned(NamedTuple):
    """Rows of groups that turned out to be categories found before.

    Attributes
    ----------
    category : int array (N,)
        The category that each row comes back to; -1 for none.
    probability : array (N,)
        With which each row belongs to its group.
    doubt : array (N,)
        Probability that the group is a novel category after all.
    """

    category: Array
    probability: Array
    doubt: Array

    @classmethod
    def none(cls, n_rows: int) -> Returned:
        """No row comes back to any."""
        return cls(np.full(n_rows, -1), np.zeros(n_rows), np.zeros(n_rows))

    def at(self, category: int, probability: Array, doubt: float = 0.0) -> Returned:
        """With a group whose rows belong to it this probably, array (N,)."""
        better = (probability > 0.5) & (probability > self.probability)
        return Returned(
            np.where(better, category, self.category),
            np.where(better, probability, self.probability),
            np.where(better, doubt, self.doubt),
        )

    def of(self, rows: Array) -> Returned:
        """Only for these rows, bool array (N,)."""
        return Returned(
            np.where(rows, self.category, -1),
            np.where(rows, self.probability, 0.0),
            np.where(rows, self.doubt, 0.0),
        )


class Completed(NamedTuple):
    """The novel categories, None if there are none, and the rows of categories that came back."""

    state: MixtureState | None
    returned: Returned


class _Found(NamedTuple):
    """Categories found so far, which of them the second pass found, how even those of the first are, and the
    rows of categories that came back.
    """

    state: MixtureState
    late: Array
    returned: Returned
    even: float = 0.0

    @property
    def number(self) -> int:
        return len(self.late)

    def without(self, cool: Mixture, k: int, *, known: bool = False) -> _Found:
        """Without one of them; its rows go elsewhere, at first to known categories if it is ``known``."""
        rest = np.delete(self.state.responsibility, k, axis=1)
        if rest.shape[1]:
            share = _share(cool, rest) if known else self.state.share
            state = cool.em(rest, share, REFIT_STEPS)
        else:
            state = MixtureState(rest, cool.known_log_likelihood, 0.0, SHARE_BOUNDS[0])
        return self._replace(state=state, late=np.delete(self.late, k))

    def recognised(self, k: int, category: int, doubt: float) -> _Found:
        """Knowing that one of them is a category that came back."""
        belongs = self.state.responsibility[:, k].astype(np.float64)
        return self._replace(returned=self.returned.at(category, belongs, doubt))

    @classmethod
    def nothing(cls, n_rows: int) -> _Found:
        state = MixtureState(np.zeros((n_rows, 0), np.float32), 0.0, 0.0, SHARE_BOUNDS[0])
        return cls(state, np.zeros(0, dtype=bool), Returned.none(n_rows))


class _Removal(NamedTuple):
    """A mixture of a path, and the worth of each of its categories, by which the least are removed."""

    state: MixtureState
    worth: Array


def first_pass(stream: Stream) -> tuple[CountCurve, MixtureState | None]:
    """The large categories, where no price was rehearsed: each is worth the margin, if all had one size."""
    cool = cooled(stream.mixture)
    path = _path(cool, crowd_size(cool, FIRST_ROWS), stream, even=True)
    scores, chosen = _choose(path, stream.margin)
    curve = CountCurve("distinct", tuple(range(len(scores))), tuple(scores.tolist()), chosen)
    return curve, _of_size(cool, path, chosen) if chosen else None


def complete(stream: Stream, state: MixtureState | None) -> Completed:
    """The probable categories of a first pass, and the small ones that it missed."""
    cool = cooled(stream.mixture).corrected()
    first = _second_opinion(stream, cool, _first_found(stream, cool, state))
    found = _probable(stream, cool, _with_candidates(stream, cool, first), alone=not first.number)
    if not found.number:
        return Completed(None, found.returned)
    finished = _finished(stream.mixture, found.state)
    return Completed(finished, found.returned.of(hard_labels(finished.responsibility) < 0))


def more(stream: Stream, state: MixtureState | None) -> tuple[Array, Returned]:
    """Probable categories among rows that those found before leave over.

    Parameters
    ----------
    stream : Stream
    state : MixtureState or None
        What was found before, among these rows.

    Returns
    -------
    responsibility : array (N, K)
        Of further categories.
    Returned
    """
    cool, found = cooled(stream.mixture).corrected(), _Found.nothing(len(stream.mixture.rows))
    if state is not None:
        early = np.zeros(state.responsibility.shape[1], dtype=bool)
        found = found._replace(state=state, late=early, even=stream.evenness(_sizes(cool, state)))
    alone = not found.number
    found = _probable(stream, cool, _with_candidates(stream, cool, found), alone=alone)
    return found.state.responsibility[:, found.late], found.returned


def together(stream: Stream, responsibility: Array, late: Array) -> Completed:
    """The probable ones among categories that were found apart from each other.

    Parameters
    ----------
    stream : Stream
    responsibility : array (N, K)
    late : bool array (K,)
        Which were found only after the others.
    """
    cool, nothing = cooled(stream.mixture).corrected(), _Found.nothing(len(stream.mixture.rows))
    if not responsibility.shape[1]:
        return Completed(None, nothing.returned)
    state = cool.em(responsibility, _share(cool, responsibility), JOINT_STEPS)
    even = stream.evenness(_sizes(cool, state))
    found = _probable(stream, cool, nothing._replace(state=state, late=late, even=even))
    if not found.number:
        return Completed(None, found.returned)
    finished = _finished(stream.mixture, found.state)
    return Completed(finished, found.returned.of(hard_labels(finished.responsibility) < 0))


def of_number(stream: Stream, state: MixtureState | None, number: int) -> MixtureState:
    """So many categories.

    Where the probable categories are about equally large, the search for mixtures of that size, which expects
    that, is best. Where they are not, it would cut large ones in two, and the answer is the most probable
    ones.

    Parameters
    ----------
    stream : Stream
    state : MixtureState or None
        Those that the first pass found.
    number : int
    """
    mixture, cool = stream.mixture, cooled(stream.mixture).corrected()
    found = _first_found(stream, cool, state, told=True)
    sizes = _sizes(cool, found.state)
    if stream.unevenness(sizes) >= 0.5:
        found = _with_candidates(stream, cool, found, number - len(sizes))
        while found.number > number:
            found = found.without(cool, int(_surplus(stream, cool, found, told=True)[0].argmin()))
    if found.number != number:
        return _finished(mixture, search(mixture, number, stream.rng, finish=False))
    return _finished(mixture, found.state)


def weak_groups(stream: Stream, state: MixtureState | None) -> tuple[Array, Worth]:
    """Groups of badly explained rows that are worth something, but not enough to be categories.

    Returns
    -------
    members : array (N, S)
        0 or 1.
    worth : Worth
    """
    cool = cooled(stream.mixture)
    rest = _unexplained(stream, cool, state, SEEDLING_NOVELTY)
    nothing = np.zeros((len(cool.rows), 0)), Worth(*(np.zeros(0) for _ in range(3)))
    if rest is None:
        return nothing
    rows, part, path = rest
    margin = SEEDLING_WORTH * stream.margin
    chosen = _choose(path, margin)[1]
    if not chosen:
        return nothing
    weak = _of_size(part, path, chosen)
    worth = worths(part, weak, part.parts(weak)[2], stream.chance)
    belongs = (weak.responsibility > 0.5) & (part.weight[:, None] > 0)
    enough = (belongs.sum(axis=0) >= SEEDLING_ROWS) & (worth.per_row >= margin)
    members = np.zeros((len(cool.rows), int(enough.sum())))
    members[rows] = belongs[:, enough]
    return members, Worth(*(values[enough] for values in worth))


def _first_found(stream: Stream, cool: Mixture, state: MixtureState | None, *, told: bool = False) -> _Found:
    """The probable categories of a first pass, improved by a search."""
    nothing = _Found.nothing(len(cool.rows))
    if state is None:
        return nothing
    number = state.responsibility.shape[1]
    state = search(stream.mixture, number, stream.rng, state, finish=False)
    found = nothing._replace(state=state, late=np.zeros(number, dtype=bool))
    found = _probable(stream, cool, found, told=told)
    return found._replace(even=stream.evenness(_sizes(cool, found.state)))


def _second_opinion(stream: Stream, cool: Mixture, first: _Found) -> _Found:
    """What the other way to a first pass finds, where the price lets hardly any pass and it finds more."""
    if first.number > 1:
        return first
    other = _first_found(stream, cool, first_pass(stream)[1])
    if not other.number or (first.number and other.number < CLEARLY_MORE):
        return first
    return other


def _with_candidates(stream: Stream, cool: Mixture, found: _Found, at_least: int = 0) -> _Found:
    """With groups of rows that are still badly explained: candidates of the second pass."""
    rest = _unexplained(stream, cool, found.state if found.number else None, UNEXPLAINED)
    if rest is None:
        return found
    rows, part, path = rest
    chosen = max(_choose(path, CANDIDATE_WORTH * stream.margin)[1], at_least)
    chosen = min(chosen, max(len(removal.worth) for removal in path))
    if chosen <= 0:
        return found
    extra = np.zeros((len(cool.rows), chosen), np.float32)
    extra[rows] = _of_size(part, path, chosen).responsibility
    others = found.state.responsibility * (1 - extra.sum(axis=1, keepdims=True))
    every, late = np.hstack([others, extra]), np.concatenate([found.late, np.ones(chosen, dtype=bool)])
    return found._replace(state=cool.em(every, _share(cool, every), JOINT_STEPS), late=late)


def _probable(
    stream: Stream, cool: Mixture, found: _Found, *, alone: bool = False, told: bool = False
) -> _Found:
    """Without those that are improbable, the least probable removed first."""
    while found.number:
        surplus, evidence = _surplus(stream, cool, found, alone=alone, told=told)
        k = int(surplus.argmin())
        if surplus[k] >= 0:
            break
        if evidence.nearest is not None and surplus[k] >= evidence.log_odds[k] - evidence.log_odds_here[k]:
            found = found.recognised(k, int(evidence.nearest[k]), float(evidence.probability[k]))
        found = found.without(cool, k, known=not told and bool(evidence.is_labelled[k]))
    return found


def _surplus(
    stream: Stream, cool: Mixture, found: _Found, *, alone: bool = False, told: bool = False
) -> tuple[Array, Evidence]:
    """Log odds of each category beyond those that it needs, array (K,), -inf where it has too few rows or is
    a labelled one; and what was weighed. A number that is ``told`` is one of novel categories: those that are
    most probable make it up.
    """
    evidence = stream.evidence(cool, found.state, found.late, even=found.even)
    say = float((~found.late).sum()) ** 2  # one category of the first pass says little about the typical size
    needed = np.log(ODDS * (say * scipy.special.expit(evidence.size) + 1) / (say + 1))
    if (alone or found.number == 1) and not cool.is_group:  # others are searched elsewhere
        needed = np.log(np.where(found.late, ODDS_LATE_ALONE, ODDS_ALONE))
    labels = hard_labels(found.state.responsibility)
    rows = np.bincount(labels[(labels >= 0) & (cool.weight > 0)], minlength=found.number)
    impossible = (rows < FEWEST_ROWS) | (evidence.is_labelled & (not told))
    return np.where(impossible, -np.inf, evidence.log_odds - needed), evidence


def _unexplained(
    stream: Stream, cool: Mixture, state: MixtureState | None, least: float
) -> tuple[Array, Mixture, list[_Removal]] | None:
    """Rows above this novelty, their mixture, and a path of theirs; None where they are too few.

    What was found so far counts as known among them.
    """
    similarity = None
    if state is not None:
        similarity = cool.left_out_similarity(state.responsibility)
    rows = np.flatnonzero((_novelty(stream, cool, state, similarity) > least) & (cool.weight > 0))
    if len(rows) < FEWEST_UNEXPLAINED:
        return None
    part = cool.part(rows, similarity)
    return rows, part, _path(part, crowd_size(part, LATER_ROWS), stream, even=False)


def _novelty(stream: Stream, cool: Mixture, state: MixtureState | None, similarity: Array | None) -> Array:
    """Novelty of each row under the known categories and those found so far.

    It is calibrated for rows of the labelled categories; those of a novel one, which the projection has never
    seen, are less like their mean. A row of a novel category is therefore at most as novel as its rank among
    the rows of that category says.
    """
    best = cool.best_known
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


def crowd_size(mixture: Mixture, rows_each: int) -> int:
    """Novel categories to begin with, one for so many rows."""
    largest = QUICK_CROWD if mixture.quick else LARGEST_CROWD
    return int(np.clip(len(mixture.rows) // rows_each, 1, largest))


def _path(cool: Mixture, crowd: int, stream: Stream, *, even: bool) -> list[_Removal]:
    """Mixtures from a crowd down to one category, the least valuable removed first."""
    rng, chance = stream.rng, stream.chance
    starts = (cool.em(seed(cool, crowd, rng), EVEN_SHARE, START_STEPS) for _ in range(CROWD_STARTS))
    state = max(starts, key=lambda s: s.log_likelihood)
    state = cool.em(state.responsibility, state.share, CROWD_STEPS)
    path = list[_Removal]()
    while True:
        similarity, _, part = cool.parts(state)
        worth = worths(cool, state, part, chance, even=even).per_row
        path.append(_Removal(state.packed() if cool.quick else state, worth))
        size = len(worth)
        if size == 1:
            return path
        if cool.quick:
            out = least_valuable(cool, state, worth, AT_ONCE)
        else:
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
    return _without_least(cool, removal.state.unpacked(), size, removal.worth)


def _without_least(cool: Mixture, state: MixtureState, size: int, worth: Array) -> MixtureState:
    if state.responsibility.shape[1] <= size:
        return state
    kept = np.sort(np.argsort(-worth, kind="stable")[:size])
    return cool.em(state.responsibility[:, kept], state.share, 2 * REFIT_STEPS)


def _finished(mixture: Mixture, state: MixtureState) -> MixtureState:
    """The mixture at the calibrated sharpness."""
    return mixture.corrected().em(state.responsibility, state.share, SOLUTION_STEPS)


def _sizes(mixture: Mixture, state: MixtureState) -> Array:
    return np.asarray(mixture.weight.astype(np.float64) @ state.responsibility)


def _share(mixture: Mixture, responsibility: Array) -> float:
    return float(np.clip((responsibility.sum(axis=1) @ mixture.weight) / mixture.total, *SHARE_BOUNDS))
