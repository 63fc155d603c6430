import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vbcgcd.record import plain
from vbcgcd.study.streams.scoring import (
    JUNK,
    StreamResult,
    StreamSession,
    answers_right,
    b_cubed,
    calibration_error,
    hit_rates,
    is_off,
    judge_discovery,
)

# Ids 0-2 are known (classes 0-2), 10-13 are novel ids, 99 is no id at all.
ROWS = st.lists(
    st.tuples(st.sampled_from([0, 1, 10, 11, 12, 13, 99]), st.sampled_from([JUNK, 0, 1, 5, 6, 7])),
    min_size=1,
    max_size=60,
)
NOVEL_IDS, NOVEL_CLASSES = np.array([10, 11, 12, 13]), np.array([5, 6, 7, 8])


def rows_of(pairs, label=None, c=None):
    return [k for k, (i, t) in enumerate(pairs) if label in (None, i) and c in (None, t)]


def largest(pairs, label):
    """The class with the most rows in an id: the smallest such code; None where it has no rows."""
    count = {c: len(rows_of(pairs, label, c)) for c in (JUNK, 0, 1, 5, 6, 7)}
    most = max(count.values())
    return min(c for c in count if count[c] == most) if most else None


@given(ROWS)
@settings(max_examples=300, deadline=None)
def test_hits_splits_merges_and_inventions_as_counted_one_by_one(pairs):
    ids, truth = (np.array(column) for column in zip(*pairs, strict=True))
    judged = judge_discovery(ids, truth, NOVEL_IDS, NOVEL_CLASSES)
    present = [c for c in (5, 6, 7) if rows_of(pairs, c=c)]
    assert judged.classes.tolist() == present
    assert judged.sizes.tolist() == [len(rows_of(pairs, c=c)) for c in present]
    for c in present:
        size = len(rows_of(pairs, c=c))
        held = {i: len(rows_of(pairs, i, c)) for i in (10, 11, 12, 13)}
        able = [i for i in held if largest(pairs, i) == c and 2 * held[i] >= size]
        assert (c in judged.hits) == bool(able)
        if able:
            assert judged.hits[c] in able
            assert held[judged.hits[c]] == max(held[i] for i in able)
        pieces = [i for i in held if 5 * held[i] >= size and held[i] >= 2]
        assert (c in judged.split) == (len(pieces) >= 2)
    for i in (10, 11, 12, 13):
        halves = [c for c in present if 2 * len(rows_of(pairs, i, c)) >= len(rows_of(pairs, c=c))]
        assert (i in judged.merged) == (len(halves) >= 2)
        assert (i in judged.invented) == (largest(pairs, i) not in present)
    assert len(set(judged.hits.values())) == len(judged.hits)


def test_a_session_by_hand():
    # class 5: hit by 10; class 6: in two pieces; class 7 is swallowed by 10; 13 is a second copy of class 0
    truth = np.repeat([5, 6, 7, 0, JUNK], [6, 6, 4, 5, 1])
    ids = np.array([10] * 5 + [0] + [11, 11, 11, 12, 12, 12] + [10] * 4 + [0, 0, 13, 13, 13] + [99])
    judged = judge_discovery(ids, truth, NOVEL_IDS, NOVEL_CLASSES)
    assert judged.hits in ({5: 10, 6: 11}, {5: 10, 6: 12})
    assert judged.split.tolist() == [6]
    assert judged.merged == [10]
    assert judged.invented == [13]


def test_names_are_ids_too_and_an_id_without_rows_is_invented():
    ids = np.array(["novel-1", "novel-1", "none of these"])
    judged = judge_discovery(ids, np.array([3, 3, 3]), np.array(["novel-1", "novel-2"]), np.array([3]))
    assert judged.hits == {3: "novel-1"}
    assert judged.invented == ["novel-2"]


def test_nothing_found_and_nothing_there():
    judged = judge_discovery(np.zeros(4, int), np.array([0, 0, 5, 5]), np.array([]), np.array([5]))
    assert (judged.hits, judged.merged, judged.invented) == ({}, [], [])
    assert judged.sizes.tolist() == [2]
    empty = judge_discovery(np.empty(0, int), np.empty(0, int), np.array([4]), np.array([5]))
    assert empty.invented == [4]


