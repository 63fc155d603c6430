"""The frozen projection from embeddings to reduced embeddings, learned once in the base session.

Three steps that compose to one affine map: principal components; whitening by the pooled within-category
covariance, shrunk towards its own mean variance, so that a category is expected to be N(mean, I) and the
prior's identity is a sensible guess; and a rotation to the axes along which the labelled categories differ
most, in falling order. The rotation changes no density of full covariances; it lets a classifier that
looks at the first axes alone discard most categories.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from sklearn.utils.extmath import randomized_svd

from vbcgcd.errors import InputError

Array = NDArray[Any]

#: Wider embeddings are first projected by a randomised decomposition.
WIDEST_EXACT = 2048
CHUNK_ROWS = 8192
#: Directions with less than this share of the largest variance count as constant.
NEGLIGIBLE = 1e-12

__all__ = ["Reducer", "fit_reducer"]


@dataclass(frozen=True)
class Reducer:
    """Affine map x -> (x - center) projection.

    Parameters
    ----------
    center : array (d,)
    projection : array (d, D)
    between : array (D,)
        Variance of the labelled categories' means along each axis.
    whitened : bool
        Whether the within-category covariance of the labelled rows is the identity.
    """

    center: Array
    projection: Array
    between: Array
    whitened: bool

    @property
    def n_inputs(self) -> int:
        """Width of an embedding."""
        return int(self.projection.shape[0])

    @property
    def n_components(self) -> int:
        """Width of a reduced embedding."""
        return int(self.projection.shape[1])

    def transform(self, rows: Array, dtype: DTypeLike = np.float64) -> Array:
        """Reduced embeddings, array (N, D), computed in ``dtype``."""
        out = np.empty((len(rows), self.n_components), dtype=dtype)
        center, projection = self.center.astype(dtype), self.projection.astype(dtype)
        for start in range(0, len(rows), CHUNK_ROWS):
            chunk = np.asarray(rows[start : start + CHUNK_ROWS], dtype=dtype) - center
            np.matmul(chunk, projection, out=out[start : start + CHUNK_ROWS])
        return out


def fit_reducer(
    rows: Array,
    labels: Array,
    *,
    n_components: int | None = 384,
    whiten: bool = True,
    shrinkage: float = 0.1,
    random_state: int | None = None,
) -> Reducer:
    """Learn the projection from the labelled rows.

    Parameters
    ----------
    rows : array (N, d)
    labels : int array (N,), 0 to K - 1
    n_components : int or None
        Most dimensions to keep; None keeps every direction that varies.
    whiten : bool
        False gives plain principal components, as the paper uses them.
    shrinkage : float in [0, 1]
        Weight of the mean variance in the within-category covariance.
    random_state : int, optional
        Only used for embeddings wider than 2048.

    Returns
    -------
    Reducer
    """
    if n_components is not None and n_components < 1:
        raise InputError(f"n_components must be at least 1 or None, got {n_components}.")
    if not 0 <= shrinkage <= 1:
        raise InputError(f"whiten_shrinkage must lie in [0, 1], got {shrinkage}.")
    center = rows.mean(axis=0, dtype=np.float64)
    if rows.shape[1] > WIDEST_EXACT:
        basis = _randomised_basis(rows - center, n_components, random_state)
    else:
        basis = np.eye(rows.shape[1])
    total, within, between, weight = _covariances(rows, labels, center, basis)
    basis = basis @ (axes := _principal_axes(total, n_components))
    total, within, means = axes.T @ total @ axes, axes.T @ within @ axes, between @ axes
    if whiten:
        scaling = _whitening(within, total, shrinkage)
        basis, means = basis @ scaling, means @ scaling
        spread, turn = np.linalg.eigh((means.T * weight) @ means)
        basis, spread = basis @ turn[:, ::-1], spread[::-1]
    else:
        spread = np.einsum("k,kd,kd->d", weight, means, means)
    return Reducer(center, _fix_signs(basis), np.maximum(spread, 0.0), whiten)


def _covariances(
    rows: Array, labels: Array, center: Array, basis: Array
) -> tuple[Array, Array, Array, Array]:
    """Total and pooled within-category covariance, category means and their weights, in ``basis``."""
    n_categories, dim = int(labels.max()) + 1, basis.shape[1]
    identity = basis.shape[0] == basis.shape[1]
    outer = np.zeros((dim, dim))
    sums = np.zeros((n_categories, dim))
    for start in range(0, len(rows), CHUNK_ROWS):
        chunk = rows[start : start + CHUNK_ROWS] - center
        chunk = chunk if identity else chunk @ basis
        outer += chunk.T @ chunk
        part = labels[start : start + CHUNK_ROWS]
        order = np.argsort(part, kind="stable")
        found, first = np.unique(part[order], return_index=True)
        sums[found] += np.add.reduceat(chunk[order], first, axis=0)
    count = np.bincount(labels, minlength=n_categories)
    means = sums / np.maximum(count, 1)[:, None]
    between = (means.T * count) @ means
    within = (outer - between) / max(len(rows) - n_categories, 1)
    return outer / len(rows), within, means, count / len(rows)


def _principal_axes(total: Array, n_components: int | None) -> Array:
    values, vectors = np.linalg.eigh(total)
    values, vectors = values[::-1], vectors[:, ::-1]
    rank = max(int((values > NEGLIGIBLE * max(values[0], 1e-300)).sum()), 1)
    return np.asarray(vectors[:, : rank if n_components is None else min(rank, n_components)])


def _whitening(within: Array, total: Array, shrinkage: float) -> Array:
    """Matrix A with A^T W A = I for the shrunk within-category covariance W."""
    dim = len(within)
    if np.trace(within) <= NEGLIGIBLE * np.trace(total):
        within = total  # no category has two different rows: the overall spread is the only scale there is
    variance = np.trace(within) / dim
    if variance <= 0:
        return np.eye(dim)
    values, vectors = np.linalg.eigh((1 - shrinkage) * within + shrinkage * variance * np.eye(dim))
    return np.asarray(vectors / np.sqrt(np.maximum(values, NEGLIGIBLE * values[-1])))


def _randomised_basis(centred: Array, n_components: int | None, random_state: int | None) -> Array:
    rank = min(centred.shape) if n_components is None else min(n_components, *centred.shape)
    _, _, components = randomized_svd(centred, rank, random_state=0 if random_state is None else random_state)
    return np.asarray(components.T, dtype=np.float64)


def _fix_signs(basis: Array) -> Array:
    """The largest entry of each axis is positive: eigenvectors are unique up to sign."""
    largest = np.abs(basis).argmax(axis=0)
    signs = np.sign(basis[largest, np.arange(basis.shape[1])])
    return np.asarray(basis * np.where(signs == 0, 1.0, signs))
