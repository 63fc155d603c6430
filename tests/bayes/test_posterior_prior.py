from dataclasses import replace

import numpy as np
import pytest
from scipy import special, stats

from vbcgcd.bayes import Prior, choose_strength, statistics_by_label
from vbcgcd.bayes.posterior import log_gamma_blocks
from vbcgcd.bayes.strength import EVIDENCE_CATEGORIES, STRONGEST
from vbcgcd.errors import InputError


def naive_evidence(groups, kappa0, nu0, variance, structure):
    """Log evidence of a list of row arrays, from the printed formula with explicit determinants."""
    dim = groups[0].shape[1]
    if structure == "diagonal":
        columns = [[g[:, [d]] for g in groups] for d in range(dim)]
        return sum(naive_evidence(c, kappa0, nu0, variance, "full") for c in columns)
    psi0 = (nu0 - dim - 1) * variance * np.eye(dim)
    total = 0.0
    for g in groups:
        n, kappa = len(g), kappa0 + len(g)
        mean = g.sum(axis=0) / kappa
        psi = psi0 + g.T @ g - kappa * np.outer(mean, mean)
        total += 0.5 * dim * np.log(kappa0 / kappa)
        total += special.multigammaln((nu0 + n) / 2, dim) - special.multigammaln(nu0 / 2, dim)
        total += 0.5 * nu0 * np.linalg.slogdet(psi0)[1] - 0.5 * (nu0 + n) * np.linalg.slogdet(psi)[1]
        total -= 0.5 * n * dim * np.log(np.pi)
    return total


def inverse_wishart_groups(seed, dim, nu, n_categories=8, n_rows=12, spread=3.0):
    """Rows of categories whose covariances truly follow the inverse-Wishart prior."""
    rng = np.random.default_rng(seed)
    scale = (nu - dim - 1) * np.eye(dim)
    covariances = stats.invwishart.rvs(nu, scale, size=n_categories, random_state=rng)
    covariances = np.reshape(covariances, (n_categories, dim, dim))
    return [rng.multivariate_normal(spread * rng.normal(size=dim), c, size=n_rows) for c in covariances]


def statistics_of(groups, structure):
    labels = np.repeat(np.arange(len(groups)), [len(g) for g in groups])
    return statistics_by_label(np.concatenate(groups), labels, len(groups), structure=structure)


@pytest.mark.parametrize("structure", ["full", "diagonal"])
@pytest.mark.parametrize("variance", [1.0, 0.3])
def test_expected_covariance_under_the_prior_is_the_given_variance(structure, variance):
    prior = Prior(dim=3, nu=9.0, variance=variance, structure=structure)
    block = 1 if structure == "diagonal" else 3
    draws = stats.invwishart.rvs(
        prior.nu, prior.scale * np.eye(block), size=40_000, random_state=np.random.default_rng(0)
    )
    mean = draws.reshape(-1, block, block).mean(axis=0)
    np.testing.assert_allclose(mean, variance * np.eye(block), atol=0.02 * variance)
    np.testing.assert_allclose(prior.log_det_scale, 3 * np.log((9.0 - block - 1) * variance), rtol=1e-12)


def test_default_strength_is_the_weakest_whole_one():
    assert Prior(dim=5).nu == 7
    assert Prior(dim=5, structure="diagonal").nu == 3


@pytest.mark.parametrize(
    "arguments",
    [
        {"nu": 6.0},
        {"nu": -1.0},
        {"nu": np.nan},
        {"nu": 2.0, "structure": "diagonal"},
        {"kappa": 0.0},
        {"variance": -1.0},
    ],
)
def test_improper_priors_are_refused(arguments):
    with pytest.raises(InputError):
        Prior(dim=5, **arguments)


def test_an_unknown_structure_is_refused():
    with pytest.raises(InputError, match="'shared'"):
        Prior(3, structure="shared")


def test_log_gamma_of_blocks_is_the_multivariate_gamma_or_a_sum_of_univariate():
    nu = np.array([9.5, 20.0, 9.5])
    full = [special.multigammaln(v / 2, 4) for v in nu]
    np.testing.assert_allclose(log_gamma_blocks(Prior(4).form, nu), full, rtol=1e-12)
    diagonal = 4 * special.gammaln(nu / 2)
    np.testing.assert_allclose(
        log_gamma_blocks(Prior(4, structure="diagonal").form, nu), diagonal, rtol=1e-12
    )


@pytest.mark.parametrize("structure", ["full", "diagonal"])
@pytest.mark.parametrize("kappa", [0.01, 1.0])
@pytest.mark.parametrize(("dim", "true_nu"), [(2, 12.0), (5, 8.0), (5, 40.0)])
def test_chosen_strength_maximises_the_evidence(structure, kappa, dim, true_nu):
    groups = inverse_wishart_groups(dim, dim, true_nu)
    prior = Prior(dim, kappa=kappa, structure=structure)
    chosen = choose_strength(prior, statistics_of(groups, structure))
    assert replace(chosen, nu=prior.nu) == prior  # nothing else changes

    log_excess = np.linspace(np.log(0.5), np.log(STRONGEST * prior.block + 64), 200)
    nus = prior.block + 1 + np.exp(log_excess)
    evidence = np.array([naive_evidence(groups, kappa, nu, 1.0, structure) for nu in nus])
    found = naive_evidence(groups, kappa, chosen.nu, 1.0, structure)
    # The search stops within 0.02 in log(nu - D - 1), where the evidence is flat.
    assert found >= evidence.max() - 0.02
    neighbours = np.abs(log_excess - np.log(chosen.nu - prior.block - 1)) < 0.1
    assert neighbours[evidence.argmax()]


def test_stronger_prior_is_chosen_where_categories_are_alike():
    dim, alike, unlike = 4, [], []
    for seed in range(3):
        for target, nu in ((alike, 200.0), (unlike, 8.0)):
            groups = inverse_wishart_groups(seed, dim, nu, n_categories=20, n_rows=30)
            target.append(choose_strength(Prior(dim), statistics_of(groups, "full")).nu)
    assert min(alike) > 2 * max(unlike)


def test_strength_is_kept_where_no_category_has_two_rows():
    prior = Prior(3, nu=11.0)
    stats_of_singles = statistics_by_label(np.eye(3), np.arange(3), 4)
    assert choose_strength(prior, stats_of_singles) == prior


def test_many_categories_are_thinned_but_give_nearly_the_same_strength():
    groups = inverse_wishart_groups(0, 3, 15.0, n_categories=3 * EVIDENCE_CATEGORIES, n_rows=30)
    chosen = choose_strength(Prior(3), statistics_of(groups, "full"))
    nus = 4 + np.exp(np.linspace(-0.5, 5, 60))
    best = nus[np.argmax([naive_evidence(groups, 0.01, nu, 1.0, "full") for nu in nus])]
    assert abs(np.log((chosen.nu - 4) / (best - 4))) < 0.5
