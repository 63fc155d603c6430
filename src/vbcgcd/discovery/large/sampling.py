"""Which rows a search looks at, where it cannot look at all.

A row is doubtful if its best known category explains it badly, or hardly better than the second best does:
rows of a novel category lie between the known ones. Both are p-values among the rows of the session, and are
combined as Fisher does, -log p - log q. About as many rows as seem to belong nowhere, and half as many again,
are the doubtful ones. All of them, or as many as can be looked at, weigh the same; of the others a few are
drawn, which weigh more, but not so much that a single one could pass for a category.

Who is drawn follows from a hash of the row, not from its place: the order of the rows does not matter.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vbcgcd.bayes.hashing import mixed, uniform_of
from vbcgcd.discovery.geometry import Novelty

Array = NDArray[Any]

#: Doubtful rows for each row that seems to belong nowhere, and the least share of all that is doubtful.
DOUBTFUL, LEAST_DOUBTFUL = 1.5, 0.03
#: Share of a sample that is drawn from the other rows, and what such a row weighs at most.
OTHERS, HEAVIEST = 0.2, 8.0
#: What sets the turns apart.
GOLDEN = 0x9E3779B97F4A7C15
#: The smallest p-value.
TINY = 1e-12

__all__ = ["Draw", "doubts", "draw", "row_hashes", "told_apart", "uniform"]


class Draw(NamedTuple):
    """Rows of a sample, rising, their weights, and the share of all doubtful rows that was drawn."""

    rows: Array
    weight: Array
    share: float


def row_hashes(rows: Array) -> Array:
    """A pseudo-random number of each row (n, d) that depends on its values alone, uint64 array (n,)."""
    bits = np.ascontiguousarray(rows, dtype=np.float32).view(np.uint32).astype(np.uint64)
    odd = np.random.default_rng(0).integers(2**63, size=rows.shape[1], dtype=np.uint64) * 2 + 1
    return mixed((mixed(bits) * odd).sum(axis=1, dtype=np.uint64))


def told_apart(hashes: Array) -> Array:
    """The same, but a number of its own for each of equal rows: else all of them or none would be drawn."""
    order = np.argsort(hashes, kind="stable")
    ranked, place = hashes[order], np.arange(len(hashes))
    first = np.maximum.accumulate(np.where(np.append(True, ranked[1:] != ranked[:-1]), place, 0))
    out = hashes.copy()
    out[order] += mixed((place - first).astype(np.uint64)) * (place > first)
    return out


def uniform(hashes: Array, turn: int) -> Array:
    """Numbers in [0, 1) from hashes, others in each turn, array (n,)."""
    return uniform_of(hashes + np.uint64(turn * GOLDEN % 2**64))


def doubts(novelty: Array, gap: Array) -> Array:
    """How doubtful rows are, array (N,).

    Parameters
    ----------
    novelty : array (N,)
        One minus the p-value of each row under its best category.
    gap : array (N,)
        How much more like the best category it is than the second best.
    """
    rank = np.searchsorted(np.sort(gap), gap, side="right") / max(len(gap), 1)
    return -np.log(np.maximum(1 - novelty, TINY)) - np.log(rank)


def draw(
    score: Array,
    doubt: Array,
    hashes: Array,
    size: int,
    novelty: Novelty,
    turn: int,
    among: Array | None = None,
    weight: Array | None = None,
) -> Draw:
    """A sample of about ``size`` rows.

    Parameters
    ----------
    score : array (N,)
        Novelty of each row.
    doubt : array (N,)
        See `doubts`.
    hashes : uint64 array (N,)
    size : int
    novelty : Novelty
        Tells from the scores how many rows seem to belong nowhere.
    turn : int
        Draws of different turns are independent.
    among : bool array (N,), optional
        Rows that may be drawn.
    weight : array (N,), optional
        Weight of each row; those without any are not drawn.
    """
    places = np.arange(len(score)) if among is None else np.flatnonzero(among)
    if weight is not None:
        places = places[weight[places] > 0]
    n = len(places)
    if n == 0:
        return Draw(places, np.empty(0), 1.0)
    strange = novelty.stranger_share(score[places])
    n_doubtful = int(np.clip(DOUBTFUL * strange * n, max(LEAST_DOUBTFUL * n, 1), n))
    limit = np.partition(doubt[places], n - n_doubtful)[n - n_doubtful]
    doubtful = doubt[places] >= limit
    many, others = int(doubtful.sum()), n - int(doubtful.sum())
    share = min(1.0, (size if not others else (1 - OTHERS) * size) / many)
    other_share = min(share, max(OTHERS * size, size - share * many) / max(others, 1))
    chance = np.where(doubtful, share, other_share)
    chosen = uniform(hashes[places], turn) < chance
    heavy = np.minimum(share / chance[chosen], HEAVIEST)
    return Draw(places[chosen], heavy if weight is None else heavy * weight[places[chosen]], share)
