# ruff: noqa: D102 (the members are documented once, in `CovarianceStructure`)
"""Scatters that are kept entry by entry, so that they add, subtract and scale as arrays do."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

__all__ = ["Additive"]


class Additive:
    """Sums of scatters, array (K, W); see `CovarianceStructure` for its members."""

    def plus(self, scatters: Array, *others: Array) -> Array:
        return sum(others, scatters)

    def minus(self, scatters: Array, *others: Array) -> Array:
        for other in others:
            scatters = scatters - other
        return scatters

    def times(self, scatters: Array, weights: Array) -> Array:
        return np.asarray(scatters * weights[:, None])
