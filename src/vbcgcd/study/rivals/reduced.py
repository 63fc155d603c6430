"""A PCA of the labelled rows, frozen: for rivals whose users reduce embeddings first."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from vbcgcd.study.rivals.kmeans import unit_rows

Array = NDArray[Any]

__all__ = ["Axes", "axes_of"]


class Axes(NamedTuple):
    """Mean (d,) and directions (q, d) of unit rows."""

    mean: Array
    directions: Array

    def __call__(self, rows: Array) -> Array:
        """Rows (N, d), scaled to unit length, along the directions: array (N, q)."""
        return self.project(unit_rows(rows))

    def project(self, points: Array) -> Array:
        """Points (N, d) as they are, along the directions: array (N, q)."""
        return np.asarray((points - self.mean) @ self.directions.T)

    def back(self, reduced: Array) -> Array:
        """Points (N, q) in the space of the rows, array (N, d)."""
        return np.asarray(self.mean + reduced @ self.directions)


def axes_of(rows: Array, n_components: int) -> Axes:
    """The first principal axes of rows (N, d), scaled to unit length; at most as many as there can be."""
    fitted = PCA(min(n_components, *rows.shape), svd_solver="full").fit(unit_rows(rows))
    return Axes(fitted.mean_, fitted.components_)
