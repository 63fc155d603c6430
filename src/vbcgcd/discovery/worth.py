"""What a novel category is worth, and how probable it is that it is one.

The *worth* of a category is the log-likelihood that its rows lose without it, per row. It does not depend on
how large the category is, so that two of 640 rows are judged like forty of 8; but a few rows that happen to
be alike are no category: picking them out of N rows costs log N nats each, and a category pays that for its
first ones. The unit of worth is the margin, which follows from how far apart the labelled categories are
(`vbcgcd.discovery.calibrate`).

Worth alone does not tell a category from a piece of one, nor from one that comes back: the projection has
never seen novel categories, and does not hold them together. So six things are weighed in a logistic
regression, the *judge*:

- the worth, in margins;
- the share of its rows that would go to another novel category without it: those of a piece would, and those
  of a category of its own only by chance, the less the fewer of all categories are novel;
- its size beside the typical one of the session: a piece is smaller, and the more even the labelled
  categories are, the more that says;
- whether it was found only in the second pass, among what the first left over: that speaks against it, the
  more the surer the categories of the first pass are of one size;
- how far its mean is from those of the known categories. What came back lies where a category lies that was
  found before, however many rows it has; a labelled category next door says less, since the projection was
  made to tell it apart, unless nothing tells the two apart: then they are one;
- how near a larger novel one is, among the known categories: were the two unrelated, it could have any rank
  in nearness, but the halves of a category lie side by side.

The judge compares candidates: it asks whether one is the best that there is for its class. How often a kept
category really stands for a class, so that its rows are named rightly, is its *reliability*. It follows from
the judge and from how clearly rows belong to it: where categories overlap, clusters hold parts of several.

`benchmarks/judge.py` fits the weights of both on streams of four datasets and shows how they do on the
dataset that was left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from vbcgcd.discovery.geometry import Geometry, Novelty
from vbcgcd.discovery.mixture import Mixture, MixtureState
from vbcgcd.discovery.strategies import hard_labels

Array = NDArray[Any]

#: Rows for which a category pays the price of being picked, log N nats.
PICKED = 3.0
#: Weights of the judge: the intercept, log margins of worth, found in the second pass.
COMMON, WORTH, LATE = 2.0, 1.65, -1.5
#: Weights of the log margins that tell it from the nearest category that was found before, and from the
#: nearest labelled one, and between which bounds they count: less is noise, and more says no more.
FOUND_BEFORE, LABELLED, APART_BOUNDS = 1.7, 0.4, (0.07, 1.5)
#: A group that so few margins tell from a labelled category is that category: known ones share their weight
#: equally, so one that comes with many rows would else be worth a category of its own for its frequency.
SAME_AS_LABELLED = 0.5
#: Weight of the log probability that a larger novel category is as near by chance, and the least probability.
NEARNESS, LEAST_NEARNESS = 0.5, 0.01
#: Weights of the reliability: the intercept, log odds of the judge, and how clearly its rows belong to it.
SURE, SURE_JUDGE, SURE_CLEAR = -3.6, 1.57, 0.43
#: How clearly a single row belongs to a category is bounded.
CLEAR_BOUNDS = (0.02, 0.999)
#: Found in the second pass, where the first surely found categories of one size.
LATE_EVEN = -2.0
#: Weight of the log size over the typical one, where the labelled categories are even and where they are
#: uneven, which is from this standard deviation of the logarithm of their sizes on.
SIZE_EVEN, SIZE_UNEVEN, UNEVEN_LABELLED = 4.0, 1.35, 0.6
#: A smaller size than this logarithm says no more: even where labelled categories are even, novel ones may
#: not be.
SMALLEST_SIZE = -1.2
#: Worth in margins below which there is no difference any more.
LEAST_WORTH = 1e-3
#: Standard deviation of the logarithm of sizes up to which they are even, and from which they are uneven.
EVEN, UNEVEN = 0.2, 0.4
#: The labelled categories say as much about sizes as so many found ones, with at most this deviation.
LABELLED_SAY, LABELLED_MOST = 3.0, 0.6
#: Median absolute deviations in a standard deviation.
DEVIATIONS = 1.4826

__all__ = ["Evidence", "Known", "Stream", "Worth", "chance_of", "clearness", "worths"]


class Worth(NamedTuple):
    """Likelihood lost without each category, its rows, and its worth per row; arrays (K,)."""

    lost: Array
    rows: Array
    per_row: Array


class Known(NamedTuple):
    """The known categories.

    Attributes
    ----------
    means : array (K, D)
    counts : array (K,)
        Rows of which each mean was taken.
    later : bool array (K,)
        Whether each came after the base session, so that the projection has never seen it.
    """

    means: Array
    counts: Array
    later: Array


class Evidence(NamedTuple):
    """What the judge weighs of each category, arrays (K,).

    Attributes
    ----------
    worth : array
        Logarithm of its worth in margins.
    taken : array
        Share of its rows that another novel category would take.
    size : array
        Logarithm of its size over the median one.
    late : bool array
        Whether it was found in the second pass.
    spread : float
        Standard deviation of the logarithm of the labelled categories' sizes.
    even : float
        How sure it is, from 0 to 1, that the first pass found categories of one size.
    chance : float
        The share that other novel categories would take from a category of its own: that of novel ones among
        all the others.
    found_before : array
        Margins that tell it from the nearest category that was found before.
    labelled : array
        Margins that tell it from the nearest category of the base session.
    nearness : array
        Probability that a larger novel category is as near as the nearest one is; 1 where there is none.
    nearest : int array
        Position of the nearest category that was found before; None or -1 where there is none.
    """

    worth: Array
    taken: Array
    size: Array
    late: Array
    spread: float
    even: float = 0.0
    chance: float = 1.0
    found_before: Array | float = np.inf
    labelled: Array | float = np.inf
    nearness: Array | float = 1.0
    nearest: Array | None = None

    @property
    def log_odds(self) -> Array:
        """Logarithm of the odds of being a category, whole and no piece of another, array (K,)."""
        return self.log_odds_here + FOUND_BEFORE * self.log_apart

    @property
    def log_odds_here(self) -> Array:
        """The same, were no category found before it in an earlier session, array (K,)."""
        uneven = min(self.spread / UNEVEN_LABELLED, 1.0)
        size_weight = SIZE_EVEN + (SIZE_UNEVEN - SIZE_EVEN) * uneven
        return np.asarray(
            COMMON
            + WORTH * self.worth
            + np.log(self.chance) * self.taken
            + size_weight * np.maximum(self.size, SMALLEST_SIZE)
            + (LATE + LATE_EVEN * self.even) * self.late
            + LABELLED * self.log_labelled
            + NEARNESS * self.log_nearness
        )

    @property
    def log_apart(self) -> Array:
        """How near a category is that was found before, from 0, not near, down; array (K,)."""
        return _log_apart(self.found_before)

    @property
    def log_labelled(self) -> Array:
        """How near a category of the base session is, in the same way; array (K,)."""
        return _log_apart(self.labelled)

    @property
    def is_labelled(self) -> Array:
        """Which cannot be told from a category of the base session, bool array (K,)."""
        return np.asarray(np.broadcast_to(self.labelled, self.worth.shape) < SAME_AS_LABELLED)

    @property
    def log_nearness(self) -> Array:
        """Log probability of its nearness to a larger one, as far as it is less than usual; array (K,)."""
        # Were it chance, the probability would be uniform: its logarithm is -1 on average.
        return np.asarray(np.minimum(np.log(np.maximum(self.nearness, LEAST_NEARNESS)) + 1, 0.0))

    @property
    def probability(self) -> Array:
        """Of being a category, whole and no piece of another, array (K,)."""
        return np.asarray(scipy.special.expit(self.log_odds))

    def reliability(self, responsibility: Array) -> Array:
        """Probability that each category stands for a class, array (K,), from its rows' membership (N, K)."""
        clear = clearness(responsibility)
        return np.asarray(scipy.special.expit(SURE + SURE_JUDGE * self.log_odds + SURE_CLEAR * clear))


