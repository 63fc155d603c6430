import numpy as np
import pytest
from scipy import stats

from vbcgcd.bayes import Prior, posterior_of, sample_embeddings, statistics_by_label


def one_category(rows, structure="full"):
    return statistics_by_label(rows, np.zeros(len(rows), dtype=int), 1, structure=structure)


@pytest.mark.parametrize("structure", ["full", "diagonal"])
@pytest.mark.parametrize("predictive", ["plugin", "student"])
def test_samples_have_the_mean_and_covariance_of_the_posterior(make_problem, structure, predictive):
    rows, labels = make_problem(9, dim=3, n_rows=40)
    prior = Prior(3, kappa=0.5, nu=8.0, structure=structure)
    posterior = posterior_of(prior, statistics_by_label(rows, labels, 3, structure=structure))
    n = 60_000
    drawn, drawn_labels = sample_embeddings(posterior, n, predictive=predictive, random_state=0)
    np.testing.assert_array_equal(drawn_labels, np.repeat([0, 1, 2], n))
    for k in range(3):
        sample, covariance = drawn[drawn_labels == k], posterior.covariance(k)
        if predictive == "student":  # covariance of the t: its scale times freedom / (freedom - 2)
            covariance = covariance * (posterior.kappa[k] + 1) / posterior.kappa[k]
        deviation = np.sqrt(np.diag(covariance))
        np.testing.assert_allclose(
            sample.mean(axis=0), posterior.mean[k], atol=5 * deviation.max() / np.sqrt(n)
        )
        limit = 0.04 * np.outer(deviation, deviation)
        assert (np.abs(np.cov(sample.T) - covariance) < limit).all()


@pytest.mark.parametrize("structure", ["full", "diagonal"])
def test_student_samples_follow_the_student_distribution(make_problem, structure):
    rows, _ = make_problem(10, dim=2, n_rows=8)
    prior = Prior(2, kappa=0.5, nu=4.0, structure=structure)
    posterior = posterior_of(prior, one_category(rows, structure))
    drawn, _ = sample_embeddings(posterior, 5000, predictive="student", random_state=1)
    block = 1 if structure == "diagonal" else 2
    freedom = posterior.nu[0] - block + 1
    scale = np.sqrt(posterior.scale(0)[0, 0] * (posterior.kappa[0] + 1) / posterior.kappa[0] / freedom)
    test = stats.kstest(drawn[:, 0], stats.t(freedom, posterior.mean[0, 0], scale).cdf)
    assert test.pvalue > 0.01


@pytest.mark.parametrize("predictive", ["plugin", "student"])
def test_same_seed_draws_the_same_rows(make_problem, predictive):
    rows, labels = make_problem(11)
    posterior = posterior_of(Prior(4), statistics_by_label(rows, labels, 3))
    first, second, other = (
        sample_embeddings(posterior, 5, predictive=predictive, random_state=s)[0] for s in (3, 3, 4)
    )
    np.testing.assert_array_equal(first, second)
    assert not np.allclose(first, other)
    assert first.shape == (15, 4)
