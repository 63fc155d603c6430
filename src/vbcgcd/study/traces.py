"""What figures show beyond the tables: a session while it is learned, and estimates of single categories."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vbcgcd.bayes import Prior, Statistics, posterior_of, statistics_by_label
from vbcgcd.bayes.alignment import mean_log_volume
from vbcgcd.bayes.svi import svi_init, svi_step
from vbcgcd.discovery.geometry import is_flagged
from vbcgcd.discovery.steps import SMALL_STEPS
from vbcgcd.model import CategoryDiscoverer
from vbcgcd.study.datasets.labelled import Dataset
from vbcgcd.study.methods import METHODS
from vbcgcd.study.plans import Plan
from vbcgcd.study.scoring import FrozenMatch, answer_probability, outcome_of, score_session
from vbcgcd.study.streams.scoring import calibration_error

Array = NDArray[Any]
#: Iterations of SVI after which a session is looked at, and the rows of a minibatch.
LOOKS = np.unique(np.concatenate([[0], np.geomspace(1, 300, 30).round().astype(int)]))
BATCH = 128
#: Bins of a reliability plot.
N_BINS = 10
#: Dimensions of the figures of one category.
N_DIMENSIONS, N_SHOWN = 8, 40

__all__ = [
    "CalibrationTrace",
    "Estimates",
    "Pair",
    "ProgressTrace",
    "calibration_of",
    "estimates_of",
    "progress_of_session",
    "two_categories",
]


class ProgressTrace(NamedTuple):
    """Accuracy and volume of the novel categories while stochastic variational inference trains them.

    Parameters
    ----------
    steps : int array (T,)
        Iterations after which they are looked at; 0 is the prior.
    all, old, new : array (T,)
        Test accuracy.
    volume : array (T,)
        Mean log-determinant of the novel covariances.
    known_volume, typical_volume : float
        Log of the mean determinant of the known ones, which the largest dominate, and the mean of the logs.
    stop : int or None
        Iteration by which the two volumes have met, R = 0; None where they never do.
    """

    steps: Array
    all: Array
    old: Array
    new: Array
    volume: Array
    known_volume: float
    typical_volume: float
    stop: int | None


def progress_of_session(data: Dataset, plan: Plan, model: CategoryDiscoverer) -> ProgressTrace:
    """Train the novel categories of a plan's first session by SVI, without stopping, and score the path.

    The rows have the labels that they have at the end of the session. Steps are as small as where a
    session stops early.

    Parameters
    ----------
    data : Dataset
    plan : Plan
    model : CategoryDiscoverer
        Not fitted yet.
    """
    model.fit(data.train_x[plan.base_rows], data.train_y[plan.base_rows])
    known, known_classes = model.knowledge_, model.classes_
    session = plan.sessions[0]
    outcome = outcome_of(model.discover(data.train_x[session.rows], n_novel=len(session.novel)))
    match = FrozenMatch(plan.labelled)
    match.add(outcome.novel, outcome.labels_, data.train_y[session.rows], session.novel)
    reduced = known.reduced(np.asarray(data.train_x[session.rows], dtype=np.float64)).astype(np.float64)
    members = [reduced[outcome.labels_ == label] for label in outcome.novel]
    seen = np.isin(data.test_y, np.concatenate([plan.labelled, session.novel]))
    truth, test = data.test_y[seen], known.reduced(np.asarray(data.test_x[seen], dtype=np.float64))
    old_density = known.classifier.log_density(test, known.posterior)
    classes = np.concatenate([known_classes, outcome.novel])
    scores, volumes = [], []
    for statistics in _svi_path(known.prior, members):
        posterior = known.posterior_of(statistics)
        density = np.hstack([old_density, known.classifier.log_density(test, posterior)])
        correct = match.correct(classes[density.argmax(axis=1)], truth)
        scores.append(score_session(correct, truth, plan.labelled, plan.labelled, session.novel))
        volumes.append(float(posterior.log_det_covariance.mean()))
    volumes_known = known.posterior.log_det_covariance
    goal, typical = mean_log_volume(volumes_known), float(volumes_known.mean())
    above = np.array(volumes) > goal
    crossed = np.flatnonzero(above[1:] != above[:-1])
    stop = int(LOOKS[crossed[0] + 1]) if len(crossed) else None
    every, old, new = (np.array([getattr(s, k) for s in scores]) for k in ("all", "old", "new"))
    return ProgressTrace(LOOKS, every, old, new, np.array(volumes), goal, typical, stop)


def _svi_path(prior: Prior, members: Sequence[Array]) -> Iterator[Statistics]:
    """Effective statistics of categories with the given rows after each number of steps in ``LOOKS``."""
    states = [svi_init(prior) for _ in members]
    orders = [np.random.default_rng(k) for k in range(len(members))]
    for step in range(int(LOOKS[-1]) + 1):
        if step in LOOKS:
            yield Statistics.concatenate([state.statistics for state in states])
        for k, rows in enumerate(members):
            chosen = orders[k].permutation(len(rows))[:BATCH]
            zeros = np.zeros(len(chosen), dtype=np.intp)
            batch = statistics_by_label(rows[chosen], zeros, 1, structure=prior.structure)
            states[k] = svi_step(states[k], batch, len(rows) / len(chosen), SMALL_STEPS(step + 1))


class CalibrationTrace(NamedTuple):
    """How sure a model is of its answers, and how often it is right; how often it cries wolf.

    Parameters
    ----------
    confidence, accuracy, weight : arrays (2, B)
        Mean probability of the answers, share of right ones and share of the test rows, in each of B bins of
        the probability: before the first session and after the last. NaN in empty bins.
    error : tuple of two floats
        Expected calibration error of both.
    false_alarms : array (T + 1,)
        Share of test rows of known classes with a novelty above 0.95, before the first session and after
        each; 0.05 is promised.
    """

    confidence: Array
    accuracy: Array
    weight: Array
    error: tuple[float, float]
    false_alarms: Array


def calibration_of(data: Dataset, plan: Plan, model: CategoryDiscoverer) -> CalibrationTrace:
    """Run a plan and judge the probabilities and the novelty of test rows of the classes so far.

    Parameters
    ----------
    data : Dataset
    plan : Plan
    model : CategoryDiscoverer
        Not fitted yet.
    """
    model.fit(data.train_x[plan.base_rows], data.train_y[plan.base_rows])
    match = FrozenMatch(plan.labelled)
    bins, errors, alarms = [], [], []
    for t in range(len(plan.sessions) + 1):
        if t:
            session = plan.sessions[t - 1]
            outcome = outcome_of(model.discover(data.train_x[session.rows], n_novel=len(session.novel)))
            match.add(outcome.novel, outcome.labels_, data.train_y[session.rows], session.novel)
        seen = np.isin(data.test_y, plan.known_before(t))
        rows, truth = data.test_x[seen], data.test_y[seen]
        alarms.append(float(np.mean(is_flagged(model.novelty(rows)))))
        if t in (0, len(plan.sessions)):
            predicted = model.predict(rows)
            sure = answer_probability(predicted, model.predict_proba(rows), model.classes_)
            correct = match.correct(predicted, truth)
            bins.append(_binned(sure, correct))
            errors.append(calibration_error(sure, correct))
    confidence, accuracy, weight = (np.stack(parts) for parts in zip(*bins, strict=True))
    return CalibrationTrace(confidence, accuracy, weight, (errors[0], errors[1]), np.array(alarms))


def _binned(probability: Array, correct: Array) -> tuple[Array, Array, Array]:
    """Mean probability, accuracy and share of the rows in each bin of equal width."""
    which = np.minimum((probability * N_BINS).astype(int), N_BINS - 1)
    count = np.bincount(which, minlength=N_BINS).astype(float)
    filled = np.where(count > 0, count, np.nan)
    sums = (np.bincount(which, weights=values, minlength=N_BINS) for values in (probability, correct))
    confidence, accuracy = (total / filled for total in sums)
    return confidence, accuracy, count / len(probability)


class Pair(NamedTuple):
    """Rows of two classes in the dimensions that vary most."""

    names: tuple[Any, Any]
    dimensions: Array
    first: Array
    second: Array


def two_categories(data: Dataset, plan: Plan) -> Pair:
    """The two labelled classes with the nearest means, in eight principal components."""
    x, y = data.train_x[plan.base_rows].astype(np.float64), data.train_y[plan.base_rows]
    center = x.mean(axis=0)
    _, _, directions = np.linalg.svd(x[:: max(1, len(x) // 4000)] - center, full_matrices=False)
    scores = (x - center) @ directions[:N_DIMENSIONS].T
    classes = np.unique(y)
    means = np.array([x[y == c].mean(axis=0) for c in classes])
    gaps = ((means[:, None] - means[None]) ** 2).sum(axis=-1) + np.diag(np.full(len(classes), np.inf))
    i, j = np.unravel_index(gaps.argmin(), gaps.shape)
    names = (classes[i].item(), classes[j].item())
    dimensions = np.arange(1, scores.shape[1] + 1)
    return Pair(names, dimensions, scores[y == classes[i]], scores[y == classes[j]])


class Estimates(NamedTuple):
    """Mean and covariance of one class by point estimate (PE) and by variational Bayes (VI)."""

    name: Any
    n_rows: int
    mean_pe: Array
    mean_vi: Array
    covariance_pe: Array
    covariance_vi: Array


def estimates_of(data: Dataset, plan: Plan) -> Estimates:
    """Both estimates of the first labelled class, in the leading dimensions of the paper's space.

    The prior is narrow beside the rows, as the paper's: see the method ``paper-narrow``.
    """
    model = CategoryDiscoverer.paper(**METHODS["paper-narrow"].options)
    model.fit(data.train_x[plan.base_rows], data.train_y[plan.base_rows])
    known = model.knowledge_
    label = model.classes_[0]
    chosen = plan.base_rows[data.train_y[plan.base_rows] == label]
    rows = known.reduced(np.asarray(data.train_x[chosen], dtype=np.float64)).astype(np.float64)
    posterior = posterior_of(known.prior, statistics_by_label(rows, np.zeros(len(rows), dtype=np.int64), 1))
    d = min(N_SHOWN, rows.shape[1])
    return Estimates(
        label.item(),
        len(rows),
        rows.mean(axis=0)[:d],
        posterior.mean[0, :d],
        np.cov(rows[:, :d].T, bias=True),
        posterior.covariance(0)[:d, :d],
    )
