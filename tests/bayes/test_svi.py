import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vbcgcd.bayes import (
    AlignmentRule,
    Posterior,
    Prior,
    Schedule,
    elbo,
    log_evidence,
    posterior_of,
    run_svi,
    statistics_by_label,
)
from vbcgcd.bayes.svi import _Crossing
from vbcgcd.errors import InputError

SEEDS = st.integers(0, 2**32 - 1)
ONE_STEP = Schedule(delay=0, forget=0)


def one_category(rows):
    return statistics_by_label(rows, np.zeros(len(rows), dtype=int), 1)


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
    with pytest.raises(InputError):
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
    with pytest.raises(InputError):
        run_svi(Prior(2), np.zeros((0, 2)))


def test_a_single_row_is_enough():
    result = run_svi(Prior(2), np.array([[3.0, 4.0]]), max_steps=1, schedule=ONE_STEP)
    np.testing.assert_allclose(result.posterior.mean[0], np.array([3.0, 4.0]) / 1.01)


# Alignment


def svi_with_rule(rows, known, target=0.0, variance=1.0, structure="full", nu=40.0, **options):
    prior = Prior(rows.shape[1], nu=nu, variance=variance, structure=structure)
    rule = AlignmentRule(np.asarray(known), target=target)
    options = {"batch_size": None, "schedule": Schedule(delay=1000, forget=1)} | options
    return run_svi(prior, rows, alignment=rule, max_steps=400, patience=1000, **options)


def volumes_of(result):
    return np.array([info.log_det for info in result.trace])


@pytest.mark.parametrize("target", [0.0, 0.5])
@pytest.mark.parametrize("batch_size", [None, 50])
@pytest.mark.parametrize("structure", ["full", "diagonal"])
def test_training_ends_on_the_goal_though_the_ratio_is_negative_at_the_start(target, batch_size, structure):
    rows = 3.0 * np.random.default_rng(0).normal(size=(200, 3))
    known = [2.0, 2.5]  # larger than the prior's: R < 0 before the first step
    goal = np.log(np.exp(known).mean()) + target
    result = svi_with_rule(rows, known, target, batch_size=batch_size, structure=structure, random_state=0)
    assert result.reason == "aligned"
    volumes = volumes_of(result)
    assert len(volumes) > 1
    assert (volumes[:-1] < goal).all()
    assert volumes[-1] == pytest.approx(goal, abs=1e-6)
    assert result.posterior.log_det_covariance[0] == pytest.approx(goal, abs=1e-6)


def test_training_ends_on_the_goal_from_above():
    rows = 0.3 * np.random.default_rng(0).normal(size=(200, 3))
    result = svi_with_rule(rows, [-2.0, -2.5])
    goal = np.log(np.exp([-2.0, -2.5]).mean())
    volumes = volumes_of(result)
    assert result.reason == "aligned"
    assert len(volumes) > 1
    assert (volumes[:-1] > goal).all()
    assert volumes[-1] == pytest.approx(goal, abs=1e-6)


def test_a_long_step_is_shortened_along_its_straight_line():
    rows = 0.3 * np.random.default_rng(0).normal(size=(200, 3))
    long = svi_with_rule(rows, [-2.0], schedule=ONE_STEP)
    short = svi_with_rule(rows, [-2.0])
    [info] = long.trace
    assert 0 < info.rho < 1
    assert info.log_det == pytest.approx(-2.0, abs=1e-6)
    # Full batches walk one line, whatever the steps: both end in the same place.
    np.testing.assert_allclose(long.statistics.count, 200 * info.rho)
    assert_same_posterior(long.posterior, short.posterior, 1e-5)
    exact = exact_posterior(Prior(3, nu=40.0), rows, weight=np.full(200, info.rho))
    expected = elbo(Prior(3, nu=40.0), exact, one_category(rows))[0]
    assert info.elbo == pytest.approx(expected, rel=1e-6)
    assert_same_posterior(long.posterior, exact, 1e-6)


