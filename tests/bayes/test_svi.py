import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vbcgcd.bayes import Prior, Schedule, log_evidence, posterior_of, run_svi, statistics_by_label
from vbcgcd.errors import InputError

SEEDS = st.integers(0, 2**32 - 1)
ONE_STEP = Schedule(delay=0, forget=0)


def exact_posterior(prior, rows, weight=None):
    labels = np.zeros(len(rows), dtype=int)
    return posterior_of(prior, statistics_by_label(rows, labels, 1, weight=weight, structure=prior.structure))


def assert_same_posterior(found, expected, tolerance=1e-8):
    np.testing.assert_allclose(found.kappa, expected.kappa, rtol=tolerance)
    np.testing.assert_allclose(found.nu, expected.nu, rtol=tolerance)
    np.testing.assert_allclose(found.mean, expected.mean, rtol=tolerance, atol=tolerance)
    np.testing.assert_allclose(found.covariance(0), expected.covariance(0), rtol=tolerance, atol=tolerance)


def test_schedule_is_a_power_of_the_step():
    schedule = Schedule(delay=2.0, forget=0.5)
    np.testing.assert_allclose([schedule(1), schedule(7)], [1 / np.sqrt(3), 1 / 3])
    assert ONE_STEP(1) == ONE_STEP(100) == 1.0


@pytest.mark.parametrize("arguments", [{"delay": -1.0}, {"forget": -0.1}, {"forget": 1.1}])
def test_schedules_outside_their_range_are_refused(arguments):
    with pytest.raises(InputError, match="Schedule"):
        Schedule(**arguments)


@pytest.mark.parametrize("structure", ["full", "diagonal"])
@pytest.mark.parametrize("batch_size", [None, 60, 1000])
def test_one_full_step_is_the_exact_posterior(make_problem, textbook, structure, batch_size):
    rows, _ = make_problem(0)
    prior = Prior(4, kappa=0.3, nu=9.0, structure=structure)
    result = run_svi(prior, rows, batch_size=batch_size, max_steps=1, schedule=ONE_STEP)
    assert result.reason == "max_steps"
    mean, kappa, nu, psi = textbook(rows, 0.3, 9.0, prior.scale * np.eye(4))
    if structure == "diagonal":
        psi = np.diag(np.diag(psi))
    np.testing.assert_allclose(result.posterior.mean[0], mean, rtol=1e-9)
    np.testing.assert_allclose([result.posterior.kappa[0], result.posterior.nu[0]], [kappa, nu])
    np.testing.assert_allclose(result.posterior.scale(0), psi, rtol=1e-9, atol=1e-9)


def test_elbo_of_the_exact_step_is_the_evidence(make_problem, sequential_evidence):
    rows, _ = make_problem(1, n_rows=15)
    prior = Prior(4, kappa=0.3, nu=9.0)
    result = run_svi(prior, rows, batch_size=None, max_steps=1, schedule=ONE_STEP)
    np.testing.assert_allclose(
        result.trace[0].elbo, sequential_evidence(rows, 0.3, 9.0, 4 * np.eye(4)), rtol=1e-9
    )


def test_full_batches_walk_the_straight_path_and_the_trace_says_so(make_problem, textbook):
    rows, _ = make_problem(2)
    result = run_svi(
        Prior(4, kappa=0.3, nu=9.0),
        rows,
        batch_size=None,
        max_steps=6,
        schedule=Schedule(delay=1, forget=0.6),
    )
    assert [info.step for info in result.trace] == [1, 2, 3, 4, 5, 6]
    missing = 1.0
    for info in result.trace:
        rho = (info.step + 1) ** -0.6
        missing *= 1 - rho
        _, _, nu, psi = textbook(rows, 0.3, 9.0, 4 * np.eye(4), weight=1 - missing)
        np.testing.assert_allclose(info.rho, rho, rtol=1e-12)
        np.testing.assert_allclose(info.log_det, np.linalg.slogdet(psi / (nu - 5))[1], atol=1e-8)
    np.testing.assert_allclose(result.statistics.count, 60 * (1 - missing))
    np.testing.assert_allclose(result.posterior.scale(0), psi, rtol=1e-8, atol=1e-8)


@settings(max_examples=30, deadline=None)
@given(
    seed=SEEDS,
    delay=st.floats(0, 20),
    forget=st.floats(0, 1),
    structure=st.sampled_from(["full", "diagonal"]),
    kappa=st.floats(0.01, 5),
)
def test_elbo_never_falls_with_full_batches_and_stays_below_the_evidence(
    make_problem, seed, delay, forget, structure, kappa
):
    rows, _ = make_problem(seed, n_rows=30)
    prior = Prior(4, kappa=kappa, nu=8.0, structure=structure)
    result = run_svi(
        prior, rows, batch_size=None, max_steps=25, schedule=Schedule(delay=delay, forget=forget)
    )
    bounds = np.array([info.elbo for info in result.trace])
    slack = 1e-10 * np.abs(bounds).max()
    assert (np.diff(bounds) >= -slack).all()
    assert bounds[-1] <= log_evidence(prior, exact_posterior(prior, rows))[0] + slack


