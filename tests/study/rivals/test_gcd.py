import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans

from vbcgcd.study.rivals.gcd import GcdFrozen, semi_supervised_kmeans, unit_rows


@given(seed=st.integers(0, 10**6), n_pinned=st.integers(0, 4), n_new=st.integers(1, 5))
@settings(max_examples=25, deadline=None)
def test_inertia_never_rises_and_labels_are_nearest(seed, n_pinned, n_new):
    rng = np.random.default_rng(seed)
    rows, pinned = rng.standard_normal((40, 3)), rng.standard_normal((n_pinned, 3))
    found = semi_supervised_kmeans(rows, pinned, n_new, rng=rng, n_restarts=4, tolerance=0.0)
    path = np.stack(found.path)
    assert (np.diff(path, axis=0) <= 1e-3).all()
    assert found.inertia <= path[-1].min() + 1e-3
    every = np.vstack([pinned, found.centroids])
    distances = ((rows[:, None] - every) ** 2).sum(axis=2)
    np.testing.assert_allclose(distances.min(axis=1).sum(), found.inertia, rtol=1e-4)
    chosen = distances[np.arange(40), found.labels]
    np.testing.assert_allclose(chosen, distances.min(axis=1), atol=1e-4)


def test_without_pinned_centroids_it_is_kmeans(small):
    found = semi_supervised_kmeans(
        small.batch, np.empty((0, 64)), 8, rng=np.random.default_rng(0), n_restarts=50, tolerance=0.0
    )
    reference = KMeans(8, n_init=50, random_state=0).fit(small.batch)
    assert found.inertia <= 1.005 * reference.inertia_
    for j in range(8):
        np.testing.assert_allclose(
            found.centroids[j], small.batch[found.labels == j].mean(axis=0), rtol=1e-4, atol=1e-4
        )


def test_rows_of_pinned_centroids_found_no_new_cluster():
    """Rows at two pinned places and one new place: the new centroid goes to the new place."""
    rng = np.random.default_rng(0)
    pinned = np.array([[0.0, 0.0], [10.0, 0.0]])
    rows = np.vstack([pinned[0] + rng.normal(size=(50, 2)), pinned[1] + rng.normal(size=(50, 2))])
    rows = np.vstack([rows, rng.normal((0, 10), 1, size=(20, 2))])
    found = semi_supervised_kmeans(rows, pinned, 1, rng=rng, n_restarts=10)
    np.testing.assert_allclose(found.centroids[0], rows[100:].mean(axis=0), atol=1e-5)
    assert found.labels.tolist() == [0] * 50 + [1] * 50 + [2] * 20


def test_known_centroids_are_pinned_in_every_session(digit_problem):
    rows, labels, batch, truth = digit_problem
    model = GcdFrozen(n_restarts=20).fit(rows, labels)
    unit = unit_rows(rows)
    for k in range(6):
        np.testing.assert_allclose(model.centroids_[k], unit[labels == k].mean(axis=0))
    before = model.centroids_.copy()
    model.discover(batch[:600], n_novel=4)
    np.testing.assert_array_equal(model.centroids_[:6], before)
    middle = model.centroids_.copy()
    outcome = model.discover(batch[600:], n_novel=1)
    np.testing.assert_array_equal(model.centroids_[:10], middle)
    assert np.mean(model.predict(batch[truth < 6]) == truth[truth < 6]) > 0.8
    np.testing.assert_array_equal(model.predict(batch[600:]), outcome.labels_)


@pytest.mark.parametrize("n_novel", [0, 3])
def test_more_centroids_than_distinct_rows_do_no_harm(small, n_novel):
    model = GcdFrozen(n_restarts=3).fit(small.rows, small.labels)
    outcome = model.discover(np.repeat(small.batch[:1], 5, axis=0), n_novel=n_novel)
    assert len(outcome.novel) == n_novel
    assert np.isfinite(model.centroids_).all()
