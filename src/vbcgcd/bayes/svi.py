"""Stochastic variational inference (Hoffman et al.): natural-gradient steps on minibatches, from the prior.

The natural parameters of the conjugate posterior are the prior's plus the statistics of the rows, so the
state of the optimisation is itself a `Statistics`: a step of size rho replaces it by

    (1 - rho) statistics + rho (N / |B|) statistics(minibatch),

which is the natural-gradient update lambda <- (1 - rho) lambda + rho (lambda_0 + (N / |B|) sum_B t(z)).
Its fixed point is the exact posterior, and with full batches the ELBO never falls.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from vbcgcd.bayes.alignment import AlignmentRule
from vbcgcd.bayes.evidence import elbo
from vbcgcd.bayes.posterior import Posterior, Prior, posterior_of
from vbcgcd.bayes.statistics import Statistics, statistics_by_label
from vbcgcd.bayes.threads import one_thread
from vbcgcd.errors import InputError

Array = NDArray[Any]

__all__ = ["Schedule", "SviInfo", "SviResult", "SviState", "run_svi", "svi_init", "svi_step"]


@dataclass(frozen=True)
class Schedule:
    """Step sizes rho_t = (t + delay) ** -forget, t = 1, 2, ...

    They satisfy the Robbins-Monro conditions for 0.5 < forget <= 1.

    Examples
    --------
    >>> from vbcgcd.bayes import Schedule
    >>> Schedule(delay=1.0, forget=1.0)(1)
    0.5
    """

    delay: float = 1.0
    forget: float = 0.7

    def __post_init__(self) -> None:
        if self.delay < 0 or not 0 <= self.forget <= 1:
            raise InputError(
                f"Schedule needs delay >= 0 and 0 <= forget <= 1, got {self.delay} and {self.forget}."
            )

    def __call__(self, step: int) -> float:
        """Step size of the given step (counted from 1)."""
        return float((step + self.delay) ** -self.forget)


class SviState(NamedTuple):
    """Step number and natural parameters (as effective statistics) of one category."""

    step: int
    statistics: Statistics


class SviInfo(NamedTuple):
    """What a step did: its size, the ELBO after it, and log det of the plug-in covariance.

    Examples
    --------
    >>> import numpy as np
    >>> from vbcgcd.bayes import Prior, run_svi
    >>> run_svi(Prior(dim=1), np.array([[1.0], [3.0]]), max_steps=2).trace[-1].step
    2
    """

    step: int
    rho: float
    elbo: float
    log_det: float


class SviResult(NamedTuple):
    """Outcome of `run_svi`: the effective statistics, the posterior, the trace and why it stopped.

    Examples
    --------
    >>> import numpy as np
    >>> from vbcgcd.bayes import Prior, run_svi
    >>> run_svi(Prior(dim=1), np.array([[1.0], [3.0]]), max_steps=2).reason
    'max_steps'
    """

    statistics: Statistics
    posterior: Posterior
    trace: list[SviInfo]
    reason: str


StopRule = Callable[[SviInfo], bool]


def svi_init(prior: Prior) -> SviState:
    """The state before the first step: the prior."""
    return SviState(0, Statistics.empty(1, prior.dim, prior.structure))


def svi_step(state: SviState, minibatch: Statistics, multiplier: float, rho: float) -> SviState:
    """One natural-gradient step on the statistics of a minibatch, ``multiplier`` = N / |B|."""
    return SviState(state.step + 1, state.statistics * (1 - rho) + minibatch * (rho * multiplier))


@dataclass(frozen=True)
class _Convergence:
    """Stops when the ELBO has not improved by ``tolerance`` (relative) for ``patience`` steps."""

    tolerance: float
    patience: int
    best: list[float] = field(default_factory=lambda: [-np.inf, 0.0])

    def __call__(self, info: SviInfo) -> bool:
        if info.elbo > self.best[0] + self.tolerance * abs(info.elbo):
            self.best[:] = [info.elbo, info.step]
        return info.step - self.best[1] >= self.patience


@dataclass
class _Crossing:
    """Notices when the volume passes its goal, log det of the plug-in covariance, coming from the prior's.

    Nothing counts before the statistics are worth one row: until then the mean is still the prior's.
    """

    prior: Prior
    goal: float

    def __post_init__(self) -> None:
        self.side = float(np.sign(self.prior.log_det_covariance - self.goal))

    def passed(self, posterior: Posterior) -> bool:
        """Whether this posterior lies on the goal or beyond it; a start on the goal waits for a side."""
        if posterior.kappa[0] - self.prior.kappa < 1:
            return False
        side = float(np.sign(posterior.log_det_covariance[0] - self.goal))
        passed = self.side not in (0.0, side)
        self.side = self.side or side
        return passed

    def landing(self, step: Callable[[float], SviState], rho: float) -> float:
        """Size of the step, at most ``rho``, with which it ends on the goal, or at one row beyond it."""

        def excess(size: float) -> float:
            posterior = posterior_of(self.prior, step(size).statistics)
            return float(posterior.log_det_covariance[0] - self.goal)

        before, after = (float(step(size).statistics.count[0]) for size in (0.0, rho))
        smallest = 0.0 if before >= 1 else rho * min((1 - before) / (after - before), 1.0)
        if before < 1 and np.sign(excess(smallest)) != self.side:
            return smallest
        return float(scipy.optimize.brentq(excess, smallest, rho))


@one_thread()
def run_svi(
    prior: Prior,
    rows: Array,
    *,
    weight: Array | None = None,
    batch_size: int | None = 128,
    max_steps: int = 1000,
    schedule: Schedule | None = None,
    alignment: AlignmentRule | None = None,
    stop: StopRule | None = None,
    tolerance: float = 1e-6,
    patience: int = 20,
    random_state: np.random.Generator | int | None = None,
) -> SviResult:
    """Fit one category by stochastic variational inference.

    Parameters
    ----------
    prior : Prior
    rows : array (N, D)
        Of the category.
    weight : array (N,), optional
        Weight of each row; 1 for all by default.
    batch_size : int or None
        Rows of a minibatch; None uses all rows in each step.
    max_steps : int
        Training ends after this many steps at the latest.
    schedule : Schedule, optional
        Step sizes; `Schedule()` by default.
    alignment : AlignmentRule, optional
        The early stopping of the paper: training ends where the covariance reaches the volume of the known
        ones. The last step is shortened to land there, but not below one row's worth of statistics.
    stop : callable, optional
        Called with each `SviInfo`; training ends when it returns True.
    tolerance : float
        Smallest relative rise of the ELBO that counts as progress.
    patience : int
        Training ends after this many steps without progress.
    random_state : Generator or int, optional
        Draws the minibatches.

    Returns
    -------
    SviResult

    Examples
    --------
    >>> import numpy as np
    >>> from vbcgcd.bayes import Prior, run_svi
    >>> rows = np.random.default_rng(0).normal(size=(300, 2)) + 5
    >>> result = run_svi(Prior(dim=2), rows, batch_size=None)
    >>> result.posterior.mean.round(), result.reason
    (array([[5., 5.]]), 'converged')
    """
    if len(rows) == 0:
        raise InputError("run_svi needs at least one row, got 0.")
    rng = np.random.default_rng(random_state)
    schedule = schedule or Schedule()
    weight = np.ones(len(rows)) if weight is None else np.asarray(weight, dtype=np.float64)
    everything = _statistics(prior, rows, weight)
    converged = _Convergence(tolerance, patience)
    crossing = None if alignment is None else _Crossing(prior, alignment.goal)
    state, trace = svi_init(prior), list[SviInfo]()
    posterior = posterior_of(prior, state.statistics)
    for indices in _minibatches(len(rows), batch_size, max_steps, rng):
        batch = everything if indices is None else _statistics(prior, rows[indices], weight[indices])
        multiplier = 1.0 if indices is None else len(rows) / len(indices)
        step, rho = functools.partial(svi_step, state, batch, multiplier), schedule(state.step + 1)
        posterior = posterior_of(prior, step(rho).statistics)
        aligned = crossing is not None and crossing.passed(posterior)
        if crossing is not None and aligned:
            rho = crossing.landing(step, rho)
            posterior = posterior_of(prior, step(rho).statistics)
        state = step(rho)
        bound, volume = elbo(prior, posterior, everything)[0], posterior.log_det_covariance[0]
        trace.append(SviInfo(state.step, rho, float(bound), float(volume)))
        if aligned:
            return SviResult(state.statistics, posterior, trace, "aligned")
        if stop is not None and stop(trace[-1]):
            return SviResult(state.statistics, posterior, trace, "stopping rule")
        if converged(trace[-1]):
            return SviResult(state.statistics, posterior, trace, "converged")
    return SviResult(state.statistics, posterior, trace, "max_steps")


def _statistics(prior: Prior, rows: Array, weight: Array) -> Statistics:
    labels = np.zeros(len(rows), dtype=np.intp)
    return statistics_by_label(rows, labels, 1, weight=weight, structure=prior.structure)


def _minibatches(n_rows: int, batch_size: int | None, max_steps: int, rng: np.random.Generator) -> Any:
    """Index arrays of minibatches, epoch after epoch; None stands for all rows."""
    if batch_size is None or batch_size >= n_rows:
        yield from [None] * max_steps
        return
    steps = 0
    while steps < max_steps:
        order = rng.permutation(n_rows)
        for start in range(0, n_rows - batch_size + 1, batch_size):
            if steps == max_steps:
                return
            steps += 1
            yield order[start : start + batch_size]