@pytest.mark.parametrize("known", [30.0, -30.0])
def test_training_goes_on_where_there_is_no_crossing(known):
    rows = np.random.default_rng(0).normal(size=(100, 3))
    assert svi_with_rule(rows, [known]).reason == "max_steps"


def test_the_side_is_counted_from_the_volume_of_the_prior():
    # Volumes fall from 6.9 to 5.4: a goal of -1 is never met. Seen from log det 0, 6 would have been passed.
    rows = np.random.default_rng(0).normal(size=(100, 3))
    free = svi_with_rule(rows, [-1.0], variance=10.0)
    assert free.reason == "max_steps"
    assert volumes_of(free).min() > -1.0
    met = svi_with_rule(rows, [6.0], variance=10.0)
    assert met.reason == "aligned"
    assert met.posterior.log_det_covariance[0] == pytest.approx(6.0, abs=1e-6)


def test_a_start_on_the_goal_waits_for_the_first_side():
    crossing = _Crossing(Prior(1), 0.0)

    def posterior(volume, rows=1.0):
        nu = Prior(1).nu + rows
        factor = np.sqrt(np.exp(volume) * (nu - 2))
        return Posterior(
            np.zeros((1, 1)), np.array([0.01 + rows]), np.array([nu]), np.array([[factor]]), "full"
        )

    assert [crossing.passed(posterior(v)) for v in (0.3, 0.5, 0.1, -0.1)] == [False, False, False, True]
    crossing = _Crossing(Prior(1), -1.0)
    assert not crossing.passed(posterior(-2.0, rows=0.9))  # less than one row
    assert crossing.passed(posterior(-2.0))


@pytest.mark.parametrize("factor", [0.01, 7.0, 1e4])
@pytest.mark.parametrize("structure", ["full", "diagonal"])
def test_units_of_the_data_do_not_matter(make_problem, factor, structure):
    rows, _ = make_problem(9, n_categories=1, dim=3, n_rows=200)
    options = {"structure": structure, "batch_size": 20, "random_state": 0}
    end = exact_posterior(Prior(3, nu=40.0, variance=5.0, structure=structure), rows).log_det_covariance[0]
    goal = 0.5 * (end + 3 * np.log(5.0))  # half way from the prior
    plain = svi_with_rule(rows, [goal], variance=5.0, **options)
    shift = 2 * 3 * np.log(factor)  # what a covariance in three dimensions gains in log det
    scaled = svi_with_rule(factor * rows, [goal + shift], variance=5.0 * factor**2, **options)
    assert plain.reason == scaled.reason == "aligned"
    np.testing.assert_allclose(volumes_of(scaled) - shift, volumes_of(plain), atol=1e-6)
    np.testing.assert_allclose([i.rho for i in scaled.trace], [i.rho for i in plain.trace], rtol=1e-6)


def test_a_shortened_step_brings_at_least_one_row():
    rows = 0.1 * np.random.default_rng(1).normal(size=(500, 4))
    result = svi_with_rule(rows, [-1e-9], schedule=ONE_STEP, nu=6.0)
    assert result.reason == "aligned"
    np.testing.assert_allclose(result.statistics.count, [1.0])
    assert result.trace[-1].log_det < -1e-9


def test_a_category_of_less_than_one_row_is_learned_whole():
    rows = 0.1 * np.random.default_rng(1).normal(size=(1, 4))
    result = svi_with_rule(rows, [-1e-9], schedule=ONE_STEP, weight=np.array([0.5]))
    np.testing.assert_allclose(result.statistics.count, [0.5])


def test_rows_of_earlier_steps_count_towards_the_first_row():
    rows = 0.1 * np.random.default_rng(1).normal(size=(500, 4))
    sizes = [0.001, 0.01]  # half a row, then five more
    result = svi_with_rule(rows, [-1e-9], schedule=lambda step: sizes[step - 1], nu=6.0)
    assert len(result.trace) == 2
    np.testing.assert_allclose(result.statistics.count, [1.0])
