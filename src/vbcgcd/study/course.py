"""A method on its way along a plan: fitted, then taken from session to session and scored after each.

Both kinds of plans use it: those of the paper, and realistic streams, which add rows of no category and their
own judgement of each session.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from vbcgcd.study.datasets.labelled import Dataset
from vbcgcd.study.meter import Meter
from vbcgcd.study.plans import Plan, check_plan
from vbcgcd.study.records import PlanResult, SessionEvaluation
from vbcgcd.study.scoring import (
    ClusterScore,
    FrozenMatch,
    Outcome,
    SessionScore,
    answer_probability,
    joint_correct,
    macro_accuracy,
    outcome_of,
    score_clusters,
    score_session,
    score_stream,
)
from vbcgcd.study.stability import ItemLog
from vbcgcd.study.streams.scoring import JUNK, StreamResult, calibration_error

Array = NDArray[Any]
Progress = Callable[[str], None]

__all__ = ["Course", "Method", "Progress"]


@runtime_checkable
class Method(Protocol):
    """What can be run over a plan: `CategoryDiscoverer`, a rival, or any class with these three verbs.

    A method may also have ``nbytes`` (the bytes it keeps between sessions), ``predict_proba`` (one
    column for each of its ``classes_``; how far its probabilities are right is then scored too) and
    ``partial_fit`` (learn more labelled rows). Its supervised upper bound uses ``partial_fit`` session by
    session; without it, the bound is one `fit` on all rows.
    """

    def fit(self, X: Any, y: Any) -> Any:
        """Learn the labelled rows."""

    def discover(self, X: Any, *, n_novel: int | None = None) -> Any:
        """Learn an unlabelled session; return an `Outcome` or an object with its attributes."""

    def predict(self, X: Any) -> Array:
        """Id of each row."""


class _TestScores(NamedTuple):
    """Test accuracy under both protocols, the frozen one with the same weight for every class, clusters."""

    frozen: SessionScore
    joint: SessionScore
    macro: float
    clusters: ClusterScore


class Course:
    """Fit a method, let it discover session after session, and score it.

    The method sees labels in `fit` only, and test rows in `predict` only.

    Parameters
    ----------
    method : Method
        Not fitted yet.
    data : Dataset
    plan : Plan
    number_known : bool
        Whether the method is given the number of novel classes of each session.
    progress : callable
        Called with the name of each step as it begins.

    Attributes
    ----------
    classes : array (C,)
        All classes of the dataset; codes count into it.
    macro : float
        Test accuracy after the last session so far, with the same weight for every class.
    """

    def __init__(
        self, method: Method, data: Dataset, plan: Plan, *, number_known: bool, progress: Progress
    ) -> None:
        self.method, self.data, self.plan = method, data, plan
        self.number_known, self.progress = number_known, progress
        self.classes = np.unique(np.concatenate([data.train_y, data.test_y]))
        self._match, self._items = FrozenMatch(plan.labelled), ItemLog()
        self._sessions: list[SessionEvaluation] = []

    def codes(self, labels: Array) -> Array:
        """Codes of classes, int array (N,)."""
        return np.searchsorted(self.classes, labels)

    def fit(self) -> None:
        """The base session."""
        data, plan = self.data, self.plan
        check_plan(plan, data.train_y)
        rows, labels = data.train_x[plan.base_rows], data.train_y[plan.base_rows]
        self.progress("fit")
        with Meter() as self._fit_cost:
            self.method.fit(rows, labels)
        self._base = self._test_scores(0)
        self._log(rows, self.method.predict(rows), self.codes(labels))

    def discover(self, rows: Array, truth: Array, novel: Array) -> Outcome:
        """The next session.

        Parameters
        ----------
        rows : array (N, d)
        truth : int array (N,)
            Codes of their classes, or ``JUNK``.
        novel : int array
            Codes of the classes that are novel to the method.
        """
        t = len(self._sessions) + 1
        self.progress(f"session {t} of {len(self.plan.sessions)}")
        with Meter() as cost:
            record = self.method.discover(rows, n_novel=len(novel) if self.number_known else None)
        outcome = outcome_of(record, getattr(self.method, "classes_", None))
        ids, real = outcome.labels_, truth != JUNK
        self._match.add(outcome.novel, ids[real], self.classes[truth[real]], self.classes[novel])
        self._log(rows, ids, truth)
        scores = self._test_scores(t)
        self.macro, self._test_clusters = scores.macro, scores.clusters
        self._session_clusters = score_clusters(ids, truth)
        self._sessions.append(
            SessionEvaluation(
                frozen=scores.frozen,
                joint=scores.joint,
                stream=score_stream(ids, outcome.novelty_, truth, outcome.novel, novel),
                n_novel=len(novel),
                n_discovered=len(outcome.novel),
                n_categories=len(self._match.of),
                nbytes=getattr(self.method, "nbytes", None),
                seconds=cost.seconds,
                peak_bytes=cost.peak_bytes,
            )
        )
        return outcome

    def result(self, stream: StreamResult | None = None) -> PlanResult:
        """All that was scored, once the last session is learned."""
        return PlanResult(
            self._base.frozen.all,
            self._base.joint.all,
            tuple(self._sessions),
            self._fit_cost.seconds,
            self._fit_cost.peak_bytes,
            stream,
            self._items.judge(self.method.predict),
            self._test_clusters,
            self._session_clusters,
            self._calibration(),
        )

    def _log(self, rows: Array, ids: Array, truth: Array) -> None:
        self._items.add(rows, ids, truth, self._match.of)

    def _calibration(self) -> float | None:
        """Calibration error over the test rows after the last session; None without probabilities."""
        if not hasattr(self.method, "predict_proba"):
            return None
        rows = self.data.test_x[np.isin(self.data.test_y, self.plan.known_before(len(self._sessions)))]
        predicted, correct = self._last_answers
        classes = getattr(self.method, "classes_", None)
        probability = answer_probability(predicted, np.asarray(self.method.predict_proba(rows)), classes)
        return calibration_error(probability, correct)

    def _test_scores(self, t: int) -> _TestScores:
        """Scores after ``t`` sessions, on all classes that arrived."""
        data, plan = self.data, self.plan
        seen = np.isin(data.test_y, plan.known_before(t))
        predicted, truth = self.method.predict(data.test_x[seen]), data.test_y[seen]
        known = plan.known_before(max(t - 1, 0))
        groups = (truth, plan.labelled, known, plan.sessions[t - 1].novel if t else plan.labelled[:0])
        correct = self._match.correct(predicted, truth)
        self._last_answers = (np.asarray(predicted), correct)
        joint = score_session(joint_correct(predicted, truth), *groups)
        return _TestScores(
            score_session(correct, *groups),
            joint,
            macro_accuracy(correct, truth),
            score_clusters(predicted, truth),
        )
