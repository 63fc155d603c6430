import numpy as np
import pytest

from vbcgcd import CategoryDiscoverer
from vbcgcd.discovery import base


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
    assert one.price.per_row == pytest.approx(other.price.per_row, rel=1e-5)


@pytest.mark.parametrize("covariance", ["full", "diagonal"])
@pytest.mark.parametrize("block_rows", [None, 7])
def test_statistics_gathered_twice_teach_the_same(monkeypatch, covariance, block_rows):
    rows, labels = many()
    held = CategoryDiscoverer(covariance=covariance).fit(rows, labels)
    monkeypatch.setattr(base, "HELD_BYTES", 0)
    if block_rows is not None:
        monkeypatch.setattr(base, "BLOCK_ROWS", block_rows)
    gathered = CategoryDiscoverer(covariance=covariance).fit(rows, labels)
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
@pytest.mark.parametrize("covariance", ["full", "diagonal"])
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
