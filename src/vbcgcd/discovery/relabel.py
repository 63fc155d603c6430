"""Relabelling: decide row by row between the known categories and the novel ones.

Each part takes the responsibilities of the start, array (N, K), and returns new ones; a row without any
belongs to a known category. ``NovelDensity`` fits provisional novel posteriors to responsibilities and gives
the log-density of every row under them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

Array = NDArray[Any]
NovelDensity = Callable[[Array], Array]
KnownDensity = Callable[[], Array]

#: A row teaches a novel category if its probability of being novel is at least this.
CONFIDENT = 0.7
EM_STEPS = 5

__all__ = ["RELABELLERS", "confident_rows", "one_hot"]


def one_hot(labels: Array, n_categories: int) -> Array:
    """Responsibilities of hard labels; -1 belongs to none."""
    out = np.zeros((len(labels), n_categories))
    rows = np.flatnonzero(labels >= 0)
    out[rows, labels[rows]] = 1.0
    return out


def confident_rows(responsibility: Array) -> Array:
    """Hard responsibilities of the rows that are probably novel.

    A category that no row belongs to confidently keeps the rows that prefer it, and else its soft rows.
    """
    if responsibility.shape[1] == 0:
        return responsibility
    mass, best = responsibility.sum(axis=1), responsibility.argmax(axis=1)
    out = one_hot(np.where(mass >= CONFIDENT, best, -1), responsibility.shape[1])
    for k in np.flatnonzero(out.sum(axis=0) < 2):
        preferring = (best == k) & (mass >= 0.5)
        out[:, k] = preferring if preferring.sum() >= 2 else responsibility[:, k]
    return out


def keep(responsibility: Array, known: KnownDensity, novel: NovelDensity) -> Array:
    """``none``: the clusters as they are."""
    return responsibility


def filter_known(responsibility: Array, known: KnownDensity, novel: NovelDensity) -> Array:
    """``filter``: rows that a known category explains better leave their cluster (the authors' code)."""
    judged_known = known().max(axis=1) > novel(responsibility).max(axis=1)
    return np.where(judged_known[:, None], 0.0, responsibility)


def reassign(responsibility: Array, known: KnownDensity, novel: NovelDensity) -> Array:
    """``reassign``: every row moves to the category, known or novel, that explains it best (the paper)."""
    density = novel(responsibility)
    best = density.argmax(axis=1)
    best[known().max(axis=1) > density.max(axis=1)] = -1
    return one_hot(best, responsibility.shape[1])


def soft_em(responsibility: Array, known: KnownDensity, novel: NovelDensity) -> Array:
    """``em``: soft expectation-maximisation with frozen known categories and equal class weights."""
    known_total = logsumexp(known(), axis=1)
    for _ in range(EM_STEPS):
        density = novel(responsibility)
        total = np.logaddexp(known_total, logsumexp(density, axis=1))
        responsibility = np.exp(density - total[:, None])
        responsibility[responsibility < 1e-6] = 0.0
    return responsibility


RELABELLERS: dict[str, Callable[[Array, KnownDensity, NovelDensity], Array]] = {
    "confident": keep,  # the start's own probabilities decide; see `confident_rows`
    "none": keep,
    "filter": filter_known,
    "reassign": reassign,
    "em": soft_em,
}
