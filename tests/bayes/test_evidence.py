import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, special, stats

from vbcgcd.bayes import (
    Posterior,
    Prior,
    elbo,
    kl_divergence,
    log_evidence,
    posterior_of,
    statistics_by_label,
)

SEEDS = st.integers(0, 2**32 - 1)
quick = settings(max_examples=30, deadline=None)


def one_category(rows, structure="full"):
    return statistics_by_label(rows, np.zeros(len(rows), dtype=int), 1, structure=structure)


def random_posterior(rng, dim, structure="full", n_categories=1):
    """Any Normal-inverse-Wishart, near no data."""
    factors = []
    for _ in range(n_categories):
        root = rng.normal(size=(dim, dim)) + np.eye(dim)
        psi = root @ root.T + 0.5 * np.eye(dim)
        factors.append(
            np.sqrt(np.diag(psi))
            if structure == "diagonal"
            else np.linalg.cholesky(psi)[np.tril_indices(dim)]
        )
    return Posterior(
        rng.normal(size=(n_categories, dim)),
        rng.uniform(0.1, 20, size=n_categories),
        dim + rng.uniform(1.5, 30, size=n_categories),
        np.array(factors),
        structure,
    )


@pytest.mark.parametrize("kappa", [0.1, 2.0])
def test_evidence_in_one_dimension_is_the_integral_over_mean_and_variance(kappa):
    rows, nu = np.array([0.3, -1.1, 2.4, 0.9]), 5.0

    def over_mean(variance):
        sigma = np.sqrt(variance)

        def density(mu):
            likelihood = stats.norm.pdf(rows[:, None], mu, sigma).prod(axis=0)
            return likelihood * stats.norm.pdf(mu, 0, sigma / np.sqrt(kappa))

        reach = 12 * sigma
        value, _ = integrate.fixed_quad(density, rows.mean() - reach, rows.mean() + reach, n=200)
        return value * stats.invgamma.pdf(variance, nu / 2, scale=(nu - 2) / 2)

    # The variance runs over its logarithm; outside these bounds nothing is left.
    value, _ = integrate.quad(lambda u: over_mean(np.exp(u)) * np.exp(u), -4, 8, epsrel=1e-6)
    for structure in ("full", "diagonal"):
        prior = Prior(1, kappa=kappa, nu=nu, structure=structure)
        found = log_evidence(prior, posterior_of(prior, one_category(rows[:, None], structure)))
        np.testing.assert_allclose(found, [np.log(value)], atol=1e-5)


@pytest.mark.parametrize("kappa", [0.1, 2.0])
def test_evidence_in_two_dimensions_is_the_integral_over_covariances(kappa):
    rows, nu = np.array([[0.3, 1.0], [-1.1, 0.2], [2.4, 1.7], [0.9, -0.4], [0.1, 0.6]]), 7.0
    prior = Prior(2, kappa=kappa, nu=nu)
    found = log_evidence(prior, posterior_of(prior, one_category(rows)))[0]

    # Given Sigma the rows are matrix normal, with row covariance I + 11^T / kappa once mu is integrated out.
    log_variance, squashed = np.linspace(-4, 6, 32), np.linspace(-4, 4, 32)
    u, v, t = np.meshgrid(log_variance, log_variance, squashed, indexing="ij")
    rho = np.tanh(t)
    cross = rho * np.exp((u + v) / 2)
    sigma = np.array([[np.exp(u), cross], [cross, np.exp(v)]]).reshape(2, 2, -1)
    log_jacobian = (u + v + (u + v) / 2 + np.log1p(-(rho**2))).ravel()
    row_covariance = np.eye(5) + np.ones((5, 5)) / kappa
    middle = rows.T @ np.linalg.solve(row_covariance, rows)
    matrices = np.moveaxis(sigma, -1, 0)
    log_likelihood = -0.5 * (
        10 * np.log(2 * np.pi)
        + 2 * np.linalg.slogdet(row_covariance)[1]
        + 5 * np.linalg.slogdet(matrices)[1]
        + np.trace(np.linalg.solve(matrices, middle[None]), axis1=1, axis2=2)
    )
    log_prior = stats.invwishart.logpdf(sigma, nu, (nu - 3) * np.eye(2))
    step = np.log((log_variance[1] - log_variance[0]) ** 2 * (squashed[1] - squashed[0]))
    value = special.logsumexp(log_likelihood + log_prior + log_jacobian) + step
    np.testing.assert_allclose(found, value, atol=1e-4)