@pytest.mark.parametrize("structure", ["full", "diagonal"])
def test_minibatches_come_close_to_the_exact_posterior(make_problem, structure):
    rows, _ = make_problem(3, n_categories=1, dim=3, n_rows=330)
    prior = Prior(3, structure=structure)
    result = run_svi(
        prior,
        rows,
        batch_size=50,
        max_steps=1500,
        schedule=Schedule(delay=1, forget=1),
        patience=1500,
        random_state=0,
    )
    assert len(result.trace) == 1500
    exact = exact_posterior(prior, rows)
    np.testing.assert_allclose(result.posterior.kappa, exact.kappa, rtol=1e-2)
    deviation = np.sqrt(np.diag(exact.covariance(0)))
    assert (np.abs(result.posterior.mean[0] - exact.mean[0]) < 0.02 * deviation).all()
    error = np.abs(result.posterior.covariance(0) - exact.covariance(0))
    assert (error < 0.03 * np.outer(deviation, deviation)).all()
    assert result.trace[-1].elbo > result.trace[0].elbo
    np.testing.assert_allclose(result.trace[-1].elbo, log_evidence(prior, exact)[0], atol=0.1)


def test_same_seed_takes_the_same_steps(make_problem):
    rows, _ = make_problem(4)
    first, second, other = (
        run_svi(Prior(4), rows, batch_size=10, max_steps=5, random_state=s).trace for s in (1, 1, 2)
    )
    assert first == second
    assert first != other


def test_stopping_rule_stops_and_sees_every_step(make_problem):
    rows, _ = make_problem(5)
    seen = []

    def rule(info):
        seen.append(info)
        return info.step == 4

    result = run_svi(Prior(4), rows, batch_size=10, max_steps=50, stop=rule, random_state=0)
    assert result.reason == "stopping rule"
    assert len(result.trace) == 4
    assert seen == result.trace


def test_training_ends_when_the_elbo_has_stopped_rising(make_problem):
    rows, _ = make_problem(6)
    prior = Prior(4)
    result = run_svi(prior, rows, batch_size=None, schedule=ONE_STEP, patience=7)
    assert result.reason == "converged"
    assert len(result.trace) == 8  # the first step rises, seven do not
    assert_same_posterior(result.posterior, exact_posterior(prior, rows))


def test_max_steps_is_respected(make_problem):
    rows, _ = make_problem(6)
    result = run_svi(Prior(4), rows, batch_size=7, max_steps=13, patience=100, random_state=0)
    assert result.reason == "max_steps"
    assert [info.step for info in result.trace] == list(range(1, 14))


@pytest.mark.parametrize("batch_size", [None, 20])
def test_whole_weights_are_duplicated_rows(make_problem, textbook, batch_size):
    rows, _ = make_problem(7, n_rows=40)
    weight = np.random.default_rng(0).integers(1, 4, size=40)
    prior = Prior(4, kappa=0.3, nu=9.0)
    result = run_svi(
        prior,
        rows,
        weight=weight,
        batch_size=batch_size,
        max_steps=1 if batch_size is None else 1000,
        schedule=ONE_STEP if batch_size is None else Schedule(delay=1, forget=1),
        patience=5000,
        random_state=0,
    )
    mean, kappa, nu, psi = textbook(np.repeat(rows, weight, axis=0), 0.3, 9.0, 4 * np.eye(4))
    tolerance = 1e-9 if batch_size is None else 0.02
    np.testing.assert_allclose(result.posterior.kappa[0], kappa, rtol=tolerance)
    np.testing.assert_allclose(result.posterior.nu[0], nu, rtol=tolerance)
    deviation = np.sqrt(np.diag(psi / nu)).max()
    np.testing.assert_allclose(result.posterior.mean[0], mean, atol=tolerance * deviation)
    np.testing.assert_allclose(result.posterior.scale(0), psi, atol=2 * tolerance * np.diag(psi).max())


def test_rows_of_weight_zero_do_not_change_the_fixed_point(make_problem):
    rows, _ = make_problem(8, n_rows=40)
    weight = np.arange(40) % 2.0  # half of the rows do not count
    result = run_svi(
        Prior(4),
        rows,
        weight=weight,
        batch_size=1,
        max_steps=1000,
        schedule=Schedule(delay=0, forget=1),
        patience=5000,
        random_state=0,
    )
    np.testing.assert_allclose(result.statistics.count, [20], rtol=0.05)


def test_no_rows_are_refused():
    with pytest.raises(InputError, match="at least one row"):
        run_svi(Prior(2), np.zeros((0, 2)))


def test_a_single_row_is_enough():
    result = run_svi(Prior(2), np.array([[3.0, 4.0]]), max_steps=1, schedule=ONE_STEP)
    np.testing.assert_allclose(result.posterior.mean[0], np.array([3.0, 4.0]) / 1.01)
