import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vbcgcd.bayes import Prior, statistics_by_label
from vbcgcd.bayes.leave_one_out import (
    LARGEST_SHARE,
    LeftOut,
    downdate,
    left_out_densities,
    mean_correction,
    others_of_each_row,
)

PREDICTIVES = ("student", "plugin")
SEEDS = st.integers(0, 2**32 - 1)


@given(seed=SEEDS, omega=st.floats(0, 0.9))
@settings(max_examples=40, deadline=None)
def test_downdate_is_the_inverse_and_determinant_without_the_row(seed, omega):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(4, 4))
    matrix = root @ root.T + np.eye(4)
    r, u, v = rng.normal(size=(3, 4))
    inverse = np.linalg.inv(matrix)
    omega = omega / (r @ inverse @ r)  # the share that is removed lies below 0.9
    change = downdate(np.array([omega]), np.array([r @ inverse @ r]))
    smaller = matrix - omega * np.outer(r, r)
    found = u @ inverse @ v + change.gain[0] * (u @ inverse @ r) * (v @ inverse @ r)
    np.testing.assert_allclose(found, u @ np.linalg.inv(smaller) @ v, rtol=1e-7, atol=1e-9)
    log_det = np.linalg.slogdet(matrix)[1] + change.log_det[0]
    np.testing.assert_allclose(log_det, np.linalg.slogdet(smaller)[1], rtol=1e-8, atol=1e-9)


def test_a_row_that_is_the_whole_matrix_leaves_something():
    change = downdate(np.array([1.0, 3.0]), np.array([1.0, 1.0]))
    np.testing.assert_array_equal(change.share, LARGEST_SHARE)
    assert np.isfinite(change.gain).all()
    assert np.isfinite(change.log_det).all()


def test_mean_without_the_row_follows_from_the_correction():
    rows = np.random.default_rng(0).normal(size=(5, 3))
    mean = rows.mean(axis=0)
    [correction] = mean_correction(np.array([5.0]))
    assert correction == 5 / 4
    without = rows[0] - correction * (rows[0] - mean)
    np.testing.assert_allclose(without, rows[1:].mean(axis=0))
    assert np.isfinite(mean_correction(np.array([1.0]))).all()


def test_scatter_without_the_row_loses_the_corrected_outer_product():
    rows = np.random.default_rng(1).normal(size=(6, 3))
    r = rows[0] - rows.mean(axis=0)
    whole, rest = (len(z) * np.cov(z.T, bias=True) for z in (rows, rows[1:]))
    np.testing.assert_allclose(whole - mean_correction(np.array(6.0)) * np.outer(r, r), rest, atol=1e-12)


@given(seed=SEEDS)
@settings(max_examples=30, deadline=None)
def test_others_of_each_row_equal_brute_force(seed):
    rng = np.random.default_rng(seed)
    rows, weight = rng.normal(size=(7, 3)), rng.uniform(0, 1, size=(7, 2))
    product, length, own = others_of_each_row(rows, weight)
    np.testing.assert_allclose(own[:, 0], (rows**2).sum(axis=1))
    for i in range(7):
        rest = np.arange(7) != i
        sums = weight[rest].T @ rows[rest]
        np.testing.assert_allclose(product[i], sums @ rows[i], atol=1e-10)
        np.testing.assert_allclose(length[i], (sums**2).sum(axis=1), atol=1e-10)


def test_the_first_rows_keep_their_labels():
    left_out = LeftOut(np.arange(6.0).reshape(3, 2), np.array([2, 0, 1]), 0.25).first(2)
    np.testing.assert_array_equal(left_out.rows, [[0, 1], [2, 3]])
    np.testing.assert_array_equal(left_out.labels, [2, 0])
    assert left_out.pooled_weight == 0.25


@pytest.mark.parametrize("pooled_weight", [0.0, 0.01, 0.02])
@pytest.mark.parametrize("nu", [5.5, 16.0, 100.0])
def test_left_out_densities_equal_refitting(labelled_problem, refit_without, pooled_weight, nu):
    rows, labels, statistics = labelled_problem(0)
    prior = Prior(3, nu=nu)
    rivals = np.ones((len(rows), 4), dtype=bool)
    left_out = LeftOut(rows, labels, pooled_weight)
    for predictive, want in zip(PREDICTIVES, refit_without(rows, labels, prior, pooled_weight), strict=True):
        have = left_out_densities(prior, statistics, left_out, predictive, rivals)
        np.testing.assert_allclose(have, want, rtol=2e-4, atol=2e-3)


def test_left_out_densities_hold_for_categories_of_two_rows(refit_without, make_problem):
    rows, _ = make_problem(3, n_categories=3, dim=2, n_rows=6)
    labels = np.array([0, 0, 1, 1, 2, 2])
    statistics, prior = statistics_by_label(rows, labels, 3), Prior(2, nu=9.0)
    rivals = np.ones((6, 3), dtype=bool)
    left_out = LeftOut(rows, labels, 0.0)
    for predictive, want in zip(PREDICTIVES, refit_without(rows, labels, prior, 0.0), strict=True):
        have = left_out_densities(prior, statistics, left_out, predictive, rivals)
        np.testing.assert_allclose(have, want, rtol=2e-4, atol=2e-3)


def test_categories_that_are_no_rivals_have_no_density(labelled_problem):
    rows, labels, statistics = labelled_problem(1)
    rivals = np.ones((len(rows), 4), dtype=bool)
    rivals[3, 2] = rivals[5, 0] = False
    density = left_out_densities(Prior(3), statistics, LeftOut(rows, labels, 0.0), "student", rivals)
    np.testing.assert_array_equal(np.isneginf(density), ~rivals)


@pytest.mark.parametrize("scale", [1e-20, 1e12, 1e15])
def test_left_out_densities_of_any_magnitude_are_numbers(labelled_problem, scale):
    rows, labels, _ = labelled_problem(0)
    rows = rows * [scale, 1.0, 1.0]
    statistics = statistics_by_label(rows, labels, labels.max() + 1)
    rivals = np.ones((len(rows), len(statistics)), dtype=bool)
    for predictive in ("student", "plugin"):
        density = left_out_densities(
            Prior(3, nu=9.0), statistics, LeftOut(rows, labels, 0.0), predictive, rivals
        )
        assert np.isfinite(density).all()


def test_a_row_is_left_out_with_all_of_its_weight():
    rng = np.random.default_rng(5)
    rows, labels = rng.normal(size=(24, 3)), np.repeat([0, 1], 12)
    weight = rng.uniform(0.5, 3.0, size=24)
    prior = Prior(3, 1e-12, 9.0, 1.0, "full")
    statistics = statistics_by_label(rows, labels, 2, weight=weight)
    everyone = np.ones((24, 2), dtype=bool)
    left_out = LeftOut(rows, labels, 0.0, weight)
    density = left_out_densities(prior, statistics, left_out, "student", everyone)
    for i in (0, 7, 15):
        rest = np.arange(24) != i
        without = statistics_by_label(rows[rest], labels[rest], 2, weight=weight[rest])
        one = LeftOut(rows[[i]], labels[[i]], 0.0, np.array([0.0]))  # nothing more to take out
        direct = left_out_densities(prior, without, one, "student", everyone[:1])
        np.testing.assert_allclose(density[i], direct[0], rtol=1e-4)
