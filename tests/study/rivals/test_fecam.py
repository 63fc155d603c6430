import numpy as np
import pytest

from vbcgcd.study.rivals.fecam import FeCam, correlation, shrunk


@pytest.mark.parametrize(("gamma1", "gamma2"), [(1.0, 0.0), (1.0, 1.0), (0.5, 2.0)])
def test_shrinkage_entry_by_entry(gamma1, gamma2):
    rng = np.random.default_rng(0)
    s = np.cov(rng.standard_normal((30, 4)), rowvar=False)
    v1 = np.mean([s[i, i] for i in range(4)])
    v2 = np.mean([s[i, j] for i in range(4) for j in range(4) if i != j])
    expected = s.copy()
    for i in range(4):
        for j in range(4):
            expected[i, j] += gamma1 * v1 if i == j else gamma2 * v2
    np.testing.assert_allclose(shrunk(s, gamma1, gamma2), expected)


def test_correlation_is_that_of_numpy():
    rows = np.random.default_rng(0).standard_normal((30, 4)) * [1, 10, 0.1, 3]
    np.testing.assert_allclose(
        correlation(np.cov(rows, rowvar=False)), np.corrcoef(rows, rowvar=False), atol=1e-12
    )


def test_scores_are_minus_squared_mahalanobis_distances_of_unit_vectors(small):
    model = FeCam(cluster="kmeans").fit(small.rows, small.labels)
    scores = model._scores(small.batch[:10])
    unit = small.batch[:10] / np.linalg.norm(small.batch[:10], axis=1, keepdims=True)
    for k in range(6):
        members = small.rows[small.labels == k]
        mean = members.mean(axis=0) / np.linalg.norm(members.mean(axis=0))
        covariance = np.cov(members, rowvar=False)
        covariance += np.trace(covariance) / len(covariance) * np.eye(len(covariance))
        deviation = np.sqrt(np.diag(covariance))
        inverse = np.linalg.inv(covariance / np.outer(deviation, deviation))
        expected = [-(z - mean) @ inverse @ (z - mean) for z in unit]
        np.testing.assert_allclose(scores[:, k], expected, rtol=1e-4)


def test_rows_that_do_not_vary_borrow_the_mean_matrix(small):
    model = FeCam(cluster="kmeans").fit(small.rows, small.labels)
    model.partial_fit(np.repeat(small.batch[:1], 5, axis=0), np.full(5, 9))
    factor = model.factors_[-1].astype(float)
    np.testing.assert_allclose(factor @ factor.T, model.mean_matrix_, atol=1e-5)
    assert model.predict(small.batch[:1]).tolist() == [9]
