import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vbcgcd import mapped
from vbcgcd.bayes import Posterior, Prior, posterior_of, statistics_by_label
from vbcgcd.bayes.stacks import FactorPart, FactorStack, concatenated, replaced, taken

A, B = np.arange(12.0).reshape(4, 3), 100 + np.arange(6.0).reshape(2, 3)
PART, ROW = np.array([0, 1, 0, 1, 0]), np.array([3, 0, 0, 1, 1])
WHOLE = np.stack([A[3], B[0], A[0], B[1], A[1]])


@pytest.fixture
def stack():
    return FactorStack([FactorPart(A), FactorPart(B)], PART, ROW)


@pytest.fixture(scope="module")
def posterior():
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(60, 4)), np.arange(60) % 6
    return posterior_of(Prior(dim=4), statistics_by_label(rows, labels, 6))


def stacked(posterior):
    return Posterior(
        posterior.mean, posterior.kappa, posterior.nu, FactorStack.of(posterior.factor), posterior.structure
    )


INDICES = [
    1,
    -1,
    np.int64(4),
    slice(1, 4),
    slice(None),
    [4, 0, 0],
    np.array([True, False, True, False, True]),
]


@pytest.mark.parametrize("index", [*INDICES, (2, slice(0, 2)), (slice(1, 3), 2)], ids=repr)
def test_it_is_indexed_as_the_array(stack, index):
    np.testing.assert_array_equal(stack[index], WHOLE[index])


def test_it_is_an_array_to_whoever_wants_one(stack):
    np.testing.assert_array_equal(np.asarray(stack), WHOLE)
    np.testing.assert_array_equal(2 * stack / np.ones((5, 1)), 2 * WHOLE)
    np.testing.assert_array_equal(np.sqrt(stack), np.sqrt(WHOLE))
    np.testing.assert_array_equal(stack.astype(np.float32), WHOLE.astype(np.float32))
    assert (stack.shape, stack.dtype, stack.nbytes, stack.ndim) == ((5, 3), WHOLE.dtype, WHOLE.nbytes, 2)
    assert stack.tobytes() == WHOLE.tobytes()
    np.testing.assert_array_equal(np.asarray(pickle.loads(pickle.dumps(stack))), WHOLE)


def test_neighbours_in_one_place_are_not_copied(stack):
    whole = FactorStack.of(A)
    assert np.shares_memory(whole[1:3], A)
    assert np.shares_memory(whole[:], A)
    assert not np.shares_memory(stack[:], A)


@given(st.lists(st.integers(0, 4), max_size=8), st.integers(0, 100))
def test_taking_and_joining_commute_with_being_an_array(index, large):
    stack = FactorStack([FactorPart(A), FactorPart(B)], PART, ROW)
    index = np.array(index, dtype=int)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mapped, "LARGE", large)
        some = taken(stack, index)
    np.testing.assert_array_equal(np.asarray(some).reshape(-1, 3), WHOLE[index])
    assert isinstance(some, FactorStack) == (24 * len(index) > large)
    both = concatenated([stack, B, taken(WHOLE, index)])
    np.testing.assert_array_equal(np.asarray(both), np.concatenate([WHOLE, B, WHOLE[index]]))


def test_replacing_leaves_the_old_one_alone(stack):
    for factors in (stack, WHOLE):
        new = replaced(factors, [1, 4], B)
        np.testing.assert_array_equal(np.asarray(new), np.stack([A[3], B[0], A[0], B[1], B[1]]))
        np.testing.assert_array_equal(np.asarray(factors), WHOLE)


def test_arrays_stay_arrays():
    assert isinstance(concatenated([A, B]), np.ndarray)
    assert isinstance(taken(A, [0]), np.ndarray)


def test_a_posterior_with_a_stack_gives_the_same_bits(posterior):
    same, rows = stacked(posterior), np.random.default_rng(1).normal(size=(5, 4))
    assert same.log_det_scale.tobytes() == posterior.log_det_scale.tobytes()
    assert same.trace_scale.tobytes() == posterior.trace_scale.tobytes()
    assert same.distances(rows).tobytes() == posterior.distances(rows).tobytes()
    order = [5, 0, 3]
    other = posterior.take([1, 2, 4])
    for change in (
        lambda p: p.take(order),
        lambda p: p.replaced(order, other),
        lambda p: Posterior.concatenate([p, other]),
        lambda p: Posterior.concatenate([other, p]).take(order),
    ):
        one, two = change(posterior), change(same)
        assert np.asarray(two.factor).tobytes() == one.factor.tobytes()
        assert two.log_det_scale.tobytes() == one.log_det_scale.tobytes()
        assert two.mean.tobytes() == one.mean.tobytes()


def test_summaries_that_are_known_are_not_computed_again(posterior):
    known = {"log_dets": np.arange(6.0), "traces": -np.arange(6.0)}
    stack = FactorStack.of(posterior.factor, known)
    some = FactorStack(stack.parts, stack.part[[4, 1]], stack.row[[4, 1]])
    assert some.summary("log_dets", posterior.form).tolist() == [4, 1]
    assert some.summary("traces", posterior.form).tolist() == [-4, -1]


def test_factors_that_were_replaced_are_let_go(stack):
    other = replaced(stack, [1, 3], np.zeros((2, 3)))
    assert all(part.rows is not B for part in other.parts)
    for _ in range(5):
        other = replaced(other, [1, 3], np.ones((2, 3)))
    assert len(other.parts) == 2
    np.testing.assert_array_equal(np.asarray(other)[[0, 1]], [WHOLE[0], np.ones(3)])
