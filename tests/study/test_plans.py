import numpy as np
import pytest

from vbcgcd import InputError
from vbcgcd.study.plans import random_plan

Y = np.random.default_rng(0).permutation(np.repeat(np.arange(12), 20))
OPTIONS = {"n_labelled": 4, "n_sessions": 3, "n_novel": 2, "known_rows": 3}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("rows_per_class", [None, 7])
def test_rows_arrive_where_they_may(seed, rows_per_class):
    plan = random_plan(Y, **OPTIONS, rows_per_class=rows_per_class, seed=seed)
    each = 16 if rows_per_class is None else 7
    assert len(plan.labelled) == 4
    assert len(plan.sessions) == 3
    assert len(np.unique(plan.known_before(3))) == 10
    np.testing.assert_array_equal(np.unique(Y[plan.base_rows]), np.sort(plan.labelled))
    assert len(np.unique(plan.base_rows)) == len(plan.base_rows) == 4 * each
    used = set(plan.base_rows.tolist())
    for t, session in enumerate(plan.sessions):
        known = plan.known_before(t)
        assert len(known) == 4 + 2 * t
        assert not set(known.tolist()) & set(session.novel.tolist())
        assert len(np.unique(session.rows)) == len(session.rows)
        truth = Y[session.rows]
        for c in session.novel:
            assert (truth == c).sum() == each
        for c in known:
            assert (truth == c).sum() == 3
        assert len(truth) == 2 * each + 3 * len(known)
        assert not used & set(session.rows.tolist())  # what was labelled or new never comes back
        used |= set(session.rows[np.isin(truth, session.novel)].tolist())


def test_known_before_grows_by_the_new_classes():
    plan = random_plan(Y, **OPTIONS)
    np.testing.assert_array_equal(plan.known_before(0), plan.labelled)
    for t, session in enumerate(plan.sessions):
        np.testing.assert_array_equal(
            plan.known_before(t + 1), np.concatenate([plan.known_before(t), session.novel])
        )


def test_rows_are_shuffled():
    for session in random_plan(Y, **OPTIONS).sessions:
        arrival = np.isin(Y[session.rows], session.novel)
        assert np.diff(arrival.astype(int)).any()
        assert not arrival[-sum(arrival) :].all()


def test_seeds_decide():
    one, same, other = (random_plan(Y, **OPTIONS, seed=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(one.base_rows, same.base_rows)
    for a, b in zip(one.sessions, same.sessions, strict=True):
        np.testing.assert_array_equal(a.rows, b.rows)
    assert not np.array_equal(one.known_before(3), other.known_before(3))
    assert set(one.base_rows.tolist()) != set(other.base_rows.tolist())


def test_names_are_classes_too():
    names = np.array([f"c{k}" for k in Y])
    plan = random_plan(names, **OPTIONS)
    np.testing.assert_array_equal(np.unique(names[plan.base_rows]), np.sort(plan.labelled))


def test_more_known_rows_than_are_held_out_gives_all_of_them():
    plan = random_plan(Y, **OPTIONS | {"known_rows": 100}, train_share=0.9)
    for t, session in enumerate(plan.sessions):
        assert np.isin(Y[session.rows], plan.known_before(t)).sum() == 2 * len(plan.known_before(t))


def test_nothing_held_out_gives_sessions_of_new_rows():
    plan = random_plan(Y, **OPTIONS, train_share=1.0)
    for session in plan.sessions:
        assert np.isin(Y[session.rows], session.novel).all()
        assert len(session.rows) == 40


@pytest.mark.parametrize("change", [{"n_labelled": 7}, {"n_sessions": 5}, {"n_novel": 3}], ids=str)
def test_too_many_classes_are_refused(change):
    with pytest.raises(InputError, match="the data has 12; ask for fewer"):
        random_plan(Y, **OPTIONS | change)


def test_all_classes_can_be_used():
    assert len(random_plan(Y, **OPTIONS | {"n_labelled": 6}).known_before(3)) == 12
