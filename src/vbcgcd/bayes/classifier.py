"""Log-density of rows under categories, in chunks of bounded memory, and the classifier built on it.

Mahalanobis: log N(z; m, Psi / (nu - D - 1)), or the Student-t predictive. Euclidean: the nearest mean. The
log-determinant can be left out, which gives the distance of equation 6 of the paper.
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
from vbcgcd.bayes.scoring import DistanceToScore, StudentTerms, log_gamma_ratio, student_of, student_terms
from vbcgcd.bayes.shortlist import list_length, top_categories
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
    shortlist : int, "auto" or None
        Categories of which the density of a row is computed by `predict` and `top_categories`: candidates
        that a cheaper comparison proposes. "auto" takes 48; None takes all categories, and is exact.

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
    shortlist: int | str | None = "auto"

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

        With a short-list only its categories count. Without one the answer is exact. With full covariances,
        categories are abandoned early where that pays: the triangular solve yields
        the squared distance as a growing sum, and a category whose partial sum already exceeds the best
        complete one cannot win.
        """
        if list_length(self, posterior) is not None:
            return top_categories(rows, posterior, self, 1).categories[:, 0]
        out = np.empty(len(rows), dtype=np.intp)
        chunk_rows = chunk_rows or min(CHUNK_ROWS, max(CHUNK_SCORES // len(posterior), 1))
        scoring = DistanceToScore.of(self, posterior)
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
            terms = student_of(self, posterior)
            return posterior.form.student(chunk, posterior.mean, posterior.factor, terms)
        return DistanceToScore.of(self, posterior)(posterior.distances(chunk))


def _by_chunks(
    function: Callable[[int], None], n_rows: int, chunk_rows: int, posterior: Posterior
) -> Iterator[None]:
    """Call a function with the start of each chunk of rows. A single chunk is divided by its categories."""
    starts = range(0, n_rows, chunk_rows)
    work = chunk_rows * len(posterior) * posterior.form.width
    return in_parallel(function, starts, work=work) if len(starts) > 1 else map(function, starts)


def _skipping_pays(sample: Array, posterior: Posterior, scoring: DistanceToScore) -> bool:
    """Whether half of the dimensions suffice to rule out most categories for these rows."""
    half = posterior.dim // 2
    limit = scoring(posterior.distances(sample)).max(axis=1)
    survivors = 0
    for k in range(len(posterior)):
        upper = _upper(posterior, k, sample.dtype)[:half, :half]
        solved = solve_lower(upper, sample[:, :half] - posterior.mean[k, :half].astype(sample.dtype))
        survivors += int((np.einsum("nd,nd->n", solved, solved) < scoring.limit(limit, k)).sum())
    return survivors <= SURVIVORS * len(sample) * len(posterior)


def _nearest(chunk: Array, posterior: Posterior, scoring: DistanceToScore) -> Array:
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
