"""Pseudo-random numbers that follow from values alone: equal values, equal numbers, in any order."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

__all__ = ["mixed", "uniform_of"]


def mixed(values: Array) -> Array:
    """The finaliser of splitmix64, of uint64 arrays: every bit of the input changes half of the output."""
    with np.errstate(over="ignore"):
        values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(values ^ (values >> np.uint64(31)))


def uniform_of(hashes: Array) -> Array:
    """Numbers in [0, 1) from uint64 arrays that are mixed first."""
    return np.asarray((mixed(hashes) >> np.uint64(11)).astype(np.float64) * 2.0**-53)
