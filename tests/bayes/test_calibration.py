import numpy as np
import pytest
from scipy import special

from vbcgcd.bayes import Prior, calibration
from vbcgcd.bayes.calibration import (
    calibrate_strength,
    climb,
    left_out_temperature,
    tempered_cross_entropy,
)
from vbcgcd.bayes.leave_one_out import LeftOut

PREDICTIVES = ("student", "plugin")


def cross_entropy(log_density, labels, temperature):
    return -special.log_softmax(temperature * log_density, axis=1)[np.arange(len(labels)), labels]


def noisy_scores(seed, n_rows=200, n_categories=4, spread=5.0):
    """Log-densities that are right more often than not, and labels."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(n_categories, size=n_rows)
    scores = spread * rng.normal(size=(n_rows, n_categories))
    scores[np.arange(n_rows), labels] += spread
    return scores, labels


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("spread", [0.5, 5.0, 200.0])
@pytest.mark.parametrize("n_categories", [2, 4, 12])
def test_tempered_cross_entropy_is_the_least_over_temperatures(seed, spread, n_categories):
    scores, labels = noisy_scores(seed, n_categories=n_categories, spread=spread)
    losses, temperature = tempered_cross_entropy(scores, labels)
    grid = np.exp(np.linspace(-7, 2, 400))
    least = min(cross_entropy(scores, labels, t).mean() for t in grid)
    np.testing.assert_allclose(losses, cross_entropy(scores, labels, temperature), atol=1e-9)
    assert losses.mean() == pytest.approx(least, abs=2e-3)


def test_far_categories_do_not_matter():
    scores, labels = noisy_scores(0)
    far = np.concatenate([scores, np.full((len(scores), 30), scores.min() - 1e4)], axis=1)
    hidden = np.concatenate([scores, np.full((len(scores), 30), -np.inf)], axis=1)
    expected = tempered_cross_entropy(scores, labels)
    for padded in (far, hidden):
        found = tempered_cross_entropy(padded, labels)
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-9)


@pytest.mark.parametrize("factor", [0.1, 3.0, 20.0])
def test_scaled_densities_divide_the_temperature(factor):
    scores, labels = noisy_scores(1)
    losses, temperature = tempered_cross_entropy(scores, labels)
    scaled_losses, scaled_temperature = tempered_cross_entropy(factor * scores, labels)
    # The logarithm of the temperature is found within 0.05.
    np.testing.assert_allclose(np.log(scaled_temperature * factor / temperature), 0, atol=0.1)
    np.testing.assert_allclose(scaled_losses.mean(), losses.mean(), atol=2e-3)


def test_a_constant_of_each_row_does_not_matter():
    scores, labels = noisy_scores(2)
    shifted = scores + 1e3 * np.random.default_rng(0).normal(size=(len(scores), 1))
    expected = tempered_cross_entropy(scores, labels)
    found = tempered_cross_entropy(shifted, labels)
    np.testing.assert_allclose(found[0], expected[0], atol=1e-9)
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-9)


@pytest.mark.parametrize("n_categories", [2, 5, 12, 20, 40, 200])
@pytest.mark.parametrize("temperature", [0.1, 0.2, 0.5])
def test_temperature_recovers_how_the_labels_were_drawn(n_categories, temperature):
    rng = np.random.default_rng(3)
    scores = 10 * rng.normal(size=(4000, n_categories))
    gumbel = rng.gumbel(size=scores.shape)
    labels = (temperature * scores + gumbel).argmax(axis=1)  # drawn from softmax(temperature scores)
    assert tempered_cross_entropy(scores, labels)[1] == pytest.approx(temperature, rel=0.15)


@pytest.fixture
def captured(monkeypatch):
    """Arguments with which `calibrate_strength` asks for cross-entropies."""
    calls, original = [], calibration.tempered_cross_entropy

    def record(log_density, labels, **options):
        calls.append((log_density.copy(), labels.copy()))
        return original(log_density, labels, **options)

    monkeypatch.setattr(calibration, "tempered_cross_entropy", record)
    return calls


def try_alone(monkeypatch, position):
    """Let one strength alone be tried; its prior in three dimensions."""

    def choose(losses, start, size):
        losses(position)
        return position

    monkeypatch.setattr(calibration, "climb", choose)
    return Prior(3, nu=3 * (1 + calibration.STRENGTHS[position]) + 1)


@pytest.mark.parametrize("position", [0, 4, 7])
def test_calibration_judges_by_student(labelled_problem, refit_without, monkeypatch, captured, position):
    rows, labels, statistics = labelled_problem(0)
    prior = try_alone(monkeypatch, position)
    found = calibrate_strength(Prior(3, kappa=0.3), statistics, LeftOut(rows, labels, 0.01))
    assert found.nu == prior.nu
    assert found.kappa == 0.3
    student, _ = refit_without(rows, labels, prior, 0.01)
    np.testing.assert_allclose(captured[0][0], student, rtol=2e-4, atol=2e-3)
    for _, given_labels in captured:
        np.testing.assert_array_equal(given_labels, labels)


@pytest.mark.parametrize("predictive", PREDICTIVES)
@pytest.mark.parametrize("nu", [4.75, 16.0, 100.0])
def test_temperature_is_that_of_the_predictive_in_use(
    labelled_problem, refit_without, captured, predictive, nu
):
    rows, labels, statistics = labelled_problem(0)
    prior = Prior(3, nu=nu)
    found = left_out_temperature(prior, statistics, LeftOut(rows, labels, 0.01), predictive)
    want = dict(zip(PREDICTIVES, refit_without(rows, labels, prior, 0.01), strict=True))[predictive]
    np.testing.assert_allclose(captured[-1][0], want, rtol=2e-4, atol=2e-3)
    assert found == pytest.approx(tempered_cross_entropy(want, labels)[1], rel=0.05)


@pytest.mark.parametrize("seed", range(4))
def test_chosen_strength_is_on_the_ladder_and_no_neighbour_is_clearly_better(
    labelled_problem, refit_without, seed
):
    rows, labels, statistics = labelled_problem(seed, n_rows=80)
    chosen = calibrate_strength(Prior(3), statistics, LeftOut(rows, labels, 0.005))
    ladder = np.array([3 * (1 + x) + 1 for x in calibration.STRENGTHS])
    position = int(np.flatnonzero(np.isclose(ladder, chosen.nu))[0])

    def losses(i):
        return tempered_cross_entropy(refit_without(rows, labels, Prior(3, nu=ladder[i]), 0.005)[0], labels)[
            0
        ]

    for neighbour in {max(position - 1, 0), min(position + 1, len(ladder) - 1)} - {position}:
        gain = losses(position) - losses(neighbour)
        assert gain.mean() <= 1.1 * gain.std() / np.sqrt(len(gain)) + 1e-4


def test_only_near_rivals_are_judged_and_the_rest_keeps_no_probability(
    labelled_problem, refit_without, monkeypatch, captured
):
    rows, labels, statistics = labelled_problem(1, n_categories=10, n_rows=60)
    prior = try_alone(monkeypatch, 4)
    calibrate_strength(Prior(3), statistics, LeftOut(rows, labels, 0.0))
    density = captured[0][0]
    finite = np.isfinite(density)
    size = min(calibration.SHORTLIST + 1, 10)
    np.testing.assert_array_equal(finite.sum(axis=1), size)
    assert finite[np.arange(len(rows)), labels].all()
    assert (density[~finite] == -np.inf).all()
    expected, _ = refit_without(rows, labels, prior, 0.0)
    np.testing.assert_allclose(density[finite], expected[finite], rtol=2e-4, atol=2e-3)
    distance = ((rows[:, None] - statistics.mean) ** 2).sum(axis=2)
    distance[np.arange(len(rows)), labels] = -1
    nearest = np.argsort(distance, axis=1)[:, :size]
    np.testing.assert_array_equal(np.sort(nearest, axis=1), np.nonzero(finite)[1].reshape(len(rows), -1))


# climb


@pytest.mark.parametrize("start", range(9))
@pytest.mark.parametrize("minimum", [0, 3, 8])
def test_climb_finds_the_minimum_of_a_convex_loss(start, minimum):
    rows = np.random.default_rng(0).normal(size=50)
    # What the rows differ in is common to all positions: the differences are paired.
    assert climb(lambda i: (i - minimum) ** 2 + 100 * rows, start, 9) == minimum


@pytest.mark.parametrize("start", range(4))
def test_climb_stays_where_all_positions_are_equal(start):
    rows = np.random.default_rng(0).normal(size=50)
    assert climb(lambda i: rows, start, 4) == start


@pytest.mark.parametrize(("gain", "moves"), [(0.5, False), (2.0, True)])
@pytest.mark.parametrize("direction", [1, -1])
def test_climb_moves_when_the_gain_exceeds_its_standard_error(gain, moves, direction):
    noise = np.random.default_rng(0).normal(size=400)
    noise = (noise - noise.mean()) / noise.std()
    improvement = noise + gain / np.sqrt(400)  # its mean is `gain` standard errors

    def losses(i):
        return np.zeros(400) if i == 1 else (-improvement if i == 1 + direction else improvement + 10)

    assert climb(losses, 1, 3) == (1 + direction if moves else 1)


def test_climb_seldom_moves_for_noise():
    rng = np.random.default_rng(0)
    moved = [climb(lambda i, noise=noise: noise[i], 1, 3) != 1 for noise in rng.normal(size=(400, 3, 60))]
    # One standard error: about one in six in each direction.
    assert np.mean(moved) < 0.4


def test_climb_asks_for_no_position_outside():
    asked = []

    def losses(i):
        asked.append(i)
        return np.full(5, -float(i)) + np.arange(5)

    assert climb(losses, 2, 4) == 3
    assert set(asked) <= set(range(4))


def test_climb_leaves_a_start_that_is_impossible():
    losses = [np.full(5, value) for value in (1.0, 0.5, np.inf, 3.0, np.inf)]
    assert climb(losses.__getitem__, 2, 5) == 3
    assert climb(lambda i: np.full(5, np.inf), 2, 5) == 2
