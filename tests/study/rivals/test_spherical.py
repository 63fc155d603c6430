import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_normal
from sklearn.mixture import GaussianMixture

from vbcgcd.study.rivals.spherical import (
    SphericalMixture,
    em,
    estimated,
    log_joint,
    responsibilities,
    sample,
)


@pytest.fixture
def mixture():
    rng = np.random.default_rng(0)
    return SphericalMixture(np.array([0.5, 0.3, 0.2]), 4 * rng.standard_normal((3, 4)), np.array([1, 0.5, 2]))


def test_log_joint_is_that_of_scipy(mixture):
    rows = np.random.default_rng(1).standard_normal((10, 4))
    for k in range(3):
        normal = multivariate_normal(mixture.means[k], mixture.variances[k] * np.eye(4))
        expected = np.log(mixture.weights[k]) + normal.logpdf(rows)
        np.testing.assert_allclose(log_joint(rows, mixture)[:, k], expected)
    np.testing.assert_allclose(responsibilities(rows, mixture).sum(axis=1), 1)


@given(st.integers(0, 10**6))
@example(612035)  # a component keeps a single row
@settings(max_examples=20, deadline=None)
def test_the_likelihood_never_falls(seed):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((50, 3))
    start = estimated(rows, np.eye(4)[rng.integers(0, 4, 50)], floor=1e-3)
    path = em(rows, start, tolerance=0.0, floor=1e-3, max_iterations=20)[1]
    assert (np.diff(path) >= -1e-9).all()


def test_em_ends_where_sklearn_ends(mixture):
    rows, codes = sample(mixture, 80, np.random.default_rng(2))
    found, _ = em(rows, estimated(rows, np.eye(3)[codes]), tolerance=1e-9)
    reference = GaussianMixture(
        3, covariance_type="spherical", means_init=mixture.means, tol=1e-9, max_iter=200
    ).fit(rows)
    np.testing.assert_allclose(found.means, reference.means_, atol=1e-3)
    np.testing.assert_allclose(found.variances, reference.covariances_, atol=1e-3)
    np.testing.assert_allclose(found.weights, reference.weights_, atol=1e-3)


def test_samples_have_the_moments_of_their_components(mixture):
    rows, codes = sample(mixture, 4000, np.random.default_rng(3))
    for k in range(3):
        members = rows[codes == k]
        np.testing.assert_allclose(members.mean(axis=0), mixture.means[k], atol=0.1)
        np.testing.assert_allclose(members.var(axis=0).mean(), mixture.variances[k], rtol=0.1)


def test_a_component_without_rows_stays(mixture):
    rows = np.random.default_rng(4).standard_normal((6, 4))
    responsibility = np.zeros((6, 3))
    responsibility[:, 0] = 1
    after = estimated(rows, responsibility, before=mixture)
    np.testing.assert_array_equal(after.means[1:], mixture.means[1:])
    np.testing.assert_array_equal(after.variances[1:], mixture.variances[1:])
    assert np.isfinite(responsibilities(rows, after)).all()