@given(ROWS)
@settings(max_examples=200, deadline=None)
def test_b_cubed_row_by_row(pairs):
    def together(a, b):
        return a == b or (pairs[a][0] == pairs[b][0] != 99)

    def alike(a, b):
        return a == b or (pairs[a][1] == pairs[b][1] != JUNK)

    every = range(len(pairs))
    precision, recall = [], []
    for a in every:
        cluster = [b for b in every if together(a, b)]
        kind = [b for b in every if alike(a, b)]
        both = len(set(cluster) & set(kind))
        precision.append(both / len(cluster))
        recall.append(both / len(kind))
    p, r = np.mean(precision), np.mean(recall)
    ids, truth = (np.array(column) for column in zip(*pairs, strict=True))
    assert b_cubed(ids, truth, ids == 99) == pytest.approx(2 * p * r / (p + r))


def test_b_cubed_of_a_perfect_session_is_one():
    truth = np.array([3, 3, 4, JUNK, JUNK])
    assert b_cubed(np.array([7, 7, 9, -1, -1]), truth, truth == JUNK) == 1
    assert math.isnan(b_cubed(np.empty(0), np.empty(0), np.empty(0, bool)))


@given(st.lists(st.tuples(st.integers(0, 999), st.booleans()), min_size=1, max_size=80))
@settings(max_examples=200, deadline=None)
def test_the_calibration_error_bin_by_bin(pairs):
    pairs = [((n + 0.5) / 1000, right) for n, right in pairs]  # not at the border of a bin
    total = 0.0
    for k in range(10):
        inside = [(c, r) for c, r in pairs if k / 10 < c < (k + 1) / 10]
        if inside:
            gap = np.mean([c for c, _ in inside]) - np.mean([r for _, r in inside])
            total += len(inside) / len(pairs) * abs(gap)
    assert calibration_error(*zip(*pairs, strict=True)) == pytest.approx(total)


def test_confidence_of_one_and_zero_have_a_bin():
    assert calibration_error([1.0, 1.0, 0.0], [True, True, False]) == 0
    assert calibration_error([1.0, 0.95], [False, False]) == pytest.approx(0.975)
    assert math.isnan(calibration_error([], []))


def test_answers_are_right_where_the_id_stands_for_the_class():
    stands_for = {0: 0, 1: 1, 10: 5}
    ids = np.array([0, 1, 10, 10, 11, 99, 99, 99])
    truth = np.array([0, 0, 5, 6, 6, JUNK, 6, 5])
    right = answers_right(ids, truth, ids == 99, stands_for)
    assert right.tolist() == [True, False, True, False, False, True, True, False]


def test_answers_that_are_no_class_at_all_are_wrong_for_junk():
    right = answers_right(np.array([11]), np.array([JUNK]), np.array([False]), {0: 0})
    assert right.tolist() == [False]


@pytest.mark.parametrize(
    ("found", "true", "off"),
    [
        (0, 0, False),
        (1, 0, False),
        (2, 0, True),
        (16, 10, False),
        (17, 10, True),
        (6, 10, False),
        (5, 10, True),
    ],
)
def test_numbers_are_off_beyond_a_factor_and_one(found, true, off):
    assert is_off(found, true) is off


def session(**changes):
    values = {
        "kind": "mixed",
        "sizes": (5, 9, 10, 20, 21, 300),
        "hits": (True, False, True, True, False, True),
        "found": 5,
        "split": 1,
        "merged": 0,
        "invented": 1,
        "b_cubed": 0.5,
        "missed_rows": 30,
        "noticed_rows": 3,
    }
    return StreamSession(**values | changes)


def test_hit_rates_by_size():
    assert hit_rates([session()]) == [(1, 2), (2, 2), (0, 1), (1, 1)]
    assert hit_rates([session(), session(sizes=(4, 10), hits=(True, False))])[1] == (2, 3)
    assert (session().true, session().hit, session().off) == (6, 4, False)
    assert session().ratio == 5 / 6
    assert math.isnan(session(sizes=(), hits=()).ratio)


def test_results_without_probabilities_round_trip():
    result = StreamResult((session(noticed_rows=None),), math.nan, 0.5, 2)
    again = StreamResult.from_json(plain(result))
    assert again.sessions == result.sessions
    assert math.isnan(again.calibration_error)
    assert (again.macro, again.fewest_labels) == (0.5, 2)
