"""Run a model over a plan and score it; the supervised upper bound of the same estimator."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vbcgcd.study.plans import Plan
from vbcgcd.study.scoring import FrozenMatch, SessionScore, discovery, forgetting, score_session

Array = NDArray[Any]

__all__ = ["Dataset", "PlanResult", "run_plan", "upper_bound"]


@dataclass(frozen=True)
class Dataset:
    """Embeddings with labels: training rows that stream, test rows that score."""

    train_x: Array
    train_y: Array
    test_x: Array
    test_y: Array


class Method(Protocol):
    """What is run over a plan: `CategoryDiscoverer`, or anything with the same three methods."""

    def fit(self, X: Any, y: Any) -> Any:
        """Learn the labelled rows."""

    def discover(self, X: Any, *, n_novel: int | None = None) -> Any:
        """Learn an unlabelled session; returns an object with ``labels_`` and ``novel``."""

    def predict(self, X: Any) -> Array:
        """Category of each row."""


@dataclass(frozen=True)
class PlanResult:
    """Scores of one run (frozen scoring)."""

    base: float
    scores: list[SessionScore]
    found: list[int]
    seconds: list[float]
    fit_seconds: float

    @property
    def final(self) -> SessionScore:
        """Scores after the last session."""
        return self.scores[-1]

    @property
    def forgetting(self) -> float:
        """M_f."""
        return forgetting(self.base, self.scores)

    @property
    def discovery(self) -> float:
        """M_d."""
        return discovery(self.scores)


def run_plan(
    method: Method,
    data: Dataset,
    plan: Plan,
    *,
    number_known: bool = True,
    progress: Callable[[str], None] = lambda text: None,
) -> PlanResult:
    """Fit on the labelled rows, discover session after session, score after each."""
    start = time.perf_counter()
    method.fit(data.train_x[plan.base_rows], data.train_y[plan.base_rows])
    fit_seconds = time.perf_counter() - start
    match = FrozenMatch(plan.labelled)
    seen = np.isin(data.test_y, plan.labelled)
    base = float(match.correct(method.predict(data.test_x[seen]), data.test_y[seen]).mean())
    scores, found, seconds = [], [], []
    for t, session in enumerate(plan.sessions):
        progress(f"session {t + 1} of {len(plan.sessions)}")
        start = time.perf_counter()
        report = method.discover(
            data.train_x[session.rows], n_novel=len(session.novel) if number_known else None
        )
        seconds.append(time.perf_counter() - start)
        found.append(len(report.novel))
        match.add(report.novel, report.labels_, data.train_y[session.rows], session.novel)
        known = plan.known_before(t)
        seen = np.isin(data.test_y, np.concatenate([known, session.novel]))
        truth = data.test_y[seen]
        correct = match.correct(method.predict(data.test_x[seen]), truth)
        scores.append(score_session(correct, truth, plan.labelled, known, session.novel))
    return PlanResult(base, scores, found, seconds, fit_seconds)


def upper_bound(model: Any, data: Dataset, plan: Plan) -> float:
    """Final All of the same estimator when every session's new rows come with their true labels."""
    model.fit(data.train_x[plan.base_rows], data.train_y[plan.base_rows])
    for session in plan.sessions:
        new = session.rows[np.isin(data.train_y[session.rows], session.novel)]
        model.partial_fit(data.train_x[new], data.train_y[new])
    classes = plan.known_before(len(plan.sessions))
    seen = np.isin(data.test_y, classes)
    return float(np.mean(model.predict(data.test_x[seen]) == data.test_y[seen]))
