import inspect

import numpy as np
import pytest
from sklearn.datasets import load_digits

from vbcgcd import CategoryDiscoverer
from vbcgcd.study.datasets import Dataset
from vbcgcd.study.plans import random_plan
from vbcgcd.study.runner import run_plan, upper_bound
from vbcgcd.study.scoring import ClusterScore, SessionScore


@pytest.fixture(scope="module")
def digits():
    x, y = load_digits(return_X_y=True)
    order = np.random.default_rng(0).permutation(len(x))
    train, test = order[:1200], order[1200:]
    return Dataset(x[train], y[train], x[test], y[test])


@pytest.fixture(scope="module")
def plan(digits):
    return random_plan(digits.train_y, n_labelled=5, n_sessions=2, n_novel=2, known_rows=6, seed=3)


class Watched:
    """A method that records the arguments of every call."""

    def __init__(self, method):
        self.method, self.calls = method, []

    def __getattr__(self, name):
        attribute = getattr(self.method, name)

        def call(*args, **kwargs):
            self.calls.append((name, args, kwargs))
            return attribute(*args, **kwargs)

        return call if inspect.ismethod(attribute) else attribute


@pytest.fixture(scope="module")
def run(digits, plan):
    watched, steps = Watched(CategoryDiscoverer(count="evidence")), []
    result = run_plan(watched, digits, plan, progress=steps.append)
    return result, watched, steps


def test_all_is_the_weighted_mean_of_old_and_new(run, digits, plan):
    result = run[0]
    assert len(result.scores) == len(result.sessions) == 2
    for t, (score, session) in enumerate(zip(result.scores, plan.sessions, strict=True)):
        n_old = np.isin(digits.test_y, plan.known_before(t)).sum()
        n_new = np.isin(digits.test_y, session.novel).sum()
        assert score.all == pytest.approx((n_old * score.old + n_new * score.new) / (n_old + n_new))
        assert min(score.old, score.new) <= score.all <= max(score.old, score.new)
    assert result.scores[0].old == result.scores[0].labelled


def test_the_result_is_worth_having(run):
    result = run[0]
    assert result.final is result.scores[-1]
    assert result.base > 0.9
    assert result.final.all > 0.75
    assert result.forgetting == pytest.approx(result.base - result.final.labelled)
    assert result.discovery == pytest.approx(np.mean([s.new for s in result.scores]))
    assert [s.n_discovered for s in result.sessions] == [2, 2]
    assert result.fit_seconds > 0
    assert min(s.seconds for s in result.sessions) > 0
    assert run[2] == ["fit", "session 1 of 2", "session 2 of 2"]


def test_a_session_is_given_rows_and_a_number_and_no_labels(run, digits, plan):
    calls = run[1].calls
    # After `fit` the labelled rows are predicted too, and at the end all rows that arrived: id stability.
    verbs = ["fit", "predict", "predict", *["discover", "predict"] * 2, "predict", "predict_proba"]
    assert [name for name, _, _ in calls] == verbs
    sessions = [(args, kwargs) for name, args, kwargs in calls if name == "discover"]
    for (args, kwargs), session in zip(sessions, plan.sessions, strict=True):
        assert len(args) == 1
        np.testing.assert_array_equal(args[0], digits.train_x[session.rows])
        assert kwargs == {"n_novel": 2}
    [(_, (x, y), _)] = [call for call in calls if call[0] == "fit"]
    np.testing.assert_array_equal(x, digits.train_x[plan.base_rows])
    np.testing.assert_array_equal(y, digits.train_y[plan.base_rows])
    assert all(len(args) == 1 and not kwargs for name, args, kwargs in calls if name == "predict")


class Oracle:
    """Knows the true class of every row by looking it up."""

    def __init__(self, data):
        rows, labels = np.concatenate([data.train_x, data.test_x]), np.r_[data.train_y, data.test_y]
        self.truth = {row.tobytes(): label for row, label in zip(rows, labels, strict=True)}
        self.numbers = []

    def fit(self, X, y):
        self.known = set(y.tolist())
        return self

    def predict(self, X):
        labels = [self.truth[row.tobytes()] for row in X]
        return np.array([c if c in self.known else 100 + c for c in labels])

    def discover(self, X, *, n_novel=None):
        self.numbers.append(n_novel)
        self.labels_ = self.predict(X)
        fresh = set(self.labels_[self.labels_ >= 100].tolist())
        self.novel = np.array(sorted(fresh - getattr(self, "seen", set())))
        self.seen = fresh | getattr(self, "seen", set())
        return self


