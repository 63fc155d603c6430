"""Make a method, run it over a plan and score it; its supervised upper bound."""

from __future__ import annotations

import importlib
import importlib.util
import math
import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from vbcgcd.errors import InputError
from vbcgcd.study.course import Course, Method, Progress
from vbcgcd.study.datasets.labelled import Dataset
from vbcgcd.study.methods import METHODS, Run, options_of
from vbcgcd.study.plans import Plan, check_plan
from vbcgcd.study.records import PlanResult, RunRecord
from vbcgcd.study.scoring import (
    Accuracies,
    SessionScore,
    macro_accuracy,
    score_session,
)
from vbcgcd.study.streams.junk import name_with_junk
from vbcgcd.study.streams.run import run_stream
from vbcgcd.validation import check_choice

__all__ = ["Method", "check_available", "create_method", "execute", "make_method", "run_plan", "upper_bound"]


def make_method(name: str, **options: Any) -> Method:
    """A fresh method by name.

    Parameters
    ----------
    name : str
        A key of `vbcgcd.study.methods.METHODS`.
    **options
        Override the options of the method's card.

    Examples
    --------
    >>> type(make_method("ours", n_components=100)).__name__
    'CategoryDiscoverer'
    """
    check_choice("method", name, tuple(METHODS))
    return create_method(name, {**METHODS[name].options, **options})


def create_method(name: str, options: Mapping[str, Any]) -> Method:
    """A fresh method by name, with these options and no others."""
    check_available(name)
    module, _, attribute = METHODS[name].where.partition(":")
    create = operator.attrgetter(attribute)(importlib.import_module(module))
    try:
        method: Method = create(**options)
    except TypeError as error:
        raise InputError(f"Cannot create {name} with these options: {error}.") from None
    return method


def check_available(name: str) -> None:
    """Raise `InputError` if there is no such method, or if the package that it needs is not installed."""
    check_choice("method", name, tuple(METHODS))
    needs = METHODS[name].needs
    if needs and importlib.util.find_spec(needs) is None:
        install = needs if needs == "torch" else "'vbcgcd[rivals]'"
        raise InputError(
            f"{name} needs {needs}, which is not installed; install it with: pip install {install}",
            option="methods",
        )


def execute(
    run: Run,
    data: Dataset,
    plan: Plan,
    key: str,
    *,
    junk: Dataset | None = None,
    bound: Accuracies | None = None,
    progress: Progress = lambda step: None,
) -> RunRecord:
    """Run a method and its supervised bound over a plan; the record has all that tables and figures show.

    Parameters
    ----------
    run : Run
    data : Dataset
    plan : Plan
    key : str
        Name of the run.
    junk : Dataset, optional
        What the junk of a realistic stream comes from, where its plan draws it from another dataset.
    bound : Accuracies, optional
        The supervised bound, where it is known already.
    progress : callable
        Called with the name of each step as it begins.
    """

    def make() -> Method:
        return create_method(run.method, options_of(run))

    result = None
    if plan.is_stream and not run.supervised:
        result = run_stream(make(), data, plan, junk=junk, number_known=run.number_known, progress=progress)
    elif not run.supervised:
        result = run_plan(make(), data, plan, number_known=run.number_known, progress=progress)
    if bound is None:
        base = None if result is None else result.base
        bound = upper_bound(make, data, plan, base=base, progress=progress)
    name = name_with_junk(data, plan, junk)
    return RunRecord(key, run, name, data.digest, plan.origin, result, bound)


def run_plan(
    method: Method,
    data: Dataset,
    plan: Plan,
    *,
    number_known: bool = True,
    progress: Progress = lambda step: None,
) -> PlanResult:
    """Fit on the labelled rows, discover session after session, score after each.

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
    """
    course = Course(method, data, plan, number_known=number_known, progress=progress)
    course.fit()
    for session in plan.sessions:
        truth, novel = course.codes(data.train_y[session.rows]), course.codes(session.novel)
        course.discover(data.train_x[session.rows], truth, novel)
    return course.result()


def upper_bound(
    make: Callable[[], Any],
    data: Dataset,
    plan: Plan,
    *,
    base: float | None = None,
    progress: Progress = lambda step: None,
) -> Accuracies:
    """Accuracy of a method that is given the true labels of the novel rows of every session.

    A method with ``partial_fit`` learns them session by session; any other is fitted once on all of them.

    Parameters
    ----------
    make : callable
        Returns a fresh method.
    data : Dataset
    plan : Plan
    base : float, optional
        Accuracy after the base session where it is known, which spares a method without ``partial_fit`` one
        `fit`.
    progress : callable
        Called with the name of the step as it begins.
    """
    check_plan(plan, data.train_y)
    progress("upper bound")
    method = make()
    if base is None or hasattr(method, "partial_fit"):
        method.fit(data.train_x[plan.base_rows], data.train_y[plan.base_rows])
        base = _accuracy(method, data, plan, 0)[0].all
    scores, rows, macro = [], [plan.base_rows], math.nan
    for t, session in enumerate(plan.sessions, start=1):
        novel = session.rows[np.isin(data.train_y[session.rows], session.novel)]
        rows.append(novel)
        if hasattr(method, "partial_fit"):
            if len(novel):
                method.partial_fit(data.train_x[novel], data.train_y[novel])
            score, macro = _accuracy(method, data, plan, t)
            scores.append(score)
    if not scores:
        every = np.concatenate(rows)
        method = make()
        method.fit(data.train_x[every], data.train_y[every])
        score, macro = _accuracy(method, data, plan, len(plan.sessions))
        scores.append(score)
    return Accuracies(base, tuple(scores), macro if plan.is_stream else math.nan)


def _accuracy(method: Any, data: Dataset, plan: Plan, t: int) -> tuple[SessionScore, float]:
    """Scores of a supervised method after ``t`` sessions, and its accuracy over classes of equal weight."""
    known = plan.known_before(max(t - 1, 0))
    novel = plan.sessions[t - 1].novel if t else plan.labelled[:0]
    seen = np.isin(data.test_y, plan.known_before(t))
    truth = data.test_y[seen]
    correct = np.asarray(method.predict(data.test_x[seen]) == truth)
    return score_session(correct, truth, plan.labelled, known, novel), macro_accuracy(correct, truth)
