"""Novel categories as sums over rows, and what one block of rows makes of them.

Each row is compared with the mean of the *other* rows, as in `vbcgcd.discovery.mixture`, but only where it
belongs to a category at all: elsewhere leaving it out changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from vbcgcd.discovery.geometry import Geometry

Array = NDArray[Any]

#: A row is left out of a mean if it belongs to it with at least this probability.
NEGLIGIBLE = 1e-3
#: The fewest rows that a category is taken to have.
LIGHTEST = 1e-6

__all__ = ["Belonging", "Components", "sums_of", "to_components"]


@dataclass(frozen=True, eq=False)
class Components:
    """Novel categories: weighted sums of their prepared rows (K, D), weights (K,), share of novel rows."""

    sums: Array
    counts: Array
    share: float

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def means(self) -> Array:
        """Weighted mean of the rows of each, array (K, D)."""
        return np.asarray(self.sums / np.maximum(self.counts, LIGHTEST)[:, None])

    def take(self, chosen: Array) -> Components:
        """Some of them."""
        return replace(self, sums=self.sums[chosen], counts=self.counts[chosen])

    def joined(self, others: Components) -> Components:
        """These and others; the share is that of these."""
        sums = np.concatenate([self.sums, others.sums])
        return replace(self, sums=sums, counts=np.concatenate([self.counts, others.counts]))


class Belonging(NamedTuple):
    """Which rows count for what in which category: places (M,), categories (M,) and weights (M,)."""

    row: Array
    category: Array
    weight: Array

    @classmethod
    def of(cls, responsibility: Array, weight: Array) -> Belonging:
        """From responsibilities (n, K) and the weight of each row (n,)."""
        row, category = np.nonzero(responsibility > NEGLIGIBLE)
        return cls(row, category, responsibility[row, category] * weight[row])


def sums_of(rows: Array, belonging: Belonging, number: int) -> tuple[Array, Array]:
    """Weighted sums of rows (K, D) and weights (K,), float64."""
    matrix = scipy.sparse.csr_array(
        (belonging.weight.astype(np.float64), (belonging.category, belonging.row)), (number, len(rows))
    )
    return np.asarray(matrix @ rows.astype(np.float64)), np.asarray(matrix.sum(axis=1)).ravel()


def to_components(
    geometry: Geometry, rows: Array, components: Components, belonging: Belonging, *, corrected: bool
) -> Array:
    """Similarity of each prepared row to each category without it, array (n, K).

    Parameters
    ----------
    geometry : Geometry
    rows : array (n, D)
        Prepared.
    components : Components
        Sums over all rows, with these among them.
    belonging : Belonging
        What these rows count for in the sums.
    corrected : bool
        Whether similarities allow for the noise of means of few rows.
    """
    sums, counts = components.sums.astype(rows.dtype), components.counts.astype(rows.dtype)
    own, length = np.einsum("nd,nd->n", rows, rows), np.einsum("kd,kd->k", sums, sums)
    product = rows @ sums.T
    similarity = geometry.to_others(product, length, own[:, None], counts, corrected=corrected)
    row, category, weight = belonging
    if len(row):
        weight, own, product = weight.astype(rows.dtype), own[row], product[row, category]
        length = length[category] - 2 * weight * product + weight**2 * own
        similarity[row, category] = geometry.to_others(
            product - weight * own, length, own, counts[category] - weight, corrected=corrected
        )
    return similarity