@pytest.mark.parametrize(("number_known", "numbers"), [(True, [2, 2]), (False, [None, None])])
def test_an_oracle_scores_one(digits, plan, number_known, numbers):
    oracle = Oracle(digits)
    result = run_plan(oracle, digits, plan, number_known=number_known)
    assert oracle.numbers == numbers
    assert result.scores == (SessionScore(1, 1, 1, 1, 1),) * 2
    assert (result.base, result.forgetting, result.discovery) == (1, 0, 1)
    assert [s.n_discovered for s in result.sessions] == [2, 2]
    assert result.test_clusters == result.session_clusters == ClusterScore(1, 1, 1)
    assert result.stability.share == 1
    assert result.stability.items == len(plan.base_rows) + len(plan.sessions[0].rows)


class Doubting(Oracle):
    """Knows every class, and says so of three quarters of its answer only."""

    def predict_proba(self, X):
        ids = self.predict(X)
        self.classes_ = np.unique(ids)
        return np.where(ids[:, None] == self.classes_, 0.75, 0.01)


def test_probabilities_are_judged_where_a_method_reports_them(run, digits, plan):
    assert run_plan(Oracle(digits), digits, plan).calibration_error is None
    assert run_plan(Doubting(digits), digits, plan).calibration_error == pytest.approx(0.25)
    assert 0 < run[0].calibration_error < 0.2


class Renumbering(Oracle):
    """Knows every class and gives the novel ones other ids in each session."""

    def predict(self, X):
        ids = super().predict(X)
        return np.where(ids >= 100, ids + 1000 * len(self.numbers), ids)


def test_renumbering_costs_stability_and_no_clustering_accuracy(digits, plan):
    result = run_plan(Renumbering(digits), digits, plan)
    assert result.test_clusters.acc == 1
    arrived = digits.train_y[plan.sessions[0].rows]
    novel = np.isin(arrived, plan.sessions[0].novel).sum()
    stability = result.stability
    assert stability.given == stability.items
    assert stability.items - stability.kept == stability.items - stability.same_id == novel


def test_the_upper_bound_of_digits_is_high(run, digits, plan):
    bound = upper_bound(lambda: CategoryDiscoverer(count="evidence"), digits, plan)
    assert bound.final.all >= 0.9
    assert bound.final.all >= run[0].final.all - 0.02
    assert len(bound.scores) == 2
    assert bound.base == run[0].base


class OnlyFit:
    """A method without partial_fit."""

    def __init__(self):
        self.model = CategoryDiscoverer(count="evidence")

    def fit(self, X, y):
        self.n_classes = len(set(y.tolist()))
        self.model.fit(X, y)

    def predict(self, X):
        return self.model.predict(X)


def test_without_partial_fit_the_bound_is_one_fit_on_everything(digits, plan):
    made = []

    def make():
        made.append(OnlyFit())
        return made[-1]

    bound = upper_bound(make, digits, plan)
    assert [m.n_classes for m in made] == [5, 9]
    assert len(bound.scores) == 1
    assert bound.final.all >= 0.9


def test_what_a_session_costs_and_keeps_is_measured(run):
    for t, session in enumerate(run[0].sessions, start=1):
        assert session.n_categories == 5 + 2 * t
        assert session.nbytes == run[1].method.nbytes or session.nbytes < run[1].method.nbytes
        assert session.peak_bytes >= 0
        assert session.stream.rows == session.stream.novel_rows + 6 * (3 + 2 * t)


class Shuffled(Oracle):
    """Gives every novel class the id of another one: right for one joint match, and for a frozen one too."""

    def predict(self, X):
        labels = super().predict(X)
        return np.where(labels >= 100, 300 - labels, labels)


def test_ids_may_have_any_name(digits, plan):
    result = run_plan(Shuffled(digits), digits, plan)
    assert [s.joint.all for s in result.sessions] == [1, 1]
    assert result.final.all == 1


class Changeling(Oracle):
    """Renumbers its novel ids in every session: forgiven by a joint match, not by a frozen one."""

    def predict(self, X):
        labels = super().predict(X)
        return np.where(labels >= 100, labels + 100 * len(self.numbers), labels)


def test_renumbering_is_punished_by_frozen_scoring_only(digits, plan):
    result = run_plan(Changeling(digits), digits, plan)
    assert [s.joint.all for s in result.sessions] == [1, 1]
    assert result.final.old < 1
    assert result.final.labelled == 1
