"""Embeddings of any magnitude: brought to ordinary numbers before anything is squared, or refused.

The square of 1e20 is no number in single precision, and that of 1e-30 is zero. Multiplying by a power of two
is exact, so it changes no bit of a result whether embeddings are measured in metres or in light years.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.errors import InputError

Array = NDArray[Any]

#: Magnitudes between two to minus this and two to this are ordinary: they are left alone.
ORDINARY = 30
#: The lowest power of two as a unit: what is smaller still is nearly zero.
LOWEST = -900
#: The largest value of an embedding: that of a larger one leaves no room for its inverse.
LARGEST_VALUE = 1e300
#: Reduced embeddings may be so many standard deviations from the labelled ones, and so large in all: beyond,
#: the arithmetic of the classifier cannot tell one from the other.
FARTHEST, LARGEST = 1e12, 1e15
#: Smaller ones would have no variance in single precision.
SMALLEST = 1e-15
ADVICE = "Scale the embeddings, for example to a standard deviation of 1."

__all__ = [
    "LARGEST",
    "LARGEST_VALUE",
    "SMALLEST",
    "check_reach",
    "check_values",
    "exponent_of",
    "in_unit",
    "is_reached",
    "moderate",
]


def exponent_of(values: Array) -> int:
    """Exponent of the power of two just above the largest magnitude; 0 where that is an ordinary number.

    Examples
    --------
    >>> import numpy as np
    >>> exponent_of(np.array([1.0, -1e30])), exponent_of(np.array([1.0, -100.0]))
    (100, 0)
    """
    exponent = max(int(np.frexp(_largest(values))[1]), LOWEST)
    return exponent if abs(exponent) > ORDINARY else 0


def in_unit(values: Array, exponent: int) -> Array:
    """Values divided by two to this power, as they are where it is 0."""
    return np.ldexp(values, -exponent) if exponent else values


def moderate(rows: Array) -> Array:
    """Rows whose largest magnitude is no more extreme than single precision allows.

    An extreme row is divided by a power of two: its direction stays the same.
    """
    largest = np.maximum(rows.max(axis=1), -rows.min(axis=1))
    exponents = np.frexp(largest)[1]
    exponents[np.abs(exponents) <= ORDINARY] = 0
    return np.ldexp(rows, -exponents[:, None]) if exponents.any() else rows


def check_values(rows: Array, largest: float, smallest: float = 0.0) -> None:
    """Raise an `InputError` unless the largest magnitude of all rows is 0 or within these bounds."""
    if _largest(rows) > largest:
        row, column = np.argwhere(np.abs(rows) > np.float64(largest))[0]
        raise InputError(
            f"X contains {rows[row, column]:.4g} in row {row}, column {column}; values may be up to "
            f"{largest:.4g}. {ADVICE}"
        )
    if 0 < _largest(rows) < smallest:
        raise InputError(
            f"X contains nothing above {_largest(rows):.4g}; some values must be above {smallest:.4g}. "
            f"{ADVICE}"
        )


def is_reached(reduced: Array, spread: float = 1.0) -> Array:
    """Whether reduced embeddings (N, D) can be computed with, boolean array (N,); see `check_reach`."""
    return np.asarray((np.abs(reduced) <= _limit(spread)).all(axis=1))


def check_reach(reduced: Array, rows: Array, spread: float, first: int = 0) -> None:
    """Raise an `InputError` that names the first row whose reduced embedding cannot be computed with.

    Parameters
    ----------
    reduced : array (N, D)
    rows : array (N, d)
        The embeddings.
    spread : float
        Standard deviation within a category that is expected in the reduced space.
    first : int
        Number of the first row among all.
    """
    if _largest(reduced) <= _limit(spread):
        return
    row = int(is_reached(reduced, spread).argmin())
    column = int(np.abs(rows[row]).argmax())
    raise InputError(
        f"Row {first + row} of X is too far from the labelled rows to compute with: it contains "
        f"{rows[row, column]:.4g} in column {column}. Remove it, or scale it as the labelled rows were."
    )


def _limit(spread: float) -> float:
    return float(min(FARTHEST * max(spread, 1.0), LARGEST))


def _largest(values: Array) -> float:
    """The largest magnitude, without a copy of the values; NaN where one is none."""
    return max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
