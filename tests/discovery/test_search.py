import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from support import DIM, mixture_of, rays
from vbcgcd.discovery.search import SEARCH_SHARPNESS, cooled, improve, search, seed
from vbcgcd.discovery.strategies import hard_labels


@pytest.mark.parametrize("share", [0.05, 0.5, 0.95, 1.0])
@pytest.mark.parametrize(("kind", "sharpness"), [("direction", 30.0), ("distance", 1.0)])
def test_separated_categories_are_recovered_at_every_share(share, kind, sharpness):
    n_novel_rows = round(600 * share)
    rows, means, truth = rays(600 - n_novel_rows, n_novel_rows)
    state = search(mixture_of(rows, means, kind, sharpness), 3, np.random.default_rng(0))
    assert adjusted_rand_score(truth, hard_labels(state.responsibility)) == 1
    assert state.share == pytest.approx(share, abs=0.02)


@given(st.integers(0, 10**6), st.integers(1, 6), st.sampled_from(["direction", "distance"]))
@settings(max_examples=25, deadline=None)
def test_responsibilities_are_probabilities(seed, n_novel, kind):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(rng.integers(6, 40), 4))
    state = search(mixture_of(rows, rng.normal(size=(3, 4)), kind, 3.0), n_novel, rng)
    assert state.responsibility.shape == (len(rows), n_novel)
    assert np.isfinite(state.responsibility).all()
    assert state.responsibility.min() >= 0
    assert state.responsibility.max() <= 1 + 1e-5
    assert state.responsibility.sum(axis=1).max() <= 1 + 1e-5
    assert 0 < state.share < 1
    assert np.isfinite(state.objective)


def test_a_far_row_without_weight_does_not_stop_the_search():
    rows, means, truth = rays(60, 60)
    rows = np.concatenate([rows, np.full((1, DIM), -1e5)])
    weight = np.append(np.ones(120), 0.0)
    state = search(mixture_of(rows, means, "distance", 1.0, weight=weight), 3, np.random.default_rng(0))
    assert np.isfinite(state.responsibility).all()
    assert adjusted_rand_score(truth, hard_labels(state.responsibility)[:120]) == 1


@pytest.mark.parametrize("kind", ["direction", "distance"])
def test_the_same_seed_finds_the_same(kind):
    rows, means, _ = rays(80, 80, noise=0.6)
    one, other = (search(mixture_of(rows, means, kind, 4.0), 3, np.random.default_rng(5)) for _ in range(2))
    np.testing.assert_array_equal(one.responsibility, other.responsibility)
    assert one[1:] == other[1:]


@pytest.mark.parametrize("kind", ["direction", "distance"])
@pytest.mark.parametrize("n_rows", [1, 2, 30])
def test_identical_rows_are_no_trouble(kind, n_rows):
    state = search(mixture_of(np.ones((n_rows, DIM)), -np.eye(DIM)[:3], kind), 1, np.random.default_rng(0))
    assert np.isfinite(state.responsibility).all()
    if n_rows > 1:
        assert state.responsibility.min() > 0.9


def test_arguments_are_not_changed():
    rows, means, _ = rays(30, 30)
    copies = rows.copy(), means.copy()
    search(mixture_of(rows, means), 2, np.random.default_rng(0))
    np.testing.assert_array_equal(rows, copies[0])
    np.testing.assert_array_equal(means, copies[1])


def test_a_search_runs_cooler_and_ends_at_the_calibrated_sharpness():
    rows, means, _ = rays(60, 60, noise=0.5)
    mixture = mixture_of(rows, means, "distance", 2.0)
    assert float(cooled(mixture).sharpness) == pytest.approx(2.0 * SEARCH_SHARPNESS)
    state = search(mixture, 3, np.random.default_rng(0))
    again = mixture.em(state.responsibility, state.share, 1)
    assert np.abs(again.responsibility - state.responsibility).mean() < 2e-3


def test_seeds_spread_over_the_novel_categories():
    rows, means, truth = rays(300, 300)
    responsibility = seed(mixture_of(rows, means), 3, np.random.default_rng(0))
    assert responsibility.shape == (600, 3)
    for c in range(3):
        share = responsibility[truth == c].sum(axis=0)
        assert share.max() > 0.6 * share.sum()


@pytest.mark.parametrize("start", range(3))
def test_swaps_never_lower_the_objective_and_repair_a_bad_start(start):
    rows, means, truth = rays(150, 150)
    mixture = mixture_of(rows, means)
    bad = np.zeros((300, 3), np.float32)  # two categories in one, one in two
    bad[truth == 0, 0] = bad[truth == 1, 0] = 1
    bad[np.flatnonzero(truth == 2)[::2], 1] = bad[np.flatnonzero(truth == 2)[1::2], 2] = 1
    state = mixture.em(bad, 0.5, 5)
    better = improve(mixture, state, np.random.default_rng(start), 20)
    assert better.objective > state.objective
    assert adjusted_rand_score(truth, hard_labels(better.responsibility)) == 1


def test_a_start_from_elsewhere_competes():
    rows, means, truth = rays(100, 100)
    mixture = mixture_of(rows, means)
    best = cooled(mixture).em(np.eye(4, dtype=np.float32)[truth][:, :3], 0.5, 40)
    state = search(mixture, 3, np.random.default_rng(0), best)
    assert adjusted_rand_score(truth, hard_labels(state.responsibility)) == 1
