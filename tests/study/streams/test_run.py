import math

import numpy as np
import pytest

from vbcgcd import InputError
from vbcgcd.study import run_study
from vbcgcd.study.methods import Run, options_of
from vbcgcd.study.plans import make_plan
from vbcgcd.study.runner import execute, make_method
from vbcgcd.study.scoring import Outcome
from vbcgcd.study.shapes import PlanShape
from vbcgcd.study.streams.run import Judge, run_stream
from vbcgcd.study.streams.scoring import JUNK
from vbcgcd.study.streams.shapes import make_stream


@pytest.fixture(scope="module")
def plan(stream_data, junk_data):
    return make_stream(stream_data.train_y, seed=3, junk_y=junk_data.train_y)


class Oracle:
    """Looks up the class of every row; rows that it does not find are unassigned."""

    def __init__(self, data, sure=1.0, forget=()):
        rows, labels = np.concatenate([data.train_x, data.test_x]), np.r_[data.train_y, data.test_y]
        self.truth = {row.tobytes(): label for row, label in zip(rows, labels, strict=True)}
        self.sure, self.forget, self.numbers = sure, set(forget), []

    def fit(self, X, y):
        self.known = set(y.tolist())
        self.seen = set()

    def predict(self, X):
        labels = [self.truth.get(row.tobytes(), -1) for row in X]
        labels = [-1 if c in self.forget else c for c in labels]
        return np.array([c if c in self.known or c < 0 else 100 + c for c in labels])

    def discover(self, X, *, n_novel=None):
        self.numbers.append(n_novel)
        labels = self.predict(X)
        novel = sorted(set(labels[labels >= 100].tolist()) - self.seen)
        self.seen |= set(novel)
        return Outcome(labels, np.array(novel, int), np.zeros(len(X)), np.full(len(X), self.sure))


def test_an_oracle_finds_everything(stream_data, junk_data, plan):
    result = run_stream(Oracle(stream_data), stream_data, plan, junk=junk_data)
    for session, planned in zip(result.stream.sessions, plan.sessions, strict=True):
        assert session.kind == planned.kind
        assert session.true == session.found == session.hit == len(planned.novel)
        assert (session.split, session.merged, session.invented, session.missed_rows) == (0, 0, 0, 0)
        assert session.b_cubed == pytest.approx(1)
    assert (result.stream.calibration_error, result.stream.macro, result.final.all) == (0, 1, 1)


def test_what_is_left_unassigned_is_right_until_it_is_hit(stream_data, junk_data, plan):
    lost = plan.sessions[[s.kind for s in plan.sessions].index("novel")].novel[:1]
    oracle = Oracle(stream_data, sure=0.75, forget=lost.tolist())
    result = run_stream(oracle, stream_data, plan, junk=junk_data)
    missed = [s for s in result.stream.sessions if s.missed_rows]
    assert missed
    assert all(s.noticed_rows == s.missed_rows for s in missed)
    assert result.stream.calibration_error == pytest.approx(0.25)  # every answer is right, at 75 %
    assert result.stream.macro < 1


def test_the_number_is_told_only_on_request(stream_data, junk_data, plan):
    for told in (False, True):
        oracle = Oracle(stream_data)
        run_stream(oracle, stream_data, plan, junk=junk_data, number_known=told)
        assert oracle.numbers == [len(s.novel) if told else None for s in plan.sessions]


def test_a_missed_class_can_be_hit_when_it_returns_and_a_copy_of_a_hit_one_is_invented():
    judge = Judge(np.array(["a"]), np.array([0]))
    truth = np.array([0, 0, 1, 1, 2, 2])
    first = Outcome(np.array(["a", "a", "n1", "n1", "a", "a"]), np.array(["n1"]))
    session = judge.judge("mixed", first, truth).session
    assert (session.true, session.hit, session.missed_rows, session.noticed_rows) == (2, 1, 2, None)
    second = Outcome(np.array(["a", "a", "n2", "n2", "n3", "n3"]), np.array(["n2", "n3"]))
    session = judge.judge("returning", second, truth).session
    assert (session.true, session.hit, session.invented) == (1, 1, 1)
    assert judge.stands_for == {"a": 0, "n1": 1, "n3": 2}
    assert judge.novel_classes(np.array([0, 1, 2, 3, JUNK])).tolist() == [3]


def test_flagged_rows_of_missed_classes_are_noticed():
    judge = Judge(np.array([0]), np.array([0]))
    truth = np.array([0, 1, 1, 1, 1])
    outcome = Outcome(
        np.array([0, 0, 0, 0, -1]),
        np.array([], int),
        np.array([1, 0, 0.96, 0.9, 0]),
        np.array([1, 0.4, 1, 1, 1]),
    )
    session = judge.judge("mixed", outcome, truth).session
    assert (session.missed_rows, session.noticed_rows, session.doubted_rows) == (4, 2, 3)


def test_ours_runs_over_a_stream_and_finds_most_of_it(stream_data, junk_data, plan):
    record = execute(Run("ours", number_known=False), stream_data, plan, "k", junk=junk_data)
    stream = record.result.stream
    assert sum(s.hit for s in stream.sessions) >= 0.6 * sum(s.true for s in stream.sessions)
    assert 0 <= stream.calibration_error <= 1
    assert record.bound.macro > 0.9
    assert type(record).from_json(record.as_json()).as_json() == record.as_json()


def test_rivals_run_too_without_calibration(stream_data):
    study = run_study("stream", stream_data, seeds=1, methods="ncm,ncm-kmeans")
    assert list(study.runs) == ["ncm", "ncm-kmeans, number told"]
    for [record] in study.runs.values():
        assert math.isnan(record.result.stream.calibration_error)
        assert record.result.stream.sessions[0].noticed_rows is None
    assert all("–" in row for row in study.table("stream-summary").rows)


def test_the_estimate_of_the_number_is_the_methods_own_where_it_counts():
    assert options_of(Run("ours")) == {}
    assert options_of(Run("ours", number_known=False)) == {}
    assert options_of(Run("ours", {"count": "merge"}, number_known=False)) == {"count": "merge"}
    assert make_method("ours").count == "rehearsal"


def test_other_plans_are_refused(stream_data):
    plan = make_plan(stream_data.train_y, PlanShape("tiny", 8, 2, 2, known_rows=4))
    with pytest.raises(InputError) as caught:
        run_study("stream", stream_data, plan=plan)
    assert caught.value.option == "plan"
