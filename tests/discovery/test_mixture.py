import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from vbcgcd.discovery.geometry import Geometry
from vbcgcd.discovery.mixture import EVENNESS_PRICE, Mixture

DIM = 20


def rays(n_known_rows, n_novel_rows, *, n_known=4, n_novel=3, seed=0, noise=0.25):
    """Rows around orthogonal directions, those of known categories first; means and truth (-1 is known)."""
    rng = np.random.default_rng(seed)
    means = 3 * np.eye(DIM)[: n_known + n_novel]
    which = np.concatenate(
        [np.arange(n_known_rows) % n_known, n_known + np.arange(n_novel_rows) % n_novel]
    ).astype(int)
    rows = means[which] + noise * 3 * rng.normal(size=(len(which), DIM)) / np.sqrt(DIM) * 2
    return rows, means[:n_known], np.where(which < n_known, -1, which - n_known)


def mixture_of(rows, means, kind="direction", sharpness=30.0, **options):
    return Mixture(rows, means, Geometry(kind, sharpness), **options)


@pytest.mark.parametrize("share", [0.05, 0.5, 0.95, 1.0])
@pytest.mark.parametrize(("kind", "sharpness"), [("direction", 30.0), ("distance", 1.0)])
def test_separated_categories_are_recovered_at_every_share(share, kind, sharpness):
    n_novel_rows = round(600 * share)
    rows, means, truth = rays(600 - n_novel_rows, n_novel_rows)
    state = mixture_of(rows, means, kind, sharpness).search(3, np.random.default_rng(0))
    mass = state.responsibility.sum(axis=1)
    found = np.where(mass > 0.5, state.responsibility.argmax(axis=1), -1)
    assert adjusted_rand_score(truth, found) == 1
    assert state.share == pytest.approx(share, abs=0.02)


@given(st.integers(0, 10**6), st.integers(1, 6), st.sampled_from(["direction", "distance"]))
@settings(max_examples=25, deadline=None)
def test_responsibilities_are_probabilities(seed, n_novel, kind):
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(rng.integers(6, 40), 4))
    state = mixture_of(rows, rng.normal(size=(3, 4)), kind, 3.0).search(n_novel, rng)
    assert state.responsibility.shape == (len(rows), n_novel)
    assert np.isfinite(state.responsibility).all()
    assert state.responsibility.min() >= 0
    assert state.responsibility.max() <= 1 + 1e-5
    assert state.responsibility.sum(axis=1).max() <= 1 + 1e-5
    assert 0 < state.share < 1
    assert np.isfinite(state.objective)


@pytest.mark.parametrize("seed", range(3))
def test_em_does_not_lower_the_likelihood_of_many_rows(seed):
    # The distance is a Gaussian likelihood: with so many rows leaving one out is negligible.
    rows, means, _ = rays(600, 600, seed=seed, noise=0.5)
    mixture = mixture_of(rows, means, "distance", 0.3)
    responsibility = np.random.default_rng(seed).dirichlet(np.ones(4), size=1200)[:, :3].astype(np.float32)
    share = 0.5
    likelihoods = []
    for _ in range(25):
        state = mixture.em(responsibility, share, 1)
        likelihoods.append(state.log_likelihood)
        responsibility, share = state.responsibility, state.share
    steps = np.diff(likelihoods)
    assert steps.min() > -1e-3 * abs(likelihoods[-1])
    assert likelihoods[-1] > likelihoods[0]


def test_a_weight_of_two_is_about_a_row_twice():
    rows, means, truth = rays(200, 200, noise=0.4)
    twice = np.arange(len(rows)) % 3 == 0
    weighted = mixture_of(rows, means, weight=np.where(twice, 2.0, 1.0))
    doubled = mixture_of(np.concatenate([rows, rows[twice]]), means)
    start = np.eye(4, dtype=np.float32)[truth][:, :3]
    a = weighted.em(start, 0.5, 40)
    b = doubled.em(np.concatenate([start, start[twice]]), 0.5, 40)
    np.testing.assert_allclose(a.responsibility, b.responsibility[: len(rows)], atol=0.05)
    assert a.share == pytest.approx(b.share, abs=0.01)
    assert a.log_likelihood == pytest.approx(b.log_likelihood, rel=0.01)


def test_rows_without_weight_change_nothing():
    rows, means, truth = rays(100, 100, noise=0.4)
    extra = np.concatenate([rows, 50 * np.random.default_rng(1).normal(size=(20, DIM))])
    start = np.eye(4, dtype=np.float32)[truth][:, :3]
    padded = np.concatenate([start, np.full((20, 3), 0.3, np.float32)])
    a = mixture_of(rows, means).em(start, 0.5, 10, tolerance=0)
    b = mixture_of(extra, means, weight=np.repeat([1.0, 0.0], [200, 20])).em(padded, 0.5, 10, tolerance=0)
    np.testing.assert_allclose(b.responsibility[:200], a.responsibility, atol=1e-4)
    assert b.share == pytest.approx(a.share, abs=1e-4)
    assert b.log_likelihood == pytest.approx(a.log_likelihood, rel=1e-4)


def test_a_far_row_without_weight_does_not_stop_the_search():
    rows, means, truth = rays(60, 60)
    rows = np.concatenate([rows, np.full((1, DIM), -1e5)])
    weight = np.append(np.ones(120), 0.0)
    state = mixture_of(rows, means, "distance", 1.0, weight=weight).search(3, np.random.default_rng(0))
    assert np.isfinite(state.responsibility).all()
    found = np.where(state.responsibility.sum(axis=1) > 0.5, state.responsibility.argmax(axis=1), -1)
    assert adjusted_rand_score(truth, found[:120]) == 1


@pytest.mark.parametrize("kind", ["direction", "distance"])
def test_the_same_seed_finds_the_same(kind):
    rows, means, _ = rays(80, 80, noise=0.6)
    found = [mixture_of(rows, means, kind, 4.0).search(3, np.random.default_rng(5)) for _ in range(2)]
    np.testing.assert_array_equal(found[0].responsibility, found[1].responsibility)
    assert found[0][1:] == found[1][1:]


def test_uneven_sizes_cost_and_even_ones_do_not():
    rows, means, _ = rays(0, 90)
    mixture = mixture_of(rows, means)
    even = np.eye(3)[np.arange(90) % 3]
    uneven = np.eye(3)[np.minimum(np.arange(90) // 80, 2)]
    assert mixture.em(even, 0.5, 0).price == pytest.approx(0, abs=1e-6)
    p = uneven.mean(axis=0)
    p = p[p > 0]
    cost = EVENNESS_PRICE * 90 * (np.log(3) + (p * np.log(p)).sum())
    assert mixture.em(uneven, 0.5, 0).price == pytest.approx(cost, rel=1e-6)
    assert mixture_of(rows, means, size_spread=5.0).em(uneven, 0.5, 0).price == 0


@pytest.mark.parametrize("kind", ["direction", "distance"])
@pytest.mark.parametrize("n_rows", [1, 2, 30])
def test_identical_rows_are_no_trouble(kind, n_rows):
    state = mixture_of(np.ones((n_rows, DIM)), -np.eye(DIM)[:3], kind).search(1, np.random.default_rng(0))
    assert np.isfinite(state.responsibility).all()
    if n_rows > 1:
        assert state.responsibility.min() > 0.9


def test_arguments_are_not_changed():
    rows, means, _ = rays(30, 30)
    copies = rows.copy(), means.copy()
    mixture_of(rows, means).search(2, np.random.default_rng(0))
    np.testing.assert_array_equal(rows, copies[0])
    np.testing.assert_array_equal(means, copies[1])
