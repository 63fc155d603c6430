import math

import numpy as np
import pytest

from vbcgcd.study.stability import IdStability, ItemLog


def log_of(*sessions, categories=frozenset("abc")):
    """A log of sessions (ids, truth); the row of an item is its number."""
    log, first = ItemLog(), 0
    for ids, truth in sessions:
        rows = np.arange(first, first + len(ids))[:, None]
        log.add(rows, np.array(list(ids)), np.array(truth), categories)
        first += len(ids)
    return log


def judged(log, answers):
    return log.judge(lambda rows: np.array(list(answers))[rows[:, 0]])


def test_items_of_all_sessions_but_the_last_are_counted():
    log = log_of(("aab", [0, 0, 1]), ("bc", [1, 2]), ("cc", [2, 2]))
    assert judged(log, "aabbccc") == IdStability(5, 5, 5, 5)
    assert judged(log, "aabbcab") == IdStability(5, 5, 5, 5)


def test_another_id_is_not_kept():
    log = log_of(("aab", [0, 0, 1]), ("c", [2]))
    assert judged(log, "aacc") == IdStability(3, 3, 2, 2)
    assert judged(log, "caac").same_id == 1


def test_an_id_that_comes_to_mean_another_class_is_not_kept():
    """Item 2 keeps its id b, but b has been taken over by class 2."""
    log = log_of(("aab", [0, 0, 1]), ("bbb", [2, 2, 2]), ("a", [0]))
    assert judged(log, "aabbbba") == IdStability(6, 6, 6, 5)


def test_the_meaning_of_an_id_is_that_of_all_items_so_far():
    """In the second session most rows of a are of class 2, but a still means class 0."""
    log = log_of(("aaa", [0, 0, 0]), ("aa", [2, 2]), ("b", [1]))
    assert judged(log, "aaaaab") == IdStability(5, 5, 5, 5)


def test_unassigned_items_were_given_no_id():
    log = log_of(("a?", [0, 1]), ("b", [1]))
    assert judged(log, "abb") == IdStability(2, 1, 1, 1)
    assert math.isnan(judged(log_of(("?", [0]), ("a", [0])), "aa").share)


@pytest.mark.parametrize("junk", [-1])
def test_rows_of_no_class_are_items_too(junk):
    log = log_of(("ab", [0, junk]), ("b", [1]))
    assert judged(log, "abb") == IdStability(2, 2, 2, 2)


def test_stability_is_read_back():
    value = IdStability(9, 8, 7, 6)
    assert IdStability.from_json(vars(value)) == value
