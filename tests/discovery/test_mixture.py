from dataclasses import replace

import numpy as np
import pytest

from support import DIM, mixture_of, rays
from vbcgcd.discovery.geometry import Geometry, attenuation
from vbcgcd.discovery.mixture import EVENNESS_PRICE


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


def test_another_sharpness_makes_another_mixture_and_leaves_this_one():
    rows, means, _ = rays(50, 50)
    mixture = mixture_of(rows, means, sharpness=30.0)
    before = mixture.known.copy()
    cool = mixture.at(10.0)
    assert (float(mixture.sharpness), float(cool.sharpness)) == (30.0, 10.0)
    np.testing.assert_array_equal(mixture.known, before)
    np.testing.assert_array_equal(cool.known, mixture_of(rows, means, sharpness=10.0).known)
    with pytest.raises(AttributeError):
        mixture.sharpness = np.float32(5.0)


def test_likelihoods_are_those_of_the_formula():
    rng = np.random.default_rng(0)
    rows, means, novel = rng.normal(size=(7, 3)), rng.normal(size=(2, 3)), rng.normal(size=(4, 3))
    weight, share, sharpness = rng.uniform(0.5, 2, size=7), 0.3, 1.7
    mixture = mixture_of(rows, means, "distance", sharpness, weight=weight)

    def density(centres):
        return np.exp(-0.5 * sharpness * ((rows[:, None] - centres) ** 2).sum(-1)).mean(axis=1)

    known, total = density(means), (1 - share) * density(means) + share * density(novel)
    np.testing.assert_allclose(mixture.known, np.log(known), rtol=1e-5)
    assert mixture.known_log_likelihood == pytest.approx(weight @ np.log(known), rel=1e-5)
    similarity = mixture.geometry.similarity(mixture.rows, novel)
    responsibility, likelihood = mixture.expectation(similarity, share)
    assert likelihood == pytest.approx(weight @ np.log(total), rel=1e-5)
    each = np.exp(-0.5 * sharpness * ((rows[:, None] - novel) ** 2).sum(-1)) * share / 4
    np.testing.assert_allclose(responsibility, each / total[:, None], rtol=1e-4)


def test_the_loss_of_a_deletion_is_the_likelihood_without_it():
    rows, means, truth = rays(60, 60, noise=0.5)
    mixture = mixture_of(rows, means, "distance", 0.5)
    state = mixture.em(np.eye(4, dtype=np.float32)[truth][:, :3], 0.5, 5)
    similarity, total, part = mixture.parts(state)
    scores = mixture.sharpness * similarity.astype(float) + np.log(state.share / 3)
    known = mixture.known + np.log(1 - state.share)
    for k in range(3):
        rest = np.logaddexp(known, np.logaddexp.reduce(np.delete(scores, k, axis=1), axis=1))
        assert mixture.deletion_losses(part)[k] == pytest.approx((total - rest).sum(), rel=1e-4)


def test_a_corrected_mixture_allows_for_the_few_rows_of_small_categories():
    rows, means, truth = rays(20, 40)
    mixture = replace(mixture_of(rows, means), geometry=Geometry("direction", 4.0, 0.3))
    responsibility = np.eye(4, dtype=np.float32)[truth][:, :3]
    plain, fair = (m.left_out_similarity(responsibility) for m in (mixture, mixture.corrected()))
    others = np.maximum(responsibility.sum(axis=0) - responsibility, 1.0)
    np.testing.assert_allclose(fair, plain / attenuation(0.3, others), rtol=1e-4)
    assert mixture.corrected().corrects
    assert not mixture.corrects
    assert mixture.corrected().part(np.arange(5)).corrects
