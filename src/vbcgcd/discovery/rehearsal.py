"""Rehearsal: labelled categories play the novel ones, and show what a real category is worth.

Some labelled categories are hidden from a reduction of its own, and their rows are put among unseen rows of
the others. Removing categories one by one from a crowd tells what a real one is worth, per row of an average
category, and what a fragment of one is worth; the geometric mean of the two is the price of a category. The
same with known rows alone tells what groups of mere outliers are worth.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vbcgcd.discovery.elimination import Path, eliminate
from vbcgcd.discovery.geometry import Geometry
from vbcgcd.discovery.mixture import Mixture
from vbcgcd.discovery.reduce import Reducer, fit_reducer

Array = NDArray[Any]

FOLDS, HIDDEN, HIDDEN_ROWS, KNOWN_ROWS = 3, 10, 60, 1200
#: Labelled rows from which a rehearsal learns its reduction.
TRAINING_ROWS = 6000
#: The crowd is this many times the expected number, and a few more.
CROWDING = 2.5
OUTLIER_CROWD = 8
#: Outliers are taken to be worth so many times what rehearsal shows.
SAFETY = 1.25

__all__ = ["CategoryPrice", "gains", "rehearse"]


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
    lost = path.log_likelihood[:-1] - path.log_likelihood[1:]
    chance = np.interp(size, np.arange(1, len(outliers) + 1), outliers, right=0.0)
    spurious = SAFETY * chance * np.sqrt(np.maximum(n_rows - novel, 0.0))
    return np.asarray((lost - spurious) / np.maximum(novel / size, 1e-9))[::-1]


def rehearse(
    rows: Array, codes: Array, reducer: Reducer, geometry: Geometry, rng: np.random.Generator
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

    Returns
    -------
    CategoryPrice, or None with fewer than four categories or too few rows to rehearse
    """
    n_categories = int(codes.max()) + 1
    n_hidden = max(2, min(HIDDEN, n_categories // 3))
    if n_categories < 4 or len(rows) < 5 * n_categories:
        return None
    order = rng.permutation(n_categories)
    paths, outlier_worth = [], []
    for fold in range(FOLDS):
        hidden = order[(fold * n_hidden + np.arange(n_hidden)) % n_categories]
        stage = _Stage(rows, codes, hidden, reducer, rng)
        if not stage.possible:
            return None
        mixture = stage.mixture(stage.with_hidden(), geometry)
        paths.append((mixture.total, eliminate(mixture, int(CROWDING * n_hidden) + 2, rng)))
        mixture = stage.mixture(stage.unseen, geometry)
        path = eliminate(mixture, OUTLIER_CROWD, rng)
        lost = path.log_likelihood[:-1] - path.log_likelihood[1:]
        outlier_worth.append(np.sort(lost)[::-1] / np.sqrt(mixture.total))
    outliers = np.maximum(np.mean(outlier_worth, axis=0), 0.0)
    worth = [gains(path, total, outliers) for total, path in paths]
    # The least of the real categories, and the best of the fragments, are what the price has to divide.
    real = float(np.mean([g[int(0.6 * n_hidden) : n_hidden].mean() for g in worth]))
    fragment = float(np.mean([g[n_hidden : int(np.ceil(1.6 * n_hidden))].mean() for g in worth]))
    real = max(real, 1e-3)
    return CategoryPrice(float(np.sqrt(real * np.clip(fragment, 0.02 * real, real))), outliers)


class _Stage:
    """One rehearsal: hidden categories, and rows of the others that its reduction has not seen."""

    def __init__(
        self, rows: Array, codes: Array, hidden: Array, reducer: Reducer, rng: np.random.Generator
    ) -> None:
        self.rows, self.codes, self.hidden, self.rng = rows, codes, hidden, rng
        known = np.setdiff1d(np.unique(codes), hidden)
        position = np.full(int(codes.max()) + 1, -1)
        position[known] = np.arange(len(known))
        set_aside = rng.random(len(codes)) < 0.2
        is_known = position[codes] >= 0
        training = rng.permutation(np.flatnonzero(is_known & ~set_aside))[:TRAINING_ROWS]
        found, labels = np.unique(position[codes[training]], return_inverse=True)
        self.unseen = rng.permutation(np.flatnonzero(is_known & set_aside))[:KNOWN_ROWS]
        self.n_known = len(known)
        self.possible = len(training) > 0 and len(self.unseen) > 0
        if not self.possible:
            return
        self.reducer = fit_reducer(
            rows[training],
            labels,
            n_components=reducer.n_components,
            whiten=reducer.whitened,
            normalise=reducer.unit,
            shrinkage=reducer.shrinkage,
        )
        reduced = self.reducer.transform(rows[training], dtype=np.float32)
        sums = np.zeros((len(found), reduced.shape[1]))
        np.add.at(sums, labels, reduced)
        self.means = sums / np.bincount(labels)[:, None]

    def with_hidden(self) -> Array:
        """Rows of the hidden categories and nearly as many unseen known ones."""
        rng = self.rng
        new = np.concatenate(
            [rng.permutation(np.flatnonzero(self.codes == c))[:HIDDEN_ROWS] for c in self.hidden]
        )
        return np.concatenate([new, self.unseen[: max(self.n_known, int(0.8 * len(new)))]])

    def mixture(self, chosen: Array, geometry: Geometry) -> Mixture:
        reduced = self.reducer.transform(self.rows[chosen], dtype=np.float32)
        mixture = Mixture(reduced, self.means, geometry)
        mixture.cool()
        return mixture
