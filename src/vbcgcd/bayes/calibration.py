"""Leave-one-out calibration on labelled rows: how strong a prior, how sure an answer.

The evidence prefers a prior far too weak for classification: it rewards describing each category's own
covariance, not telling categories apart. What is wanted is the probability of the right category for a row
that has not been seen, so each labelled row is left out in turn, of its own category and of the pooled
covariance by which the space was whitened (see `vbcgcd.bayes.leave_one_out`).

Densities in hundreds of dimensions are far too sure of themselves. The cross-entropy is therefore taken at
its best temperature T, p_k = softmax_k(T log density_k), and T is kept to say how sure a prediction is.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from vbcgcd.bayes.classifier import Predictive
from vbcgcd.bayes.leave_one_out import LeftOut, left_out_densities
from vbcgcd.bayes.posterior import Prior
from vbcgcd.bayes.statistics import Statistics

Array = NDArray[Any]

#: Prior strengths tried, as multiples x of the dimension: nu = D + 1 + x D.
STRENGTHS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
#: Where the walk over the strengths starts, nu = 5 D + 1: a sensible default.
USUAL_STRENGTH = 4.0
#: Bounds of log T. Densities of hundreds of dimensions want a T near 1 / D, and hardly ever one above 1.
LOWEST_LOG_T, HIGHEST_LOG_T = -7.0, 2.0
#: Log T is found this closely: probabilities hardly change with less.
LOG_T_TOLERANCE = 0.05
#: Competing categories considered for each row: the others lose in any case.
SHORTLIST = 6
#: Rows that decide the strength, and the temperature.
STRENGTH_ROWS = 500
TEMPERATURE_ROWS = 800

__all__ = [
    "calibrate_strength",
    "climb",
    "left_out_temperature",
    "tempered_cross_entropy",
]


def tempered_cross_entropy(
    log_density: Array, labels: Array, *, highest: float = HIGHEST_LOG_T
) -> tuple[Array, float]:
    """Cross-entropy of each row at the temperature where their mean is least, and that temperature.

    The probabilities are softmax(T log density).

    Parameters
    ----------
    log_density : array (M, K)
    labels : int array (M,)
    highest : float
        Largest log T allowed.
    """
    shifted = log_density - log_density.max(axis=1, keepdims=True)
    own = shifted[np.arange(len(labels)), labels]

    def losses(log_t: float) -> Array:
        t = np.exp(log_t)
        return np.asarray(np.log(np.exp(t * shifted).sum(axis=1)) - t * own)

    best = scipy.optimize.minimize_scalar(
        lambda log_t: losses(log_t).mean(),
        bounds=(LOWEST_LOG_T, highest),
        method="bounded",
        options={"xatol": LOG_T_TOLERANCE},
    ).x
    return losses(best), float(np.exp(best))


def calibrate_strength(prior: Prior, statistics: Statistics, left_out: LeftOut) -> Prior:
    """The prior with the strength that gives left-out rows the highest probability of their own category.

    Walks from nu = 5 D + 1 to a neighbouring strength as long as the cross-entropy clearly falls.

    Parameters
    ----------
    prior : Prior, ``full``
    statistics : Statistics of at least two categories, ``full``
    left_out : LeftOut
        Rows of categories with at least two rows.

    Returns
    -------
    Prior
    """
    few = left_out.first(STRENGTH_ROWS)
    rivals = _shortlist(statistics, few)

    @functools.cache
    def losses(position: int) -> Array:
        candidate = _strengthened(prior, STRENGTHS[position])
        density = left_out_densities(candidate, statistics, few, "student", rivals)
        return tempered_cross_entropy(density, few.labels)[0]

    return _strengthened(prior, STRENGTHS[climb(losses, STRENGTHS.index(USUAL_STRENGTH), len(STRENGTHS))])


def left_out_temperature(
    prior: Prior, statistics: Statistics, left_out: LeftOut, predictive: Predictive
) -> float:
    """Temperature at which the probabilities of left-out rows are right on average."""
    few = left_out.first(TEMPERATURE_ROWS)
    everyone = np.ones((len(few.rows), len(statistics)), dtype=bool)
    density = left_out_densities(prior, statistics, few, predictive, everyone)
    return tempered_cross_entropy(density, few.labels)[1]


def climb(losses: Callable[[int], Array], start: int, size: int) -> int:
    """Walk from position ``start`` over 0 to ``size - 1`` while a neighbour is clearly better.

    Clearly: the mean of the paired differences of the rows' losses exceeds its standard error. The start is
    a sensible default that noise should seldom leave.
    """
    here = start
    for direction in (1, -1):
        while 0 <= here + direction < size:
            if not np.isfinite(losses(here + direction)).all():
                break
            if np.isfinite(losses(here)).all():
                gain = losses(here) - losses(here + direction)
                if not gain.mean() > gain.std() / np.sqrt(len(gain)):
                    break
            here += direction
    return here


def _strengthened(prior: Prior, x: float) -> Prior:
    return replace(prior, nu=prior.dim * (1 + x) + 1)


def _shortlist(statistics: Statistics, left_out: LeftOut) -> Array:
    """Boolean array (M, K): the row's own category and its nearest others in the whitened space."""
    means = statistics.mean.astype(np.float64)
    distance = (means**2).sum(axis=1) - 2 * left_out.rows @ means.T
    own = np.arange(len(left_out.labels)), left_out.labels
    distance[own] = -np.inf
    size = min(SHORTLIST + 1, len(statistics))
    nearest = np.argpartition(distance, size - 1, axis=1)[:, :size]
    chosen = np.zeros(distance.shape, dtype=bool)
    np.put_along_axis(chosen, nearest, True, axis=1)
    return chosen
