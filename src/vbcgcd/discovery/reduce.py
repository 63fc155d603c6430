"""The frozen projection from embeddings to reduced embeddings, learned once in the base session.

Rows may first be scaled to unit length: the meaning of an embedding is often in its direction alone. Then
three steps that compose to one affine map: principal components; whitening by the pooled within-category
covariance, shrunk towards its own mean variance, so that a category is expected to be N(mean, I) and the
prior's identity is a sensible guess; and a rotation to the axes along which the labelled categories differ
most, in falling order. The rotation changes no density of full covariances; it lets a classifier that
looks at the first axes alone discard most categories.

Whether to scale, and how much to shrink, is decided by leaving out labelled rows: the cross-entropy of the
pooled (linear discriminant) classifier for a row that is neither in its category's mean nor in the
covariance.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import DTypeLike, NDArray

from vbcgcd.bayes.calibration import climb, tempered_cross_entropy
from vbcgcd.bayes.leave_one_out import downdate, mean_correction
from vbcgcd.bayes.threads import in_parallel, one_thread
from vbcgcd.discovery.magnitude import (
    LARGEST,
    LARGEST_VALUE,
    SMALLEST,
    check_values,
    exponent_of,
    in_unit,
    moderate,
)

Array = NDArray[Any]

#: Wider embeddings are first projected by a randomised decomposition.
WIDEST_EXACT = 2048
CHUNK_ROWS = 8192
#: Directions with less than this share of the largest variance count as constant (by precision of the rows).
NEGLIGIBLE = {np.dtype(np.float64): 1e-12, np.dtype(np.float32): 1e-7}
#: A dimension whose deviation is below this share of the largest, or this small, is constant: standardising
#: leaves it alone.
CONSTANT, TINY = 1e-9, 1e-30
#: A smaller variance within categories is none: its root could not be divided by in any unit.
LEAST_VARIANCE = 1e-40
#: Variances within categories below this share of the largest are raised to it.
SINGULAR = 1e-10
#: Rows of unit length are kept up to this size, and made anew each time beyond it.
HELD_BYTES = 64 * 2**20
#: Weights of the mean variance tried in the within-category covariance.
SHRINKAGES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9)
#: Labelled rows left out in turn to choose; with many categories so many scores of rows under them, and a few
#: rows at least.
LEFT_OUT_ROWS, LEFT_OUT_SCORES, FEWEST_LEFT_OUT = 1000, 2**20, 200
#: Rows on which unit length is tried.
TRIAL_ROWS = 3000

__all__ = ["Reducer", "fit_like", "fit_reducer", "moments_of_sums"]


@dataclass(frozen=True)
class Reducer:
    """Map x -> (x - center) projection, after scaling x to unit length if ``unit``.

    Parameters
    ----------
    center : array (d,)
    projection : array (d, D)
    whitened : bool
        Whether the within-category covariance of the labelled rows is the identity.
    unit : bool
        Whether rows are scaled to unit length first.
    shrinkage : float
        Weight of the mean variance in the whitening covariance.
    standardised : bool
        Whether each dimension was scaled to unit variance before the projection, which contains the scale.
    """

    center: Array
    projection: Array
    whitened: bool
    unit: bool
    shrinkage: float
    standardised: bool = False

    @property
    def n_inputs(self) -> int:
        """Width of an embedding."""
        return int(self.projection.shape[0])

    @property
    def n_components(self) -> int:
        """Width of a reduced embedding."""
        return int(self.projection.shape[1])

    @one_thread()
    def transform(self, rows: Array, dtype: DTypeLike = np.float64) -> Array:
        """Reduced embeddings, array (N, D), computed in ``dtype``; not finite where they are too large."""
        out = np.empty((len(rows), self.n_components), dtype=dtype)
        exponent = 0 if self.unit else -exponent_of(self.projection)
        center = in_unit(self.center, exponent).astype(dtype)
        projection = in_unit(self.projection, -exponent).astype(dtype)

        def reduce(start: int) -> None:
            chunk = rows[start : start + CHUNK_ROWS]
            with np.errstate(over="ignore", invalid="ignore"):
                chunk = np.asarray(moderate(chunk) if self.unit else in_unit(chunk, exponent), dtype=dtype)
                chunk = unit_length(chunk) if self.unit else chunk
                chunk = np.subtract(chunk, center, out=chunk if self.unit else None)
                np.matmul(chunk, projection, out=out[start : start + CHUNK_ROWS])

        work = min(len(rows), CHUNK_ROWS) * self.projection.size
        for _ in in_parallel(reduce, range(0, len(rows), CHUNK_ROWS), work=work):
            pass
        return out


def unit_length(rows: Array) -> Array:
    """Rows divided by their Euclidean length; a row of zeros stays."""
    # Dividing by the largest entry first keeps the squares of huge and tiny rows finite.
    largest = np.maximum(rows.max(axis=1), -rows.min(axis=1))[:, None]
    scaled = rows / np.where(largest > 0, largest, 1)
    length = np.sqrt(np.einsum("nd,nd->n", scaled, scaled))[:, None]
    scaled /= np.where(length > 0, length, 1)
    return np.asarray(scaled)


@one_thread()
def fit_reducer(
    rows: Array,
    labels: Array,
    *,
    weight: Array | None = None,
    n_components: int | None = 384,
    whiten: bool = True,
    normalise: bool | str = "auto",
    shrinkage: float | str = "auto",
    standardise: bool = False,
    random_state: int | None = None,
    moments_of: Callable[[_Settings, np.random.Generator], _Moments] | None = None,
) -> Reducer:
    """Learn the projection from the labelled rows.

    Parameters
    ----------
    rows : array (N, d)
    labels : int array (N,), 0 to K - 1
    weight : array (N,), optional
        Positive weight of each row.
    n_components : int or None
        Most dimensions to keep; None keeps every direction that varies.
    whiten : bool
        False gives plain principal components, as the paper uses them.
    normalise : bool or "auto"
        Scale rows to unit length first; "auto" decides by leaving out labelled rows.
    shrinkage : float in [0, 1] or "auto"
        Weight of the mean variance in the within-category covariance; "auto" decides by leaving out labelled
        rows.
    standardise : bool
        Scale each dimension to unit variance over the labelled rows first.
    random_state : int, optional
        Only used for embeddings wider than 2048 and to draw the rows that are left out.
    moments_of : callable, optional
        Gives the moments of all labelled rows, of which ``rows`` are a sample; by default these are all.

    Returns
    -------
    Reducer
    """
    check_values(rows, LARGEST_VALUE)
    exponent = exponent_of(rows)
    given, rows = rows, in_unit(rows, exponent)
    rng = np.random.default_rng(0 if random_state is None else random_state)
    settings = _Settings(n_components, bool(normalise), standardise)
    if normalise == "auto":
        settings = replace(settings, unit=_unit_is_better(rows, labels, weight, settings, rng))
    if moments_of is None:
        moments = _moments(rows, labels, settings, rng, weight)
    else:
        moments = moments_of(settings, rng)
    unit = settings.unit
    center = moments.center if unit else in_unit(moments.center, -exponent)
    if not whiten:
        if not unit and not standardise:
            check_values(given, LARGEST, SMALLEST)  # the reduced embeddings are as large
        basis = in_unit(moments.basis, exponent if standardise and not unit else 0)
        return Reducer(center, _fix_signs(basis), False, unit, 0.0, standardise)
    shrunk = (
        _choose_shrinkage(rows, labels, moments, unit, rng, weight)[0]
        if shrinkage == "auto"
        else float(shrinkage)
    )
    scaling = _whitening(moments.within, moments.total, shrunk)
    means = moments.means @ scaling
    _, turn = np.linalg.eigh((means.T * moments.share) @ means)
    basis = in_unit(moments.basis @ (scaling @ turn[:, ::-1]), 0 if unit else exponent)
    return Reducer(center, _fix_signs(basis), True, unit, shrunk, standardise)


@one_thread()
def fit_like(reducer: Reducer, rows: Array, labels: Array) -> tuple[Reducer, Array]:
    """A projection for angles and distances, with the settings of another, and the means of the categories.

    Its axes are turned in any way: that changes neither, and most of the decompositions that would find those
    of `fit_reducer` are saved.

    Parameters
    ----------
    reducer : Reducer
        Gives the settings.
    rows : array (N, d)
    labels : int array (N,), 0 to K - 1

    Returns
    -------
    Reducer
    means : array (K, D)
        Mean of the reduced rows of each category.
    """
    check_values(rows, LARGEST_VALUE)
    exponent = exponent_of(rows)
    settings = _Settings(reducer.n_components, reducer.unit, reducer.standardised, any_axes=True)
    moments = _moments(in_unit(rows, exponent), labels, settings, np.random.default_rng(0))
    exponent = 0 if reducer.unit else exponent
    center, basis, means = in_unit(moments.center, -exponent), moments.basis, moments.means
    if reducer.whitened:
        scaling = _whitening(moments.within, moments.total, reducer.shrinkage, any_axes=True)
        basis, means = basis @ scaling, means @ scaling
    if reducer.whitened or reducer.standardised:
        basis = in_unit(basis, exponent)
    else:
        means = in_unit(means, -exponent)
    return replace(reducer, center=center, projection=basis), means


@dataclass(frozen=True)
class _Settings:
    """What is done to rows before principal components are taken, and how many of those are kept.

    With ``any_axes`` all that counts is the space that the axes span: they need not be the principal ones.
    """

    n_components: int | None
    unit: bool
    standardise: bool
    any_axes: bool = False

    def prepare(self, rows: Array) -> Array:
        """Rows as they are projected."""
        return unit_length(rows) if self.unit else np.asarray(rows)


class _Moments(NamedTuple):
    """What the labelled rows say, in principal coordinates."""

    center: Array  # (d,)
    basis: Array  # (d, D), the principal axes, divided by the scale of each dimension where standardised
    total: Array  # (D, D) covariance of all rows
    within: Array  # (D, D) pooled covariance about the category means
    means: Array  # (K, D) of the categories
    sizes: Array  # (K,)

    @property
    def share(self) -> Array:
        """Share of each category among the rows, array (K,)."""
        return self.sizes / self.sizes.sum()


def _moments(
    rows: Array,
    labels: Array,
    settings: _Settings,
    rng: np.random.Generator,
    weight: Array | None = None,
) -> _Moments:
    n_components, total = settings.n_components, float(len(rows) if weight is None else weight.sum())
    if settings.unit and rows.nbytes <= HELD_BYTES:  # scaled once, and not each time that they are looked at
        rows, settings = settings.prepare(rows), replace(settings, unit=False)
    prepare = settings.prepare

    def weighted(chunk: Array, start: int, power: float = 1.0) -> Array:
        if weight is None:
            return chunk
        return chunk * (weight[start : start + len(chunk), None] ** power).astype(chunk.dtype)

    center = (
        sum(
            weighted(prepare(rows[i : i + CHUNK_ROWS]), i).sum(axis=0, dtype=np.float64)
            for i in range(0, len(rows), CHUNK_ROWS)
        )
        / total
    )
    scale = _deviations(rows, center, prepare, weighted, total) if settings.standardise else None
    shift = center.astype(rows.dtype)

    def centred(part: Array) -> Array:
        moved = prepare(part) - shift
        return moved if scale is None else moved / scale.astype(rows.dtype)

    wide = rows.shape[1] > WIDEST_EXACT
    first = _randomised_basis(weighted(centred(rows), 0, 0.5), n_components, rng) if wide else None
    dim = rows.shape[1] if first is None else first.shape[1]
    n_categories = int(labels.max()) + 1
    outer, sums = np.zeros((dim, dim)), np.zeros((n_categories, dim))

    def products(start: int) -> tuple[Array, Array, Array]:
        chunk = centred(rows[start : start + CHUNK_ROWS])
        chunk = chunk if first is None else chunk @ first
        part = labels[start : start + CHUNK_ROWS]
        heavy, root = weighted(chunk, start), weighted(chunk, start, 0.5)
        if (part[1:] < part[:-1]).any():
            order = np.argsort(part, kind="stable")
            part, heavy = part[order], heavy[order]
        present, begin = np.unique(part, return_index=True)
        return root.T @ root, present, np.add.reduceat(heavy, begin, axis=0)

    starts, work = range(0, len(rows), CHUNK_ROWS), min(len(rows), CHUNK_ROWS) * dim**2
    for square, present, part_sums in in_parallel(products, starts, work=work):
        outer += square
        sums[present] += part_sums
    count = np.bincount(labels, weight, minlength=n_categories).astype(np.float64)
    negligible, any_axes = NEGLIGIBLE[rows.dtype], settings.any_axes
    found = moments_of_sums(center, outer, sums, count, n_components, negligible, any_axes=any_axes)
    basis = found.basis if first is None else first @ found.basis
    return found._replace(basis=basis if scale is None else basis / scale[:, None])


def moments_of_sums(
    center: Array,
    outer: Array,
    sums: Array,
    count: Array,
    n_components: int | None,
    negligible: float,
    *,
    any_axes: bool = False,
) -> _Moments:
    """_Moments from sums over rows about their mean.

    Parameters
    ----------
    center : array (d,)
        The mean.
    outer : array (d, d)
        Sum of outer products about it.
    sums : array (K, d)
        Sum of the rows of each category about it.
    count : array (K,)
        Rows of each category, or their weight.
    n_components : int or None
    negligible : float
        Directions with less than this share of the largest variance count as constant.
    any_axes : bool
        Whether the given axes will do where all of them are kept.
    """
    total, dim = float(count.sum()), len(outer)
    means = sums / np.where(count > 0, count, 1)[:, None]
    every = any_axes and (n_components is None or n_components >= dim) and _is_regular(outer, negligible)
    if every:
        axes = np.eye(dim)
    else:
        axes = _principal_axes(outer / total, n_components, negligible)
        outer, means = axes.T @ outer @ axes, means @ axes
    within = (outer - (means.T * count) @ means) / max(total - len(count), 1)
    return _Moments(center, axes, outer / total, within, means, count)


def _deviations(
    rows: Array,
    center: Array,
    prepare: Callable[[Array], Array],
    weighted: Callable[[Array, int], Array],
    total: float,
) -> Array:
    """Standard deviation of each dimension, array (d,); 1 where a dimension is constant."""
    squares = sum(
        weighted((prepare(rows[i : i + CHUNK_ROWS]) - center) ** 2, i).sum(axis=0)
        for i in range(0, len(rows), CHUNK_ROWS)
    )
    deviation = np.sqrt(squares / total)
    return np.where(deviation > max(CONSTANT * float(deviation.max()), TINY), deviation, 1.0)


def _unit_is_better(
    rows: Array, labels: Array, weight: Array | None, settings: _Settings, rng: np.random.Generator
) -> bool:
    """Whether unit length lowers the leave-one-out cross-entropy of the pooled classifier."""
    if labels.max() < 1:
        return False  # a single category cannot tell
    chosen = np.sort(rng.permutation(len(rows))[:TRIAL_ROWS])
    _, part = np.unique(labels[chosen], return_inverse=True)
    sample, some = rows[chosen], None if weight is None else weight[chosen]
    length = np.sqrt(np.einsum("nd,nd->n", sample, sample, dtype=np.float64))
    if not length.min() > 0 or not np.isfinite(length.max()) or length.std() <= 1e-3 * length.mean():
        return False  # unit length already, or not everywhere defined
    settings = replace(settings, any_axes=True)
    seed = int(rng.integers(2**31))  # the same rows are left out in both trials

    def losses(unit: bool) -> Array:
        moments = _moments(sample, part, replace(settings, unit=unit), rng, some)
        return _choose_shrinkage(sample, part, moments, unit, np.random.default_rng(seed), some)[1]

    # Wide rows draw from one generator, one trial after the other.
    work = 0 if rows.shape[1] > WIDEST_EXACT else sample.size * sample.shape[1]
    plain, scaled = in_parallel(losses, (False, True), work=work)
    if not np.isfinite([plain, scaled]).all():
        return False  # rows of a category do not differ
    # Directions are the usual meaning of embeddings: keep lengths only where that is clearly better.
    harm = scaled - plain
    return bool(harm.mean() <= harm.std() / np.sqrt(len(harm)))


def _choose_shrinkage(
    rows: Array,
    labels: Array,
    moments: _Moments,
    unit: bool,
    rng: np.random.Generator,
    weight: Array | None = None,
) -> tuple[float, Array]:
    """Weight of the mean variance with the least leave-one-out cross-entropy, and that of each row.

    A row is left out of its category's mean and of the covariance (see `vbcgcd.bayes.leave_one_out`), in the
    eigenbasis of the within-category covariance, where every shrinkage is diagonal.
    """
    n_categories, n_rows = len(moments.sizes), float(moments.sizes.sum())
    eligible = np.flatnonzero(np.bincount(labels, minlength=n_categories)[labels] > 1)
    if len(eligible) < 2 or n_categories < 2 or n_rows - n_categories < 2:
        return 0.5, np.zeros(1)
    most = min(LEFT_OUT_ROWS, max(LEFT_OUT_SCORES // n_categories, FEWEST_LEFT_OUT))
    chosen = rng.permutation(eligible)[:most]
    own = labels[chosen]
    values, vectors = np.linalg.eigh(moments.within)
    values = np.maximum(values, 0.0)
    prepared = (unit_length(rows[chosen]) if unit else rows[chosen]) - moments.center
    z = (prepared.astype(np.float32) @ (moments.basis @ vectors).astype(np.float32)).astype(np.float32)
    means = (moments.means @ vectors).astype(np.float32)
    residual = z - means[own]
    taken: Array | float = 1.0 if weight is None else weight[chosen]
    correction = mean_correction(moments.sizes[own], taken)

    @functools.cache
    @np.errstate(over="ignore", invalid="ignore")
    def losses(position: int) -> Array:
        shrunk = SHRINKAGES[position]
        variance = ((1 - shrunk) * values + shrunk * values.mean()).astype(np.float32)
        if not variance.min() > 0:
            return np.full(len(own), np.inf)  # never chosen
        scaled, rest = z / variance, residual / variance
        distance = np.einsum("nd,nd->n", z, scaled)[:, None] - 2 * scaled @ means.T
        distance += (means**2 / variance).sum(1)
        cross = np.einsum("nd,nd->n", z, rest)[:, None] - rest @ means.T
        omega = (1 - shrunk) * taken * correction / (n_rows - n_categories)
        change = downdate(omega, np.einsum("nd,nd->n", residual, rest))
        distance = distance + change.gain[:, None] * cross**2
        distance[np.arange(len(own)), own] *= correction**2
        if not np.isfinite(distance).all():
            return np.full(len(own), np.inf)
        return tempered_cross_entropy(-0.5 * distance, own)[0]

    best = climb(losses, SHRINKAGES.index(0.1), len(SHRINKAGES))
    return SHRINKAGES[best], losses(best)


def _is_regular(matrix: Array, least: float) -> bool:
    """Whether every eigenvalue of a symmetric matrix is surely above this share of the largest."""
    root = _inverse_root(matrix)
    return root is not None and _is_bounded(root, matrix, least)


def _is_bounded(root: Array, matrix: Array, least: float) -> bool:
    """As `_is_regular`, given the `_inverse_root`; it may be False of a regular matrix.

    The trace of a positive definite matrix bounds its largest eigenvalue, and that of its inverse the least.
    """
    return bool(np.einsum("ij,ij", root, root) * np.trace(matrix) * least < 1)


def _inverse_root(matrix: Array) -> Array | None:
    """Upper triangle A with A^T M A = I, or None where M is not positive definite."""
    lower, failed = scipy.linalg.lapack.dpotrf(matrix, lower=1, clean=1)
    if failed:
        return None
    inverse, failed = scipy.linalg.lapack.dtrtri(lower, lower=1)
    return None if failed else np.asarray(inverse.T)


def _principal_axes(total: Array, n_components: int | None, negligible: float) -> Array:
    values, vectors = np.linalg.eigh(total)
    values, vectors = values[::-1], vectors[:, ::-1]
    rank = max(int((values > negligible * max(values[0], 1e-300)).sum()), 1)
    return np.asarray(vectors[:, : rank if n_components is None else min(rank, n_components)])


def _whitening(within: Array, total: Array, shrinkage: float, *, any_axes: bool = False) -> Array:
    """Matrix A with A^T W A = I for the shrunk covariance W; with ``any_axes`` it may be triangular."""
    dim = len(within)
    if np.trace(within) <= 1e-10 * np.trace(total):
        within = total  # no category has two different rows: the overall spread is the only scale there is
    variance = np.trace(within) / dim
    if variance <= LEAST_VARIANCE:
        return np.eye(dim)
    shrunk = (1 - shrinkage) * within + shrinkage * variance * np.eye(dim)
    if any_axes and (root := _inverse_root(shrunk)) is not None and _is_bounded(root, shrunk, SINGULAR):
        return root
    values, vectors = np.linalg.eigh(shrunk)
    return np.asarray(vectors / np.sqrt(np.maximum(values, SINGULAR * values[-1])))


def _randomised_basis(centred: Array, n_components: int | None, rng: np.random.Generator) -> Array:
    """Principal axes of wide rows (N, d) about their mean, array (d, D)."""
    from sklearn.utils.extmath import randomized_svd

    rank = min(centred.shape) if n_components is None else min(n_components, *centred.shape)
    _, _, components = randomized_svd(centred, rank, random_state=int(rng.integers(2**31)))
    return np.asarray(components.T, dtype=np.float64)


def _fix_signs(basis: Array) -> Array:
    """The largest entry of each axis is positive: eigenvectors are unique up to sign."""
    largest = np.abs(basis).argmax(axis=0)
    signs = np.sign(basis[largest, np.arange(basis.shape[1])])
    return np.asarray(basis * np.where(signs == 0, 1.0, signs))
