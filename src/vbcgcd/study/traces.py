"""What figures show beyond the tables: a session while it is learned, and estimates of single categories."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vbcgcd.bayes import posterior_of, statistics_by_label
from vbcgcd.bayes.alignment import mean_log_volume
from vbcgcd.model import CategoryDiscoverer
from vbcgcd.study.datasets.labelled import Dataset
from vbcgcd.study.plans import Plan
from vbcgcd.study.scoring import FrozenMatch, outcome_of, score_session

Array = NDArray[Any]
#: Points along the path from prior to posterior.
N_POINTS = 33
#: Dimensions of the figures of one category.
N_DIMENSIONS, N_SHOWN = 8, 40

__all__ = [
    "Estimates",
    "Pair",
    "ProgressTrace",
    "estimates_of",
    "progress_of_session",
    "two_categories",
]


class ProgressTrace(NamedTuple):
    """Accuracy and volume of the novel categories along the path from prior to posterior.

    Parameters
    ----------
    rows : array (T,)
        Effective rows of a novel category: tau times its rows, mean over categories.
    all, old, new : array (T,)
        Test accuracy.
    volume : array (T,)
        Mean log-determinant of the novel covariances.
    known_volume : float
        Log of the mean determinant of the known ones.
    stop : float or None
        Effective rows where the two volumes meet; None where they never do.
    """

    rows: Array
    all: Array
    old: Array
    new: Array
    volume: Array
    known_volume: float
    stop: float | None


def progress_of_session(data: Dataset, plan: Plan, model: CategoryDiscoverer) -> ProgressTrace:
    """Learn the first session of a plan in small steps and score each of them.

    The path is the one of covariance alignment: statistics of the novel categories, tempered from one row's
    worth to all of them, with the labels that the rows have at the end of the session.

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
    code = {label: i for i, label in enumerate(outcome.novel.tolist())}
    codes = np.array([code.get(label, -1) for label in outcome.labels_.tolist()])
    reduced = known.reduced(np.asarray(data.train_x[session.rows], dtype=np.float64))
    statistics = statistics_by_label(reduced, codes, len(outcome.novel))
    seen = np.isin(data.test_y, np.concatenate([plan.labelled, session.novel]))
    truth, test = data.test_y[seen], known.reduced(np.asarray(data.test_x[seen], dtype=np.float64))
    old_density = known.classifier.log_density(test, known.posterior)
    classes = np.concatenate([known_classes, outcome.novel])
    count = float(statistics.count.mean())
    taus = np.geomspace(1 / count, 1.0, N_POINTS)
    scores, volumes = [], []
    for tau in taus:
        posterior = known.posterior_of(statistics * np.full(len(outcome.novel), tau))
        density = np.hstack([old_density, known.classifier.log_density(test, posterior)])
        correct = match.correct(classes[density.argmax(axis=1)], truth)
        scores.append(score_session(correct, truth, plan.labelled, plan.labelled, session.novel))
        volumes.append(float(posterior.log_det_covariance.mean()))
    goal = mean_log_volume(known.posterior.log_det_covariance)
    above = np.array(volumes) > goal
    crossed = np.flatnonzero(above[1:] != above[:-1])
    stop = float(taus[crossed[0] + 1] * count) if len(crossed) else None
    every, old, new = (np.array([getattr(s, k) for s in scores]) for k in ("all", "old", "new"))
    return ProgressTrace(taus * count, every, old, new, np.array(volumes), goal, stop)


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
    """Both estimates of the first labelled class, in the leading dimensions of the calibrated space."""
    model = CategoryDiscoverer()
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
