"""The record of a session counts what its rows were given."""

import numpy as np
import pytest

from support import blobs
from vbcgcd.bayes import log_evidence
from vbcgcd.discovery.base import learn_base
from vbcgcd.discovery.distinct import Returned
from vbcgcd.discovery.options import Options
from vbcgcd.discovery.recording import Assignment, session_record
from vbcgcd.discovery.session import fit_novel
from vbcgcd.record import Step


@pytest.fixture(scope="module")
def knowledge():
    rows, codes = blobs(n_categories=5, dim=6, each=12)
    return learn_base(rows, codes, Options())


def record(knowledge, **changes):
    labels = np.array(["a", "b", "c", "d", "e", "new"])
    rows, _ = blobs(n_categories=1, dim=6, each=6)
    fit = fit_novel(knowledge.reduced(rows), np.ones((6, 1)), knowledge, Options(), np.random.default_rng(0))
    assignment = Assignment(
        np.array([0, 0, 5, 5, 5, 1]),
        np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.1]),
        np.array([False, False, False, False, False, True]),
        Returned.none(6).at(0, np.array([0, 1.0, 0, 0, 0, 0]), 0.1),
    )
    more = {"session": 3, "estimated": True, "flagged": 0.5, "novel_share": 0.5, "count": None}
    steps = (Step("novelty", 0.25, {}), Step("assign", 0.5, {}))
    arrays = {"labels": labels[assignment.best], "probabilities": None, "novelty": None, "lessons": None}
    return fit, session_record(
        assignment, labels, knowledge, fit, None, steps=steps, **{**more, **arrays, **changes}
    )


def test_unassigned_rows_count_for_no_category(knowledge):
    fit, made = record(knowledge)
    assert made.rows == 6
    assert made.unassigned == 1
    assert made.counts == {"a": 2, "new": 3}
    assert made.novel == {"new": "new"}
    assert made.mean_probability == pytest.approx(0.7)
    assert made.returned == {"a": 1}
    assert made.seconds == 0.75
    assert made.evidence == pytest.approx(log_evidence(knowledge.prior, fit.posterior).sum())


def test_too_few_labels_are_said_only_where_the_number_is_estimated():
    rows, codes = blobs(n_categories=2, dim=6, each=12)
    few = learn_base(rows, codes, Options())
    labels = np.array(["a", "b"])
    nothing = fit_novel(few.reduced(rows[:1]), np.ones((1, 0)), few, Options(), np.random.default_rng(0))
    one = Assignment(np.array([1]), np.array([1.0]), np.array([False]), Returned.none(1))
    more = {"session": 1, "flagged": 0.0, "novel_share": 0.0, "count": None, "steps": ()}
    arrays = {"labels": labels[[1]], "probabilities": None, "novelty": None, "lessons": None}
    said = [
        session_record(one, labels, few, nothing, None, estimated=e, **more, **arrays).warnings
        for e in (True, False)
    ]
    assert said[0]
    assert said[1] == ()
