import dataclasses

import numpy as np
import pytest
import scipy
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from vbcgcd.bayes import (
    AlignmentRule,
    Posterior,
    Prior,
    align,
    bhattacharyya,
    elbo,
    log_det_along_path,
    penalised,
    posterior_of,
    statistics_by_label,
    volume_ratio,
)

SEEDS = st.integers(0, 2**32 - 1)
quick = settings(max_examples=30, deadline=None)


def one_category(rows, structure="full"):
    return statistics_by_label(rows, np.zeros(len(rows), dtype=int), 1, structure=structure)


def explicit_log_det(textbook, prior, rows, tau):
    """log det of the plug-in covariance when every row counts tau, from explicit matrices."""
    _, _, nu, psi = textbook(rows, prior.kappa, prior.nu, prior.scale * np.eye(prior.dim), weight=tau)
    if prior.structure == "diagonal":
        psi = np.diag(np.diag(psi))
    return np.linalg.slogdet(psi / (nu - prior.block - 1))[1]


# --- the ratio ----------------------------------------------------------------------------------------


@quick
@given(seed=SEEDS, dim=st.integers(1, 4), n_known=st.integers(1, 6))
def test_volume_ratio_compares_determinants(seed, dim, n_known):
    roots = np.random.default_rng(seed).normal(size=(n_known + 2, dim, dim))
    matrices = roots @ roots.transpose(0, 2, 1) + 0.1 * np.eye(dim)
    determinants = np.linalg.det(matrices)
    logs = np.linalg.slogdet(matrices)[1]
    expected = np.log(determinants[:2] / determinants[2:].mean())
    np.testing.assert_allclose(volume_ratio(logs[:2], logs[2:]), expected, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_volume_ratio_is_finite_where_determinants_are_not(scale):
    rng = np.random.default_rng(0)
    roots = rng.normal(size=(3, 384, 384)) / np.sqrt(384)
    matrices = scale * (roots @ roots.transpose(0, 2, 1) + np.eye(384))
    with np.errstate(all="ignore"):
        assert set(np.linalg.det(matrices)) <= {0.0, np.inf}
    prior = Prior(384, nu=1000.0, variance=scale)
    posteriors = []
    for matrix in matrices:
        rows = rng.multivariate_normal(np.zeros(384), matrix, size=60, method="cholesky")
        posteriors.append(posterior_of(prior, one_category(rows)))
    logs = np.array([np.linalg.slogdet(p.covariance(0))[1] for p in posteriors])
    found = np.concatenate([p.log_det_covariance for p in posteriors])
    np.testing.assert_allclose(found, logs, rtol=1e-9)
    # log of the mean of two volumes, from their difference: nothing overflows.
    mean_of_known = logs[2] + np.log((1 + np.exp(logs[1] - logs[2])) / 2)
    ratio = volume_ratio(found[:1], found[1:])
    assert np.isfinite(ratio).all()
    np.testing.assert_allclose(ratio, [logs[0] - mean_of_known], rtol=1e-9, atol=1e-7)


# --- the path -----------------------------------------------------------------------------------------


@quick
@given(
    seed=SEEDS,
    structure=st.sampled_from(["full", "diagonal"]),
    tau=st.floats(0, 1),
    kappa=st.floats(0.01, 5),
    variance=st.floats(0.1, 10),
)
def test_log_det_along_the_path_matches_explicit_matrices(
    make_problem, textbook, seed, structure, tau, kappa, variance
):
    rows, _ = make_problem(seed, dim=3, n_rows=20)
    prior = Prior(3, kappa=kappa, nu=6.5, variance=variance, structure=structure)
    found = log_det_along_path(prior, one_category(rows, structure))(tau)
    np.testing.assert_allclose(found, explicit_log_det(textbook, prior, rows, tau), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("structure", ["full", "diagonal"])
@pytest.mark.parametrize("spread", [0.3, 2.0])
@pytest.mark.parametrize("target", [0.0, 0.4])
@pytest.mark.parametrize("seed", range(3))
def test_align_stops_at_the_first_crossing_of_a_brute_force_scan(textbook, structure, spread, target, seed):
    rng = np.random.default_rng(seed)
    rows = spread * rng.normal(size=(30, 3)) @ (np.eye(3) + 0.3 * rng.normal(size=(3, 3))) + 0.5
    prior = Prior(3, kappa=0.1, nu=8.0, structure=structure)
    end = explicit_log_det(textbook, prior, rows, 1.0)
    known = np.array([0.5 * end + 0.1, 0.5 * end - 0.2]) - target  # volumes about half way
    found = align(prior, one_category(rows, structure), known, target=target)

    mean_known = np.log(np.exp(known).mean())
    taus = np.linspace(0, 1, 2001)
    ratio = np.array([explicit_log_det(textbook, prior, rows, t) for t in taus]) - mean_known
    crossing = np.flatnonzero(np.diff(np.sign(ratio - target)) != 0)[0]
    assert taus[crossing] - 1e-9 <= found.tau[0] <= taus[crossing + 1] + 1e-9
    np.testing.assert_allclose(found.before, [ratio[-1]], atol=1e-9)
    np.testing.assert_allclose(found.after, [target], atol=1e-8)
    tempered = posterior_of(prior, found.statistics).covariance(0)
    np.testing.assert_allclose(np.linalg.slogdet(tempered)[1] - mean_known, target, atol=1e-8)
    np.testing.assert_allclose(found.statistics.count, 30 * found.tau)


def test_align_treats_each_category_by_itself(make_problem, textbook):
    rows, labels = make_problem(0, dim=3)
    prior = Prior(3, kappa=0.1, nu=8.0)
    ends = [explicit_log_det(textbook, prior, rows[labels == k], 1.0) for k in range(3)]
    known = np.array([min(ends) / 2])
    found = align(prior, statistics_by_label(rows, labels, 3), known)
    for k in range(3):
        alone = align(prior, one_category(rows[labels == k]), known)
        np.testing.assert_allclose(found.tau[k], alone.tau[0], rtol=1e-6)
        reached = explicit_log_det(textbook, prior, rows[labels == k], found.tau[k]) - known[0]
        np.testing.assert_allclose(found.after[k], reached, atol=1e-8)


@pytest.mark.parametrize("structure", ["full", "diagonal"])
@pytest.mark.parametrize("known", [-50.0, 50.0])
def test_without_a_crossing_the_whole_path_is_taken(structure, known):
    rows = np.random.default_rng(0).normal(size=(30, 3))
    statistics = one_category(rows, structure)
    found = align(Prior(3, nu=8.0, structure=structure), statistics, np.array([known]))
    np.testing.assert_array_equal(found.tau, [1.0])
    np.testing.assert_array_equal(found.before, found.after)
    np.testing.assert_array_equal(found.statistics.scatter, statistics.scatter)


@pytest.mark.parametrize("tau", [0.25, 0.3])
def test_a_crossing_exactly_on_a_round_tau_is_found(tau):
    rows = 0.2 * np.random.default_rng(1).normal(size=(30, 3))
    prior, statistics = Prior(3, nu=8.0), one_category(rows)
    goal = log_det_along_path(prior, statistics)(tau)
    np.testing.assert_allclose(align(prior, statistics, np.array([goal])).tau, [tau], rtol=1e-6)


def test_a_rise_within_the_first_row_of_statistics_is_no_crossing(textbook):
    # Far from the prior mean the volume first rises, with the mean, and then falls, with the scatter.
    rng = np.random.default_rng(0)
    rows = 0.2 * rng.normal(size=(1000, 16)) + 15.0
    prior = Prior(16, kappa=0.01)
    taus = np.geomspace(1e-7, 1.0, 800)
    volumes = np.array([explicit_log_det(textbook, prior, rows, t) for t in taus])
    goal = volumes.max() / 2  # above the start, below the top
    assert taus[volumes > goal].max() < 1e-3
    assert align(prior, one_category(rows), np.array([goal])).tau[0] == 1.0


def test_tau_is_never_less_than_one_row():
    rng = np.random.default_rng(1)
    statistics = one_category(0.1 * rng.normal(size=(500, 4)))
    found = align(Prior(4), statistics, np.array([-1e-9]))
    assert found.tau[0] == pytest.approx(1 / 500)


def test_goal_of_a_rule_is_the_mean_known_volume_plus_the_target():
    rule = AlignmentRule(np.log([1.0, 3.0, 5.0]), target=0.25)
    assert rule.goal == pytest.approx(np.log(3.0) + 0.25)
    assert AlignmentRule(np.array([-2.0])).goal == pytest.approx(-2.0)


# --- Bhattacharyya ------------------------------------------------------------------------------------


def explicit_bhattacharyya(mean, covariance):
    middle = covariance.mean(axis=0)
    gap = mean[0] - mean[1]
    volume = np.linalg.det(middle) / np.sqrt(np.linalg.det(covariance[0]) * np.linalg.det(covariance[1]))
    return gap @ np.linalg.inv(middle) @ gap / 8 + np.log(volume) / 2


@quick
@given(seed=SEEDS, dim=st.integers(1, 4), structure=st.sampled_from(["full", "diagonal"]))
def test_bhattacharyya_matches_the_formula_and_is_a_symmetric_distance(make_problem, seed, dim, structure):
    rows, labels = make_problem(seed, n_categories=2, dim=dim, n_rows=30)
    posterior = posterior_of(
        Prior(dim, structure=structure), statistics_by_label(rows, labels, 2, structure=structure)
    )
    covariance = np.array([posterior.covariance(k) for k in range(2)])
    found = bhattacharyya(posterior, 0, 1)
    np.testing.assert_allclose(
        found, explicit_bhattacharyya(posterior.mean, covariance), rtol=1e-7, atol=1e-9
    )
    np.testing.assert_allclose(bhattacharyya(posterior, 1, 0), found, rtol=1e-10)
    np.testing.assert_allclose(bhattacharyya(posterior, 1, 1), 0, atol=1e-10)
    assert found > 0


@pytest.mark.parametrize("gap", [0.0, 0.5, 4.0])
@pytest.mark.parametrize("deviation", [0.5, 1.0, 3.0])
def test_bhattacharyya_in_one_dimension_is_the_overlap_integral(gap, deviation):
    posterior = Posterior(
        np.array([[0.0], [gap]]),
        np.ones(2),
        np.array([7.0, 4.0]),
        np.array([[np.sqrt(5.0)], [deviation * np.sqrt(2.0)]]),
        "full",
    )
    overlap, _ = integrate.quad(
        lambda x: np.sqrt(stats.norm.pdf(x) * stats.norm.pdf(x, gap, deviation)), -30, 30, points=[0, gap]
    )
    np.testing.assert_allclose(bhattacharyya(posterior, 0, 1), -np.log(overlap), atol=1e-8)


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_bhattacharyya_is_finite_in_high_dimension(scale):
    rng = np.random.default_rng(0)
    rows = np.sqrt(scale) * rng.normal(size=(100, 384))
    prior = Prior(384, nu=800.0, variance=scale)
    posterior = posterior_of(prior, statistics_by_label(rows, np.repeat([0, 1], 50), 2))
    first, second = posterior.covariance(0), posterior.covariance(1)
    middle, gap = (first + second) / 2, posterior.mean[0] - posterior.mean[1]
    logs = [np.linalg.slogdet(m)[1] for m in (middle, first, second)]
    expected = gap @ np.linalg.solve(middle, gap) / 8 + 0.5 * (logs[0] - (logs[1] + logs[2]) / 2)
    np.testing.assert_allclose(bhattacharyya(posterior, 0, 1), expected, rtol=1e-8)


@pytest.mark.parametrize("structure", ["full", "diagonal"])
@pytest.mark.parametrize("weight", [0.0, 0.5, 20.0])
def test_the_penalised_posterior_maximises_the_elbo_less_the_penalty(structure, weight):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(30, 2)) @ np.array([[2.0, 0.5], [0.0, 1.0]])
    prior, known = Prior(2, nu=9.0, structure=structure), np.array([0.3, -0.4])
    statistics = statistics_by_label(rows, np.zeros(30, int), 1, structure=structure)
    exact = posterior_of(prior, statistics)
    found = penalised(exact, known, weight=weight, target=0.2)

    def objective(factor):
        candidate = dataclasses.replace(exact, factor=factor[None])
        ratio = volume_ratio(candidate.log_det_covariance, known)[0]
        return -float(elbo(prior, candidate, statistics)[0]) + weight * (ratio - 0.2) ** 2

    best = scipy.optimize.minimize(objective, exact.factor[0], method="Nelder-Mead", tol=1e-10)
    assert objective(found.factor[0]) == pytest.approx(best.fun, abs=1e-6)
    np.testing.assert_allclose(found.factor[0], best.x, rtol=2e-3, atol=2e-3)


def test_a_small_penalty_hardly_moves_the_volume_and_a_huge_one_does():
    rows = 3 * np.random.default_rng(1).normal(size=(200, 12))
    posterior = posterior_of(Prior(12, nu=400.0), statistics_by_label(rows, np.zeros(200, int), 1))
    known = np.array([1.0])
    before = volume_ratio(posterior.log_det_covariance, known)[0]
    after = [
        volume_ratio(penalised(posterior, known, weight=w).log_det_covariance, known)[0]
        for w in (0.0, 1.0, 100.0, 1e9)
    ]
    assert after[0] == before > 5
    assert after[1] > 0.8 * before
    assert sorted(after, reverse=True) == after
    assert after[3] == pytest.approx(0, abs=1e-5)
