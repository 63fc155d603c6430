import numpy as np
import pytest

from vbcgcd.bayes import log_normalise
from vbcgcd.bayes.ridge import RandomFeatures, ridge_statistics
from vbcgcd.discovery.head import Head
from vbcgcd.discovery.strategies import one_hot


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    labels = np.arange(60) % 3
    return 4 * rng.normal(size=(3, 6))[labels] + rng.normal(size=(60, 6)), labels


def head_of(rows, labels, **settings):
    features = RandomFeatures(1, 6, 40)
    statistics = ridge_statistics(features, rows, one_hot(labels, labels.max() + 1))
    return Head(features, statistics, **{"ridge": 1e-3, "weight": 5.0, "temperature": 0.5, **settings})


def test_scores_tell_categories_apart(problem):
    rows, labels = problem
    assert (head_of(*problem).scores(rows).argmax(axis=1) == labels).mean() > 0.95


def test_both_opinions_are_added(problem):
    rows, _ = problem
    head, density = head_of(*problem), np.random.default_rng(1).normal(size=(60, 3))
    want = log_normalise(0.5 * density + 5.0 * head.scores(rows))
    np.testing.assert_allclose(head.log_probabilities(rows, density), want)
    alone = head_of(*problem, weight=0.0, temperature=1.0)
    np.testing.assert_allclose(alone.log_probabilities(rows, density), log_normalise(density))


def test_later_categories_and_rows_teach(problem):
    rows, labels = problem
    first = labels < 2
    grown = head_of(rows[first], labels[first]).extended(rows, one_hot(np.where(first, -1, 0), 1))
    np.testing.assert_allclose(grown.scores(rows), head_of(rows, labels).scores(rows), atol=1e-9)
    taught = grown.taught(rows[:6], one_hot(labels[:6], 3))
    again = ridge_statistics(taught.features, rows[:6], one_hot(labels[:6], 3), taught.statistics.row_weight)
    np.testing.assert_allclose((taught.statistics - again).gram, grown.statistics.gram, atol=1e-12)
    assert grown.extended(rows, np.zeros((60, 0))) is grown


def test_it_round_trips_through_arrays(problem):
    rows, _ = problem
    head = head_of(*problem)
    again = Head.from_arrays(head.arrays())
    np.testing.assert_array_equal(again.scores(rows), head.scores(rows))
    assert (again.ridge, again.weight, again.temperature) == (1e-3, 5.0, 0.5)
    assert Head.from_arrays({"other": rows}) is None
    assert head.nbytes == 8 * (40 * 41 // 2 + 3 * 40 + 3)
