"""Run a method over a realistic stream and judge each session."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vbcgcd.discovery.geometry import is_flagged
from vbcgcd.study.course import Course, Method, Progress
from vbcgcd.study.datasets.labelled import Dataset
from vbcgcd.study.plans import Plan, PlannedSession
from vbcgcd.study.records import PlanResult
from vbcgcd.study.scoring import Outcome
from vbcgcd.study.streams.junk import junk_rows
from vbcgcd.study.streams.scoring import (
    JUNK,
    StreamResult,
    StreamSession,
    answers_right,
    b_cubed,
    calibration_error,
    judge_discovery,
)

Array = NDArray[Any]

#: An answer that is less probable than this is doubted.
DOUBTED = 0.5

__all__ = ["Judge", "run_stream"]


class Judgement(NamedTuple):
    """A judged session, and of each row whether its answer was right and how sure the method was."""

    session: StreamSession
    right: Array
    confidence: Array | None


class Judge:
    """Knows which id stands for which class, and judges session after session.

    Parameters
    ----------
    labelled : sequence
        Ids of the labelled categories.
    codes : int array
        Codes of their classes.

    Attributes
    ----------
    stands_for : dict
        Code of the class of each id that stands for one: labelled ids, and novel ones that hit a class.
    ids : set
        All ids so far; a row with another answer is unassigned.
    """

    def __init__(self, labelled: Array, codes: Array) -> None:
        self.stands_for: dict[Any, int] = dict(zip(labelled.tolist(), codes.tolist(), strict=True))
        self.ids: set[Any] = set(self.stands_for)

    def novel_classes(self, truth: Array) -> Array:
        """Codes of the classes among the rows for which no id stands yet."""
        known = [JUNK, *self.stands_for.values()]
        return np.setdiff1d(truth, np.array(known, dtype=np.int64))

    def judge(self, kind: str, outcome: Outcome, truth: Array) -> Judgement:
        """Judge a session and remember which classes it hit.

        Parameters
        ----------
        kind : str
            Kind of the session.
        outcome : Outcome
        truth : int array (N,)
            Code of the class of each row, or ``JUNK``.
        """
        novel = self.novel_classes(truth)
        found = judge_discovery(outcome.labels_, truth, outcome.novel, novel)
        self.ids |= set(outcome.novel.tolist())
        self.stands_for |= {label: c for c, label in found.hits.items()}
        unassigned = np.array([label not in self.ids for label in outcome.labels_.tolist()], dtype=bool)
        missed = np.isin(truth, np.setdiff1d(novel, np.array(list(found.hits), dtype=np.int64)))
        noticed = doubted = None
        if outcome.probability_ is not None and outcome.novelty_ is not None:
            seen = unassigned | is_flagged(outcome.novelty_)
            noticed = int((missed & seen).sum())
            doubted = int((missed & (seen | (outcome.probability_ < DOUBTED))).sum())
        session = StreamSession(
            kind=kind,
            sizes=tuple(found.sizes.tolist()),
            hits=tuple(c in found.hits for c in found.classes.tolist()),
            found=len(outcome.novel),
            split=len(found.split),
            merged=len(found.merged),
            invented=len(found.invented),
            b_cubed=b_cubed(outcome.labels_, truth, unassigned),
            missed_rows=int(missed.sum()),
            noticed_rows=noticed,
            doubted_rows=doubted,
        )
        right = answers_right(outcome.labels_, truth, unassigned, self.stands_for)
        return Judgement(session, right, outcome.probability_)


def run_stream(
    method: Method,
    data: Dataset,
    plan: Plan,
    *,
    junk: Dataset | None = None,
    number_known: bool = False,
    progress: Progress = lambda step: None,
) -> PlanResult:
    """Fit on the labelled rows, discover session after session, and judge each on its own rows.

    The method sees labels in `fit` only, and test rows in `predict` only.

    Parameters
    ----------
    method : Method
        Not fitted yet.
    data : Dataset
    plan : Plan
        Of sessions that have a kind; see `vbcgcd.study.streams.shapes.make_stream`.
    junk : Dataset, optional
        What junk rows come from, where the plan draws them from another dataset.
    number_known : bool
        Whether the method is given the number of classes for which it has no category yet.
    progress : callable
        Called with the name of each step as it begins.

    Returns
    -------
    PlanResult
        With its ``stream``.
    """
    extra = junk_rows(plan, data, junk)
    course = Course(method, data, plan, number_known=number_known, progress=progress)
    course.fit()
    judge = Judge(plan.labelled, course.codes(plan.labelled))
    judgements = []
    for t, session in enumerate(plan.sessions, start=1):
        rows, truth = _arrivals(data, session, extra[t - 1], course.classes, seed=t)
        outcome = course.discover(rows, truth, judge.novel_classes(truth))
        judgements.append(judge.judge(session.kind, outcome, truth))
    _, labels = np.unique(data.train_y[plan.base_rows], return_counts=True)
    judged = tuple(judgement.session for judgement in judgements)
    return course.result(StreamResult(judged, _pooled_error(judgements), course.macro, int(labels.min())))


def _arrivals(
    data: Dataset, session: PlannedSession, junk: Array, classes: Array, *, seed: int
) -> tuple[Array, Array]:
    """Rows of a session, junk among them, and the codes of their classes."""
    rows = np.concatenate([data.train_x[session.rows], junk])
    codes = np.searchsorted(classes, data.train_y[session.rows])
    truth = np.concatenate([codes, np.full(len(junk), JUNK, dtype=np.int64)])
    order = np.random.default_rng(seed).permutation(len(truth))
    return rows[order], truth[order]


def _pooled_error(judgements: list[Judgement]) -> float:
    """Calibration error over the rows of all sessions; NaN without probabilities."""
    confidences = [j.confidence for j in judgements if j.confidence is not None]
    if len(confidences) < len(judgements):
        return math.nan
    return calibration_error(np.concatenate(confidences), np.concatenate([j.right for j in judgements]))
