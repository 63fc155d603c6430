"""Ridge regression from sums: against the rows themselves, and the laws of sums."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import Ridge

from vbcgcd.bayes.linalg import symmetric
from vbcgcd.bayes.ridge import RandomFeatures, RidgeStatistics, ridge_statistics, ridge_weights
from vbcgcd.errors import InputError

FEATURES = RandomFeatures(seed=3, dim=4, size=12)


def problem(seed, n_rows=30, n_categories=3):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_rows, 4)), rng.dirichlet(np.full(n_categories, 0.3), size=n_rows)


def assert_close(have, want):
    for name in ("gram", "sums", "row_weight"):
        np.testing.assert_allclose(getattr(have, name), getattr(want, name), rtol=1e-9, atol=1e-12)


def test_features_have_the_inner_products_of_the_arc_cosine_kernel():
    rows = np.random.default_rng(0).normal(size=(5, 8))
    phi = RandomFeatures(seed=1, dim=8, size=200_000)(rows)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    angle = np.arccos(np.clip(unit @ unit.T, -1, 1))
    want = (np.sin(angle) + (np.pi - angle) * np.cos(angle)) / np.pi
    np.testing.assert_allclose(phi @ phi.T, want, atol=0.02)


def test_features_do_not_depend_on_length_and_come_back_from_the_seed():
    rows = np.random.default_rng(0).normal(size=(6, 4))
    np.testing.assert_allclose(FEATURES(rows), FEATURES(7 * rows), rtol=1e-12)
    np.testing.assert_array_equal(RandomFeatures(3, 4, 12)(rows), FEATURES(rows))
    assert not np.allclose(RandomFeatures(4, 4, 12)(rows), FEATURES(rows))
    assert FEATURES(rows.astype(np.float32)).dtype == np.float32
    np.testing.assert_array_equal(FEATURES(np.zeros((1, 4))), 0)


def test_it_is_ridge_regression_on_the_rows():
    rows, belongs = problem(0)
    statistics = ridge_statistics(FEATURES, rows, belongs)
    phi, weight = FEATURES(rows), belongs * statistics.row_weight
    total = weight.sum(axis=1)
    penalty = 0.01 * np.trace((phi.T * total) @ phi)
    # A row of several categories regresses on their shares, with the sum of their weights.
    direct = Ridge(alpha=penalty, fit_intercept=False).fit(phi, weight / total[:, None], sample_weight=total)
    np.testing.assert_allclose(statistics.trace, penalty / 0.01)
    np.testing.assert_allclose(ridge_weights(statistics, penalty).T, direct.coef_, rtol=1e-7, atol=1e-10)


def test_categories_count_equally_whatever_their_size():
    rows, _ = problem(1, n_rows=40)
    labels = np.repeat([0, 1], [35, 5])
    statistics = ridge_statistics(FEATURES, rows, np.eye(2)[labels])
    phi = FEATURES(rows)
    np.testing.assert_allclose(statistics.sums[1], phi[labels == 1].mean(axis=0))
    want = sum(phi[labels == k].T @ phi[labels == k] / (labels == k).sum() for k in (0, 1))
    np.testing.assert_allclose(symmetric(statistics.gram, 12), want)


@given(seed=st.integers(0, 10**6), cut=st.integers(0, 30))
def test_sums_add_in_any_order_and_can_be_taken_back(seed, cut):
    rows, belongs = problem(seed)
    row_weight = np.array([0.5, 0.1, 2.0])

    def of(part):
        return ridge_statistics(FEATURES, rows[part], belongs[part], row_weight)

    order = np.random.default_rng(seed).permutation(30)
    whole, one, other = of(np.arange(30)), of(order[:cut]), of(order[cut:])
    assert_close(one + other, whole)
    assert_close(other + one, whole)
    assert_close(whole - other, one)


@given(seed=st.integers(0, 10**6))
def test_categories_that_come_later_are_as_if_they_had_always_been_there(seed):
    rows, belongs = problem(seed)
    whole = ridge_statistics(FEATURES, rows, belongs)
    first = ridge_statistics(FEATURES, rows, belongs[:, :2])
    assert_close(first.extended(ridge_statistics(FEATURES, rows, belongs[:, 2:])), whole)


def test_chunks_change_nothing(monkeypatch):
    rows, belongs = problem(2)
    whole = ridge_statistics(FEATURES, rows, belongs)
    monkeypatch.setattr("vbcgcd.bayes.ridge.CHUNK_ROWS", 7)
    assert_close(ridge_statistics(FEATURES, rows, belongs), whole)


def test_a_category_without_rows_has_no_score():
    rows, belongs = problem(2)
    belongs[:, 1] = 0
    statistics = ridge_statistics(FEATURES, rows, belongs)
    assert statistics.row_weight[1] == 0
    np.testing.assert_array_equal(ridge_weights(statistics, 1e-3)[:, 1], 0)


def test_single_precision_is_close():
    rows, belongs = problem(5)
    exact = ridge_statistics(FEATURES, rows, belongs)
    single = ridge_statistics(FEATURES, rows.astype(np.float32), belongs)
    np.testing.assert_allclose(single.gram, exact.gram, atol=1e-6)


def test_sums_of_other_categories_cannot_be_added():
    rows, belongs = problem(0)
    one = ridge_statistics(FEATURES, rows, belongs)
    other = RidgeStatistics(one.gram, one.sums, 2 * one.row_weight)
    with pytest.raises(InputError, match="same categories"):
        one + other
    with pytest.raises(InputError, match="got 3 and 2"):
        one - ridge_statistics(FEATURES, rows, belongs[:, :2])
