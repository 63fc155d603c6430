"""Sufficient statistics of a Gaussian: count, sum and sum of outer products, for many categories at once.

They are kept as count, mean and scatter about the mean, the same information in a form that does not cancel
when a category lies far from the origin. Statistics add: ``stats(A) + stats(B) == stats(A and B)``; they
subtract; and a multiple of them counts each row with a weight. With low-rank covariances this is exact for
categories of few rows and an approximation for others, see `vbcgcd.bayes.structures.lowrank`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.bayes.structures import CovarianceStructure, Structure, structure_of
from vbcgcd.bayes.threads import in_parallel, one_thread
from vbcgcd.devices import on_device, resolve
from vbcgcd.errors import InputError

Array = NDArray[Any]

#: Rows converted to float64 at a time: bounds the extra memory at 25 MB for 384 dimensions.
CHUNK_ROWS = 8192
#: Weights are summed in another order when they are subtracted: a count this near to zero is zero.
COUNT_ROUNDING = 1e-9

__all__ = ["Statistics", "statistics_by_label", "statistics_by_responsibility"]


@dataclass(frozen=True)
class Statistics:
    """Sufficient statistics of K categories in D dimensions.

    Parameters
    ----------
    count : array (K,)
        Number of rows, or sum of their weights.
    mean : array (K, D)
        Mean of the rows; zero where the count is zero.
    scatter : array (K, W)
        Sum of outer products about the mean, packed as the structure wants it: the lower triangle
        (``full``), the leading directions (``lowrank``) or the diagonal (``diagonal``).
    structure : str
        See `structure_of`.

    Examples
    --------
    >>> import numpy as np
    >>> from vbcgcd.bayes import statistics_by_label
    >>> rows = np.array([[0.0, 1.0], [2.0, 1.0], [5.0, 5.0]])
    >>> s = statistics_by_label(rows, np.array([0, 0, 1]), 2)
    >>> s.count
    array([2., 1.])
    >>> s.outer[0]
    array([[4., 2.],
           [2., 2.]])
    >>> bool(np.allclose((s + s).count, 2 * s.count))
    True
    """

    count: Array
    mean: Array
    scatter: Array
    structure: Structure

    def __len__(self) -> int:
        return len(self.count)

    @property
    def dim(self) -> int:
        """Number of dimensions D."""
        return int(self.mean.shape[1])

    @property
    def form(self) -> CovarianceStructure:
        """The covariance structure itself."""
        return structure_of(self.structure, self.dim)

    @property
    def total(self) -> Array:
        """Sum of the rows, array (K, D)."""
        return self.count[:, None] * self.mean

    @property
    def diagonal(self) -> Array:
        """Sum of squares about the mean along each dimension, array (K, D)."""
        return self.form.diagonals(self.scatter)

    @property
    def outer(self) -> Array:
        """Sum of outer products about the origin, array (K, D, D).

        Only for structures that keep all covariances, such as ``full``.
        """
        form = self.form
        if not form.complete:
            raise InputError(f"Structure {self.structure!r} does not keep outer products; use 'full'.")
        return np.stack(
            [
                form.square(s) + n * np.outer(m, m)
                for n, m, s in zip(self.count, self.mean, self.scatter, strict=True)
            ]
        )

    @classmethod
    def empty(cls, n_categories: int, dim: int, structure: Structure = "full") -> Statistics:
        """Statistics of no rows."""
        width = structure_of(structure, dim).scatter_width
        return cls(
            np.zeros(n_categories), np.zeros((n_categories, dim)), np.zeros((n_categories, width)), structure
        )

    @classmethod
    def concatenate(cls, parts: Sequence[Statistics]) -> Statistics:
        """The categories of all parts, in order."""
        structure = parts[0].structure
        return cls(
            np.concatenate([p.count for p in parts]),
            np.concatenate([p.mean for p in parts]),
            np.concatenate([p.scatter for p in parts]),
            structure,
        )

    def take(self, indices: Any) -> Statistics:
        """The categories at ``indices``."""
        return Statistics(self.count[indices], self.mean[indices], self.scatter[indices], self.structure)

    def merged(self) -> Statistics:
        """All categories merged into one, because statistics add."""
        parts = [self.take([k]) for k in range(len(self))]
        return sum(parts[1:], parts[0])

    def __add__(self, other: Statistics) -> Statistics:
        self._check_same_shape(other)
        count = self.count + other.count
        share = np.divide(other.count, count, out=np.zeros_like(count), where=count != 0)
        gap = other.mean - self.mean
        mean = self.mean + share[:, None] * gap
        form = self.form
        scatter = form.plus(self.scatter, other.scatter, form.between(self.count * share, gap))
        return Statistics(count, mean, scatter, self.structure)

    def __sub__(self, other: Statistics) -> Statistics:
        self._check_same_shape(other)
        count = self.count - other.count
        if np.any(count < -COUNT_ROUNDING * np.maximum(self.count, 1)):
            raise InputError(
                f"Cannot subtract more rows than there are: counts {self.count} minus {other.count}; "
                "subtract only statistics that were added."
            )
        count = np.where(count > COUNT_ROUNDING * np.maximum(self.count, 1), count, 0.0)
        share = np.divide(other.count, count, out=np.zeros_like(count), where=count != 0)
        mean = np.where(count[:, None] != 0, self.mean + share[:, None] * (self.mean - other.mean), 0.0)
        weight = np.divide(count * other.count, self.count, out=np.zeros_like(count), where=self.count != 0)
        form = self.form
        scatter = form.minus(self.scatter, other.scatter, form.between(weight, mean - other.mean))
        scatter = np.where(count[:, None] != 0, scatter, 0.0)
        return Statistics(count, mean, scatter, self.structure)

    def __mul__(self, weight: float | Array) -> Statistics:
        weight = np.broadcast_to(np.asarray(weight, dtype=np.float64), self.count.shape)
        scatter = self.form.times(self.scatter, weight)
        return Statistics(self.count * weight, self.mean, scatter, self.structure)

    __rmul__ = __mul__

    def _check_same_shape(self, other: Statistics) -> None:
        if self.structure != other.structure or self.mean.shape != other.mean.shape:
            raise InputError(
                f"Statistics must match in structure and shape, got {self.structure} {self.mean.shape} and "
                f"{other.structure} {other.mean.shape}."
            )


@one_thread()
def statistics_by_label(
    rows: Array,
    labels: Array,
    n_categories: int,
    *,
    weight: Array | None = None,
    structure: Structure = "full",
    chunk_rows: int = CHUNK_ROWS,
    device: str | None = None,
) -> Statistics:
    """Sufficient statistics of each category from rows and their labels.

    Parameters
    ----------
    rows : array (N, D)
    labels : int array (N,)
        Category of each row, 0 to ``n_categories - 1``; a negative label leaves the row out.
    n_categories : int
    weight : array (N,), optional
        Weight of each row.
    structure : str
        Which covariances are kept.
    chunk_rows : int
        Rows held in float64 at a time.
    device : str, optional
        Where full covariances are summed; see `vbcgcd.devices.resolve`.

    Returns
    -------
    Statistics

    Examples
    --------
    >>> import numpy as np
    >>> from vbcgcd.bayes import statistics_by_label
    >>> statistics_by_label(np.array([[0.0], [2.0], [7.0]]), np.array([0, 0, -1]), 1).mean
    array([[1.]])
    """
    found = iter_label_statistics(rows, labels, n_categories, weight, structure, chunk_rows, device)
    return Statistics.concatenate([part for _, part in found])


def iter_label_statistics(
    rows: Array,
    labels: Array,
    n_categories: int,
    weight: Array | None = None,
    structure: Structure = "full",
    chunk_rows: int = CHUNK_ROWS,
    device: str | None = None,
) -> Iterator[tuple[int, Statistics]]:
    """Statistics of each category in turn, as `statistics_by_label`, with only one in memory at a time."""
    if len(labels) and labels.max() >= n_categories:
        raise InputError(f"Labels must be below n_categories = {n_categories}, got {labels.max()}.")
    order = np.argsort(labels, kind="stable")
    bounds = np.searchsorted(labels[order], np.arange(n_categories + 1))
    device = _device_for(rows, structure, device)

    def of_category(k: int) -> tuple[int, Statistics]:
        members = order[bounds[k] : bounds[k + 1]]
        some = None if weight is None else weight[members]
        return k, _one_category(rows, members, some, structure, chunk_rows, device)

    work = len(rows) / n_categories * structure_of(structure, rows.shape[1]).width
    yield from in_parallel(of_category, range(n_categories), work=work)


@one_thread()
def statistics_by_responsibility(
    rows: Array,
    responsibility: Array,
    *,
    structure: Structure = "full",
    chunk_rows: int = CHUNK_ROWS,
    device: str | None = None,
) -> Statistics:
    """Sufficient statistics of each category where each row belongs to category k with weight r_ik.

    Parameters
    ----------
    rows : array (N, D)
    responsibility : array (N, K), not negative
    structure : str
        Which covariances are kept.
    chunk_rows : int
        Rows held in float64 at a time.
    device : str, optional
        Where full covariances are summed; see `vbcgcd.devices.resolve`.

    Examples
    --------
    >>> import numpy as np
    >>> from vbcgcd.bayes import statistics_by_responsibility
    >>> rows = np.array([[0.0], [2.0]])
    >>> statistics_by_responsibility(rows, np.array([[1.0, 0.0], [0.5, 0.5]])).count
    array([1.5, 0.5])
    """
    device = _device_for(rows, structure, device)

    def of_category(k: int) -> Statistics:
        members = np.flatnonzero(responsibility[:, k])
        return _one_category(rows, members, responsibility[members, k], structure, chunk_rows, device)

    n_categories = responsibility.shape[1]
    work = np.count_nonzero(responsibility) / n_categories * structure_of(structure, rows.shape[1]).width
    return Statistics.concatenate(list(in_parallel(of_category, range(n_categories), work=work)))


def _device_for(rows: Array, structure: Structure, device: str | None) -> str | None:
    """Where scatters of this structure are summed; None is NumPy, which never rounds rows before they are."""
    if structure != "full" or (found := resolve(device)) is None:
        return None
    return found if rows.dtype != np.float64 or on_device("has_double", found) else None


def _one_category(
    rows: Array,
    members: Array,
    weight: Array | None,
    structure: Structure,
    chunk_rows: int,
    device: str | None,
) -> Statistics:
    result = Statistics.empty(1, rows.shape[1], structure)
    for start in range(0, len(members), chunk_rows):
        chosen = members[start : start + chunk_rows]
        some = None if weight is None else weight[start : start + chunk_rows]
        if device is None:
            part = _block_statistics(rows[chosen].astype(np.float64), some, structure)
        else:
            part = _block_statistics_on(device, rows[chosen], some, structure)
        result = part if start == 0 else result + part
    return result


def _block_statistics_on(device: str, block: Array, weight: Array | None, structure: Structure) -> Statistics:
    mean, scatter = on_device("moments", block, weight, device)
    count = float(len(block)) if weight is None else float(weight.sum(dtype=np.float64))
    return Statistics(np.array([count]), mean[None], scatter[None], structure)


def _block_statistics(block: Array, weight: Array | None, structure: Structure) -> Statistics:
    """Statistics of one block of rows, which is overwritten."""
    if weight is None:
        count, mean = float(len(block)), block.mean(axis=0)
        block -= mean
    else:
        weight = weight.astype(np.float64)
        count = float(weight.sum())
        mean = weight @ block / count if count > 0 else np.zeros(block.shape[1])
        block -= mean
        block *= np.sqrt(weight)[:, None]
    scatter = structure_of(structure, block.shape[1]).scatter(block)
    return Statistics(np.array([count]), mean[None], scatter[None], structure)
