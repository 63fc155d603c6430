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
    trials = list[_Trial]()
    for fold in range(FOLDS):
        hidden = order[(fold * n_hidden + np.arange(n_hidden)) % n_categories]
        stage = _stage(rows, codes, hidden, reducer, rng)
        if stage is None:
            return None
        mixture = stage.mixture(stage.with_hidden(rng), geometry, device)
        # What the strongest categories are worth is not asked for: the path may end above them.
        smallest = int(WEAKEST_REAL * n_hidden)
        trials.append(_Trial.drawing(mixture, int(CROWDING * n_hidden) + 2, rng, smallest))
        trials.append(_Trial.drawing(stage.mixture(stage.unseen, geometry, device), OUTLIER_CROWD, rng))
    work = trials[0].mixture.rows.size * trials[0].crowd
    paths = list(in_parallel(_Trial.path, trials, work=work))
    totals = [trial.mixture.total for trial in trials]
    # Of each rehearsal, the path with hidden categories comes first, then that of mere outliers.
    outlier_worth = []
    for total, path in zip(totals[1::2], paths[1::2], strict=True):
        lost = path.log_likelihood[:-1] - path.log_likelihood[1:]
        outlier_worth.append(np.sort(lost)[::-1] / np.sqrt(total))
    outliers = np.maximum(np.mean(outlier_worth, axis=0), 0.0)
    worth = [
        _worth(path, total, outliers, n_hidden) for total, path in zip(totals[::2], paths[::2], strict=True)
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

    @classmethod
    def drawing(cls, mixture: Mixture, crowd: int, rng: np.random.Generator, smallest: int = 0) -> _Trial:
        """The next elimination, down to ``smallest``; ``rng`` is left as the elimination would leave it."""
        own = copy.deepcopy(rng)
        rng.random(CROWD_RESTARTS * crowd * SEED_TRIALS)
        return cls(mixture, crowd, own, smallest)

    def path(self) -> Path:
        return eliminate(
            self.mixture, self.crowd, self.rng, give_up=lambda path: bool(path.size[-1] <= self.smallest)
        )


@dataclass(frozen=True, eq=False)
class _Stage:
    """One rehearsal: hidden categories, and reduced rows of the others that its reduction has not seen."""

    rows: Array
    codes: Array
    hidden: Array
    unseen: Array
    reducer: Reducer
    means: Array
    n_known: int

    def with_hidden(self, rng: np.random.Generator) -> Array:
        """Reduced rows of the hidden categories and nearly as many unseen known ones."""
        novel = np.concatenate(
            [rng.permutation(np.flatnonzero(self.codes == c))[:HIDDEN_ROWS] for c in self.hidden]
        )
        reduced = _reached(self.reducer, self.rows[novel])
        return np.concatenate(
            [reduced, self.unseen[: max(self.n_known, int(KNOWN_PER_HIDDEN * len(reduced)))]]
        )

    def mixture(self, reduced: Array, geometry: Geometry, device: str | None = None) -> Mixture:
        """The mixture of these rows at the sharpness of a search."""
        return cooled(Mixture.of(reduced, self.means, geometry, device=device))


def _stage(
    rows: Array, codes: Array, hidden: Array, reducer: Reducer, rng: np.random.Generator
) -> _Stage | None:
    """A rehearsal with these categories hidden; None where no rows are left to learn from or to judge by."""
    known = np.setdiff1d(np.unique(codes), hidden)
    position = np.full(int(codes.max()) + 1, -1)
    position[known] = np.arange(len(known))
    set_aside = rng.random(len(codes)) < UNSEEN_SHARE
    is_known = position[codes] >= 0
    training = rng.permutation(np.flatnonzero(is_known & ~set_aside))[:TRAINING_ROWS]
    training = training[np.argsort(codes[training], kind="stable")]
    labels = np.unique(position[codes[training]], return_inverse=True)[1]
    unseen = rng.permutation(np.flatnonzero(is_known & set_aside))[:KNOWN_ROWS]
    if len(training) == 0 or len(unseen) == 0:
        return None
    own, means = fit_like(reducer, rows[training], labels)
    reached = _reached(own, rows[unseen])
    return _Stage(rows, codes, hidden, reached, own, means, len(known)) if len(reached) else None


def _reached(reducer: Reducer, rows: Array) -> Array:
    """Reduced embeddings of the rows that can be computed with."""
    reduced = reducer.transform(rows, dtype=np.float32)
    return np.asarray(reduced[is_reached(reduced)])
