"""The tree over blocks: its shape, and that cutting it at a level changes nothing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vbcgcd.engine import group_blocks, reduce_tree
from vbcgcd.engine.tree import add
from vbcgcd.errors import NothingToDo


def joined(left, right):
    return f"({left}{right})"


def depth(tree):
    deepest = level = 0
    for letter in tree:
        level += (letter == "(") - (letter == ")")
        deepest = max(deepest, level)
    return deepest


@given(st.integers(1, 300))
def test_it_is_as_deep_as_a_balanced_tree(n):
    assert depth(reduce_tree("x" * n, joined)) <= int(np.ceil(np.log2(n))) + 1


@given(st.integers(1, 100), st.sampled_from([1, 2, 4, 16]))
def test_groups_of_a_power_of_two_cut_the_same_tree(n, size):
    leaves = [f"{i}," for i in range(n)]
    of_groups = reduce_tree([reduce_tree(group, joined) for group in group_blocks(leaves, size)], joined)
    assert of_groups == reduce_tree(leaves, joined)


@given(st.lists(st.floats(-1e9, 1e9), min_size=1))
def test_it_adds_everything_once(values):
    assert reduce_tree(values, add) == pytest.approx(sum(values), rel=1e-9, abs=1e-3)


def test_few_partial_sums_are_held():
    alive = []

    class Part:
        def __init__(self):
            alive.append(self)

        def __add__(self, other):
            alive.remove(self)
            alive.remove(other)
            assert len(alive) <= 10
            return Part()

    reduce_tree((Part() for _ in range(500)), add)
    assert len(alive) == 1


def test_nothing_is_an_error_and_none_is_nothing():
    with pytest.raises(NothingToDo, match="no blocks"):
        reduce_tree([], add)
    assert (add(None, 2), add(2, None), add(None, None)) == (2, 2, None)