@dataclass(frozen=True, eq=False)
class Stream:
    """The rows of a session and what they are judged by.

    Parameters
    ----------
    mixture : Mixture
        At the calibrated sharpness.
    novelty : Novelty
    margin : float
        Unit of worth: nats for each row.
    rng : Generator
    known : Known or None
        The known categories; without them the judge does not know how near they are.
    """

    mixture: Mixture
    novelty: Novelty
    margin: float
    rng: np.random.Generator
    known: Known | None = None

    @property
    def chance(self) -> float:
        """Rows that chance brings together: those that pay the price of being picked."""
        return chance_of(self.mixture.total, self.margin)

    @property
    def labelled_variance(self) -> float:
        """Variance of the logarithm of the labelled categories' sizes, were it normal."""
        return float(np.log1p(self.mixture.size_spread))

    def unevenness(self, sizes: Array) -> float:
        """How uneven the sizes of categories are, from 0 to 1, where those found have these sizes."""
        labelled = min(self.labelled_variance, LABELLED_MOST**2)
        logs, spread = np.log(np.maximum(sizes, 1.0)), 0.0
        if len(logs):  # robust: a few pieces of even categories do not make them uneven
            spread = DEVIATIONS * float(np.median(np.abs(logs - np.median(logs))))
        variance = (len(logs) * spread**2 + LABELLED_SAY * labelled) / (len(logs) + LABELLED_SAY)
        return float(np.clip((np.sqrt(variance) - EVEN) / (UNEVEN - EVEN), 0.0, 1.0))

    def evenness(self, sizes: Array) -> float:
        """How sure it is, from 0 to 1, that the sizes of categories are even; few say little."""
        return (1 - self.unevenness(sizes)) * len(sizes) / (len(sizes) + LABELLED_SAY)

    def evidence(
        self,
        cool: Mixture,
        state: MixtureState,
        late: Array,
        *,
        even: float = 0.0,
        past: tuple[Array, Array] | None = None,
    ) -> Evidence:
        """What the judge weighs.

        Parameters
        ----------
        cool : Mixture
            At the sharpness of a search.
        state : MixtureState
        late : bool array (K,)
            Which were found in the second pass.
        even : float
            See `evenness`.
        past : pair of arrays (K,), optional
            Worth in nats, and number, of rows of earlier sessions that each has.
        """
        similarity, _, part = cool.parts(state)
        here = worths(cool, state, part, self.chance)
        lost, rows = (here.lost, here.rows) if past is None else (here.lost + past[0], here.rows + past[1])
        worth = lost / (np.maximum(rows, 1e-9) + self.chance) / self.margin
        sizes = np.maximum(rows, 1.0)
        return Evidence(
            np.log(np.maximum(worth, LEAST_WORTH)),
            _taken(cool, state, similarity),
            np.log(sizes / np.median(sizes)),
            late,
            float(np.sqrt(self.labelled_variance)),
            even,
            _chance(len(rows), cool.n_known),
            *self._apart(cool, state),
        )

    def _apart(self, cool: Mixture, state: MixtureState) -> tuple[Array, Array, Array, Array]:
        """The last four of `Evidence`: what tells each from known categories and from each other."""
        weight = cool.weight[:, None] * state.responsibility
        counts = weight.sum(axis=0)
        nowhere = np.full(len(counts), np.inf)
        if self.known is None:
            return nowhere, nowhere, np.ones(len(counts)), np.full(len(counts), -1)
        means, later = weight.T @ cool.rows / np.maximum(counts, LEAST_WORTH)[:, None], self.known.later
        gaps = cool.geometry.gaps(means, counts, self.known.means, self.known.counts) / self.margin
        before = np.where(later, gaps, np.inf)
        nearest = np.where(later.any(), before.argmin(axis=1), -1)
        labelled = np.where(later, np.inf, gaps).min(axis=1)
        return before.min(axis=1), labelled, self._nearness(cool.geometry, means, counts, gaps), nearest

    def _nearness(self, geometry: Geometry, means: Array, counts: Array, known_gaps: Array) -> Array:
        """Probability that one of the larger categories is as near as the nearest one is, array (K,).

        Were they unrelated, a larger one would have any rank among the known categories in nearness.
        """
        rank = np.argsort(np.argsort(-counts, kind="stable"), kind="stable")  # so many are larger
        gaps = geometry.gaps(means, counts, means, counts) / self.margin
        gaps = np.where(rank[None, :] < rank[:, None], gaps, np.inf).min(axis=1)
        share = ((known_gaps < gaps[:, None]).sum(axis=1) + 1) / (known_gaps.shape[1] + 1)
        return np.where(rank > 0, 1 - (1 - share) ** rank, 1.0)


