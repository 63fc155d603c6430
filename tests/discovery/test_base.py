from dataclasses import replace

import numpy as np
import pytest

from vbcgcd import CategoryDiscoverer
from vbcgcd.bayes import choose_strength, statistics_by_label
from vbcgcd.discovery import base
from vbcgcd.discovery.options import Options


def many(n_categories=40, dim=6):
    rng = np.random.default_rng(0)
    labels = np.concatenate([np.arange(n_categories), rng.integers(n_categories, size=8 * n_categories)])
    centres = 4 * rng.normal(size=(n_categories, dim))
    return centres[labels] + rng.normal(size=(len(labels), dim)), labels


def assert_same_knowledge(one, other):
    assert one.prior.nu == pytest.approx(other.prior.nu, rel=1e-6)
    assert one.prior.scale == pytest.approx(other.prior.scale, rel=1e-6)
    assert one.temperature == pytest.approx(other.temperature, rel=1e-6)
    assert one.size_spread == other.size_spread
    assert one.novelty.geometry.kind == other.novelty.geometry.kind
    assert one.novelty.geometry.sharpness == pytest.approx(other.novelty.geometry.sharpness, rel=1e-6)
    for name in ("mean", "kappa", "nu", "factor"):
        np.testing.assert_allclose(
            getattr(one.posterior, name), getattr(other.posterior, name), rtol=1e-5, atol=1e-6
        )
    assert one.margin == pytest.approx(other.margin, rel=1e-5)
    assert one.novelty.geometry.within == pytest.approx(other.novelty.geometry.within, rel=1e-5)
    assert one.novelty.alertness == pytest.approx(other.novelty.alertness, rel=1e-5)
    assert (one.price is None) == (other.price is None)
    if one.price is not None:
        assert one.price.per_row == pytest.approx(other.price.per_row, rel=1e-5)


@pytest.mark.parametrize("covariance", ["full", "lowrank", "diagonal"])
@pytest.mark.parametrize("block_rows", [None, 7])
def test_statistics_gathered_twice_teach_the_same(monkeypatch, covariance, block_rows):
    rows, labels = many()
    held = CategoryDiscoverer(covariance=covariance, count="rehearsal").fit(rows, labels)
    monkeypatch.setattr(base, "HELD_BYTES", 0)
    if block_rows is not None:
        monkeypatch.setattr(base, "BLOCK_ROWS", block_rows)
    gathered = CategoryDiscoverer(covariance=covariance, count="rehearsal").fit(rows, labels)
    assert_same_knowledge(gathered.knowledge_, held.knowledge_)
    np.testing.assert_array_equal(gathered.predict(rows), held.predict(rows))


def test_digits_are_learned_alike_either_way(monkeypatch, small, fitted):
    monkeypatch.setattr(base, "HELD_BYTES", 0)
    gathered = CategoryDiscoverer().fit(small.rows, small.labels)
    assert_same_knowledge(gathered.knowledge_, fitted.knowledge_)


@pytest.mark.parametrize(
    "options",
    [
        {"covariance": "diagonal"},
        {"metric": "euclidean"},
        {"covariance": "diagonal", "predictive": "student"},
        {"covariance": "diagonal", "log_determinant": False},
    ],
    ids=str,
)
def test_the_temperature_of_halves_is_sound(small, monkeypatch, options):
    seen = []
    split = base._Base._split_temperature
    monkeypatch.setattr(base._Base, "_split_temperature", lambda *a: seen.append(split(*a)) or seen[-1])
    model = CategoryDiscoverer(**options).fit(small.rows, small.labels)
    assert seen == [model.temperature_]
    assert np.isfinite(model.temperature_)
    assert model.temperature_ > 0
    known = small.truth < 6
    proba = model.predict_proba(small.batch[known])
    chosen = proba[np.arange(known.sum()), small.truth[known]]
    assert -np.log(chosen + 1e-12).mean() < np.log(6)  # better than knowing nothing


def test_a_full_covariance_needs_no_halves(small, monkeypatch):
    monkeypatch.setattr(base._Base, "_split_temperature", None)
    assert CategoryDiscoverer().fit(small.rows, small.labels).temperature_ > 0


@pytest.mark.parametrize("labels", [[0, 0, 0, 0], [0, 1, 2, 3]], ids=str)
@pytest.mark.parametrize("covariance", ["full", "lowrank", "diagonal"])
def test_without_halves_the_temperature_is_one(labels, covariance):
    rows = np.random.default_rng(0).normal(size=(4, 3))
    assert CategoryDiscoverer(covariance=covariance).fit(rows, labels).temperature_ == 1


