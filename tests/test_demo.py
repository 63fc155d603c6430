import io

import numpy as np
import pytest
from rich.console import Console
from sklearn.datasets import load_digits

from vbcgcd import CategoryDiscoverer
from vbcgcd.demo import digits_plan, run_demo

X, Y = load_digits(return_X_y=True)


@pytest.mark.parametrize("seed", [0, 1])
def test_the_plan_covers_what_it_says(seed):
    plan, test = digits_plan(Y, seed)
    assert plan.labelled.tolist() == [0, 1, 2, 3, 4]
    assert [s.novel.tolist() for s in plan.sessions] == [[5, 6], [7, 8], [9]]
    assert plan.known_before(3).tolist() == list(range(10))
    assert np.unique(Y[plan.base_rows]).tolist() == [0, 1, 2, 3, 4]
    np.testing.assert_array_equal(np.bincount(Y[test]), [50] * 10)
    for t, session in enumerate(plan.sessions):
        known = plan.known_before(t)
        assert set(Y[session.rows].tolist()) == {*known.tolist(), *session.novel.tolist()}
        assert all((Y[session.rows] == c).sum() == 15 for c in known)
        assert all((Y[session.rows] == c).sum() == (c == Y).sum() - 80 for c in session.novel)


@pytest.mark.parametrize("seed", [0, 1])
def test_no_row_is_learned_twice_or_tested_after_it_was_learned(seed):
    plan, test = digits_plan(Y, seed)
    learned = [plan.base_rows, *(s.rows for s in plan.sessions)]
    for rows in [test, *learned]:
        assert len(np.unique(rows)) == len(rows)
    assert not np.intersect1d(test, np.concatenate(learned)).size
    for session in plan.sessions:
        assert not np.intersect1d(plan.base_rows, session.rows).size
    new = [s.rows[np.isin(Y[s.rows], s.novel)] for s in plan.sessions]
    for t, rows in enumerate(new):
        for later in plan.sessions[t + 1 :]:
            assert not np.intersect1d(rows, later.rows).size


def test_the_demo_gives_no_labels_and_no_test_rows_to_a_session(monkeypatch):
    given = []
    discover = CategoryDiscoverer.discover

    def watched(self, *args, **kwargs):
        given.append((args, kwargs))
        return discover(self, *args, **kwargs)

    monkeypatch.setattr(CategoryDiscoverer, "discover", watched)
    out = io.StringIO()
    run_demo(Console(file=out, width=120))
    plan, _ = digits_plan(Y)
    assert [len(args) for args, _ in given] == [1, 1, 1]
    assert not any(kwargs for _, kwargs in given)
    for (args, _), session in zip(given, plan.sessions, strict=True):
        np.testing.assert_array_equal(args[0], X[session.rows])
    assert "Nobody says what they are" in out.getvalue()
    assert "The categories as the model sees them" not in out.getvalue()
