"""How probably a row belongs to no category, from its novelty."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vbcgcd.discovery.geometry import (
    ALERTNESS_BOUNDS,
    STRANGER_BOUNDS,
    USUAL_ALERTNESS,
    Geometry,
    Novelty,
)

QUANTILES = np.linspace(0, 1, 201)


def novelty_with(alertness):
    return Novelty(Geometry("direction", 10.0), QUANTILES, alertness)


def scores_of(rng, n_rows, share, alertness):
    """Novelty of rows of known categories, uniform, and of strangers, Beta(a, 1)."""
    strange = rng.random(n_rows) < share
    return np.where(strange, rng.beta(alertness, 1, size=n_rows), rng.random(n_rows)), strange


@pytest.mark.parametrize("share", [0.05, 0.2, 0.5, 0.8])
@pytest.mark.parametrize("alertness", [8.0, 30.0])
def test_a_planted_share_of_strangers_is_recovered(share, alertness):
    scores, strange = scores_of(np.random.default_rng(0), 20_000, share, alertness)
    found = novelty_with(alertness).stranger_share(scores)
    assert found == pytest.approx(strange.mean(), abs=0.025)


def test_strangeness_is_the_rule_of_bayes():
    novelty, share = novelty_with(8.0), 0.3
    scores, strange = scores_of(np.random.default_rng(1), 200_000, share, 8.0)
    said = novelty.strangeness(scores, share)
    for low, high in ((0.5, 0.7), (0.8, 0.9), (0.95, 1.0)):
        some = (scores > low) & (scores <= high)
        assert said[some].mean() == pytest.approx(strange[some].mean(), abs=0.02)


@given(st.floats(1.001, 50), st.floats(0.001, 0.9))
def test_strangeness_rises_with_novelty(alertness, share):
    strangeness = novelty_with(alertness).strangeness(np.linspace(0, 1, 101), share)
    assert (np.diff(strangeness) >= 0).all()
    assert strangeness[-1] > strangeness[0] >= 0
    assert strangeness[-1] < 1


def test_without_alertness_nobody_is_strange():
    novelty = novelty_with(None)
    np.testing.assert_array_equal(novelty.strangeness(np.linspace(0, 1, 7), 0.9), np.zeros(7))
    assert novelty.stranger_share(np.ones(7)) == STRANGER_BOUNDS[0]


def test_at_the_alertness_of_one_all_rows_are_equally_strange():
    np.testing.assert_allclose(novelty_with(1.0).strangeness(np.linspace(0, 1, 7), 0.2), 0.2)


def test_rows_without_weight_do_not_count():
    novelty = novelty_with(8.0)
    scores, _ = scores_of(np.random.default_rng(0), 4000, 0.2, 8.0)
    with_noise, weight = np.append(scores, np.ones(1000)), np.append(np.ones(4000), np.zeros(1000))
    assert novelty.stranger_share(with_noise, weight) == pytest.approx(novelty.stranger_share(scores))
    assert novelty.stranger_share(scores, np.zeros(4000)) == STRANGER_BOUNDS[0]


def test_repeated_rows_count_like_weights():
    novelty = novelty_with(8.0)
    scores, _ = scores_of(np.random.default_rng(0), 500, 0.2, 8.0)
    weight = np.random.default_rng(1).integers(0, 4, size=500)
    weighted = novelty.stranger_share(scores, weight.astype(float))
    assert weighted == pytest.approx(novelty.stranger_share(np.repeat(scores, weight)))


@pytest.mark.parametrize("alertness", [2.0, 8.0, 30.0])
def test_alertness_is_measured_on_rows_whose_category_is_hidden(alertness):
    rng = np.random.default_rng(0)
    known, strange = rng.random(20_000), 1 - rng.beta(alertness, 1, size=5000)
    found = Novelty.calibrate(Geometry("direction", 10.0), known, strange).alertness
    assert found == pytest.approx(alertness, rel=0.1)


def test_alertness_has_bounds_and_a_usual_value():
    geometry, known = Geometry("direction", 10.0), np.linspace(0, 1, 500)
    assert Novelty.calibrate(geometry, known).alertness is None
    assert Novelty.calibrate(geometry, known, np.empty(0)).alertness == USUAL_ALERTNESS
    assert Novelty.calibrate(geometry, known, np.full(9, -50.0)).alertness == ALERTNESS_BOUNDS[1]
    assert Novelty.calibrate(geometry, known, np.full(9, 0.9)).alertness == ALERTNESS_BOUNDS[0]
