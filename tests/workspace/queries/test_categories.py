import numpy as np
import pytest

from vbcgcd.bayes import recover_statistics
from vbcgcd.workspace.queries import categories, items
from vbcgcd.workspace.queries.categories import nearest_means
from vbcgcd.workspace.queries.items import typical_items


def test_neighbours_spreads_and_volumes_agree_with_the_posterior(animals):
    knowledge = animals.snapshot().knowledge
    posterior = knowledge.posterior
    statistics = recover_statistics(knowledge.prior, posterior)
    distance = np.linalg.norm(posterior.mean[:, None] - posterior.mean[None], axis=2)
    np.fill_diagonal(distance, np.inf)
    for k, info in enumerate(animals.categories()):
        assert info.nearest == distance[k].argmin()
        np.testing.assert_allclose(info.nearest_distance, distance[k].min(), rtol=1e-5)
        volume = np.linalg.slogdet(posterior.covariance(k))[1]
        np.testing.assert_allclose(info.log_volume, volume, atol=1e-4)
        own = statistics.scatter[k][np.cumsum(np.arange(1, posterior.dim + 1)) - 1].sum()  # packed: the trace
        np.testing.assert_allclose(
            info.spread, np.sqrt(own / (statistics.count[k] * posterior.dim)), rtol=1e-3
        )


def test_only_the_categories_asked_for_are_looked_up(animals, monkeypatch):
    animals.merge(["dog", 3], name="mix")
    everything = animals.categories(retired=True)
    looked_up = []

    def typical(snapshot, category, n):
        looked_up.append(category)
        return typical_items(snapshot, category, n)

    monkeypatch.setattr(items, "typical_items", typical)
    assert animals.categories(only=[4, 2, 1, 99]) == tuple(c for c in everything if c.id in (2, 4))
    assert looked_up == [2, 4]
    some = animals.categories(only={0, 1}, retired=True)
    assert some == tuple(c for c in everything if c.id in (0, 1))
    assert animals.categories(only=()) == ()


@pytest.mark.parametrize("exact", [0, 2**22])
@pytest.mark.parametrize("block", [1, 50, 2**23])
def test_nearest_means_agree_with_all_distances(monkeypatch, exact, block):
    monkeypatch.setattr(categories, "EXACT_PAIRS", exact)
    monkeypatch.setattr(categories, "BLOCK_PAIRS", block)
    means = np.random.default_rng(0).normal(size=(17, 5)).astype(np.float32)
    distance = np.linalg.norm(means[:, None].astype(float) - means, axis=2)
    np.fill_diagonal(distance, np.inf)
    for rows in (None, [3], [16, 0, 5], []):
        expected = distance if rows is None else distance[rows]
        nearest, found = nearest_means(means, rows)
        np.testing.assert_array_equal(nearest, expected.argmin(axis=1))
        np.testing.assert_allclose(found, expected.min(axis=1))


def test_a_single_mean_has_no_neighbour():
    nearest, distance = nearest_means(np.ones((1, 3)))
    assert nearest.tolist() == [-1]
    assert np.isnan(distance).all()
