"""What a novel category is worth, and what it must be worth.

The *worth* of a category is the log-likelihood that its rows lose without it, per row. It does not depend on
how large the category is, so that two of 640 rows are judged like forty of 8. What it must be worth, the
margin, follows from how far apart the labelled categories are (`vbcgcd.discovery.calibrate`). Four things
change it:

- A few rows that happen to be alike are no category: picking them out of N rows costs log N nats each, and a
  category pays that for its first ones.
- How uneven sizes are is estimated, from the labelled categories and from those found so far. Where they are
  uneven, a category that is smaller than the typical one needs less; where they are even it needs more, since
  it is rather a piece of another.
- Rows that one other novel category would take instead are probably a piece of it: the projection has never
  seen novel categories, and does not hold them together.
- A group whose mean cannot be told from that of a known category is probably that category.

How much a category is worth also tells how reliable it is. The constants were chosen by looking at streams of
four datasets.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vbcgcd.discovery.geometry import Novelty
from vbcgcd.discovery.mixture import Mixture, MixtureState
from vbcgcd.discovery.strategies import hard_labels

Array = NDArray[Any]

#: Rows for which a category pays the price of being picked, log N nats.
PICKED = 3.0
#: A small category needs this many margins where sizes are even, and where they are uneven.
SMALL_EVEN, SMALL_UNEVEN = 1.4, 0.7
#: Standard deviation of the logarithm of sizes up to which they are even, and from which they are uneven.
EVEN, UNEVEN = 0.2, 0.4
#: The labelled categories say as much about sizes as so many found ones, with at most this deviation.
LABELLED_SAY, LABELLED_MOST = 3.0, 0.6
#: Rows of a typical category where none has been found yet.
USUAL_ROWS = 60.0
#: A sure piece of another category needs this share more.
PIECE = 0.35
#: From this share of its rows on, a category may be a piece of one other that would take them.
TAKEN = 0.5
#: From this cosine of the exact means on, as far as they can be estimated, two categories may be one.
ALIKE = 0.8
#: A category that is worth m margins is reliable with 1 - exp(-RELIABLE m).
RELIABLE = 1.3
#: Median absolute deviations in a standard deviation.
DEVIATIONS = 1.4826

__all__ = ["Judge", "Stream", "Worth", "worths"]


class Worth(NamedTuple):
    """Likelihood lost without each category, its rows, and its worth per row; arrays (K,)."""

    lost: Array
    rows: Array
    per_row: Array


class Judge(NamedTuple):
    """What a category must be worth for each of its rows, and as many more as chance brings together.

    Attributes
    ----------
    margin : float
        Of a category of typical size, or larger.
    small : float
        Of the smallest.
    typical : float
        Rows of a typical category.
    chance : float
        Rows that chance brings together.
    """

    margin: float
    small: float
    typical: float
    chance: float

    def needed(self, rows: Array) -> Array:
        """Margin for categories of so many rows."""
        return np.asarray(self.small + (self.margin - self.small) * np.minimum(rows / self.typical, 1.0))


@dataclass(frozen=True, eq=False)
class Stream:
    """The rows of a session and what they are judged by.

    Parameters
    ----------
    mixture : Mixture
        At the calibrated sharpness.
    novelty : Novelty
    margin : float
        What a category must be worth for each of its rows.
    known_means, known_counts : array (Kk, D) and (Kk,)
        Of the known categories.
    rng : Generator
    """

    mixture: Mixture
    novelty: Novelty
    margin: float
    known_means: Array
    known_counts: Array
    rng: np.random.Generator

    @property
    def chance(self) -> float:
        """Rows that chance brings together: those that pay the price of being picked."""
        return PICKED * float(np.log(max(self.mixture.total, 2.0))) / self.margin

    @property
    def least(self) -> float:
        """The margin of a small category among uneven ones: the least that is ever asked for."""
        return SMALL_UNEVEN * self.margin

    def judge(self, sizes: Array) -> Judge:
        """What further categories must be worth, beside those of these sizes."""
        uneven = self.unevenness(sizes)
        small = self.margin * (SMALL_EVEN + (SMALL_UNEVEN - SMALL_EVEN) * uneven)
        typical = float(np.median(np.maximum(sizes, 1.0))) if len(sizes) else USUAL_ROWS
        return Judge(self.margin, small, typical, self.chance)

    def unevenness(self, sizes: Array) -> float:
        """How uneven the sizes of categories are, from 0 to 1, where those found have these sizes."""
        labelled = min(float(np.log1p(self.mixture.size_spread)), LABELLED_MOST**2)
        logs, spread = np.log(np.maximum(sizes, 1.0)), 0.0
        if len(logs):  # robust: a few pieces of even categories do not make them uneven
            spread = DEVIATIONS * float(np.median(np.abs(logs - np.median(logs))))
        variance = (len(logs) * spread**2 + LABELLED_SAY * labelled) / (len(logs) + LABELLED_SAY)
        return float(np.clip((np.sqrt(variance) - EVEN) / (UNEVEN - EVEN), 0.0, 1.0))

    def reliability(self, cool: Mixture, state: MixtureState, past_lost: Array, past_rows: Array) -> Array:
        """Probability that each category is one, whole and no piece of another, array (K,).

        Parameters
        ----------
        cool : Mixture
        state : MixtureState
        past_lost, past_rows : array (K,)
            Worth in nats, and number, of rows of earlier sessions that each has.
        """
        similarity, _, part = cool.parts(state)
        here = worths(cool, state, part, self.chance)
        worth = (here.lost + past_lost) / (here.rows + past_rows + self.chance)
        return 1 - np.exp(-RELIABLE * worth / self.margin / self._doubt(cool, state, similarity))

    def surplus(self, cool: Mixture, state: MixtureState, judge: Judge) -> Array:
        """Worth of each category over what it needs, array (K,): at least 1 for one that is distinct."""
        similarity, _, part = cool.parts(state)
        worth = worths(cool, state, part, judge.chance)
        return worth.per_row / judge.needed(worth.rows) / self._doubt(cool, state, similarity)

    def _doubt(self, cool: Mixture, state: MixtureState, similarity: Array) -> Array:
        """How many times the margin each category needs, since it may be a piece or a known one."""
        piece = (_taken(cool, state, similarity) - TAKEN) / (1 - TAKEN)
        return 1 + PIECE * np.maximum(np.clip(piece, 0.0, 1.0), self._likeness(cool, state))

    def _likeness(self, cool: Mixture, state: MixtureState) -> Array:
        """How much each category is like a known one, from 0 to 1, array (K,); 0 where lengths count."""
        geometry, weight = cool.geometry, state.responsibility * cool.weight[:, None]
        rows = weight.sum(axis=0)
        if geometry.kind == "distance" or geometry.within is None or not len(self.known_means):
            return np.zeros(len(rows))
        cosine = geometry.similarity(geometry.prepared(weight.T @ cool.rows), self.known_means)
        cosine = geometry.corrected(geometry.corrected(cosine, self.known_counts), rows[:, None])
        return np.clip((cosine.max(axis=1) - ALIKE) / (1 - ALIKE), 0.0, 1.0)


def worths(mixture: Mixture, state: MixtureState, part: Array, chance: float, *, even: bool = False) -> Worth:
    """What each novel category is worth.

    Parameters
    ----------
    mixture : Mixture
    state : MixtureState
    part : array (N, K)
        That each category has in the likelihood of each row; see `Mixture.parts`.
    chance : float
        See `Judge`.
    even : bool
        Whether the loss is divided by the average size, as if all had the same.
    """
    lost = mixture.deletion_losses(part)
    rows = mixture.weight.astype(np.float64) @ state.responsibility
    size = np.full(len(rows), rows.mean()) if even else rows
    return Worth(lost, rows, lost / (np.maximum(size, 1e-9) + chance))


def _taken(mixture: Mixture, state: MixtureState, similarity: Array) -> Array:
    """Share of the rows of each novel category that one and the same other novel one would take, (K,)."""
    labels, n_known = hard_labels(state.responsibility), mixture.known_similarity.shape[1]
    novel = np.flatnonzero(labels >= 0)
    others = similarity[novel].copy()
    others[np.arange(len(novel)), labels[novel]] = -np.inf
    table = np.zeros((similarity.shape[1],) * 2)
    heir = others.argmax(axis=1)
    best_known = mixture.known_similarity[novel].max(axis=1) if n_known else np.full(len(novel), -np.inf)
    beats = others[np.arange(len(novel)), heir] > best_known
    np.add.at(table, (labels[novel][beats], heir[beats]), mixture.weight[novel][beats])
    rows = np.bincount(labels[novel], weights=mixture.weight[novel], minlength=len(table))
    return np.asarray(table.max(axis=1) / np.maximum(rows, 1e-9))
