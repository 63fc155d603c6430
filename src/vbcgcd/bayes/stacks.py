"""Factors of many categories that lie in several places, each read when it is used.

A posterior keeps the factors of its categories as one array (K, W). Where they are many and large and most of
them in files, they are a `FactorStack` instead: the same to whoever takes one category, or a block of them,
after the other. What everybody needs of each factor, the log-determinant and the trace, is kept beside it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import DTypeLike, NDArray

from vbcgcd import mapped as mapping
from vbcgcd.bayes.structures import CovarianceStructure

Array = NDArray[Any]
Summary = Literal["log_dets", "traces"]

__all__ = [
    "FactorPart",
    "FactorStack",
    "concatenated",
    "log_dets",
    "replaced",
    "summaries",
    "taken",
    "traces",
]


@dataclass(eq=False)
class FactorPart:
    """Factors in one place.

    Parameters
    ----------
    rows : array (K, W) or MappedRows
    summaries : dict of name -> array (K,)
        Log-determinants and traces of the matrices, where they are known; otherwise they are computed when
        they are first asked for.
    """

    rows: Any
    summaries: dict[Summary, Array] = field(default_factory=dict)

    def summary(self, name: Summary, form: CovarianceStructure) -> Array:
        """Log-determinants or traces, array (K,)."""
        if name not in self.summaries:
            self.summaries[name] = summaries(form, self.rows, name)
        return self.summaries[name]


class FactorStack(NDArrayOperatorsMixin):
    """Factors of K categories, each a row of a part.

    Parameters
    ----------
    parts : sequence of FactorPart
    part, row : int array (K,)
        Where each is.

    Examples
    --------
    >>> import numpy as np
    >>> parts = [FactorPart(np.zeros((2, 3))), FactorPart(np.ones((1, 3)))]
    >>> stack = FactorStack(parts, np.array([0, 1]), np.array([1, 0]))
    >>> stack[1], stack.shape
    (array([1., 1., 1.]), (2, 3))
    """

    def __init__(self, parts: Sequence[FactorPart], part: Array, row: Array) -> None:
        self.parts, self.part, self.row = tuple(parts), part, row

    @classmethod
    def of(cls, factor: Any, known: dict[Summary, Array] | None = None) -> FactorStack:
        """Factors in one place, or a stack as it is."""
        if isinstance(factor, FactorStack):
            return factor
        number = len(factor)
        return cls([FactorPart(factor, known or {})], np.zeros(number, dtype=np.int64), np.arange(number))

    @property
    def shape(self) -> tuple[int, int]:
        """(K, W)."""
        return len(self.row), int(self.parts[0].rows.shape[1])

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the numbers."""
        dtype: np.dtype[Any] = self.parts[0].rows.dtype
        return dtype

    @property
    def nbytes(self) -> int:
        """Bytes of all rows, wherever they are."""
        return self.shape[0] * self.shape[1] * self.dtype.itemsize

    def __len__(self) -> int:
        return len(self.row)

    def __getitem__(self, index: Any) -> Array:
        if isinstance(index, int | np.integer):
            return np.asarray(self.parts[self.part[index]].rows[int(self.row[index])])
        if isinstance(index, tuple):
            rows = np.asarray(self[index[0]])
            return rows[index[1:] if rows.ndim == 1 else (slice(None), *index[1:])]
        part, row = self.part[index], self.row[index]
        if len(row) and (part == part[0]).all() and (np.diff(row) == 1).all():
            return np.asarray(self.parts[part[0]].rows[int(row[0]) : int(row[-1]) + 1])
        out = np.empty((len(row), self.shape[1]), dtype=self.dtype)
        for place in np.unique(part):
            of_part = np.flatnonzero(part == place)
            out[of_part] = self.parts[place].rows[row[of_part]]
        return out

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Array:
        return np.array(self[:], dtype=dtype, copy=copy)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        arrays = (np.asarray(each) if isinstance(each, FactorStack) else each for each in inputs)
        return getattr(ufunc, method)(*arrays, **options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in ("parts", "part", "row"):
            raise AttributeError(name)
        return getattr(np.asarray(self), name)  # whatever else an array can do, with all rows

    def summary(self, name: Summary, form: CovarianceStructure) -> Array:
        """Log-determinants or traces, array (K,)."""
        out = np.empty(len(self))
        for place in np.unique(self.part):
            of_part = np.flatnonzero(self.part == place)
            out[of_part] = self.parts[place].summary(name, form)[self.row[of_part]]
        return out


def summaries(form: CovarianceStructure, factors: Any, name: Summary) -> Array:
    """Log-determinants or traces of factors (K, W), each computed alone, so that no other changes a bit."""
    function = getattr(form, name)
    return np.array([function(factors[k : k + 1])[0] for k in range(len(factors))], dtype=np.float64)


def log_dets(form: CovarianceStructure, factors: Any) -> Array:
    """Log-determinants of the matrices with these factors (K, W), array (K,)."""
    stacked = isinstance(factors, FactorStack)
    return factors.summary("log_dets", form) if stacked else form.log_dets(factors)


def traces(form: CovarianceStructure, factors: Any) -> Array:
    """Traces of the matrices with these factors (K, W), array (K,)."""
    return factors.summary("traces", form) if isinstance(factors, FactorStack) else form.traces(factors)


def taken(factors: Any, indices: Any) -> Any:
    """Some of the factors; of a stack an array, unless that would be large."""
    if not isinstance(factors, FactorStack):
        return factors[indices]
    some = _of_used(factors.parts, factors.part[indices], factors.row[indices])
    return some if some.nbytes > mapping.LARGE else some[:]


def concatenated(parts: Sequence[Any]) -> Any:
    """The factors of all parts, in order; a stack if one of them is one."""
    if not any(isinstance(part, FactorStack) for part in parts):
        return np.concatenate(parts)
    stacks = [FactorStack.of(part) for part in parts if len(part)]
    starts = np.cumsum([0, *(len(stack.parts) for stack in stacks)])
    return FactorStack(
        [part for stack in stacks for part in stack.parts],
        np.concatenate([stack.part + start for stack, start in zip(stacks, starts, strict=False)]),
        np.concatenate([stack.row for stack in stacks]),
    )


def replaced(factors: Any, indices: Any, new: Any) -> Any:
    """The factors with others at ``indices``; an array is copied, a stack is not."""
    if not isinstance(factors, FactorStack):
        factors = factors.copy()
        factors[indices] = new
        return factors
    both = concatenated([factors, new])
    order = np.arange(len(factors))
    order[indices] = len(factors) + np.arange(len(new))
    return _of_used(both.parts, both.part[order], both.row[order])


def _of_used(parts: Sequence[FactorPart], part: Array, row: Array) -> FactorStack:
    """A stack that keeps only the parts that it takes rows from: others may be large."""
    used, place = np.unique(part, return_inverse=True)
    return FactorStack([parts[i] for i in used.tolist()] or parts, place, row)
