import dataclasses
import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vbcgcd import InputError
from vbcgcd.errors import DiskError
from vbcgcd.study.plans import (
    PlannedSession,
    PlanOrigin,
    check_plan,
    make_plan,
    paper_dataset,
    random_plan,
    read_plan,
    write_plan,
)
from vbcgcd.study.shapes import shape_by_shares, shape_of

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
    with pytest.raises(InputError, match="has 12"):
        random_plan(Y, **OPTIONS | change)


def test_all_classes_can_be_used():
    assert len(random_plan(Y, **OPTIONS | {"n_labelled": 6}).known_before(3)) == 12


@pytest.mark.parametrize("order", ["random", "natural", "happy"])
@pytest.mark.parametrize("name", ["b50t5", "b50t10", "b10t9"])
def test_named_plans_leak_nothing(name, order):
    y = np.random.default_rng(1).permutation(np.repeat(np.arange(40), 30))
    plan = make_plan(y, shape_of(name, y), order=order, seed=2)
    assert check_plan(plan, y) is plan
    assert len(plan.known_before(len(plan.sessions))) == 40
    learned_as_new = [plan.base_rows, *(s.rows[np.isin(y[s.rows], s.novel)] for s in plan.sessions)]
    rows = np.concatenate(learned_as_new)
    assert len(np.unique(rows)) == len(rows)
    for session in plan.sessions:
        assert not np.isin(session.rows, plan.base_rows).any()


@given(seed=st.integers(0, 10**6), share=st.floats(0.1, 0.8), sessions=st.integers(1, 4))
@settings(max_examples=25, deadline=None)
def test_plans_by_shares_leak_nothing(seed, share, sessions):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(np.arange(20), rng.integers(1, 30, size=20)))
    plan = make_plan(y, shape_by_shares(y, labelled_share=share, n_sessions=sessions), seed=seed)
    check_plan(plan, y)


def spoiled(plan, **changes):
    return dataclasses.replace(plan, **changes)


def test_leaks_are_found():
    plan = random_plan(Y, **OPTIONS)
    first, second, third = plan.sessions
    labelled_row = PlannedSession(first.novel, np.r_[first.rows, plan.base_rows[:1]])
    twice = PlannedSession(first.novel, np.r_[first.rows, first.rows[:1]])
    from_later = PlannedSession(
        first.novel, np.r_[first.rows, second.rows[np.isin(Y[second.rows], second.novel)][:1]]
    )
    old_news = PlannedSession(np.r_[second.novel, first.novel[:1]], second.rows)
    back = PlannedSession(
        second.novel, np.r_[second.rows, first.rows[np.isin(Y[first.rows], first.novel)][:1]]
    )
    for sessions, word in (
        ((labelled_row, second, third), "or novel before"),
        ((twice, second, third), "twice"),
        ((from_later, second, third), "neither known nor novel"),
        ((first, old_news, third), "known before"),
        ((first, back, third), "or novel before"),
    ):
        with pytest.raises(InputError, match=word):
            check_plan(spoiled(plan, sessions=sessions), Y)
    with pytest.raises(InputError) as caught:
        check_plan(plan, Y[::-1])
    assert caught.value.option == "plan"
    with pytest.raises(InputError, match="not listed"):
        check_plan(spoiled(plan, labelled=plan.labelled[1:]), Y)
    with pytest.raises(InputError, match="240 training rows"):
        check_plan(spoiled(plan, base_rows=np.r_[plan.base_rows, 240], origin=PlanOrigin()), Y)


@pytest.mark.parametrize("names", [False, True])
def test_plans_round_trip(tmp_path, names):
    y = np.array([f"klasse ü{c}" for c in Y]) if names else Y
    plan = random_plan(y, **OPTIONS)
    path = tmp_path / "plan.json"
    write_plan(plan, path)
    again = read_plan(path)
    assert again.digest == plan.digest
    assert again.origin == plan.origin
    np.testing.assert_array_equal(again.labelled, plan.labelled)
    for a, b in zip(again.sessions, plan.sessions, strict=True):
        np.testing.assert_array_equal(a.rows, b.rows)
        np.testing.assert_array_equal(a.novel, b.novel)
    assert check_plan(again, y)
    assert [f.name for f in tmp_path.iterdir()] == ["plan.json"]


@pytest.mark.parametrize(
    "content", ["", "{", "[]", '{"format": 1}', '{"format": 99}', "\xff", '{"format": 1, "sessions": 3}']
)
def test_other_files_are_refused(tmp_path, content):
    path = tmp_path / "plan.json"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(InputError) as caught:
        read_plan(path)
    assert caught.value.option == "plan"
    with pytest.raises(InputError) as caught:
        read_plan(tmp_path / "absent.json")
    assert caught.value.option == "plan"


def test_a_plan_that_cannot_be_written_leaves_nothing(tmp_path):
    with pytest.raises(DiskError):
        write_plan(random_plan(Y, **OPTIONS), tmp_path / "no" / "plan.json")
    assert list(tmp_path.iterdir()) == []


def test_a_plan_without_an_origin_is_read(tmp_path):
    plan = random_plan(Y, **OPTIONS)
    path = tmp_path / "plan.json"
    path.write_text(json.dumps({"format": 1, "about": {"author": "me"}, **plan.content()}))
    again = read_plan(path)
    assert again.digest == plan.digest
    assert again.origin == PlanOrigin()
    assert check_plan(again, Y)


def test_the_papers_datasets_are_recognised():
    assert paper_dataset("cifar100-efficientnet-lite0") == "cifar100"
    assert paper_dataset("Tiny-ImageNet") == "tinyimagenet"
    assert paper_dataset("CUB_200_2011") == "cub200"
    assert paper_dataset("clinc150-minilm") == "clinc150"
    assert paper_dataset("esc50-yamnet") is None


@pytest.mark.parametrize("value", [3, "rows", [[1, 2]], [None], {"a": 1}, [10**30], [{}]])
@pytest.mark.parametrize("key", ["labelled", "base_rows", "novel", "rows"])
def test_a_plan_of_other_values_is_one_clear_error(tmp_path, key, value):
    path = tmp_path / "plan.json"
    write_plan(random_plan(Y, **OPTIONS, seed=0), path)
    content = json.loads(path.read_text())
    (content if key in content else content["sessions"][0])[key] = value
    path.write_text(json.dumps(content))
    with pytest.raises(InputError, match="not a session plan") as caught:
        read_plan(path)
    assert caught.value.option == "plan"
