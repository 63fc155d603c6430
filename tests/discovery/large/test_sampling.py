"""Samples: who is drawn depends on the row, and the doubtful ones are."""

import numpy as np
import pytest

from vbcgcd.discovery.geometry import Geometry, Novelty
from vbcgcd.discovery.large.sampling import HEAVIEST, doubts, draw, row_hashes, told_apart, uniform


@pytest.fixture
def novelty():
    return Novelty(Geometry("direction", 20.0), np.linspace(0, 1, 50), alertness=8.0)


def test_hashes_depend_on_values_alone():
    rows = np.random.default_rng(0).standard_normal((500, 7))
    order = np.random.default_rng(1).permutation(500)
    np.testing.assert_array_equal(row_hashes(rows)[order], row_hashes(rows[order]))
    np.testing.assert_array_equal(row_hashes(rows[100:200]), row_hashes(rows)[100:200])
    assert len(np.unique(row_hashes(rows))) == 500
    swapped = rows[:, ::-1]
    assert not (row_hashes(rows) == row_hashes(swapped)).any()


def test_equal_rows_are_drawn_one_by_one():
    rows = np.repeat(np.random.default_rng(0).normal(size=(3, 4)), [4000, 1, 4000], axis=0)
    hashes = row_hashes(rows)
    apart = told_apart(hashes)
    assert len(np.unique(apart)) == len(rows)
    np.testing.assert_array_equal(apart[[0, 4000, 4001]], hashes[[0, 4000, 4001]])  # the first of each stays
    assert 0.45 < (uniform(apart[:4000], 1) < 0.5).mean() < 0.55
    alone = hashes[[5000, 4000, 0]]
    np.testing.assert_array_equal(told_apart(alone), alone)


def test_hashes_are_uniform_and_independent_of_the_turn():
    hashes = row_hashes(np.arange(20000.0).reshape(-1, 2))
    one, other = uniform(hashes, 0), uniform(hashes, 1)
    for values in (one, other):
        assert abs(values.mean() - 0.5) < 0.01
        counts = np.histogram(values, 10, (0, 1))[0]
        assert counts.min() > 880
    assert abs(np.corrcoef(one, other)[0, 1]) < 0.03


def test_doubt_combines_two_p_values():
    novelty, gap = np.array([0.0, 0.5, 0.99]), np.array([3.0, 1.0, 2.0])
    np.testing.assert_allclose(doubts(novelty, gap), -np.log([1, 0.5, 0.01]) - np.log([1, 1 / 3, 2 / 3]))


def test_doubtful_rows_are_drawn_first_and_others_weigh_more(novelty):
    rng = np.random.default_rng(0)
    hashes, doubt = row_hashes(rng.standard_normal((20000, 3))), rng.standard_normal(20000)
    score = rng.random(20000)
    sample = draw(score, doubt, hashes, 2000, novelty, 0)
    assert abs(len(sample.rows) - 2000) < 250
    assert (np.diff(sample.rows) > 0).all()
    light = sample.weight == 1
    assert sample.share == 1.0
    assert doubt[sample.rows[light]].min() > doubt[sample.rows[~light]].max()
    assert sample.weight[~light].max() <= HEAVIEST
    everybody = draw(score, doubt, hashes, 10**6, novelty, 0)
    np.testing.assert_array_equal(everybody.rows, np.arange(20000))
    np.testing.assert_array_equal(everybody.weight, 1.0)


def test_only_some_may_be_drawn(novelty):
    rng = np.random.default_rng(0)
    hashes, doubt, score = (
        row_hashes(rng.standard_normal((5000, 3))),
        rng.standard_normal(5000),
        rng.random(5000),
    )
    among, weight = rng.random(5000) < 0.5, np.where(np.arange(5000) % 3 == 0, 0.0, 2.0)
    sample = draw(score, doubt, hashes, 10**6, novelty, 0, among, weight)
    np.testing.assert_array_equal(sample.rows, np.flatnonzero(among & (weight > 0)))
    np.testing.assert_array_equal(sample.weight, 2.0)
    assert len(draw(score, doubt, hashes, 9, novelty, 0, np.zeros(5000, bool)).rows) == 0
