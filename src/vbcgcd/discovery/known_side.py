"""Rows against the known categories, without a matrix of rows x categories.

A search asks for two things only: how like each row is to its best known category, and how likely it is under
all of them. Both are computed block by block and kept as one number for each row.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.bayes.threads import in_parallel
from vbcgcd.discovery.geometry import Geometry

Array = NDArray[Any]

#: Similarities held at a time by each thread: rows times categories.
BLOCK_VALUES = 2**23
#: A search runs at this fraction of the calibrated sharpness, where fewer local optima are.
SEARCH_SHARPNESS = 0.75

__all__ = ["SEARCH_SHARPNESS", "KnownSide", "log_sum_exp", "summaries", "usual_sharpnesses"]


def log_sum_exp(scores: Array) -> Array:
    """Log of the sum of exponentials of each row, in the precision of the scores."""
    top = scores.max(axis=1)
    return np.asarray(np.log(np.exp(scores - top[:, None]).sum(axis=1)) + top)


def summaries(similarity: Array, sharpnesses: tuple[float, ...]) -> tuple[Array, dict[float, Array]]:
    """The best of the similarities (N, K) of each row, and its log-sum-exp at each sharpness, arrays (N,)."""
    return similarity.max(axis=1), {s: log_sum_exp(np.float32(s) * similarity) for s in sharpnesses}


@dataclass(frozen=True, eq=False)
class KnownSide:
    """Rows and the known categories.

    Parameters
    ----------
    geometry : Geometry
    rows : array (N, D)
        Reduced embeddings, prepared by the geometry.
    means : array (K, D)
        Of the known categories.
    counts : array (K,) or None
        Rows of which each mean was taken; None takes them as exact.
    extra : array (N, E) or None
        Similarities to further categories that count as known.
    held : mapping, optional
        What was computed before: "best", and log-sum-exps by their sharpness.
    present : int, optional
        How many of the known categories occur among the rows, as far as that is known; all by default.
    """

    geometry: Geometry
    rows: Array
    means: Array
    counts: Array | None = None
    extra: Array | None = None
    held: dict[Any, Array] = field(default_factory=dict)
    present: int | None = None

    def __len__(self) -> int:
        number = len(self.means) if self.present is None else self.present
        return number + (0 if self.extra is None else self.extra.shape[1])

    @property
    def best(self) -> Array:
        """Similarity of each row to its best category, array (N,)."""
        if "best" not in self.held:
            self._look(self.usual)
        return self.held["best"]

    def log_sum(self, sharpness: float) -> Array:
        """Log of the sum over all categories of exp(sharpness similarity), array (N,)."""
        sharpness = float(np.float32(sharpness))
        if sharpness not in self.held:
            self._look(tuple({*self.usual, sharpness}))
        return self.held[sharpness]

    @functools.cached_property
    def usual(self) -> tuple[float, ...]:
        """The sharpnesses that will be asked for: the calibrated one and that of a search."""
        return usual_sharpnesses(self.geometry)

    def similarity(self, rows: slice = slice(None)) -> Array:
        """Similarities of some rows to all categories, array (n, K)."""
        similarity = self.geometry.similarity(self.rows[rows], self.means)
        if self.counts is not None:
            similarity = self.geometry.corrected(similarity, self.counts)
        return similarity if self.extra is None else np.hstack([similarity, self.extra[rows]])

    def part(self, rows: Array, similarity: Array | None = None) -> KnownSide:
        """Some of the rows; categories with these similarities (N, K) are known as well."""
        extra, held = self.extra, {name: values[rows] for name, values in self.held.items()}
        if similarity is not None:
            extra, held = similarity if extra is None else np.hstack([extra, similarity]), {}
        return replace(self, rows=self.rows[rows], extra=None if extra is None else extra[rows], held=held)

    def _look(self, sharpnesses: tuple[float, ...]) -> None:
        step = max(1, BLOCK_VALUES // max(len(self.means), 1))
        blocks = [slice(start, start + step) for start in range(0, max(len(self.rows), 1), step)]
        found = list(
            in_parallel(
                lambda block: summaries(self.similarity(block), sharpnesses),
                blocks,
                work=min(step, len(self.rows)) * self.means.size,
            )
        )
        self.held["best"] = np.concatenate([best for best, _ in found])
        for sharpness in sharpnesses:
            self.held[sharpness] = np.concatenate([sums[sharpness] for _, sums in found])


def usual_sharpnesses(geometry: Geometry) -> tuple[float, ...]:
    """The calibrated sharpness and that of a search, as single precision rounds them."""
    return tuple(float(np.float32(s)) for s in (geometry.sharpness, SEARCH_SHARPNESS * geometry.sharpness))
