"""Relabelling: decide row by row between the known categories and the novel ones, and which rows teach.

Each strategy takes the responsibilities of the start, array (N, K), and two densities, and returns a
`Relabelling`. A row without any responsibility belongs to a known category.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

Array = NDArray[Any]

#: A row is novel if its probability of being novel is at least this.
NOVEL = 0.5
#: With "confident", a row teaches a novel category if its probability of being novel is at least this.
CONFIDENT = 0.7
#: Fewest confident rows with which a category can do without its doubtful ones.
FEWEST_TEACHERS = 2
#: Steps of "em", and the responsibility below which a row is taken out of a category.
EM_STEPS, NEGLIGIBLE = 5, 1e-6

__all__ = ["RELABELLERS", "Densities", "Relabeller", "Relabelling", "hard_labels", "is_novel", "one_hot"]


class Densities(NamedTuple):
    """Log-densities that a strategy may ask for.

    Parameters
    ----------
    known : callable
        Gives the log-density of every row under every known category, array (N, Kk).
    novel : callable
        Fits provisional novel posteriors to responsibilities (N, K) and gives the log-density of every row
        under them, array (N, K).
    """

    known: Callable[[], Array]
    novel: Callable[[Array], Array]


class Relabelling(NamedTuple):
    """What a strategy decided.

    Parameters
    ----------
    responsibility : array (N, K)
        Probability of each novel category for each row.
    teaching : array (N, K)
        Weight with which each row teaches each novel category.
    changed : bool
        Whether the responsibilities differ from those of the start.
    """

    responsibility: Array
    teaching: Array
    changed: bool


class Relabeller(Protocol):
    """A way to relabel."""

    def __call__(self, responsibility: Array, densities: Densities) -> Relabelling:
        """Decide for every row."""


def is_novel(responsibility: Array) -> Array:
    """Whether each row is more probably novel than known, boolean array (N,)."""
    return np.asarray(responsibility.sum(axis=1) >= NOVEL)


def hard_labels(responsibility: Array) -> Array:
    """The best novel category of each novel row, and -1 for a known row, int array (N,)."""
    if responsibility.shape[1] == 0:
        return np.full(len(responsibility), -1)
    return np.where(is_novel(responsibility), responsibility.argmax(axis=1), -1)


def one_hot(labels: Array, n_categories: int) -> Array:
    """Responsibilities of hard labels; -1 belongs to none."""
    out = np.zeros((len(labels), n_categories))
    rows = np.flatnonzero(labels >= 0)
    out[rows, labels[rows]] = 1.0
    return out


def confident(responsibility: Array, densities: Densities) -> Relabelling:
    """``confident``: the start decides, and rows that are probably novel teach.

    A category with fewer than two confident rows is taught by the rows that prefer it, and if those are too
    few as well, by all rows in proportion.
    """
    if responsibility.shape[1] == 0:
        return Relabelling(responsibility, responsibility, changed=False)
    mass, best = responsibility.sum(axis=1), responsibility.argmax(axis=1)
    teaching = one_hot(np.where(mass >= CONFIDENT, best, -1), responsibility.shape[1])
    preferred = hard_labels(responsibility)
    for k in np.flatnonzero(teaching.sum(axis=0) < FEWEST_TEACHERS):
        preferring = preferred == k
        teaching[:, k] = preferring if preferring.sum() >= FEWEST_TEACHERS else responsibility[:, k]
    return Relabelling(responsibility, teaching, changed=False)


def keep(responsibility: Array, densities: Densities) -> Relabelling:
    """``none``: the clusters stay as they are, and all of their rows teach."""
    return Relabelling(responsibility, responsibility, changed=False)


def filter_known(responsibility: Array, densities: Densities) -> Relabelling:
    """``filter``: rows that a known category explains better leave their cluster (the authors' code)."""
    fits_known = densities.known().max(axis=1) > densities.novel(responsibility).max(axis=1)
    return _taught_by_all(np.where(fits_known[:, None], 0.0, responsibility))


def reassign(responsibility: Array, densities: Densities) -> Relabelling:
    """``reassign``: every row moves to the category, known or novel, that explains it best (the paper)."""
    density = densities.novel(responsibility)
    best = density.argmax(axis=1)
    best[densities.known().max(axis=1) > density.max(axis=1)] = -1
    return _taught_by_all(one_hot(best, responsibility.shape[1]))


def soft_em(responsibility: Array, densities: Densities) -> Relabelling:
    """``em``: soft expectation-maximisation with frozen known categories and equal class weights."""
    known_total = logsumexp(densities.known(), axis=1)
    for _ in range(EM_STEPS):
        density = densities.novel(responsibility)
        total = np.logaddexp(known_total, logsumexp(density, axis=1))
        responsibility = np.exp(density - total[:, None])
        responsibility[responsibility < NEGLIGIBLE] = 0.0
    return _taught_by_all(responsibility)


def _taught_by_all(responsibility: Array) -> Relabelling:
    return Relabelling(responsibility, responsibility, changed=True)


#: By name. With no novel category there is nothing to decide, and none of them is called.
RELABELLERS: dict[str, Relabeller] = {
    "confident": confident,
    "none": keep,
    "filter": filter_known,
    "reassign": reassign,
    "em": soft_em,
}