@quick
@given(
    seed=SEEDS,
    dim=st.integers(1, 5),
    n_rows=st.integers(1, 9),
    kappa=st.floats(0.01, 10),
    excess=st.floats(0.5, 50),
    variance=st.floats(0.1, 10),
)
def test_evidence_is_the_product_of_sequential_predictives(
    sequential_evidence, seed, dim, n_rows, kappa, excess, variance
):
    rows = np.random.default_rng(seed).normal(size=(n_rows, dim)) * 1.5 + 0.5
    nu = dim + 1 + excess
    prior = Prior(dim, kappa=kappa, nu=nu, variance=variance)
    found = log_evidence(prior, posterior_of(prior, one_category(rows)))[0]
    expected = sequential_evidence(rows, kappa, nu, excess * variance * np.eye(dim))
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-8)


def test_diagonal_evidence_is_the_sum_over_dimensions(make_problem, sequential_evidence):
    rows, labels = make_problem(6)
    prior = Prior(4, kappa=0.3, nu=6.0, structure="diagonal")
    found = log_evidence(
        prior, posterior_of(prior, statistics_by_label(rows, labels, 3, structure="diagonal"))
    )
    for k in range(3):
        columns = rows[labels == k].T[:, :, None]
        expected = sum(sequential_evidence(c, 0.3, 6.0, 4.0 * np.eye(1)) for c in columns)
        np.testing.assert_allclose(found[k], expected, rtol=1e-9)


def test_one_dimension_is_the_same_in_every_structure(make_problem):
    rows, labels = make_problem(8, dim=1)
    results = []
    for structure in ("full", "diagonal"):
        prior = Prior(1, kappa=0.4, nu=4.0, structure=structure)
        statistics = statistics_by_label(rows, labels, 3, structure=structure)
        posterior = posterior_of(prior, statistics)
        results.append(
            [
                posterior.mean[:, 0],
                posterior.log_det_covariance,
                log_evidence(prior, posterior),
                elbo(prior, posterior, statistics),
                kl_divergence(posterior, Posterior.of_prior(prior)),
            ]
        )
    np.testing.assert_allclose(results[0], results[1], rtol=1e-10)


@quick
@given(seed=SEEDS, structure=st.sampled_from(["full", "diagonal"]), kappa=st.floats(0.01, 5))
def test_elbo_at_the_exact_posterior_is_the_evidence(
    make_problem, sequential_evidence, seed, structure, kappa
):
    rows, _ = make_problem(seed, dim=3, n_rows=12)
    prior = Prior(3, kappa=kappa, nu=6.5, structure=structure)
    statistics = one_category(rows, structure)
    found = elbo(prior, posterior_of(prior, statistics), statistics)[0]
    if structure == "full":
        expected = sequential_evidence(rows, kappa, 6.5, 2.5 * np.eye(3))
    else:
        expected = sum(sequential_evidence(c[:, None], kappa, 6.5, 4.5 * np.eye(1)) for c in rows.T)
    np.testing.assert_allclose(found, expected, rtol=1e-8)


