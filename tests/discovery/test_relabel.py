import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import softmax

from vbcgcd.discovery.relabel import RELABELLERS, confident_rows, one_hot

RESPONSIBILITY = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
KNOWN = np.array([[-1.0, -9.0], [-9.0, -3.0], [-2.0, -2.0], [-8.0, -8.0]])
NOVEL = np.array([[-2.0, -5.0], [-2.0, -7.0], [-4.0, -1.0], [-3.0, -3.5]])


def relabelled(name, responsibility=RESPONSIBILITY, known=KNOWN, novel=NOVEL):
    return RELABELLERS[name](responsibility, lambda: known, lambda r: novel)


def test_one_hot():
    np.testing.assert_array_equal(one_hot(np.array([1, -1, 0]), 3), [[0, 1, 0], [0, 0, 0], [1, 0, 0]])
    assert one_hot(np.array([-1, -1]), 0).shape == (2, 0)


@pytest.mark.parametrize("name", ["none", "confident"])
def test_none_keeps_the_clusters_and_asks_for_no_density(name):
    def refuse(*args):
        raise AssertionError("no density is needed")

    np.testing.assert_array_equal(RELABELLERS[name](RESPONSIBILITY, refuse, refuse), RESPONSIBILITY)


def test_filter_drops_the_rows_that_a_known_category_explains_better():
    # Best known -1, -3, -2, -8 against best novel -2, -2, -1, -3.
    np.testing.assert_array_equal(relabelled("filter"), [[0, 0], [0, 1], [1, 0], [0, 1]])


def test_reassign_moves_every_row_to_its_best_category():
    np.testing.assert_array_equal(relabelled("reassign"), [[0, 0], [1, 0], [0, 1], [1, 0]])


def test_em_is_the_softmax_over_all_categories():
    expected = softmax(np.hstack([KNOWN, NOVEL]), axis=1)[:, 2:]
    np.testing.assert_allclose(relabelled("em"), expected, rtol=1e-12)


def test_em_refits_the_novel_categories():
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(size=40), 6 + rng.normal(size=40)])
    known = -0.5 * (rows[:, None] + 20) ** 2

    def novel(responsibility):
        means = responsibility.T @ rows / responsibility.sum(axis=0)
        return -0.5 * (rows[:, None] - means) ** 2

    start = softmax(np.stack([-0.1 * rows, 0.1 * rows], axis=1), axis=1)
    found = RELABELLERS["em"](start, lambda: known, novel)
    np.testing.assert_array_equal(found.argmax(axis=1), np.repeat([0, 1], 40))
    assert found.max(axis=1).mean() > 0.98


@pytest.mark.parametrize("name", ["filter", "reassign", "em"])
def test_the_start_is_not_changed(name):
    start = RESPONSIBILITY.copy()
    relabelled(name, start)
    np.testing.assert_array_equal(start, RESPONSIBILITY)


def test_confident_rows_are_hard_and_probably_novel():
    start = np.array([[0.6, 0.2], [0.9, 0.05], [0.35, 0.4], [0.3, 0.2], [0.1, 0.7], [0.05, 0.9], [0.5, 0.1]])
    expected = [[1, 0], [1, 0], [0, 1], [0, 0], [0, 1], [0, 1], [0, 0]]
    np.testing.assert_array_equal(confident_rows(start), expected)


def test_an_unsure_category_keeps_the_rows_that_prefer_it():
    start = np.array([[0.9, 0.0], [0.8, 0.1], [0.1, 0.5], [0.0, 0.6], [0.0, 0.2]])
    np.testing.assert_array_equal(confident_rows(start)[:, 1], [0, 0, 1, 1, 0])


def test_a_category_nobody_prefers_keeps_its_soft_rows():
    start = np.array([[0.9, 0.05], [0.8, 0.1], [0.1, 0.3], [0.0, 0.2]])
    np.testing.assert_array_equal(confident_rows(start)[:, 1], start[:, 1])


@given(
    arrays(float, st.tuples(st.integers(1, 12), st.integers(1, 5)), elements=st.floats(0.01, 1)),
    st.floats(0.01, 1),
)
def test_no_category_is_left_empty(start, mass):
    start = mass * start / np.maximum(start.sum(axis=1, keepdims=True), 1)
    found = confident_rows(start)
    assert found.shape == start.shape
    assert (found.sum(axis=0) > 0).all()
    assert found.min() >= 0
    assert found.max() <= 1


def test_no_categories_stay_none():
    assert confident_rows(np.zeros((5, 0))).shape == (5, 0)
