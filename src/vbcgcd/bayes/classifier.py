"""Log-density of rows under categories, in chunks of bounded memory, and the classifier built on it.

Mahalanobis: log N(z; m, Psi / (nu - D - 1)), or the Student-t predictive. Euclidean: the nearest mean. The
log-determinant can be left out, which gives the distance of equation 6 of the paper.

The Student-t predictive: a new row of a category with posterior (m, kappa, nu, Psi) is distributed,
independently in each block of b dimensions, with nu - b + 1 degrees of freedom and scale
Psi (kappa + 1) / (kappa freedom):

    log p = log Gamma((freedom + b) / 2) - log Gamma(freedom / 2) - b / 2 log pi
            - 1/2 log det(Psi spread) - (freedom + b) / 2 log(1 + distance / spread)

with spread = (kappa + 1) / kappa and the squared distance taken in the metric of Psi.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy
from numpy.typing import DTypeLike, NDArray

from vbcgcd.bayes.linalg import solve_lower, squared_distances, subtract_product, unpack_upper
from vbcgcd.bayes.posterior import Posterior
from vbcgcd.bayes.threads import in_parallel, one_thread
from vbcgcd.validation import check_finite

Array = NDArray[Any]

Metric = Literal["mahalanobis", "euclidean"]
Predictive = Literal["plugin", "student"]
#: Rows scored at a time, by each thread: the scratch is this many rows, 3 MB for 384 dimensions in float32.
CHUNK_ROWS = 2048
#: Scores of rows under categories held at a time by `predict`.
CHUNK_SCORES = 2**20
#: Shares of the dimensions after which categories that cannot win any more are dropped.
STAGES = (0.4, 0.75, 1.0)
#: In fewer dimensions a complete distance is cheaper than a decision to skip it.
SKIPPING_DIMENSIONS = 32
#: The exponential function of more than this overflows.
LARGEST_EXPONENT = 700
#: Skipping pays if at most this share of categories survives half of the dimensions, on so many rows.
SURVIVORS, PILOT_ROWS = 0.4, 128

__all__ = [
    "Classifier",
    "Metric",
    "Predictive",
    "StudentTerms",
    "log_gamma_ratio",
    "log_normalise",
    "student_terms",
]


@dataclass(frozen=True)
class StudentTerms:
    """Log-densities under K categories: ``constant - volume - slope sum_b log(1 + distance_b / spread)``.

    The sum runs over the blocks of dimensions. All terms are arrays (K,).
    """

    constant: Array
    volume: Array
    slope: Array
    spread: Array


def log_gamma_ratio(freedom: Array, block: int) -> Array:
    """Log Gamma((freedom + block) / 2) - log Gamma(freedom / 2)."""
    return np.asarray(scipy.special.gammaln((freedom + block) / 2) - scipy.special.gammaln(freedom / 2))


def student_terms(
    kappa: Array, nu: Array, log_det_scale: Array, *, dim: int, block: int, log_determinant: bool
) -> StudentTerms:
    """Terms of the Student-t predictive.

    Parameters
    ----------
    kappa, nu, log_det_scale : array (K,)
        Of the posteriors: kappa, nu and log det Psi over all dimensions.
    dim : int
        Number of dimensions.
    block : int
        Dimensions of one block.
    log_determinant : bool
        False leaves out the volume of the whole scale matrix, Psi spread / freedom.
    """
    freedom, spread = nu - block + 1, (kappa + 1) / kappa
    constant = (dim // block) * (log_gamma_ratio(freedom, block) - 0.5 * block * np.log(np.pi))
    volume = log_det_scale + dim * np.log(spread) if log_determinant else dim * np.log(freedom)
    return StudentTerms(constant, 0.5 * volume, 0.5 * (freedom + block), spread)


def log_normalise(log_density: Array) -> Array:
    """Log-probabilities over the categories (equal prior weights), array (N, K).

    Examples
    --------
    >>> import numpy as np
    >>> from vbcgcd.bayes import log_normalise
    >>> np.exp(log_normalise(np.array([[-3.0, -3.0]])))
    array([[0.5, 0.5]])
    """
    # Beside a density of -1e17 the logarithm of a sum of K is nothing: what counts are the differences.
    shifted = log_density - log_density.max(axis=1, keepdims=True)
    return np.asarray(shifted - scipy.special.logsumexp(shifted, axis=1, keepdims=True))


@dataclass(frozen=True)
class Classifier:
    """How rows are scored against categories.

    Parameters
    ----------
    metric : {"mahalanobis", "euclidean"}
    predictive : {"plugin", "student"}
        Gaussian with the plug-in covariance, or the Student-t predictive, which accounts for the
        uncertainty of mean and covariance.
    log_determinant : bool
        Keep the term -1/2 log det Sigma.
    dtype : float32 or float64
        Type of the heavy computation; results are float64.

    Examples
    --------
    >>> import numpy as np
    >>> from vbcgcd.bayes import Classifier, Prior, posterior_of, statistics_by_label
    >>> rows = np.array([[0.0, 0.0], [0.2, 0.1], [5.0, 5.0], [5.1, 4.9]])
    >>> posterior = posterior_of(Prior(dim=2), statistics_by_label(rows, np.array([0, 0, 1, 1]), 2))
    >>> Classifier().predict(rows, posterior)
    array([0, 0, 1, 1])
    """

    metric: Metric = "mahalanobis"
    predictive: Predictive = "plugin"
    log_determinant: bool = True
    dtype: DTypeLike = np.float64

    @one_thread()
    def log_density(self, rows: Array, posterior: Posterior, *, chunk_rows: int = CHUNK_ROWS) -> Array:
        """Log-density of every row under every category.

        Parameters
        ----------
        rows : array (N, D)
        posterior : Posterior of K categories
        chunk_rows : int
            Rows scored at a time.

        Returns
        -------
        array (N, K), float64
        """
        out = np.empty((len(rows), len(posterior)))

        def score(start: int) -> None:
            chunk = np.asarray(rows[start : start + chunk_rows], dtype=self.dtype)
            out[start : start + chunk_rows] = self._score(chunk, posterior)

        for _ in _by_chunks(score, len(rows), chunk_rows, posterior):
            pass
        check_finite("The density of a row", out)
        return out

    @one_thread()
    def predict(self, rows: Array, posterior: Posterior, *, chunk_rows: int | None = None) -> Array:
        """Index of the category with the highest log-density, int array (N,).

        With full covariances, categories are abandoned early where that pays: the triangular solve yields
        the squared distance as a growing sum, and a category whose partial sum already exceeds the best
        complete one cannot win.
        """
        out = np.empty(len(rows), dtype=np.intp)
        chunk_rows = chunk_rows or min(CHUNK_ROWS, max(CHUNK_SCORES // len(posterior), 1))
        scoring = _DistanceToScore.of(self, posterior)
        skipping = (
            self.metric == "mahalanobis"
            and posterior.form.triangular
            and posterior.dim >= SKIPPING_DIMENSIONS
            and _skipping_pays(np.asarray(rows[:PILOT_ROWS], dtype=self.dtype), posterior, scoring)
        )

        def decide(start: int) -> None:
            chunk = np.asarray(rows[start : start + chunk_rows], dtype=self.dtype)
            if skipping:
                out[start : start + chunk_rows] = _nearest(chunk, posterior, scoring)
            else:
                scores = self._score(chunk, posterior)
                check_finite("The density of a row", scores)
                out[start : start + chunk_rows] = scores.argmax(axis=1)

        for _ in _by_chunks(decide, len(rows), chunk_rows, posterior):
            pass
        return out

    def _score(self, chunk: Array, posterior: Posterior) -> Array:
        if self.metric == "euclidean":
            return -0.5 * squared_distances(chunk, posterior.mean)
        if self.predictive == "student":
            terms = _student(self, posterior)
            return posterior.form.student(chunk, posterior.mean, posterior.factor, terms)
        return _DistanceToScore.of(self, posterior)(posterior.distances(chunk))


def _by_chunks(
    function: Callable[[int], None], n_rows: int, chunk_rows: int, posterior: Posterior
) -> Iterator[None]:
    """Call a function with the start of each chunk of rows. A single chunk is divided by its categories."""
    starts = range(0, n_rows, chunk_rows)
    work = chunk_rows * len(posterior) * posterior.form.width
    return in_parallel(function, starts, work=work) if len(starts) > 1 else map(function, starts)


@dataclass(frozen=True)
class _DistanceToScore:
    """Log-density as a falling function of the squared distance in the metric of Psi, category by category.

    ``constant - slope distance`` for the plug-in Gaussian, ``constant - slope log(1 + distance / spread)``
    for the Student-t predictive.
    """

    constant: Array
    slope: Array
    spread: Array | None

    @classmethod
    def of(cls, rule: Classifier, posterior: Posterior) -> _DistanceToScore:
        if rule.predictive == "student":
            terms = _student(rule, posterior)
            return cls(terms.constant - terms.volume, terms.slope, terms.spread)
        constant = np.full(len(posterior), -0.5 * posterior.dim * np.log(2 * np.pi))
        if rule.log_determinant:
            constant = constant - 0.5 * posterior.log_det_covariance
        return cls(constant, 0.5 * posterior.plugin_weight, None)

    def __call__(self, distance: Array) -> Array:
        """Log-densities, array (N, K), from distances, array (N, K)."""
        if self.spread is not None:
            distance = np.log1p(distance / self.spread)
        return np.asarray(self.constant - self.slope * distance)

    def of_category(self, distance: Array, k: int) -> Array:
        """Log-densities under category ``k``."""
        if self.spread is not None:
            distance = np.log1p(distance / self.spread[k])
        return np.asarray(self.constant[k] - self.slope[k] * distance)

    def limit(self, score: Array, k: int) -> Array:
        """Distance below which category ``k`` scores higher than ``score``."""
        reach = (self.constant[k] - score) / self.slope[k]
        return np.asarray(
            reach if self.spread is None else self.spread[k] * np.expm1(np.minimum(reach, LARGEST_EXPONENT))
        )


def _student(rule: Classifier, posterior: Posterior) -> StudentTerms:
    return student_terms(
        posterior.kappa,
        posterior.nu,
        posterior.log_det_scale,
        dim=posterior.dim,
        block=posterior.block,
        log_determinant=rule.log_determinant,
    )


def _skipping_pays(sample: Array, posterior: Posterior, scoring: _DistanceToScore) -> bool:
    """Whether half of the dimensions suffice to rule out most categories for these rows."""
    half = posterior.dim // 2
    limit = scoring(posterior.distances(sample)).max(axis=1)
    survivors = 0
    for k in range(len(posterior)):
        upper = _upper(posterior, k, sample.dtype)[:half, :half]
        solved = solve_lower(upper, sample[:, :half] - posterior.mean[k, :half].astype(sample.dtype))
        survivors += int((np.einsum("nd,nd->n", solved, solved) < scoring.limit(limit, k)).sum())
    return survivors <= SURVIVORS * len(sample) * len(posterior)


def _nearest(chunk: Array, posterior: Posterior, scoring: _DistanceToScore) -> Array:
    """Best category of each row, abandoning categories that provably cannot win."""
    winner = squared_distances(chunk, posterior.mean).argmin(axis=1)
    best = np.empty(len(chunk))
    # A guess is scored completely first: its score is what the others have to beat.
    for guess in np.unique(winner):
        members = np.flatnonzero(winner == guess)
        _, distance = _closer(chunk[members], posterior, guess, np.full(len(members), np.inf))
        best[members] = scoring.of_category(distance, guess)
    for k in range(len(posterior)):
        rows, distance = _closer(chunk, posterior, k, scoring.limit(best, k))
        score = scoring.of_category(distance, k)
        better = score > best[rows]
        winner[rows[better]], best[rows[better]] = k, score[better]
    check_finite("The density of a row", best)
    return winner


def _closer(chunk: Array, posterior: Posterior, k: int, limit: Array) -> tuple[Array, Array]:
    """Rows whose squared distance to category ``k`` is below ``limit``, and these distances.

    The distance is built up over growing leading blocks of the Cholesky factor. It only grows, so a row that
    has passed its limit is dropped before the larger blocks are reached.
    """
    upper, mean = _upper(posterior, k, chunk.dtype), posterior.mean[k].astype(chunk.dtype, copy=False)
    edges = [0, *(max(int(posterior.dim * f), 1) for f in STAGES)]
    solved = solve_lower(upper[: edges[1], : edges[1]], chunk[:, : edges[1]] - mean[: edges[1]])
    distance = np.einsum("nd,nd->n", solved, solved)
    rows = np.flatnonzero(distance < limit)
    distance, solved = distance[rows], solved[rows]
    for start, stop in itertools.pairwise(edges[1:]):
        if len(rows) == 0:
            break
        part = chunk[rows, start:stop]
        part -= mean[start:stop]
        part = subtract_product(part, solved, upper[:start, start:stop])
        part = solve_lower(upper[start:stop, start:stop], part)
        distance += np.einsum("nd,nd->n", part, part)
        alive = np.flatnonzero(distance < limit[rows])
        rows, distance = rows[alive], distance[alive]
        if stop < posterior.dim:
            solved = np.concatenate([solved[alive], part[alive]], axis=1)
    return rows, distance


def _upper(posterior: Posterior, k: int, dtype: DTypeLike) -> Array:
    """Transposed Cholesky factor of Psi_k in Fortran order."""
    return unpack_upper(posterior.factor[k].astype(dtype, copy=False), posterior.dim)