def chance_of(n_rows: float, margin: float) -> float:
    """Rows that chance brings together among so many."""
    return PICKED * float(np.log(max(n_rows, 2.0))) / margin


def worths(mixture: Mixture, state: MixtureState, part: Array, chance: float, *, even: bool = False) -> Worth:
    """What each novel category is worth.

    Parameters
    ----------
    mixture : Mixture
    state : MixtureState
    part : array (N, K)
        That each category has in the likelihood of each row; see `Mixture.parts`.
    chance : float
        Rows that chance brings together; see `Stream.chance`.
    even : bool
        Whether the loss is divided by the average size, as if all had the same.
    """
    lost = mixture.deletion_losses(part)
    rows = mixture.weight.astype(np.float64) @ state.responsibility
    size = np.full(len(rows), rows.mean()) if even else rows
    return Worth(lost, rows, lost / (np.maximum(size, 1e-9) + chance))


def clearness(responsibility: Array) -> Array:
    """Mean log odds with which the rows of each category belong to it, array (K,); 0 where it has none."""
    labels = hard_labels(responsibility)
    novel = np.flatnonzero(labels >= 0)
    bounded = np.clip(responsibility[novel, labels[novel]].astype(np.float64), *CLEAR_BOUNDS)
    total = np.bincount(labels[novel], scipy.special.logit(bounded), minlength=responsibility.shape[1])
    return np.asarray(total / np.maximum(np.bincount(labels[novel], minlength=responsibility.shape[1]), 1))


def _log_apart(margins: Array | float) -> Array:
    """Logarithm of margins within their bounds, 0 at the upper one."""
    return np.asarray(np.log(np.clip(margins, *APART_BOUNDS) / APART_BOUNDS[1]))


def _chance(n_novel: int, n_known: int) -> float:
    """Share of novel categories among all but one novel one; 1 where there is no other novel one."""
    return (n_novel - 1) / (n_novel - 1 + n_known) if n_novel > 1 else 1.0


def _taken(mixture: Mixture, state: MixtureState, similarity: Array) -> Array:
    """Share of the rows of each novel category that other novel ones would take, array (K,)."""
    labels = hard_labels(state.responsibility)
    novel = np.flatnonzero(labels >= 0)
    others = similarity[novel]
    others[np.arange(len(novel)), labels[novel]] = -np.inf
    best_known = mixture.best_known[novel]
    weight, n_novel = mixture.weight[novel].astype(np.float64), similarity.shape[1]
    taken = np.bincount(labels[novel], weight * (others.max(axis=1) > best_known), minlength=n_novel)
    rows = np.bincount(labels[novel], weight, minlength=n_novel)
    return np.asarray(taken / np.maximum(rows, 1e-9))
