"""Covariance alignment: the volume of a novel category is brought to that of the known ones.

The ratio of equation 11 of the paper, with log-determinants,

    R = log det Sigma_novel - log mean_k det Sigma_k,

starts at the prior's and changes as a posterior is trained. Training ends where R first meets its target:
as a rule for SVI (`AlignmentRule`), or, without training, as a root along the straight path of natural
parameters from prior to posterior (`align`).

The paper first considers a penalty beside the ELBO, L_det = (R - target)^2 (equation 10), and says that
optimising both fails. `penalised` is that optimum in closed form.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from vbcgcd.bayes.linalg import cholesky, solve_lower
from vbcgcd.bayes.posterior import Posterior, Prior
from vbcgcd.bayes.statistics import Statistics
from vbcgcd.bayes.threads import in_parallel, one_thread

Array = NDArray[Any]

#: Points along the path at which the ratio is looked at before the root is refined.
PATH_POINTS = 129
#: The root is found to the precision of float64: tau may be as small as one row in millions.
TAU_TOLERANCE = 1e-15

__all__ = [
    "Alignment",
    "AlignmentRule",
    "align",
    "bhattacharyya",
    "log_det_along_path",
    "penalised",
    "volume_ratio",
]


def mean_log_volume(log_det_known: Array) -> float:
    """Log of the mean determinant, from log-determinants."""
    return float(scipy.special.logsumexp(log_det_known) - np.log(len(log_det_known)))


def volume_ratio(log_det_novel: Array, log_det_known: Array) -> Array:
    """R of each novel category against the mean volume of the known ones (equation 11 of the paper).

    Examples
    --------
    >>> import numpy as np
    >>> from vbcgcd.bayes import volume_ratio
    >>> volume_ratio(np.array([3.0, 1.0]), np.array([1.0, 1.0]))
    array([2., 0.])
    """
    return np.asarray(log_det_novel) - mean_log_volume(np.asarray(log_det_known))


class Alignment(NamedTuple):
    """Result of `align`: tempered statistics, the fraction of the path, and R before and after.

    Examples
    --------
    >>> import numpy as np
    >>> from vbcgcd.bayes import Prior, align, statistics_by_label
    >>> statistics = statistics_by_label(np.array([[1.0], [3.0]]), np.array([0, 0]), 1)
    >>> align(Prior(dim=1), statistics, np.array([9.0])).tau  # no crossing: all of the statistics
    array([1.])
    """

    statistics: Statistics
    tau: Array
    before: Array
    after: Array


@dataclass(frozen=True)
class AlignmentRule:
    """Early stopping for SVI: `vbcgcd.bayes.run_svi` ends where R meets its target.

    The rule as printed in the paper (stop when R < epsilon) holds before the first step wherever the known
    volumes exceed the prior's. Instead, training ends where R first crosses its target on the way from the
    prior's volume, and the step that crosses it is shortened so that R lands on the target.

    Parameters
    ----------
    log_det_known : array (K,)
        Log-determinants of the known covariances.
    target : float
        R at which training ends; 0 in the paper.

    Examples
    --------
    >>> import numpy as np
    >>> from vbcgcd.bayes import AlignmentRule, Prior, run_svi
    >>> rows = 3 * np.random.default_rng(0).normal(size=(200, 2))
    >>> rule = AlignmentRule(np.array([2.0]))
    >>> result = run_svi(Prior(dim=2, nu=40.0), rows, alignment=rule, random_state=0)
    >>> result.reason, round(result.trace[-1].log_det, 6)
    ('aligned', 2.0)
    """

    log_det_known: Array
    target: float = 0.0

    @property
    def goal(self) -> float:
        """Log-determinant of the novel covariance at which R equals its target."""
        return mean_log_volume(np.asarray(self.log_det_known)) + self.target


def log_det_along_path(prior: Prior, statistics: Statistics) -> Any:
    """Function tau -> log det of the plug-in covariance of prior + tau statistics (one category).

    The scatter is decomposed once; each value then costs O(D).

    Examples
    --------
    >>> import numpy as np
    >>> from vbcgcd.bayes import Prior, log_det_along_path, statistics_by_label
    >>> statistics = statistics_by_label(np.array([[1.0], [3.0]]), np.array([0, 0]), 1)
    >>> log_det_along_path(Prior(dim=1, variance=1.0), statistics)(0.0)  # the prior's
    0.0
    """
    count, mean = float(statistics.count[0]), statistics.mean[0].astype(np.float64)
    log_det_scale = prior.form.log_det_path(statistics.scatter[0], mean)

    def log_det(tau: float) -> float:
        n = tau * count
        shift = prior.kappa * n / (prior.kappa + n)
        total = log_det_scale(prior.scale, tau, shift)
        return float(total - prior.dim * np.log(prior.nu + n - prior.block - 1))

    return log_det


@one_thread()
def align(prior: Prior, statistics: Statistics, log_det_known: Array, *, target: float = 0.0) -> Alignment:
    """Temper the statistics of each novel category until its R equals ``target``.

    Parameters
    ----------
    prior : Prior
    statistics : Statistics of the novel categories
    log_det_known : array (K,)
    target : float

    Returns
    -------
    Alignment
        ``tau`` is the first crossing on the way from the prior (0) to the posterior (1), and 1 where
        there is none. It is never less than one row's worth of statistics: below that the mean itself
        would still be the prior's.

    Examples
    --------
    >>> import numpy as np
    >>> from vbcgcd.bayes import Prior, align, statistics_by_label
    >>> rows = 3 * np.random.default_rng(0).normal(size=(200, 2))
    >>> statistics = statistics_by_label(rows, np.zeros(200, int), 1)
    >>> align(Prior(dim=2, nu=40.0), statistics, np.array([2.0])).after.round(6)
    array([0.])
    """
    goal = mean_log_volume(np.asarray(log_det_known)) + target

    def path(k: int) -> tuple[float, float, float]:
        log_det = log_det_along_path(prior, statistics.take([k]))
        one_row = 1.0 / max(float(statistics.count[k]), 1.0)
        tau = _first_crossing(lambda t: log_det(t) - goal, one_row)
        return tau, log_det(1.0) - goal + target, log_det(tau) - goal + target

    work = prior.form.width * prior.block  # of an eigendecomposition, and more
    paths = list(in_parallel(path, range(len(statistics)), work=work))
    tau, before, after = np.array(paths).reshape(-1, 3).T
    return Alignment(statistics * tau, tau, before, after)


def _first_crossing(function: Any, smallest: float) -> float:
    """First tau at which ``function`` leaves the side on which it starts; never below ``smallest``."""
    grid = np.concatenate([[0.0], np.geomspace(smallest, 1.0, PATH_POINTS)])
    sides = np.sign([function(t) for t in grid])
    start = sides[np.flatnonzero(sides)[0]] if sides.any() else 0.0
    left = np.flatnonzero((sides == -start) & (start != 0))
    if len(left) == 0:
        return 1.0
    if left[0] <= 1:
        return smallest
    return float(scipy.optimize.brentq(function, grid[left[0] - 1], grid[left[0]], xtol=TAU_TOLERANCE))


def penalised(posterior: Posterior, log_det_known: Array, *, weight: float, target: float = 0.0) -> Posterior:
    """The posteriors that maximise the ELBO less ``weight`` times L_det (equation 10 of the paper).

    Among Normal-inverse-Wishart distributions with the posterior's m, kappa and nu, the ELBO is a constant
    less the divergence nu / 2 (tr(Psi* Psi^-1) + log det Psi), where Psi* is the exact posterior's. With the
    penalty, the gradient vanishes at Psi = Psi* / s for the one s > 0 with

        s = 1 + 4 weight / nu (R* - target - D log s),

    R* being that of the exact posterior. So the penalty rescales a covariance and does not reshape it.

    Parameters
    ----------
    posterior : Posterior
        Exact ones, of the novel categories.
    log_det_known : array (K,)
    weight : float
        Of the penalty, at least 0. Weights far below nu / D hardly move R.
    target : float

    Examples
    --------
    >>> import numpy as np
    >>> from vbcgcd.bayes import Prior, penalised, posterior_of, statistics_by_label, volume_ratio
    >>> rows = 3 * np.random.default_rng(0).normal(size=(200, 2))
    >>> exact = posterior_of(Prior(dim=2), statistics_by_label(rows, np.zeros(200, int), 1))
    >>> known = np.array([2.0])
    >>> found = [penalised(exact, known, weight=w).log_det_covariance for w in (0, 1, 1e9)]
    >>> [volume_ratio(log_det, known).round(1) for log_det in found]
    [array([2.4]), array([2.3]), array([0.])]
    """
    excess = volume_ratio(posterior.log_det_covariance, log_det_known) - target
    shrink = [
        _penalty_scale(4 * weight / nu, e, posterior.dim)
        for nu, e in zip(posterior.nu.tolist(), excess.tolist(), strict=True)
    ]
    factor = posterior.form.divided(posterior.factor, np.sqrt(shrink))
    return replace(posterior, factor=factor.astype(posterior.factor.dtype))


def _penalty_scale(rate: float, excess: float, dim: int) -> float:
    """The root s of s - 1 = rate (excess - dim log s): the left rises with s, the right falls."""

    def gap(log_s: float) -> float:
        return float(np.expm1(log_s) - rate * (excess - dim * log_s))

    end = excess / dim  # there the penalty vanishes, so the root lies between it and 0, where the ELBO peaks
    if rate == 0 or end == 0:
        return 1.0
    return float(np.exp(scipy.optimize.brentq(gap, min(0.0, end), max(0.0, end))))


@one_thread()
def bhattacharyya(posterior: Posterior, i: int, j: int) -> float:
    """Bhattacharyya distance between the plug-in Gaussians of two categories (equation 9 of the paper).

    Parameters
    ----------
    posterior : Posterior
    i, j : int

    Returns
    -------
    float
        0 for identical Gaussians; symmetric in ``i`` and ``j``.

    Examples
    --------
    >>> import numpy as np
    >>> from vbcgcd.bayes import Prior, bhattacharyya, posterior_of, statistics_by_label
    >>> posterior = posterior_of(Prior(dim=2), statistics_by_label(np.eye(2), np.array([0, 1]), 2))
    >>> bhattacharyya(posterior, 0, 1) == bhattacharyya(posterior, 1, 0) > 0
    True
    """
    middle = 0.5 * (posterior.covariance(i) + posterior.covariance(j))
    factor = cholesky(middle)
    gap = (posterior.mean[i] - posterior.mean[j]).astype(np.float64)
    half = solve_lower(factor.T, gap[None])
    log_det = 2 * np.log(np.diag(factor)).sum()
    outer = 0.5 * (posterior.log_det_covariance[i] + posterior.log_det_covariance[j])
    return float(0.125 * (half**2).sum() + 0.5 * (log_det - outer))
