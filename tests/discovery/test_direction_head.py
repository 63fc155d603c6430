import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from vbcgcd.bayes import Posterior, Prior, log_normalise, posterior_of, statistics_by_label
from vbcgcd.bayes.linalg import symmetric, unpack_lower
from vbcgcd.discovery.direction_head import (
    DirectionHead,
    direction_factor,
    direction_scores,
    mean_directions,
    within_directions,
)

DIM = 5


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(3), 40)
    rows = 4 * rng.normal(size=(3, DIM))[labels] + rng.normal(size=(120, DIM))
    prior = Prior(DIM, nu=DIM + 20.0)
    return rows, labels, posterior_of(prior, statistics_by_label(rows, labels, 3))


def unit(rows):
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_mean_directions_are_those_of_many_rows():
    rng = np.random.default_rng(1)
    dim, n = 200, 4000
    rows = rng.normal(size=dim) + rng.normal(size=(n, dim)) * np.linspace(0.5, 2, dim)
    posterior = posterior_of(Prior(dim), statistics_by_label(rows, np.zeros(n, int), 1))
    np.testing.assert_allclose(mean_directions(posterior)[0], unit(rows).mean(axis=0), atol=3e-3)


def test_the_covariance_within_is_that_of_each_category_on_average(problem):
    rows, labels, _ = problem
    want = np.mean([np.cov(unit(rows[labels == k]).T, bias=True) for k in range(3)], axis=0)
    np.testing.assert_allclose(symmetric(within_directions(rows, labels), DIM), want, atol=1e-12)
    apart = np.where(labels == 1, 4, labels)  # numbers without rows do not count
    np.testing.assert_allclose(within_directions(rows, apart), within_directions(rows, labels))


def test_the_factor_is_that_of_the_covariance_with_its_ridge(problem):
    rows, labels, _ = problem
    within = within_directions(rows, labels)
    lower = unpack_lower(direction_factor(within, DIM, 0.1), DIM)
    covariance = symmetric(within, DIM)
    np.testing.assert_allclose(lower @ lower.T, covariance + 0.1 * np.trace(covariance) * np.eye(DIM))
    assert direction_factor(within, DIM, 0.1, np.float32).dtype == np.float32


def test_scores_are_those_of_a_linear_discriminant(problem):
    rows, labels, posterior = problem
    within = within_directions(rows, labels)
    scores = direction_scores(direction_factor(within, DIM, 0.0), rows, posterior)
    means, precision = mean_directions(posterior), np.linalg.inv(symmetric(within, DIM))
    want = unit(rows) @ precision @ means.T - 0.5 * np.einsum("kd,de,ke->k", means, precision, means)
    np.testing.assert_allclose(scores, want, rtol=1e-6, atol=1e-6)
    theirs = LinearDiscriminantAnalysis(solver="lsqr").fit(unit(rows), labels).predict(unit(rows))
    assert np.mean(scores.argmax(axis=1) == theirs) > 0.97


@given(st.integers(0, 100))
def test_odds_between_categories_do_not_change_when_others_come(seed):
    rng = np.random.default_rng(seed)
    rows, labels = rng.normal(size=(30, DIM)), np.arange(30) % 3
    posterior = posterior_of(Prior(DIM), statistics_by_label(rows, labels, 3))
    factor = direction_factor(within_directions(rows, labels), DIM, 0.01)
    head = DirectionHead(factor, 0.3, 0.1)
    other = posterior_of(Prior(DIM), statistics_by_label(3 * rows, np.zeros(30, int), 1))
    more = Posterior.concatenate([posterior, other])
    density = rng.normal(size=(30, 4))
    few = head.log_probabilities(rows, density[:, :3], posterior)
    many = head.log_probabilities(rows, density, more)
    np.testing.assert_allclose(np.diff(few, axis=1), np.diff(many[:, :3], axis=1), atol=1e-9)


def test_both_opinions_are_added(problem):
    rows, labels, posterior = problem
    head = DirectionHead(direction_factor(within_directions(rows, labels), DIM, 0.01), 0.3, 0.1)
    density = np.random.default_rng(1).normal(size=(120, 3))
    want = log_normalise(0.1 * density + 0.3 * direction_scores(head.factor, rows, posterior))
    np.testing.assert_allclose(head.log_probabilities(rows, density, posterior), want)


def test_it_round_trips_through_arrays_and_stays_itself(problem):
    rows, labels, _ = problem
    head = DirectionHead(direction_factor(within_directions(rows, labels), DIM, 0.01, np.float32), 0.3, 0.1)
    again = DirectionHead.from_arrays(head.arrays())
    np.testing.assert_array_equal(again.factor, head.factor)
    assert (again.weight, again.temperature, again.nbytes) == (0.3, 0.1, 4 * DIM * (DIM + 1) // 2)
    assert DirectionHead.from_arrays({"other": rows}) is None
    assert head.taught(rows, np.ones((120, 3))) is head.extended(rows, np.ones((120, 1))) is head
