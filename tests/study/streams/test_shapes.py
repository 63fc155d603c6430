import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vbcgcd import InputError
from vbcgcd.study.plans import check_plan, read_plan, write_plan
from vbcgcd.study.streams.shapes import MOST_JUNK_ROWS, STREAMS, StreamShape, make_stream

Y = np.random.default_rng(0).permutation(np.repeat(np.arange(40), 60))


@given(
    seed=st.integers(0, 10**6),
    name=st.sampled_from(sorted(STREAMS)),
    elsewhere=st.booleans(),
    n_classes=st.integers(14, 40),
)
@settings(max_examples=40, deadline=None)
def test_streams_leak_nothing_and_no_row_arrives_twice(seed, name, elsewhere, n_classes):
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat(np.arange(n_classes), rng.integers(8, 90, size=n_classes)))
    plan = make_stream(y, name, seed=seed, junk_y=np.zeros(300) if elsewhere else None)
    assert check_plan(plan, y) is plan
    rows = np.concatenate([plan.base_rows, *(s.rows for s in plan.sessions)])
    assert len(np.unique(rows)) == len(rows)
    assert sorted(s.kind for s in plan.sessions) == sorted(STREAMS[name].kinds)


@pytest.mark.parametrize("seed", range(5))
def test_each_kind_of_session_has_what_its_name_says(seed):
    plan = make_stream(Y, seed=seed, junk_y=np.zeros(500))
    arrived = set()
    for session in plan.sessions:
        truth = Y[session.rows]
        novel, labelled = np.isin(truth, session.novel), np.isin(truth, plan.labelled)
        back = np.isin(truth, list(arrived))
        assert (novel | labelled | back).all()
        assert back.any() == (session.kind == "returning")
        assert novel.any() == (session.kind != "known")
        assert labelled.any() == (session.kind != "novel")
        assert (len(session.junk) > 0) == (session.kind == "junk")
        if session.kind in ("mixed", "junk"):
            assert labelled.mean() == pytest.approx(0.5, abs=0.01)
        if session.kind == "junk":
            assert 0.025 < len(session.junk) / (len(session.junk) + len(truth)) < 0.085
        arrived |= set(session.novel.tolist())
    assert len(arrived) + len(plan.labelled) == 40


@pytest.mark.parametrize("name", sorted(STREAMS))
def test_sizes_stay_within_their_bounds(name):
    shape = STREAMS[name]
    sizes, labels = [], []
    for seed in range(8):
        plan = make_stream(Y, shape, seed=seed)
        labels += [(Y[plan.base_rows] == c).sum() for c in plan.labelled]
        sizes += [(Y[s.rows] == c).sum() for s in plan.sessions for c in s.novel]
    most = int(shape.used_share * 60)
    assert min(labels) >= shape.labels[0]
    assert max(labels) <= min(shape.labels[1], most)
    assert min(sizes) >= min(shape.sizes[0], most)
    assert max(sizes) <= min(shape.sizes[1], most)
    if name == "stream":  # log-uniform: as many below the geometric mean of the bounds as above
        assert np.median(sizes) == pytest.approx(np.sqrt(5 * most), rel=0.3)


def test_kinds_come_in_random_order_and_seeds_decide():
    plans = [make_stream(Y, seed=seed) for seed in range(20)]
    assert len({tuple(s.kind for s in plan.sessions) for plan in plans}) > 10
    assert len({plan.digest for plan in plans}) == 20
    assert make_stream(Y, seed=3).digest == plans[3].digest


def test_without_another_dataset_junk_is_of_classes_that_never_become_novel():
    plan = make_stream(Y, seed=1)
    junk = np.concatenate([s.junk for s in plan.sessions])
    assert plan.junk_labels is None
    assert not np.isin(Y[junk], plan.known_before(len(plan.sessions))).any()
    assert max(np.bincount(Y[junk])) <= MOST_JUNK_ROWS


@pytest.mark.parametrize("elsewhere", [False, True])
def test_streams_are_files_like_other_plans(tmp_path, elsewhere):
    plan = make_stream(Y, seed=2, junk_y=np.arange(100) if elsewhere else None)
    write_plan(plan, tmp_path / "stream.json")
    again = read_plan(tmp_path / "stream.json")
    assert again.digest == plan.digest
    assert again.origin == plan.origin
    assert again.junk_labels == plan.junk_labels
    assert again.is_stream
    for one, other in zip(plan.sessions, again.sessions, strict=True):
        assert one.kind == other.kind
        np.testing.assert_array_equal(one.junk, other.junk)
    assert check_plan(again, Y) is again


def with_session(plan, kind, **changes):
    sessions = [dataclasses.replace(s, **changes) if s.kind == kind else s for s in plan.sessions]
    return dataclasses.replace(plan, sessions=tuple(sessions))


def test_leaks_of_streams_are_found():
    plan = make_stream(Y, seed=1)
    known = next(s for s in plan.sessions if s.kind == "known")
    junk = next(s.junk for s in plan.sessions if s.kind == "junk")
    other = next(s for s in plan.sessions if s.kind == "junk")
    familiar = other.rows[np.isin(Y[other.rows], plan.labelled)][:1]
    for spoiled, word in (
        (with_session(plan, "known", rows=np.r_[known.rows, familiar]), "before"),
        (with_session(plan, "junk", junk=np.r_[junk, junk[:1]]), "twice"),
        (with_session(plan, "junk", junk=np.r_[junk, plan.base_rows[:1]]), "labelled or novel"),
        (with_session(plan, "junk", junk=np.r_[junk, len(Y)]), "2400 training rows"),
    ):
        with pytest.raises(InputError, match=word):
            check_plan(spoiled, Y)


def test_too_few_classes_and_unknown_names_are_refused():
    with pytest.raises(InputError) as caught:
        make_stream(np.repeat(np.arange(6), 20))
    assert caught.value.option == "plan"
    with pytest.raises(InputError) as caught:
        make_stream(Y, "steam")
    assert caught.value.option == "plan"


def test_a_shape_of_ones_own():
    shape = StreamShape("calm", ("known", "known"), labels=(5, 5), sizes=(1, 1))
    plan = make_stream(Y, shape)
    assert [len(s.novel) for s in plan.sessions] == [0, 0]
    assert len(plan.base_rows) == 5 * len(plan.labelled)


def test_names_are_classes_too():
    names = np.array([f"class {c}" for c in Y])
    plan = make_stream(names, seed=4)
    assert check_plan(plan, names) is plan