@quick
@given(seed=SEEDS, structure=st.sampled_from(["full", "diagonal"]), amount=st.floats(0.01, 2))
def test_elbo_falls_when_the_posterior_is_perturbed(make_problem, seed, structure, amount):
    rows, labels = make_problem(seed)
    rng = np.random.default_rng(seed)
    prior = Prior(4, kappa=0.3, nu=8.0, structure=structure)
    statistics = statistics_by_label(rows, labels, 3, structure=structure)
    exact = posterior_of(prior, statistics)
    best = log_evidence(prior, exact)
    shifted = exact.mean + amount * rng.normal(size=exact.mean.shape)
    stretch = np.exp(amount * rng.choice([-1, 1], size=3))
    for perturbed in (
        Posterior(shifted, exact.kappa, exact.nu, exact.factor, structure),
        Posterior(exact.mean, exact.kappa * stretch, exact.nu, exact.factor, structure),
        Posterior(exact.mean, exact.kappa, exact.nu + amount, exact.factor, structure),
        Posterior(exact.mean, exact.kappa, exact.nu, exact.factor * stretch[:, None], structure),
    ):
        value = elbo(prior, perturbed, statistics)
        assert (value < best).all()
        # What is missing is the divergence from the exact posterior.
        np.testing.assert_allclose(best - value, kl_divergence(perturbed, exact), rtol=1e-6, atol=1e-8)


def niw_log_density(posterior, mu, sigma):
    """Log-density of draws mu (N, D), sigma (N, D, D), with SciPy's inverse-Wishart."""
    mean, kappa, dim = posterior.mean[0], posterior.kappa[0], posterior.dim
    gap = mu - mean
    quad = np.einsum("nd,nd->n", gap, np.linalg.solve(sigma, gap[:, :, None])[:, :, 0])
    normal = -0.5 * (dim * np.log(2 * np.pi / kappa) + np.linalg.slogdet(sigma)[1] + kappa * quad)
    return normal + stats.invwishart.logpdf(np.moveaxis(sigma, 0, -1), posterior.nu[0], posterior.scale(0))


@pytest.mark.parametrize("seed", range(3))
def test_kl_divergence_matches_monte_carlo(seed):
    rng = np.random.default_rng(seed)
    first, second = random_posterior(rng, 2), random_posterior(rng, 2)
    n = 8000
    sigma = stats.invwishart.rvs(first.nu[0], first.scale(0), size=n, random_state=rng)
    noise = np.einsum("nij,nj->ni", np.linalg.cholesky(sigma / first.kappa[0]), rng.normal(size=(n, 2)))
    mu = first.mean[0] + noise
    difference = niw_log_density(first, mu, sigma) - niw_log_density(second, mu, sigma)
    error = difference.std() / np.sqrt(n)
    found = kl_divergence(first, second)[0]
    assert abs(found - difference.mean()) < 4 * error + 1e-3
    assert error < 0.05 * found  # the comparison says something


@quick
@given(seed=SEEDS, dim=st.integers(1, 6), structure=st.sampled_from(["full", "diagonal"]))
def test_kl_divergence_is_not_negative_and_zero_only_for_identical(seed, dim, structure):
    rng = np.random.default_rng(seed)
    first = random_posterior(rng, dim, structure, n_categories=3)
    second = random_posterior(rng, dim, structure, n_categories=3)
    assert (kl_divergence(first, second) > 0).all()
    np.testing.assert_allclose(kl_divergence(first, first), 0, atol=1e-9)
    against_one = kl_divergence(first, second.take([1]))
    np.testing.assert_allclose(against_one[1], kl_divergence(first, second)[1], rtol=1e-10)
    assert against_one.shape == (3,)


def test_diagonal_kl_divergence_is_the_sum_over_dimensions():
    rng = np.random.default_rng(0)
    first, second = random_posterior(rng, 4, "diagonal"), random_posterior(rng, 4, "diagonal")

    def column(posterior, d):
        return Posterior(
            posterior.mean[:, [d]], posterior.kappa, posterior.nu, posterior.factor[:, [d]], "full"
        )

    expected = sum(kl_divergence(column(first, d), column(second, d))[0] for d in range(4))
    np.testing.assert_allclose(kl_divergence(first, second)[0], expected, rtol=1e-10)
