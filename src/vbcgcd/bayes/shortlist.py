"""The best few categories of each row, without its density under all of them.

1. One matrix product proposes: the categories that are best by distance under a shared shape of the
   covariance, and those that are best by direction. Either alone misses rows: the first those that lie far
   out, the second those of wide categories.
2. Where factors are triangles, their leading rows give the exact distance in the first dimensions, along
   which categories differ most, and the shared shape the rest. By this estimate the best are scored first.
   The distance in the first dimensions alone is an upper bound of a density: candidates whose bound is below
   what was scored are dropped, provably.
3. The full density decides among those that are left, so that only step 1 can miss a category.

In steps 2 and 3 rows are grouped by category, so that each factor is read once for a large block of rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vbcgcd.bayes.linalg import packed_size, solve_lower, unpack_upper
from vbcgcd.bayes.outline import Outline, outline_of
from vbcgcd.bayes.posterior import Posterior
from vbcgcd.bayes.scoring import DistanceToScore
from vbcgcd.bayes.threads import in_parallel, one_thread
from vbcgcd.validation import check_finite

if TYPE_CHECKING:
    from vbcgcd.bayes.classifier import Classifier

Array = NDArray[Any]

#: Candidates of a row where the caller does not say, half of them by distance and half by direction.
USUAL_LIST = 48
#: Up to so many categories all densities are computed unless the caller asks for a list: they take little
#: time, and one wide category, to which the shared shape does not apply, would spoil much.
FEW_CATEGORIES = 256
#: Rows whose candidates are scored together, and scores of rows under categories held while proposing.
BLOCK_ROWS, BLOCK_SCORES = 16384, 2**22
#: Share of the dimensions in which step 2 measures, and the fewest dimensions with which it pays.
LEADING, FEWEST_DIMENSIONS = 0.25, 32
#: A bound in single precision is trusted up to this share of a density.
ROUNDING = 1e-5
#: The density of a row is computed under all categories if its squared distance to the nearest one is this
#: many times what is expected: far out, the width of a category counts more than where it lies.
FAR_OUT = 6.0
#: Pairs of rows and candidates handed to a thread at a time.
PAIRS = 4096
#: From so many categories on, the best of groups of this many are compared before the best of all.
MANY, GROUP = 2048, 16

__all__ = [
    "FEW_CATEGORIES",
    "USUAL_LIST",
    "TopCategories",
    "category_densities",
    "list_length",
    "top_categories",
    "top_with_rest",
]


class TopCategories(NamedTuple):
    """The best categories of each row.

    Attributes
    ----------
    categories : int array (N, m)
        Positions of the categories, the best first.
    log_density : array (N, m)
        Their log-densities, falling.
    bound : array (N,)
        No category that is not in ``categories`` has a higher log-density; inf where nothing is proven.
    """

    categories: Array
    log_density: Array
    bound: Array

    @property
    def certain(self) -> Array:
        """Whether the first category of each row is proven to be the best of all, bool array (N,)."""
        return np.asarray(self.log_density[:, 0] >= self.bound)


@one_thread()
def top_categories(
    rows: Array, posterior: Posterior, rule: Classifier, m: int = 8, *, certify: bool = False
) -> TopCategories:
    """The best few categories of each row and their log-densities.

    Parameters
    ----------
    rows : array (N, D)
        Reduced embeddings.
    posterior : Posterior of K categories
    rule : Classifier
        How rows are scored; its ``shortlist`` says how many candidates are proposed for each row, and None
        scores all categories.
    m : int
        How many categories are returned for each row; K where there are fewer.
    certify : bool
        Bound the density of categories that were not proposed, which takes longer. Without it the bound is
        inf unless all categories were scored.

    Returns
    -------
    TopCategories

    Examples
    --------
    >>> import numpy as np
    >>> from vbcgcd.bayes import Classifier, Prior, posterior_of, statistics_by_label, top_categories
    >>> rows = np.array([[0.0], [0.2], [5.0], [5.1]])
    >>> posterior = posterior_of(Prior(dim=1), statistics_by_label(rows, np.array([0, 0, 1, 1]), 2))
    >>> top_categories(rows, posterior, Classifier(), m=1).categories.ravel()
    array([0, 0, 1, 1])
    """
    return top_with_rest(rows, posterior, rule, m, certify=certify)[0]


@one_thread()
def top_with_rest(
    rows: Array,
    posterior: Posterior,
    rule: Classifier,
    m: int = 8,
    *,
    temperature: float | None = None,
    certify: bool = False,
) -> tuple[TopCategories, Array]:
    """As `top_categories`, with the logarithm of the sum of exp(temperature log-density) over the others.

    Of categories that were not proposed the density is an estimate. Without a temperature there is no sum,
    and its logarithm is -inf, array (N,).
    """
    m = min(m, len(posterior))
    parts = [_Found(np.empty((0, m), np.intp), np.empty((0, m)), np.empty(0), np.empty(0))]
    size = list_length(rule, posterior, m)
    scoring = None if size is None else DistanceToScore.of(rule, posterior)
    for start in range(0, len(rows), BLOCK_ROWS):
        block = _Block(rows[start : start + BLOCK_ROWS], posterior, rule, m, temperature)
        parts.append(block.dense() if scoring is None else block.listed(scoring, size or m, certify))
    found = _Found(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    return TopCategories(*found[:3]), found.rest


@one_thread()
def category_densities(rows: Array, posterior: Posterior, rule: Classifier, categories: Array) -> Array:
    """Log-density of each row under categories of its own, array (N, C).

    Parameters
    ----------
    rows : array (N, D)
    posterior : Posterior
    rule : Classifier
    categories : int array (N, C)

    Examples
    --------
    >>> import numpy as np
    >>> from vbcgcd.bayes import Classifier, Posterior, Prior
    >>> prior = Posterior.of_prior(Prior(dim=1))
    >>> category_densities(np.zeros((2, 1)), prior, Classifier(), np.zeros((2, 1), int)).round(2)
    array([[-0.92],
           [-0.92]])
    """
    out = np.empty(categories.shape)

    def measure(k: int, members: Array) -> Array:
        return rule.log_density(rows[members], posterior.take(slice(k, k + 1))).T

    work = rows.shape[1] * posterior.form.width
    for start in range(0, len(rows), BLOCK_ROWS):
        part = categories[start : start + BLOCK_ROWS]

        def shifted(k: int, members: Array, start: int = start) -> Array:
            return measure(k, members + start)

        out[start : start + BLOCK_ROWS] = _by_category(shifted, part, np.ones(part.shape, bool), work, 1)[0]
    return out


def list_length(rule: Classifier, posterior: Posterior, m: int = 1) -> int | None:
    """How many candidates each row gets; None where the densities of all categories are computed.

    That is so where the list would hold about all of them, and where a density costs no more than a proposal:
    under independent dimensions and by Euclidean distance. On a device of torch all are computed as well.
    """
    if rule.shortlist is None or rule.metric == "euclidean" or posterior.block < posterior.dim:
        return None
    if rule.device_for(posterior) is not None:
        return None
    if isinstance(rule.shortlist, str) and len(posterior) <= FEW_CATEGORIES:
        return None
    size = USUAL_LIST if isinstance(rule.shortlist, str) else max(rule.shortlist, 2)
    size = max(size, 2 * m)
    return size if size < len(posterior) else None


class _Found(NamedTuple):
    """`TopCategories` and the logarithm of the sum over the others."""

    categories: Array
    log_density: Array
    bound: Array
    rest: Array


@dataclass(frozen=True)
class _Block:
    """Rows whose candidates are scored together."""

    rows: Array
    posterior: Posterior
    rule: Classifier
    m: int
    temperature: float | None

    def dense(self) -> _Found:
        """From the densities of all categories."""
        step = max(BLOCK_SCORES // len(self.posterior), 1)
        parts = []
        for start in range(0, len(self.rows), step):
            density = self.rule.log_density(self.rows[start : start + step], self.posterior)
            index = np.broadcast_to(np.arange(density.shape[1]), density.shape)
            nothing = np.full(len(density), -np.inf)
            parts.append(self._best(index, density, nothing, nothing))
        return _Found(*(np.concatenate(column) for column in zip(*parts, strict=True)))

    def listed(self, scoring: DistanceToScore, size: int, certify: bool) -> _Found:
        """From the densities of candidates."""
        rows = np.asarray(self.rows, dtype=self.rule.dtype)
        outline = outline_of(self.posterior)
        proposal = _propose(rows, outline, scoring, size // 2, certify, self.temperature)
        found = self._decide(rows, scoring, proposal)
        far = np.flatnonzero(~(proposal.nearest <= FAR_OUT * self.posterior.dim))
        if len(far):
            for values, exact in zip(found, replace(self, rows=rows[far]).dense(), strict=True):
                values[far] = exact
        check_finite("The density of a row", found.log_density)
        return found

    def _best(self, index: Array, density: Array, bound: Array, rest: Array) -> _Found:
        """The best of listed categories, those with lower positions first where densities are equal."""
        order = np.argsort(-density, axis=1, kind="stable")
        best = np.take_along_axis(density, order[:, : self.m], axis=1)
        if order.shape[1] > self.m:
            others = np.take_along_axis(density, order[:, self.m :], axis=1)
            bound = np.maximum(bound, others[:, 0])
            if self.temperature is not None:
                rest = np.logaddexp(rest, np.logaddexp.reduce(self.temperature * others, axis=1))
        return _Found(np.take_along_axis(index, order[:, : self.m], axis=1), best, bound, rest)

    def _decide(self, rows: Array, scoring: DistanceToScore, proposal: _Proposal) -> _Found:
        """The best of the proposed categories, by steps 2 and 3."""
        index, listed, bound, rest = proposal[:4]
        if not self.posterior.form.triangular or self.posterior.dim < FEWEST_DIMENSIONS:
            return self._best(index, self._densities(rows, scoring, index, listed), bound, rest)
        estimate, upper = self._estimate(rows, scoring, index, listed)
        first = _highest_of(estimate, self.m) & listed
        density = self._densities(rows, scoring, index, first)
        least = np.where(first, density, np.inf).min(axis=1, keepdims=True)
        others = listed & ~first & (upper >= least - ROUNDING * np.abs(least))
        density = np.where(first, density, self._densities(rows, scoring, index, others))
        dropped = listed & ~first & ~others
        bound = np.maximum(bound, np.where(dropped, upper, -np.inf).max(axis=1))
        if self.temperature is not None:
            behind = np.where(dropped, estimate, -np.inf)
            rest = np.logaddexp(rest, np.logaddexp.reduce(self.temperature * behind, axis=1))
        return self._best(index, density, bound, rest)

    def _estimate(
        self, rows: Array, scoring: DistanceToScore, index: Array, listed: Array
    ) -> tuple[Array, Array]:
        """Estimated log-densities of the listed categories and upper bounds of them, arrays (N, C)."""
        dim, outline = self.posterior.dim, outline_of(self.posterior)
        leading = int(dim * LEADING)
        scaled = (rows[:, leading:] / outline.root[leading:]).astype(np.float32)
        shape = float((outline.root[leading:] ** 2).sum())
        part = packed_size(leading)

        def measure(k: int, members: Array) -> Array:
            factor = self.posterior.factor[k][:part].astype(rows.dtype, copy=False)
            mean = self.posterior.mean[k, :leading].astype(rows.dtype, copy=False)
            solved = solve_lower(unpack_upper(factor, leading), rows[members, :leading] - mean)
            distance = np.einsum("nd,nd->n", solved, solved, dtype=np.float64)
            gap = scaled[members] - outline.means[k, leading:]
            rest = max(outline.trace[k] - float(np.dot(factor, factor)), 1e-6 * outline.trace[k])
            return np.stack([distance, np.einsum("nd,nd->n", gap, gap) * (shape / rest)])

        known, other = _by_category(measure, index, listed, leading**2, 2)
        upper = scoring.of_category(known, index)
        return np.where(listed, scoring.of_category(known + other, index), -np.inf), upper

    def _densities(self, rows: Array, scoring: DistanceToScore, index: Array, listed: Array) -> Array:
        """Log-densities under the listed categories, -inf elsewhere, array (N, C)."""
        posterior = self.posterior

        def measure(k: int, members: Array) -> Array:
            one = slice(k, k + 1)
            return posterior.form.distances(rows[members], posterior.mean[one], posterior.factor[one]).T

        (distance,) = _by_category(measure, index, listed, 2 * posterior.form.width, 1)
        return np.where(listed, scoring.of_category(distance, index), -np.inf)


def _by_category(
    measure: Callable[[int, Array], Array], index: Array, listed: Array, work: int, n_values: int
) -> Array:
    """What is measured of each listed pair of row and category, array (V, N, C); 0 elsewhere.

    Parameters
    ----------
    measure : callable
        From a category and positions of rows, array (R,), to values (V, R).
    index, listed : array (N, C)
        Categories of each row, and which of them count.
    work : int
        Multiplications for each pair.
    n_values : int
        The number V.
    """
    out = np.zeros((n_values, index.size))
    pairs = np.flatnonzero(listed)
    pairs = pairs[np.argsort(index.ravel()[pairs], kind="stable")]
    category = index.ravel()[pairs]
    edges = np.append(np.flatnonzero(np.diff(category, prepend=-1)), len(pairs))

    def measure_some(some: range) -> None:
        for i in some:
            own = pairs[edges[i] : edges[i + 1]]
            out[:, own] = measure(int(category[edges[i]]), own // index.shape[1])

    for _ in in_parallel(measure_some, _in_batches(edges), work=PAIRS * work):
        pass
    return out.reshape(n_values, *index.shape)


def _in_batches(edges: Array) -> Iterator[range]:
    """Positions of consecutive categories that have about `PAIRS` rows together."""
    first, last = 0, len(edges) - 1
    while first < last:
        stop = max(int(np.searchsorted(edges, edges[first] + PAIRS, side="right")) - 1, first + 1)
        yield range(first, min(stop, last))
        first = stop


class _Proposal(NamedTuple):
    """Candidates of each row.

    Categories (N, C) in rising order, which of them count, a bound of all others (N,), the logarithm of the
    sum over all others (N,), and the least squared distance under the shared shape (N,), which is about D for
    a row of a category.
    """

    categories: Array
    listed: Array
    bound: Array
    rest: Array
    nearest: Array


def _propose(
    rows: Array,
    outline: Outline,
    scoring: DistanceToScore,
    each: int,
    certify: bool,
    temperature: float | None,
) -> _Proposal:
    """So many candidates by distance and by direction."""
    n_rows, n_categories = len(rows), len(outline.means)
    index, nearest = np.empty((n_rows, 2 * each), dtype=np.intp), np.empty(n_rows)
    bound, rest = np.full(n_rows, np.inf), np.full(n_rows, -np.inf)
    step = max(BLOCK_SCORES // n_categories, 1)

    def propose(start: int) -> None:
        part = slice(start, start + step)
        near, along, square = outline.likeness(rows[part], scoring)
        chosen = np.sort(np.hstack([_highest(near, each), _highest(along, each)]), axis=1)
        index[part] = chosen
        distance = np.take_along_axis(square, chosen, axis=1) * outline.precision[chosen]
        nearest[part] = distance.min(axis=1)
        if certify:
            bound[part] = outline.bound_outside(rows[part], square, chosen, scoring)
        if temperature is not None:
            np.put_along_axis(near, chosen, -np.inf, axis=1)
            near *= near.dtype.type(temperature)
            rest[part] = _log_sum_exp(near)

    work = step * n_categories * rows.shape[1]
    for _ in in_parallel(propose, range(0, n_rows, step), work=work):
        pass
    listed = np.ones(index.shape, dtype=bool)
    listed[:, 1:] = index[:, 1:] > index[:, :-1]
    return _Proposal(index, listed, bound, rest, nearest)


def _log_sum_exp(values: Array) -> Array:
    """Logarithm of the sum of exponentials of each row, array (N,); the values are overwritten."""
    top = values.max(axis=1)
    values -= np.where(np.isfinite(top), top, 0)[:, None]
    np.exp(values, out=values)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(values.sum(axis=1, dtype=np.float64)) + top)


def _highest(scores: Array, n: int) -> Array:
    """Columns of the ``n`` highest scores of each row, in no order, int array (N, n)."""
    n_columns = scores.shape[1]
    if n_columns < max(MANY, 2 * GROUP * n):
        return np.argpartition(scores, n_columns - n, axis=1)[:, n_columns - n :]
    # The best n columns are in the n groups with the best maxima; group j has the columns j, j + G, j + 2 G.
    groups = n_columns // GROUP
    best = scores[:, : groups * GROUP].reshape(len(scores), GROUP, groups).max(axis=1)
    chosen = np.argpartition(best, groups - n, axis=1)[:, groups - n :]
    columns = (chosen[:, :, None] + groups * np.arange(GROUP)).reshape(len(scores), -1)
    left = np.broadcast_to(np.arange(groups * GROUP, n_columns), (len(scores), n_columns - groups * GROUP))
    columns = np.hstack([columns, left])
    values = np.take_along_axis(scores, columns, axis=1)
    top = np.argpartition(values, columns.shape[1] - n, axis=1)[:, columns.shape[1] - n :]
    return np.take_along_axis(columns, top, axis=1)


def _highest_of(estimate: Array, m: int) -> Array:
    """Which candidates have the ``m`` highest estimates, bool array (N, C); more where they are equal."""
    lowest = estimate.max(axis=1) if m == 1 else -np.partition(-estimate, m - 1, axis=1)[:, m - 1]
    return np.asarray(estimate >= lowest[:, None])
