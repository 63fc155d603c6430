import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import softmax

from vbcgcd.discovery.strategies import RELABELLERS, Densities, hard_labels, is_novel, one_hot

RESPONSIBILITY = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
KNOWN = np.array([[-1.0, -9.0], [-9.0, -3.0], [-2.0, -2.0], [-8.0, -8.0]])
NOVEL = np.array([[-2.0, -5.0], [-2.0, -7.0], [-4.0, -1.0], [-3.0, -3.5]])


def relabelled(name, responsibility=RESPONSIBILITY, known=KNOWN, novel=NOVEL):
    return RELABELLERS[name](responsibility, Densities(lambda: known, lambda r: novel))


def teaching(responsibility):
    """Which rows teach, by the start's own probabilities."""
    return relabelled("confident", responsibility).teaching


def test_one_hot():
    np.testing.assert_array_equal(one_hot(np.array([1, -1, 0]), 3), [[0, 1, 0], [0, 0, 0], [1, 0, 0]])
    assert one_hot(np.array([-1, -1]), 0).shape == (2, 0)


@pytest.mark.parametrize("name", ["none", "confident"])
def test_none_keeps_the_clusters_and_asks_for_no_density(name):
    def refuse(*args):
        raise AssertionError("no density is needed")

    relabelling = RELABELLERS[name](RESPONSIBILITY, Densities(refuse, refuse))
    np.testing.assert_array_equal(relabelling.responsibility, RESPONSIBILITY)
    np.testing.assert_array_equal(relabelling.teaching, RESPONSIBILITY)
    assert not relabelling.changed


def test_filter_drops_the_rows_that_a_known_category_explains_better():
    # Best known -1, -3, -2, -8 against best novel -2, -2, -1, -3.
    np.testing.assert_array_equal(relabelled("filter").responsibility, [[0, 0], [0, 1], [1, 0], [0, 1]])


def test_reassign_moves_every_row_to_its_best_category():
    np.testing.assert_array_equal(relabelled("reassign").responsibility, [[0, 0], [1, 0], [0, 1], [1, 0]])


def test_em_is_the_softmax_over_all_categories():
    expected = softmax(np.hstack([KNOWN, NOVEL]), axis=1)[:, 2:]
    np.testing.assert_allclose(relabelled("em").responsibility, expected, rtol=1e-12)


def test_em_refits_the_novel_categories():
    rng = np.random.default_rng(0)
    rows = np.concatenate([rng.normal(size=40), 6 + rng.normal(size=40)])
    known = -0.5 * (rows[:, None] + 20) ** 2

    def novel(responsibility):
        means = responsibility.T @ rows / responsibility.sum(axis=0)
        return -0.5 * (rows[:, None] - means) ** 2

    start = softmax(np.stack([-0.1 * rows, 0.1 * rows], axis=1), axis=1)
    responsibility = RELABELLERS["em"](start, Densities(lambda: known, novel)).responsibility
    np.testing.assert_array_equal(responsibility.argmax(axis=1), np.repeat([0, 1], 40))
    assert responsibility.max(axis=1).mean() > 0.98


@pytest.mark.parametrize("name", ["filter", "reassign", "em"])
def test_the_start_is_not_changed(name):
    start = RESPONSIBILITY.copy()
    relabelling = relabelled(name, start)
    assert relabelling.changed
    np.testing.assert_array_equal(relabelling.teaching, relabelling.responsibility)
    np.testing.assert_array_equal(start, RESPONSIBILITY)


def test_confident_rows_are_hard_and_probably_novel():
    start = np.array([[0.6, 0.2], [0.9, 0.05], [0.35, 0.4], [0.3, 0.2], [0.1, 0.7], [0.05, 0.9], [0.5, 0.1]])
    expected = [[1, 0], [1, 0], [0, 1], [0, 0], [0, 1], [0, 1], [0, 0]]
    np.testing.assert_array_equal(teaching(start), expected)


def test_an_unsure_category_keeps_the_rows_that_prefer_it():
    start = np.array([[0.9, 0.0], [0.8, 0.1], [0.1, 0.5], [0.0, 0.6], [0.0, 0.2]])
    np.testing.assert_array_equal(teaching(start)[:, 1], [0, 0, 1, 1, 0])


def test_a_category_nobody_prefers_keeps_its_soft_rows():
    start = np.array([[0.9, 0.05], [0.8, 0.1], [0.1, 0.3], [0.0, 0.2]])
    np.testing.assert_array_equal(teaching(start)[:, 1], start[:, 1])


@given(
    arrays(float, st.tuples(st.integers(1, 12), st.integers(1, 5)), elements=st.floats(0.01, 1)),
    st.floats(0.01, 1),
)
def test_no_category_is_left_empty(start, mass):
    start = mass * start / np.maximum(start.sum(axis=1, keepdims=True), 1)
    rows = teaching(start)
    assert rows.shape == start.shape
    assert (rows.sum(axis=0) > 0).all()
    assert rows.min() >= 0
    assert rows.max() <= 1


def test_no_categories_stay_none():
    assert teaching(np.zeros((5, 0))).shape == (5, 0)


def test_a_row_is_novel_from_one_half_on():
    start = np.array([[0.25, 0.25], [0.3, 0.19], [0.0, 0.5], [0.9, 0.1]])
    np.testing.assert_array_equal(is_novel(start), [True, False, True, True])
    np.testing.assert_array_equal(hard_labels(start), [0, -1, 1, 0])
    np.testing.assert_array_equal(hard_labels(np.zeros((3, 0))), [-1, -1, -1])


def test_a_category_with_enough_confident_rows_learns_from_no_others():
    start = np.array([[0.9], [0.8], [0.75], [0.6], [0.2]])
    np.testing.assert_array_equal(teaching(start)[:, 0], [1, 1, 1, 0, 0])
