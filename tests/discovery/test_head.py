from dataclasses import replace

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
    chosen = {"penalty": 1e-3, "chosen_weight": 5.0, "temperature": 0.5, **settings}
    return Head(features, statistics, n_chosen=len(statistics), **chosen)


def test_scores_tell_categories_apart(problem):
    rows, labels = problem
    assert (head_of(*problem).scores(rows).argmax(axis=1) == labels).mean() > 0.95


def test_both_opinions_are_added(problem):
    rows, _ = problem
    head, density = head_of(*problem), np.random.default_rng(1).normal(size=(60, 3))
    want = log_normalise(0.5 * density + 5.0 * head.scores(rows))
    np.testing.assert_allclose(head.log_probabilities(rows, density), want)
    alone = head_of(*problem, chosen_weight=0.0, temperature=1.0)
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
    assert (again.penalty, again.weight, again.temperature) == (1e-3, 5.0, 0.5)
    assert Head.from_arrays({"other": rows}) is None
    assert head.nbytes == 8 * (40 * 41 // 2 + 3 * 40 + 3)
    grown = head.extended(rows, one_hot(np.zeros(60, int), 1))
    assert Head.from_arrays(grown.arrays()).weight == grown.weight != 5.0


def test_arrays_of_release_0_1_give_the_answers_that_they_gave(problem):
    rows, labels = problem
    statistics = head_of(rows, labels).statistics
    share = 0.01  # of the trace, which the penalty used to be
    old = {
        "head.gram": statistics.gram,
        "head.sums": statistics.sums,
        "head.row_weight": statistics.row_weight,
        "head.settings": np.array([share, 5.0, 0.5]),
        "head.features": np.array([1, 6, 40]),
    }
    head, phi = Head.from_arrays(old), RandomFeatures(1, 6, 40)(rows)
    weight = 1 / np.bincount(labels)[labels]
    gram = (phi.T * weight) @ phi
    direct = np.linalg.solve(
        gram + share * np.trace(gram) * np.eye(40), (phi.T * weight) @ one_hot(labels, 3)
    )
    density = np.random.default_rng(1).normal(size=(60, 3))
    want = log_normalise(0.5 * density + 5.0 * phi @ direct)
    np.testing.assert_allclose(head.log_probabilities(rows, density), want, atol=1e-8)
    # Two more categories without a row: the weight is still what it was.
    old["head.sums"] = np.concatenate([statistics.sums, np.zeros((2, 40))])
    old["head.row_weight"] = np.append(statistics.row_weight, [0.0, 0.0])
    assert Head.from_arrays(old).weight == 5.0


def scattered(n_categories, seed=0, each=30, dim=30):
    """Categories of one kind, in random directions."""
    rng, labels = np.random.default_rng(seed), np.repeat(np.arange(n_categories), each)
    means = 3 * rng.normal(size=(n_categories, dim))
    draw = lambda: means[labels] + 2 * rng.normal(size=(len(labels), dim))  # noqa: E731
    return draw(), draw(), labels


def test_answers_stay_as_sure_as_they_are_right_when_categories_become_many():
    rows, later, labels = scattered(60)
    features, few = RandomFeatures(1, 30, 400), labels < 6
    statistics = ridge_statistics(features, rows[few], one_hot(labels[few], 6))
    head = Head(features, statistics, 0.05, chosen_weight=8.0, temperature=0.0, n_chosen=6)

    def gap(head, rows, labels):
        answers = np.exp(head.log_probabilities(rows, np.zeros((len(rows), len(head.statistics)))))
        return (answers.argmax(axis=1) == labels).mean() - answers.max(axis=1).mean()

    before = gap(head, later[few], labels[few])
    grown = head.extended(rows[~few], one_hot(labels[~few] - 6, 54))
    as_chosen = replace(grown, n_chosen=60)  # does not follow the number of categories
    assert abs(gap(grown, later, labels) - before) < 0.5 * abs(gap(as_chosen, later, labels) - before)


@pytest.mark.parametrize("number", [1, 2, 3, 50, 1000])
def test_the_odds_against_all_others_together_stay(number):
    features = RandomFeatures(1, 6, 4)
    statistics = ridge_statistics(features, np.ones((1, 6)), np.ones((1, number)))
    head = Head(features, statistics, 1.0, chosen_weight=8.0, temperature=0.5, n_chosen=3)
    others = max(number - 1, 1)
    assert np.exp(head.weight) / others == pytest.approx(np.exp(8.0) / 2)
    assert replace(head, chosen_weight=0.1).weight >= 0


def test_the_penalty_stays_when_categories_are_added(problem):
    rows, labels = problem
    head = head_of(rows, labels)
    grown = head.extended(rows[:20], one_hot(np.zeros(20, int), 1))
    phi, weight = head.features(rows), 1 / np.bincount(labels)[labels]
    gram = (phi.T * weight) @ phi + phi[:20].T @ phi[:20] / 20 + 1e-3 * np.eye(40)
    sums = np.column_stack([(phi.T * weight) @ one_hot(labels, 3), phi[:20].mean(axis=0)])
    np.testing.assert_allclose(grown.weights, np.linalg.solve(gram, sums), rtol=1e-5, atol=1e-7)


def test_a_category_without_rows_does_not_count(problem):
    rows, labels = problem
    head = head_of(rows, labels)
    assert head.extended(rows, np.zeros((60, 20))).weight == head.weight
