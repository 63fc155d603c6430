"""One stream with one step replaced: how the novel categories of a session are found, or the prior."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np

import vbcgcd.discovery.steps as steps_module
from vbcgcd import CategoryDiscoverer
from vbcgcd.discovery.count import CountProblem, given
from vbcgcd.discovery.mixture import MixtureState
from vbcgcd.discovery.search import EVEN_SHARE, SOLUTION_STEPS, seed
from vbcgcd.study import Dataset
from vbcgcd.study.plans import Plan
from vbcgcd.study.scoring import FrozenMatch, outcome_of

#: Finds so many novel categories among the rows of a session.
Idea = Callable[[CountProblem, int], MixtureState]
#: Improves on a solution.
Refine = Callable[[CountProblem, MixtureState], MixtureState]
#: Classifies rows by what a model has learned: positions of categories.
Classify = Callable[[CategoryDiscoverer, CategoryDiscoverer, np.ndarray], np.ndarray]


class Tried(NamedTuple):
    """Accuracy on the test rows of all classes at the end of a stream, and CPU seconds."""

    accuracy: float
    seconds: float


def one_start(problem: CountProblem, number: int) -> MixtureState:
    """Seeds at badly explained rows and EM, once: what our search begins with."""
    mixture = problem.mixture
    return mixture.em(seed(mixture, number, problem.rng), EVEN_SHARE, SOLUTION_STEPS)


def alone(refine: Refine) -> Idea:
    """An idea from one start, without our search."""
    return lambda problem, number: refine(problem, one_start(problem, number))


def after_ours(refine: Refine) -> Idea:
    """An idea from what our search found."""
    return lambda problem, number: refine(problem, given(problem, number))


@contextmanager
def in_place_of_search(idea: Idea) -> Iterator[None]:
    """Let sessions whose number is given find their categories by an idea."""
    ours, steps_module.given = steps_module.given, idea
    try:
        yield
    finally:
        steps_module.given = ours


def run(data: Dataset, plan: Plan, idea: Idea = given, classify: Classify | None = None) -> Tried:
    """Run a stream, the number given in every session."""
    start = time.process_time()
    model = CategoryDiscoverer()
    model.fit(data.train_x[plan.base_rows], data.train_y[plan.base_rows])
    base = CategoryDiscoverer()
    base.knowledge_ = model.knowledge_
    match = FrozenMatch(plan.labelled)
    with in_place_of_search(idea):
        for session in plan.sessions:
            rows, truth = data.train_x[session.rows], data.train_y[session.rows]
            record: Any = model.discover(rows, n_novel=len(session.novel))
            outcome = outcome_of(record, model.classes_)
            match.add(outcome.novel, outcome.labels_, truth, session.novel)
    seconds = time.process_time() - start
    seen = np.isin(data.test_y, plan.known_before(len(plan.sessions)))
    rows, truth = data.test_x[seen], data.test_y[seen]
    answer = model.predict(rows) if classify is None else model.classes_[classify(base, model, rows)]
    return Tried(float(match.correct(answer, truth).mean()), seconds)
