"""Rehearsal: labelled categories play the novel ones, and show what a real category is worth.

Each rehearsal hides some labelled categories, learns its own projection without them, and puts their rows
among unseen rows of the others. Removing categories one by one from a crowd tells what a real one is worth,
per row of an average category, and what a fragment of one is worth; the geometric mean of the two is the
price of a category. The same with known rows alone tells what groups of mere outliers are worth.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.bayes.threads import in_parallel
from vbcgcd.discovery.geometry import Geometry
from vbcgcd.discovery.magnitude import is_reached
from vbcgcd.discovery.mixture import Mixture
from vbcgcd.discovery.reduce import Reducer, fit_like
from vbcgcd.discovery.search import (
    CROWD_RESTARTS,
    SEED_TRIALS,
    CategoryPrice,
    Path,
    cooled,
    eliminate,
    gains,
)

Array = NDArray[Any]

#: Rehearsals, categories hidden in each (at most a third of them), rows of each hidden one, and known rows.
FOLDS, HIDDEN, HIDDEN_ROWS, KNOWN_ROWS = 3, 10, 60, 1200
#: Rehearsal needs so many categories, and so many rows of each on average.
FEWEST_CATEGORIES, FEWEST_ROWS = 4, 5
#: Labelled rows from which a rehearsal learns its reduction, and the share of known rows it does not see.
TRAINING_ROWS, UNSEEN_SHARE = 6000, 0.2
#: Known rows for each hidden one: about as many, so that neither side dominates.
KNOWN_PER_HIDDEN = 0.8
#: The crowd is this many times the expected number, and two more; that of mere outliers has a fixed size.
CROWDING, OUTLIER_CROWD = 2.5, 8
#: The price divides the weakest real categories, from this share of the true number on, from the best
#: fragments, up to this multiple of it.
WEAKEST_REAL, BEST_FRAGMENTS = 0.6, 1.6
#: A fragment is worth at least this share of a real category, and a real category at least this many nats.
LEAST_FRAGMENT, LEAST_REAL = 0.02, 1e-3

__all__ = ["rehearse"]


def rehearse(
    rows: Array,
    codes: Array,
    reducer: Reducer,
    geometry: Geometry,
    rng: np.random.Generator,
    device: str | None = None,
) -> CategoryPrice | None:
    """Learn the price of a novel category from the labelled ones.

    Parameters
    ----------
    rows : array (N, d)
        Labelled embeddings.
    codes : int array (N,)
    reducer : Reducer
        The projection in use; rehearsals learn their own with its settings.
    geometry : Geometry
    rng : Generator
    device : str, optional
        Where the mixtures are computed; see `vbcgcd.devices.resolve`.

    Returns
    -------
    CategoryPrice, or None with fewer than four categories or too few rows to rehearse
    """
    n_categories = int(codes.max()) + 1
    n_hidden = max(2, min(HIDDEN, n_categories // 3))
    if n_categories < FEWEST_CATEGORIES or len(rows) < FEWEST_ROWS * n_categories:
        return None
    order = rng.permutation(n_categories)
    folds = [
        _Fold.drawing(codes, order[(fold * n_hidden + np.arange(n_hidden)) % n_categories], rng)
        for fold in range(FOLDS)
    ]
    if any(len(fold.training) == 0 or len(fold.unseen) == 0 for fold in folds):
        return None
    work = len(folds[0].training) * reducer.projection.size
    pairs = list(in_parallel(lambda fold: fold.trials(rows, reducer, geometry, device), folds, work=work))
    if any(pair is None for pair in pairs):
        return None
    # The long ones first: threads that share them are then done at about the same time.
    trials = [trial for both in zip(*pairs, strict=True) for trial in both]
    work = trials[0].mixture.rows.size * trials[0].crowd
    paths = list(in_parallel(_Trial.path, trials, work=work))
    totals = [trial.mixture.total for trial in trials]
    outlier_worth = []
    for total, path in zip(totals[FOLDS:], paths[FOLDS:], strict=True):
        lost = path.log_likelihood[:-1] - path.log_likelihood[1:]
        outlier_worth.append(np.sort(lost)[::-1] / np.sqrt(total))
    outliers = np.maximum(np.mean(outlier_worth, axis=0), 0.0)
    worth = [
        _worth(path, total, outliers, n_hidden)
        for total, path in zip(totals[:FOLDS], paths[:FOLDS], strict=True)
    ]
    real, fragment = (float(mean) for mean in np.mean(worth, axis=0))
    real = max(real, LEAST_REAL)
    return CategoryPrice(float(np.sqrt(real * np.clip(fragment, LEAST_FRAGMENT * real, real))), outliers)


def _worth(path: Path, total: float, outliers: Array, n_hidden: int) -> tuple[float, float]:
    """Mean worth of the weakest real categories and of the best fragments, of a path that may end early."""
    worth, end = gains(path, total, outliers), int(path.size[-1])
    first, last = int(WEAKEST_REAL * n_hidden), int(np.ceil(BEST_FRAGMENTS * n_hidden))
    return worth[first - end : n_hidden - end].mean(), worth[n_hidden - end : last - end].mean()


@dataclass(frozen=True, eq=False)
class _Trial:
    """An elimination to come, with the random numbers that it will draw: several can run side by side."""

    mixture: Mixture
    crowd: int
    rng: np.random.Generator
    smallest: int = 0

    def path(self) -> Path:
        return eliminate(
            self.mixture, self.crowd, self.rng, give_up=lambda path: bool(path.size[-1] <= self.smallest)
        )


@dataclass(frozen=True, eq=False)
class _Fold:
    """One rehearsal with all that is random in it drawn: several can be prepared side by side.

    Parameters
    ----------
    training : int array
        Rows of the known categories, which its reduction learns from.
    labels : int array
        The categories of these rows, 0 to n_known - 1.
    unseen : int array
        Other rows of the known categories.
    novel : int array
        Rows of the hidden categories.
    n_known, n_hidden : int
        Number of categories.
    rngs : tuple of Generator
        What the eliminations with and without hidden categories will draw from.
    """

    training: Array
    labels: Array
    unseen: Array
    novel: Array
    n_known: int
    n_hidden: int
    rngs: tuple[np.random.Generator, np.random.Generator]

    @classmethod
    def drawing(cls, codes: Array, hidden: Array, rng: np.random.Generator) -> _Fold:
        """With these categories hidden; ``rng`` is left as the whole rehearsal would leave it."""
        known = np.setdiff1d(np.unique(codes), hidden)
        position = np.full(int(codes.max()) + 1, -1)
        position[known] = np.arange(len(known))
        set_aside = rng.random(len(codes)) < UNSEEN_SHARE
        is_known = position[codes] >= 0
        training = rng.permutation(np.flatnonzero(is_known & ~set_aside))[:TRAINING_ROWS]
        training = training[np.argsort(codes[training], kind="stable")]
        labels = np.unique(position[codes[training]], return_inverse=True)[1]
        unseen = rng.permutation(np.flatnonzero(is_known & set_aside))[:KNOWN_ROWS]
        novel = [rng.permutation(np.flatnonzero(codes == c))[:HIDDEN_ROWS] for c in hidden]
        rngs = _reserved(rng, _crowd(len(hidden))), _reserved(rng, OUTLIER_CROWD)
        return cls(training, labels, unseen, np.concatenate(novel), len(known), len(hidden), rngs)

    def trials(
        self, rows: Array, reducer: Reducer, geometry: Geometry, device: str | None
    ) -> tuple[_Trial, _Trial] | None:
        """Eliminations with and without hidden categories; None where no known row can be computed with."""
        own, means = fit_like(reducer, rows[self.training], self.labels)
        unseen, novel = (_reached(own, rows[part]) for part in (self.unseen, self.novel))
        if not len(unseen):
            return None

        def mixture(reduced: Array) -> Mixture:
            return cooled(Mixture.of(reduced, means, geometry, device=device))

        some = unseen[: max(self.n_known, int(KNOWN_PER_HIDDEN * len(novel)))]
        # What the strongest categories are worth is not asked for: the path may end above them.
        smallest = int(WEAKEST_REAL * self.n_hidden)
        both = mixture(np.concatenate([novel, some]))
        return (
            _Trial(both, _crowd(self.n_hidden), self.rngs[0], smallest),
            _Trial(mixture(unseen), OUTLIER_CROWD, self.rngs[1]),
        )


def _crowd(n_hidden: int) -> int:
    return int(CROWDING * n_hidden) + 2


def _reserved(rng: np.random.Generator, crowd: int) -> np.random.Generator:
    """A generator of the numbers that an elimination draws next, which ``rng`` then leaves out."""
    own = copy.deepcopy(rng)
    rng.random(CROWD_RESTARTS * crowd * SEED_TRIALS)
    return own


def _reached(reducer: Reducer, rows: Array) -> Array:
    """Reduced embeddings of the rows that can be computed with."""
    reduced = reducer.transform(rows, dtype=np.float32)
    return np.asarray(reduced[is_reached(reduced)])
