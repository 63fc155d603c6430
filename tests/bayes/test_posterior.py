import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vbcgcd.bayes import (
    Posterior,
    Prior,
    Statistics,
    deviation,
    posterior_from_parts,
    posterior_of,
    recover_statistics,
    statistics_by_label,
)
from vbcgcd.bayes.statistics import iter_label_statistics

SEEDS = st.integers(0, 2**32 - 1)
quick = settings(max_examples=30, deadline=None)


def one_category(rows, structure="full"):
    return statistics_by_label(rows, np.zeros(len(rows), dtype=int), 1, structure=structure)


@pytest.mark.parametrize("dim", [1, 2, 6])
def test_full_posterior_is_the_textbook_update(make_problem, textbook, dim):
    rows, labels = make_problem(0, dim=dim)
    prior = Prior(dim, kappa=0.7, nu=dim + 4.5, variance=0.8)
    posterior = posterior_of(prior, statistics_by_label(rows, labels, 3))
    for k in range(3):
        mean, kappa, nu, psi = textbook(rows[labels == k], 0.7, dim + 4.5, 3.5 * 0.8 * np.eye(dim))
        np.testing.assert_allclose(posterior.mean[k], mean, rtol=1e-10)
        np.testing.assert_allclose([posterior.kappa[k], posterior.nu[k]], [kappa, nu], rtol=1e-12)
        np.testing.assert_allclose(posterior.scale(k), psi, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(posterior.covariance(k), psi / (nu - dim - 1), rtol=1e-9, atol=1e-10)
        sign, log_det = np.linalg.slogdet(psi / (nu - dim - 1))
        assert sign == 1
        np.testing.assert_allclose(posterior.log_det_covariance[k], log_det, atol=1e-9)


def test_diagonal_posterior_is_one_textbook_update_for_each_dimension(make_problem, textbook):
    rows, labels = make_problem(1)
    prior = Prior(4, kappa=0.7, nu=5.5, variance=0.8, structure="diagonal")
    posterior = posterior_of(prior, statistics_by_label(rows, labels, 3, structure="diagonal"))
    for k in range(3):
        for d in range(4):
            column = rows[labels == k][:, [d]]
            mean, kappa, nu, psi = textbook(column, 0.7, 5.5, 3.5 * 0.8 * np.eye(1))
            np.testing.assert_allclose(posterior.mean[k, d], mean[0], rtol=1e-10)
            np.testing.assert_allclose([posterior.kappa[k], posterior.nu[k]], [kappa, nu], rtol=1e-12)
            np.testing.assert_allclose(posterior.covariance(k)[d, d], psi[0, 0] / (nu - 2), rtol=1e-10)


@pytest.mark.parametrize("structure", ["full", "diagonal"])
def test_posterior_without_rows_is_the_prior(structure):
    prior = Prior(3, kappa=0.2, nu=9.0, structure=structure)
    for posterior in (posterior_of(prior, Statistics.empty(1, 3, structure)), Posterior.of_prior(prior)):
        np.testing.assert_array_equal(posterior.mean, np.zeros((1, 3)))
        np.testing.assert_allclose([posterior.kappa[0], posterior.nu[0]], [0.2, 9.0])
        np.testing.assert_allclose(posterior.covariance(0), np.eye(3), atol=1e-12)


@pytest.mark.parametrize("structure", ["full", "diagonal"])
def test_posterior_from_parts_accepts_categories_in_any_order(make_problem, structure):
    rows, labels = make_problem(3)
    prior = Prior(4, structure=structure)
    parts = list(iter_label_statistics(rows, labels, 3, None, structure))[::-1]
    found = posterior_from_parts(prior, parts, 3)
    expected = posterior_of(prior, statistics_by_label(rows, labels, 3, structure=structure))
    np.testing.assert_allclose(found.mean, expected.mean)
    np.testing.assert_allclose(found.factor, expected.factor)
    np.testing.assert_array_equal(found.nu, expected.nu)


def test_float32_storage_is_half_and_near(make_problem):
    rows, labels = make_problem(4, dim=20, n_rows=300)
    statistics = statistics_by_label(rows, labels, 3)
    double, single = (posterior_of(Prior(20), statistics, dtype=d) for d in (np.float64, np.float32))
    assert single.factor.dtype == single.mean.dtype == np.float32
    assert single.nbytes < 0.55 * double.nbytes
    np.testing.assert_allclose(single.covariance(1), double.covariance(1), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("structure", ["full", "diagonal"])
def test_take_and_concatenate_keep_the_categories(make_problem, structure):
    rows, labels = make_problem(5)
    posterior = posterior_of(
        Prior(4, structure=structure), statistics_by_label(rows, labels, 3, structure=structure)
    )
    joined = Posterior.concatenate([posterior.take([2]), posterior.take([0, 1])])
    for new, old in enumerate([2, 0, 1]):
        np.testing.assert_array_equal(joined.mean[new], posterior.mean[old])
        np.testing.assert_array_equal(joined.covariance(new), posterior.covariance(old))
        assert joined.kappa[new] == posterior.kappa[old]


@quick
@given(seed=SEEDS, structure=st.sampled_from(["full", "diagonal"]), kappa=st.floats(0.001, 10))
def test_statistics_are_recovered_from_the_posterior(make_problem, seed, structure, kappa):
    rows, labels = make_problem(seed)
    statistics = statistics_by_label(rows, labels, 4, structure=structure)  # the last one is empty
    prior = Prior(4, kappa=kappa, nu=9.0, structure=structure)
    found = recover_statistics(prior, posterior_of(prior, statistics))
    np.testing.assert_allclose(found.count, statistics.count, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.mean, statistics.mean, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(found.scatter, statistics.scatter, rtol=1e-8, atol=1e-8)


@quick
@given(seed=SEEDS, structure=st.sampled_from(["full", "diagonal"]), kappa=st.floats(0.001, 10))
def test_deviation_is_that_of_the_rows(make_problem, seed, structure, kappa):
    rows, labels = make_problem(seed)
    prior = Prior(4, kappa=kappa, nu=9.0, structure=structure)
    posterior = posterior_of(prior, statistics_by_label(rows, labels, 4, structure=structure))
    own = [rows[labels == k] for k in range(3)]
    expected = [np.sqrt(part.var(axis=0).mean()) if len(part) > 1 else np.nan for part in own]
    found = deviation(prior, posterior)
    assert found.shape == (4,)
    np.testing.assert_allclose(found[:3], expected, rtol=1e-6, atol=1e-8)
    assert np.isnan(found[3])  # it has no rows


def test_tempering_does_not_change_the_deviation(make_problem):
    rows, labels = make_problem(1)
    prior = Prior(4, nu=9.0)
    whole, part = (
        posterior_of(prior, statistics_by_label(rows, labels, 3, weight=np.full(len(rows), weight)))
        for weight in (1.0, 0.1)
    )
    np.testing.assert_allclose(deviation(prior, part), deviation(prior, whole), rtol=1e-9)


@pytest.mark.parametrize("structure", ["full", "diagonal"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_distances_of_a_row_are_those_of_the_covariance(make_problem, structure, dtype):
    rows, labels = make_problem(3)
    prior = Prior(4, kappa=0.7, nu=9.5, structure=structure)
    statistics = statistics_by_label(rows, labels, 3, structure=structure)
    posterior = posterior_of(prior, statistics, dtype=dtype)
    squared = posterior.distances(rows.astype(dtype))
    for k in range(3):
        gap = rows[0] - posterior.mean[k]
        expected = np.sqrt(gap @ np.linalg.inv(posterior.covariance(k)) @ gap)
        assert posterior.mahalanobis(rows[0].astype(dtype), k) == pytest.approx(expected, rel=1e-5)
        weight = posterior.nu[k] - (1 if structure == "diagonal" else 4) - 1
        assert np.sqrt(weight * squared[0, k]) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("dim", [64, 384])
@pytest.mark.parametrize("variance", [1e-3, 1e3])
@pytest.mark.parametrize("structure", ["full", "diagonal"])
def test_log_determinants_survive_where_determinants_do_not(structure, variance, dim):
    rng = np.random.default_rng(dim)
    rows = np.sqrt(variance) * rng.normal(size=(50, dim))
    prior = Prior(dim, nu=2.0 * dim, variance=variance, structure=structure)
    posterior = posterior_of(prior, one_category(rows, structure))
    covariance = posterior.covariance(0)
    sign, log_det = np.linalg.slogdet(covariance)
    assert sign == 1
    np.testing.assert_allclose(posterior.log_det_covariance, [log_det], rtol=1e-9)
    if dim == 384:
        with np.errstate(all="ignore"):
            assert np.linalg.det(covariance) in (0.0, np.inf)


def test_no_rows_have_no_deviation():
    prior = Prior(dim=3, nu=10.0)
    posterior = posterior_of(prior, Statistics.empty(2, 3))
    assert np.isnan(deviation(prior, posterior)).all()
