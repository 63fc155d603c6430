import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import invwishart, multivariate_t

from vbcgcd.study.rivals.split_merge import (
    NiwPrior,
    log_hastings_split,
    niw_log_marginal,
    split_and_merge,
)


def chain_rule(rows, prior):
    """The marginal likelihood as a product of Student-t predictives, one row after the other."""
    dim = rows.shape[1]
    mean, kappa, nu = prior.mean.copy(), prior.kappa, prior.nu
    psi = prior.scale * np.eye(dim)
    total = 0.0
    for z in rows:
        df = nu - dim + 1
        total += multivariate_t(mean, psi * (kappa + 1) / (kappa * df), df=df).logpdf(z)
        psi = psi + kappa / (kappa + 1) * np.outer(z - mean, z - mean)
        mean, kappa, nu = (kappa * mean + z) / (kappa + 1), kappa + 1, nu + 1
    return total


@pytest.mark.parametrize(("n", "dim"), [(1, 3), (2, 6), (5, 5), (40, 3), (12, 30)])
def test_marginal_likelihood_is_the_product_of_predictives(n, dim):
    rng = np.random.default_rng(n)
    prior = NiwPrior(rng.standard_normal(dim), 0.5, dim + 1.5, 0.7)
    rows = rng.standard_normal((n, dim))
    assert niw_log_marginal(rows, prior) == pytest.approx(chain_rule(rows, prior), rel=1e-9)


def test_marginal_likelihood_by_brute_force():
    """The mean of the likelihood over draws from the prior."""
    prior = NiwPrior(np.zeros(2), 2.0, 6.0, 3.0)
    rows = np.array([[0.3, -0.2], [0.8, 0.4]])
    draws = invwishart(df=prior.nu, scale=prior.scale * np.eye(2)).rvs(20000, random_state=0)
    noise = np.random.default_rng(0).standard_normal((20000, 2, 1))
    means = (np.linalg.cholesky(draws) @ noise)[..., 0] / np.sqrt(prior.kappa)
    residuals = rows - means[:, None]
    exponent = np.einsum("sni,sij,snj->s", residuals, np.linalg.inv(draws), residuals)
    likelihood = np.exp(-0.5 * exponent) / (np.linalg.det(draws) * (2 * np.pi) ** 2)
    assert np.exp(niw_log_marginal(rows, prior)) == pytest.approx(likelihood.mean(), rel=0.05)


def test_hastings_ratio():
    rng = np.random.default_rng(1)
    prior = NiwPrior(np.zeros(3), 1e-4, 4.0, 0.005)
    a, b = rng.standard_normal((7, 3)), rng.standard_normal((4, 3))
    expected = np.log(2.0) + gammaln(7) + gammaln(4) - gammaln(11)
    expected += chain_rule(a, prior) + chain_rule(b, prior) - chain_rule(np.vstack([a, b]), prior)
    assert log_hastings_split(a, b, prior, alpha=2.0) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("n_start", [1, 4, 9])
def test_the_number_of_separate_clusters_is_found_from_any_start(n_start):
    rng = np.random.default_rng(0)
    centres = 8 * rng.standard_normal((6, 5))
    codes = np.repeat(np.arange(6), [10, 10, 60, 60, 60, 60])
    rows = centres[codes] + rng.standard_normal((len(codes), 5))
    prior = NiwPrior(rows.mean(axis=0), 1e-4, 6.0, 0.005)
    found = split_and_merge(rows, centres[:2], prior, rng=rng, n_start=n_start)
    assert len(found.centroids) == 4
    assert found.labels[:20].tolist() == [0] * 10 + [1] * 10
    for k in range(2, 6):
        assert len(set(found.labels[codes == k])) == 1


def test_nothing_new_may_be_found():
    rows = np.repeat(np.eye(3), 4, axis=0)
    prior = NiwPrior(rows.mean(axis=0), 1e-4, 4.0, 0.005)
    found = split_and_merge(rows, np.eye(3), prior, rng=np.random.default_rng(0), n_start=2)
    assert len(found.centroids) == 0
    assert set(found.labels) == {0, 1, 2}
