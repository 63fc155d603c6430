import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import kstest
from sklearn.metrics import roc_auc_score

from vbcgcd import CategoryDiscoverer
from vbcgcd.discovery.geometry import Geometry, Novelty

DIRECTION = Geometry("direction", 10.0)


@given(arrays(float, st.integers(2, 40), elements=st.integers(-20, 20).map(lambda v: v / 20)))
def test_p_values_rise_with_the_similarity_also_beyond_the_calibrated_range(best):
    novelty = Novelty.calibrate(DIRECTION, best)
    width = max(np.ptp(best), 0.1)
    p = novelty.p_value(np.linspace(best.min() - width, best.max() + width, 500))
    assert (np.diff(p) >= -1e-12).all()
    assert p.min() >= 0
    assert p.max() == 1


def test_p_values_fall_strictly_below_the_least_similar_row():
    novelty = Novelty.calibrate(DIRECTION, np.random.default_rng(0).uniform(0.5, 1, size=300))
    p = novelty.p_value(np.linspace(0.3, 0.5, 50))
    assert (np.diff(p) > 0).all()
    assert p[0] > 0


@pytest.mark.parametrize("n_rows", [50, 300, 2000])
def test_p_values_of_rows_like_the_calibration_are_uniform(n_rows):
    rng = np.random.default_rng(0)
    novelty = Novelty.calibrate(DIRECTION, rng.normal(size=n_rows))
    assert kstest(novelty.p_value(rng.normal(size=4000)), "uniform").statistic < 0.03 + 1 / np.sqrt(n_rows)


def test_score_is_one_minus_the_p_value_of_the_best_mean():
    rng = np.random.default_rng(0)
    rows, means = rng.normal(size=(20, 4)), rng.normal(size=(3, 4))
    cosine = rows @ means.T / np.linalg.norm(rows, axis=1)[:, None] / np.linalg.norm(means, axis=1)
    novelty = Novelty.calibrate(DIRECTION, np.linspace(0.2, 1, 100))
    np.testing.assert_allclose(
        novelty.score(rows, means, np.ones(3)), 1 - novelty.p_value(cosine.max(axis=1)), rtol=1e-4, atol=1e-5
    )


def test_many_rows_are_scored_like_few():
    rng = np.random.default_rng(0)
    rows, means = rng.normal(size=(9000, 4)), rng.normal(size=(3, 4))
    novelty = Novelty.calibrate(DIRECTION, np.linspace(0.2, 1, 100))
    parts = [novelty.score(part, means, np.ones(3)) for part in np.array_split(rows, 5)]
    np.testing.assert_allclose(novelty.score(rows, means, np.ones(3)), np.concatenate(parts), atol=1e-5)


@pytest.mark.parametrize("geometry", ["auto", "direction", "distance"])
def test_known_digits_are_uniform_and_unknown_ones_stand_out(digit_problem, geometry):
    rows, labels, batch, truth = digit_problem
    model = CategoryDiscoverer(geometry=geometry).fit(rows, labels)
    score = model.novelty(batch)
    assert kstest(score[truth < 6], "uniform").statistic < 0.1
    assert roc_auc_score(truth >= 6, score) > 0.8


@pytest.mark.parametrize("far", [[60.0, 0.0], [-60.0, 0.0], [0.0, 60.0], [400.0, 300.0]], ids=str)
def test_far_rows_are_novel_where_distance_counts(far):
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(4), 60)
    rows = np.array([[3.0, 0], [9.0, 0], [15.0, 0], [21.0, 0]])[labels] + rng.normal(size=(240, 2))
    model = CategoryDiscoverer(geometry="distance").fit(rows, labels)
    assert model.novelty(rows).mean() < 0.7
    assert model.novelty([far])[0] > 0.95


def test_learned_categories_are_no_longer_novel(digit_problem):
    rows, labels, batch, truth = digit_problem
    model = CategoryDiscoverer().fit(rows, labels)
    before = model.novelty(batch)[truth >= 6]
    model.discover(batch, n_novel=4)
    after = model.novelty(batch)[truth >= 6]
    assert after.mean() < 0.6 < 0.9 < before.mean()


def test_p_values_are_those_of_the_formula():
    q = np.array([0.2, 0.3, 0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9] * 3)
    q = np.sort(q + 0.001 * np.arange(30))
    novelty = Novelty(DIRECTION, q)
    floor = 1 / 60
    assert novelty.p_value(q[:1])[0] == pytest.approx(floor)
    assert novelty.p_value(q[[12]])[0] == pytest.approx(floor + (1 - floor) * 12 / 29)
    scale = (q[2] - q[0]) / 2  # the lowest tenth of the quantiles
    assert novelty.p_value(q[:1] - 3 * scale)[0] == pytest.approx(floor * np.exp(-3))


def test_few_quantiles_have_a_tail_too():
    novelty = Novelty(DIRECTION, np.array([0.4, 0.6, 0.9]))
    assert novelty.p_value(np.array([0.3]))[0] == pytest.approx(np.exp(-0.1 / 0.1) / 6)
