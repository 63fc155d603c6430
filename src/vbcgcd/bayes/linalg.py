"""Packed triangles and the few factorizations that the mathematics needs.

A symmetric matrix, or the lower Cholesky factor of one, is kept as the row-major sequence of its lower
triangle: ``D (D + 1) / 2`` numbers, half the memory of the square. A diagonal matrix is kept as its ``D``
entries. LAPACK reads the row-major lower triangle as the column-major upper triangle of the transpose, so
packing and unpacking are plain copies.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
from numpy.typing import DTypeLike, NDArray

from vbcgcd.bayes.lapack import factor_upper, solve_transposed, subtract_products
from vbcgcd.errors import NumericalError

Array = NDArray[Any]

__all__ = [
    "centred_together",
    "check_factor",
    "cholesky",
    "cholesky_upper",
    "diagonal_positions",
    "leading_directions",
    "outer_packed",
    "pack_lower",
    "packed_size",
    "signed_directions",
    "solve_lower",
    "squared_distances",
    "subtract_product",
    "symmetric",
    "unpack_lower",
    "unpack_upper",
]


def packed_size(dim: int) -> int:
    """Number of entries of the lower triangle of a ``dim`` by ``dim`` matrix."""
    return dim * (dim + 1) // 2


def diagonal_positions(dim: int) -> Array:
    """Where the diagonal of a ``dim`` by ``dim`` matrix lies in its packed lower triangle."""
    i = np.arange(dim)
    return i * (i + 3) // 2


def pack_lower(matrix: Array) -> Array:
    """Lower triangle of a square matrix, row by row."""
    kind = scipy.linalg.lapack.strttp if matrix.dtype == np.float32 else scipy.linalg.lapack.dtrttp
    packed, info = kind(matrix.T, uplo="U")
    assert info == 0
    return np.asarray(packed)


def unpack_upper(packed: Array, dim: int) -> Array:
    """Transpose of the packed lower triangle, in Fortran order as BLAS wants it.

    Entries below the diagonal of the result are arbitrary.
    """
    kind = scipy.linalg.lapack.stpttr if packed.dtype == np.float32 else scipy.linalg.lapack.dtpttr
    upper, info = kind(dim, packed, uplo="U")
    assert info == 0
    return np.asarray(upper)


def unpack_lower(packed: Array, dim: int) -> Array:
    """Square matrix with the packed lower triangle and zeros above."""
    return np.tril(unpack_upper(packed, dim).T)


def symmetric(packed: Array, dim: int) -> Array:
    """Square symmetric matrix from its packed lower triangle."""
    lower = unpack_lower(packed, dim)
    return lower + np.tril(lower, -1).T


def outer_packed(vector: Array) -> Array:
    """Packed lower triangle of ``vector vector^T``."""
    return pack_lower(np.outer(vector, vector))


def cholesky_upper(upper: Array) -> Array:
    """Transposed lower Cholesky factor (Fortran order, zeros below the diagonal) of a symmetric matrix.

    Parameters
    ----------
    upper : array (D, D) in Fortran order, float64 or float32
        Only its upper triangle is read. It is overwritten.
    """
    factor = _columns_first(upper, upper.dtype)
    return check_factor(factor, factor_upper(factor))


def check_factor(upper: Array, pivot: int = 0) -> Array:
    """The transposed Cholesky factor itself; an error where a pivot failed or is no positive number.

    Parameters
    ----------
    upper : array (D, D)
    pivot : int
        The first pivot that is known to have failed; 0 where none has.
    """
    if pivot != 0 or not np.isfinite(upper[-1, -1]) or not np.diag(upper).min() > 0:
        raise NumericalError(
            f"A {len(upper)} by {len(upper)} covariance is not positive definite (pivot {pivot}); "
            "use a stronger prior (larger prior_strength) or fewer components (n_components)."
        )
    return upper


def cholesky(matrix: Array) -> Array:
    """Lower Cholesky factor of a symmetric positive definite matrix, which is overwritten."""
    return cholesky_upper(matrix.T).T


def solve_lower(upper: Array, rows: Array) -> Array:
    """Rows ``L^-1 z`` for each row ``z``, where ``upper = L^T`` in Fortran order; ``rows`` is overwritten.

    A triangular solve runs close to the matrix-multiplication rate and needs half of the operations of a
    product with an explicit inverse, which would also lose digits.
    """
    rows = np.ascontiguousarray(rows)
    solve_transposed(_columns_first(upper, rows.dtype), rows.T)
    return rows


def subtract_product(rows: Array, left: Array, right: Array) -> Array:
    """``rows - left @ right``; ``rows`` is overwritten.

    Through the same BLAS as `solve_lower`: NumPy and SciPy each bring their own, and the waiting threads of
    one would slow down the other.
    """
    rows, left = np.ascontiguousarray(rows), np.ascontiguousarray(left, dtype=rows.dtype)
    subtract_products(rows.T, _columns_first(right, rows.dtype), left.T)
    return rows


def _columns_first(matrix: Array, dtype: DTypeLike) -> Array:
    """The matrix with its columns one after the other, as they are or as a copy."""
    matrix = np.asarray(matrix, dtype=dtype)
    whole = matrix.strides[0] == matrix.itemsize and matrix.strides[1] >= len(matrix) * matrix.itemsize
    return matrix if whole else np.asfortranarray(matrix)


def squared_distances(rows: Array, means: Array) -> Array:
    """Squared Euclidean distances, float64 array (N, K)."""
    rows, means = centred_together(rows, means)
    squared = (rows**2).sum(axis=1)[:, None] + (means**2).sum(axis=1) - 2 * rows @ means.T
    return np.maximum(squared, 0.0)


def centred_together(rows: Array, means: Array) -> tuple[Array, Array]:
    """Both about the mean of the means, in float64: expanded squares cancel less near the origin."""
    means = means.astype(np.float64)
    center = means.mean(axis=0)
    return rows.astype(np.float64) - center, means - center


def leading_directions(rows: Array, rank: int) -> tuple[Array, float]:
    """Directions G and a number c such that ``G^T G + c I`` is like ``rows^T rows`` and has the same trace.

    Its leading eigenvalues and their directions are those of ``rows^T rows``, and the others their mean.

    Parameters
    ----------
    rows : array (M, D)
    rank : int
        Most directions.

    Returns
    -------
    directions : array (at most rank, D)
        Orthogonal, the longest first.
    spare : float
        0 where there are no more directions than ``rank``.
    """
    if len(rows) <= rows.shape[1]:
        values, vectors = np.linalg.eigh(rows @ rows.T)
        directions = vectors[:, ::-1][:, :rank].T @ rows
    else:
        values, vectors = np.linalg.eigh(rows.T @ rows)
        directions = _lengthened(vectors[:, ::-1][:, :rank].T, values[::-1][:rank])
    return _shortened(directions, values[::-1], rank, 0.0)


def signed_directions(rows: Array, removed: Array, rank: int, level: float) -> tuple[Array, float]:
    """As `leading_directions`, for ``rows^T rows - removed^T removed``.

    Parameters
    ----------
    rows, removed : array (M, D), array (L, D)
    rank : int
    level : float
        The least that the spare number may be is ``-level``. It is negative where more is removed than the
        rows have.
    """
    together = np.concatenate([rows, removed])
    signs = np.repeat([1.0, -1.0], [len(rows), len(removed)])
    used = together.any(axis=1)
    basis, inside = np.linalg.qr(together[used].T)
    values, vectors = np.linalg.eigh((inside * signs[used]) @ inside.T)
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = min(rank, int((values > 0).sum()))
    directions = _lengthened((basis @ vectors[:, :kept]).T, values[:kept])
    return _shortened(directions, values, rank, level)


def _lengthened(directions: Array, values: Array) -> Array:
    """Unit directions with these squared lengths."""
    return np.asarray(np.sqrt(np.maximum(values, 0.0))[:, None] * directions)


def _shortened(directions: Array, values: Array, rank: int, level: float) -> tuple[Array, float]:
    """Directions without what the spare number has of them.

    Parameters
    ----------
    directions : array (R, D)
        Of the leading eigenvalues.
    values : array (M,)
        All eigenvalues that are not zero, the largest first.
    rank : int
    level : float
    """
    kept, dim = directions.shape
    others = dim - rank
    spare = max(float(values[kept:].sum()) / others, -level) if others > 0 else 0.0
    values = np.maximum(values[:kept], 0.0)
    share = np.divide(values - spare, values, out=np.zeros_like(values), where=values > 0)
    return directions * np.sqrt(np.maximum(share, 0.0))[:, None], spare