@pytest.mark.parametrize("seed", range(3))
def test_novelty_is_calibrated_with_fewer_rows_than_dimensions(seed):
    rng = np.random.default_rng(seed)
    scale = 6 / np.arange(1, 201)
    means = 0.7 * scale * rng.normal(size=(5, 200))

    def drawn(n):
        labels = np.repeat(np.arange(5), n)
        return means[labels] + scale * rng.normal(size=(5 * n, 200)), labels

    model = CategoryDiscoverer(count="evidence").fit(*drawn(20))
    novelty = model.novelty(drawn(60)[0])
    assert 0.3 < np.median(novelty) < 0.7  # 0.5 if uniform; it was below 0.2
    assert 0.01 < np.mean(novelty > 0.95) < 0.15


def test_the_spread_of_sizes_is_their_squared_coefficient_of_variation(small):
    sizes = (30, 12, 20, 6)
    chosen = np.concatenate([np.flatnonzero(small.labels == k)[:n] for k, n in enumerate(sizes)])
    model = CategoryDiscoverer(n_components=8).fit(small.rows[chosen], small.labels[chosen])
    assert model.knowledge_.size_spread == pytest.approx(np.var(sizes) / np.mean(sizes) ** 2)


@pytest.mark.parametrize("covariance", ["full", "lowrank", "diagonal"])
def test_the_prior_expects_the_variance_of_its_space(small, covariance):
    def variance(**options):
        model = CategoryDiscoverer(covariance=covariance, **options).fit(small.rows, small.labels)
        return model, model.prior_.variance

    assert variance()[1] == 1.0
    assert variance(prior_variance=3.0)[1] == 3.0
    assert variance(whiten=False, prior_strength="weakest")[1] == 1.0
    model, expected = variance(whiten=False)
    reduced = model.reducer_.transform(small.rows)
    within = np.concatenate(
        [reduced[small.labels == k] - reduced[small.labels == k].mean(0) for k in range(6)]
    )
    assert expected == pytest.approx((within**2).sum() / (len(within) - 6) / within.shape[1], rel=1e-6)


def test_the_strength_is_chosen_by_the_rule_that_is_named(small):
    def strength(**options):
        model = CategoryDiscoverer(n_components=10, **options).fit(small.rows, small.labels)
        statistics = statistics_by_label(
            model.reducer_.transform(small.rows, dtype=np.float32),
            small.labels,
            6,
            structure=model.prior_.structure,
        )
        return model.prior_.nu, choose_strength(replace(model.prior_, nu=0.0), statistics).nu

    assert len({strength()[0], strength(prior_strength="evidence")[0]}) == 2
    for options in ({"prior_strength": "evidence"}, {"covariance": "diagonal"}, {"metric": "euclidean"}):
        nu, by_evidence = strength(**options)
        assert nu == pytest.approx(by_evidence, rel=0.05)
    assert strength(prior_strength=40.0)[0] == 40.0
    assert strength(prior_strength="weakest")[0] == 12.0


def test_at_most_so_many_are_chosen_evenly():
    np.testing.assert_array_equal(base._spread_out(np.arange(5), 5), np.arange(5))
    np.testing.assert_array_equal(base._spread_out(np.arange(5), 9), np.arange(5))
    np.testing.assert_array_equal(base._spread_out(np.arange(10, 21), 3), [10, 15, 20])


def test_rows_to_leave_out_belong_to_the_chosen_categories(small):
    sizes = np.bincount(small.labels)
    options = Options(n_components=8)
    learner = base._Base(small.rows, small.labels, base._reducer(small.rows, small.labels, options), options)
    chosen = np.array([4, 1])
    left_out = learner._left_out(chosen, np.random.default_rng(0))
    assert len(left_out.rows) == sizes[4] + sizes[1]
    np.testing.assert_array_equal(np.bincount(left_out.labels), sizes[chosen])
    members = learner.reducer.transform(small.rows[small.labels == 4])
    own = left_out.rows[left_out.labels == 0]
    np.testing.assert_allclose(np.sort(own, axis=0), np.sort(members, axis=0), rtol=1e-5, atol=1e-6)
    assert left_out.pooled_weight == pytest.approx((1 - learner.reducer.shrinkage) / (len(small.rows) - 6))
