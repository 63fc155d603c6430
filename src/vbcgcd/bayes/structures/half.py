# ruff: noqa: D102 (the members are documented once, in `CovarianceStructure`)
"""Factors in half precision, of any structure: two bytes for each number, and a power of two in common.

Half precision reaches from 6e-8 to 65504. A factor is divided by a power of two, the smallest that leaves all
its numbers at most 1, and the exponent is stored in front of it: nothing overflows, whatever the magnitude of
the embeddings, and each number keeps 10 bits or is off by 6e-8 of the largest. The few numbers to which a
structure multiplies all dimensions (`precise`) keep 22 bits: what they lack is stored as a second number.

A number goes to one of its two neighbours, by a chance that makes up for the other on average: to the nearest
one alone, a category of thousands of rows could not learn from a single further row, however many came.

    stored = [exponent, 2^11 times what the precise numbers lack, the factor / 2^exponent]

Computation is in single or double precision. Scatters are not stored and stay what they are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from vbcgcd.bayes.hashing import uniform_of

if TYPE_CHECKING:
    from vbcgcd.bayes.classifier import StudentTerms
    from vbcgcd.bayes.structures import CovarianceStructure

Array = NDArray[Any]

#: What a precise number lacks after rounding is multiplied by this before it is stored.
FINER = 2.0**11
#: Factors unpacked at a time where many are asked for: bounds the memory.
TOGETHER = 256

__all__ = ["Half"]


@dataclass(frozen=True)
class Half:
    """Another structure whose factors are kept in half precision; see `CovarianceStructure`."""

    inner: CovarianceStructure
    triangular = False
    precise = 0

    @property
    def dim(self) -> int:
        return self.inner.dim

    @property
    def block(self) -> int:
        return self.inner.block

    @property
    def width(self) -> int:
        return 1 + self.inner.precise + self.inner.width

    @property
    def scatter_width(self) -> int:
        return self.inner.scatter_width

    @property
    def complete(self) -> bool:
        return self.inner.complete

    @property
    def left_out_as(self) -> str | None:
        return self.inner.left_out_as

    def stored_as(self, dtype: DTypeLike) -> DTypeLike:
        return np.float16

    # Scatters are the other structure's.

    def scatter(self, centred: Array) -> Array:
        return self.inner.scatter(centred)

    def between(self, weights: Array, gaps: Array) -> Array:
        return self.inner.between(weights, gaps)

    def plus(self, scatters: Array, *others: Array) -> Array:
        return self.inner.plus(scatters, *others)

    def minus(self, scatters: Array, *others: Array) -> Array:
        return self.inner.minus(scatters, *others)

    def times(self, scatters: Array, weights: Array) -> Array:
        return self.inner.times(scatters, weights)

    def diagonals(self, scatters: Array) -> Array:
        return self.inner.diagonals(scatters)

    def square(self, scatter: Array) -> Array:
        return self.inner.square(scatter)

    def spectrum(self, scatter: Array, mean: Array, weight: float) -> Array:
        return self.inner.spectrum(scatter, mean, weight)

    def log_det_path(self, scatter: Array, mean: Array) -> Callable[[float, float, float], float]:
        return self.inner.log_det_path(scatter, mean)

    # Factors are packed and unpacked.

    def factor(self, scatter: Array, mean: Array, shift: float, scale: float) -> Array:
        return self.packed(self.inner.factor(scatter, mean, shift, scale)[None])[0]

    def isotropic(self, scale: float) -> Array:
        return self.packed(self.inner.isotropic(scale)[None])[0]

    def divided(self, factors: Array, by: Array) -> Array:
        return self.packed(self.inner.divided(self.unpacked(factors), by))

    def recover_scatter(self, factor: Array, mean: Array, shift: float, scale: float) -> Array:
        return self.inner.recover_scatter(self._one(factor), mean, shift, scale)

    def scale(self, factor: Array) -> Array:
        return self.inner.scale(self._one(factor))

    def traces(self, factors: Array) -> Array:
        return self._by_parts(self.inner.traces, factors)

    def log_dets(self, factors: Array) -> Array:
        return self._by_parts(self.inner.log_dets, factors)

    def whiten(self, rows: Array, factor: Array) -> Array:
        return self.inner.whiten(rows, self._one(factor))

    def colour(self, noise: Array, factor: Array) -> Array:
        return self.inner.colour(noise, self._one(factor))

    def trace_ratio(self, scatter: Array, factor: Array) -> float:
        return self.inner.trace_ratio(scatter, self._one(factor))

    def distances(self, rows: Array, means: Array, factors: Array) -> Array:
        parts = [
            self.inner.distances(rows, means[i : i + TOGETHER], self.unpacked(factors[i : i + TOGETHER]))
            for i in range(0, len(means), TOGETHER)
        ]
        return np.concatenate(parts, axis=1)

    def student(self, rows: Array, means: Array, factors: Array, terms: StudentTerms) -> Array:
        parts = [
            self.inner.student(
                rows,
                means[i : i + TOGETHER],
                self.unpacked(factors[i : i + TOGETHER]),
                _part(terms, slice(i, i + TOGETHER)),
            )
            for i in range(0, len(means), TOGETHER)
        ]
        return np.concatenate(parts, axis=1)

    def packed(self, factors: Array) -> Array:
        """Factors of the other structure, array (K, V), as they are stored, float16 array (K, W)."""
        largest = np.abs(factors).max(axis=1, keepdims=True)
        exponent = np.frexp(largest)[1]
        whole = np.ldexp(factors.astype(np.float64), -exponent)
        halves, first = _rounded(whole), slice(None, self.inner.precise)
        halves[:, first] = whole[:, first]  # to the nearest: what they lack is stored
        lacking = FINER * (whole[:, first] - halves[:, first])
        return np.concatenate([exponent, lacking, halves], axis=1, dtype=np.float16, casting="same_kind")

    def unpacked(self, stored: Array) -> Array:
        """What `packed` packed, float32 array (K, V)."""
        precise = self.inner.precise
        factors = stored[:, 1 + precise :].astype(np.float32)
        factors[:, :precise] += stored[:, 1 : 1 + precise].astype(np.float32) / np.float32(FINER)
        return np.asarray(factors * np.ldexp(np.float32(1.0), stored[:, :1].astype(np.int32)))

    def _one(self, factor: Array) -> Array:
        return self.unpacked(factor[None])[0]

    def _by_parts(self, function: Callable[[Array], Array], factors: Array) -> Array:
        parts = [function(self.unpacked(factors[i : i + TOGETHER])) for i in range(0, len(factors), TOGETHER)]
        return np.concatenate([np.empty(0), *parts])


def _part(terms: StudentTerms, some: slice) -> StudentTerms:
    return replace(terms, **{f.name: getattr(terms, f.name)[some] for f in fields(terms)})


def _rounded(values: Array) -> Array:
    """Numbers up to 1 in half precision, right on average; the chance follows from the number itself."""
    nearest = values.astype(np.float16)
    lacking = values - nearest
    other = np.nextafter(nearest, np.copysign(np.float16(np.inf), lacking.astype(np.float16)))
    gap = np.abs(other.astype(np.float64) - nearest)
    chance = uniform_of(np.ascontiguousarray(values).view(np.uint64))
    return np.where(chance * gap < np.abs(lacking), other, nearest)
