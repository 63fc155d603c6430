"""Run a method over a plan and score it; the supervised upper bound of the same method."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.study.measure import Measured
from vbcgcd.study.plans import Plan, check_plan, labels_digest
from vbcgcd.study.protocol import Method
from vbcgcd.study.scoring import (
    FrozenMatch,
    SessionScore,
    StreamScore,
    discovery,
    forgetting,
    joint_correct,
    score_session,
    score_stream,
)

Array = NDArray[Any]
Progress = Callable[[str], None]

__all__ = ["Bound", "Dataset", "PlanResult", "SessionResult", "run_plan", "upper_bound"]


@dataclass(frozen=True)
class Dataset:
    """Embeddings with labels: training rows that stream, test rows that score.

    Parameters
    ----------
    train_x, test_x : array (N, d)
    train_y, test_y : array (N,)
    name : str
        For tables and records.
    class_names : tuple of str
        What labels that are codes stand for; empty where labels are names themselves.
    """

    train_x: Array
    train_y: Array
    test_x: Array
    test_y: Array
    name: str = "data"
    class_names: tuple[str, ...] = ()

    def title(self, label: Any) -> str:
        """What a label stands for, in words."""
        known = isinstance(label, int | np.integer) and 0 <= label < len(self.class_names)
        return self.class_names[label] if known else str(label)

    @property
    def digest(self) -> str:
        """Fingerprint of all four arrays; the type of the labels does not matter."""
        total = hashlib.sha256()
        for x, y in ((self.train_x, self.train_y), (self.test_x, self.test_y)):
            values = np.ascontiguousarray(x, dtype=np.float64 if x.dtype == np.float64 else np.float32)
            total.update(f"{values.shape} {labels_digest(y)}".encode())
            total.update(values.tobytes())
        return total.hexdigest()[:16]


@dataclass(frozen=True)
class SessionResult:
    """One session: accuracy in both protocols, how its rows were judged, what it cost.

    ``nbytes`` is what the method keeps between sessions (None where it does not tell).
    """

    frozen: SessionScore
    joint: SessionScore
    stream: StreamScore
    n_novel: int
    found: int
    n_categories: int
    nbytes: int | None
    seconds: float
    peak_bytes: int


@dataclass(frozen=True)
class PlanResult:
    """Scores of one run."""

    base: float
    base_joint: float
    sessions: list[SessionResult]
    fit_seconds: float
    fit_peak_bytes: int

    @property
    def scores(self) -> list[SessionScore]:
        """Frozen scores of the sessions."""
        return [s.frozen for s in self.sessions]

    @property
    def found(self) -> list[int]:
        """Novel categories found in each session."""
        return [s.found for s in self.sessions]

    @property
    def seconds(self) -> list[float]:
        """Seconds of each session."""
        return [s.seconds for s in self.sessions]

    @property
    def final(self) -> SessionScore:
        """Frozen scores after the last session."""
        return self.scores[-1]

    @property
    def forgetting(self) -> float:
        """M_f, frozen."""
        return forgetting(self.base, self.scores)

    @property
    def discovery(self) -> float:
        """M_d, frozen."""
        return discovery(self.scores)


@dataclass(frozen=True)
class Bound:
    """What a method reaches when every session's new rows come with their true labels.

    Parameters
    ----------
    base : float
        Test accuracy on the labelled classes before the stream.
    scores : list of SessionScore
        After each session; only the last where the method cannot learn labelled rows piece by piece.
    """

    base: float
    scores: list[SessionScore]

    @property
    def all(self) -> float:
        """Accuracy on all classes at the end."""
        return self.scores[-1].all


def run_plan(
    method: Method,
    data: Dataset,
    plan: Plan,
    *,
    number_known: bool = True,
    progress: Progress = lambda text: None,
) -> PlanResult:
    """Fit on the labelled rows, discover session after session, score after each.

    The method sees labels in `fit` only, and no test row except in `predict`.
    """
    check_plan(plan, data.train_y)
    progress("fit")
    with Measured() as fitting:
        method.fit(data.train_x[plan.base_rows], data.train_y[plan.base_rows])
    match = FrozenMatch(plan.labelled)
    seen = np.isin(data.test_y, plan.labelled)
    predicted, truth = method.predict(data.test_x[seen]), data.test_y[seen]
    base = float(match.correct(predicted, truth).mean())
    base_joint = float(joint_correct(predicted, truth).mean())
    sessions = []
    for t in range(len(plan.sessions)):
        progress(f"session {t + 1} of {len(plan.sessions)}")
        sessions.append(_run_session(method, data, plan, t, match, number_known))
    return PlanResult(base, base_joint, sessions, fitting.seconds, fitting.peak_bytes)


def _run_session(
    method: Method, data: Dataset, plan: Plan, t: int, match: FrozenMatch, number_known: bool
) -> SessionResult:
    session, known = plan.sessions[t], plan.known_before(t)
    rows, stream_truth = data.train_x[session.rows], data.train_y[session.rows]
    with Measured() as cost:
        report = method.discover(rows, n_novel=len(session.novel) if number_known else None)
    match.add(report.novel, report.labels_, stream_truth, session.novel)
    seen = np.isin(data.test_y, np.concatenate([known, session.novel]))
    predicted, truth = method.predict(data.test_x[seen]), data.test_y[seen]
    groups = (truth, plan.labelled, known, session.novel)
    novelty = getattr(report, "novelty_", None)
    return SessionResult(
        frozen=score_session(match.correct(predicted, truth), *groups),
        joint=score_session(joint_correct(predicted, truth), *groups),
        stream=score_stream(report.labels_, novelty, stream_truth, report.novel, session.novel),
        n_novel=len(session.novel),
        found=len(report.novel),
        n_categories=len(match.of),
        nbytes=getattr(method, "nbytes", None),
        seconds=cost.seconds,
        peak_bytes=cost.peak_bytes,
    )


def upper_bound(
    make: Callable[[], Any],
    data: Dataset,
    plan: Plan,
    *,
    base: float | None = None,
    progress: Progress = lambda text: None,
) -> Bound:
    """Accuracy of the same method when every session's new rows come with their true labels.

    A method with ``partial_fit`` learns them session by session; another is fitted on all of them at once,
    and where its accuracy in the base session is known (``base``), it is not fitted for that again.
    """
    check_plan(plan, data.train_y)
    progress("upper bound")
    method = make()
    if base is None or hasattr(method, "partial_fit"):
        method.fit(data.train_x[plan.base_rows], data.train_y[plan.base_rows])
        base = _accuracy(method, data, plan, 0).all
    scores, rows = [], [plan.base_rows]
    for t, session in enumerate(plan.sessions, start=1):
        new = session.rows[np.isin(data.train_y[session.rows], session.novel)]
        rows.append(new)
        if hasattr(method, "partial_fit"):
            method.partial_fit(data.train_x[new], data.train_y[new])
            scores.append(_accuracy(method, data, plan, t))
    if not scores:
        every = np.concatenate(rows)
        method = make()
        method.fit(data.train_x[every], data.train_y[every])
        scores.append(_accuracy(method, data, plan, len(plan.sessions)))
    return Bound(base, scores)


def _accuracy(method: Any, data: Dataset, plan: Plan, t: int) -> SessionScore:
    """Scores of a supervised method after ``t`` sessions."""
    known = plan.known_before(max(t - 1, 0))
    novel = plan.sessions[t - 1].novel if t else plan.labelled[:0]
    seen = np.isin(data.test_y, plan.known_before(t))
    truth = data.test_y[seen]
    correct = np.asarray(method.predict(data.test_x[seen]) == truth)
    return score_session(correct, truth, plan.labelled, known, novel)
