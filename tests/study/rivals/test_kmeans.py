import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans

from vbcgcd.study.rivals.kmeans import pinned_kmeans, unit_rows


@given(seed=st.integers(0, 10**6), n_pinned=st.integers(0, 4), n_novel=st.integers(1, 5))
@settings(max_examples=25, deadline=None)
def test_inertia_never_rises_and_labels_are_nearest(seed, n_pinned, n_novel):
    rng = np.random.default_rng(seed)
    rows, pinned = rng.standard_normal((40, 3)), rng.standard_normal((n_pinned, 3))
    clusters = pinned_kmeans(rows, pinned, n_novel, rng=rng, n_restarts=4, tolerance=0.0)
    path = np.stack(clusters.path)
    assert (np.diff(path, axis=0) <= 1e-3).all()
    assert clusters.inertia <= path[-1].min() + 1e-3
    every = np.vstack([pinned, clusters.centroids])
    distances = ((rows[:, None] - every) ** 2).sum(axis=2)
    np.testing.assert_allclose(distances.min(axis=1).sum(), clusters.inertia, rtol=1e-4)
    chosen = distances[np.arange(40), clusters.labels]
    np.testing.assert_allclose(chosen, distances.min(axis=1), atol=1e-4)


def test_without_pinned_centroids_it_is_kmeans(small):
    clusters = pinned_kmeans(
        small.batch, np.empty((0, 64)), 8, rng=np.random.default_rng(0), n_restarts=50, tolerance=0.0
    )
    reference = KMeans(8, n_init=50, random_state=0).fit(small.batch)
    assert clusters.inertia <= 1.005 * reference.inertia_
    for j in range(8):
        np.testing.assert_allclose(
            clusters.centroids[j], small.batch[clusters.labels == j].mean(axis=0), rtol=1e-4, atol=1e-4
        )


def test_rows_of_pinned_centroids_make_no_novel_cluster():
    """Rows at two pinned places and a third place: the novel centroid goes to the third."""
    rng = np.random.default_rng(0)
    pinned = np.array([[0.0, 0.0], [10.0, 0.0]])
    rows = np.vstack([pinned[0] + rng.normal(size=(50, 2)), pinned[1] + rng.normal(size=(50, 2))])
    rows = np.vstack([rows, rng.normal((0, 10), 1, size=(20, 2))])
    clusters = pinned_kmeans(rows, pinned, 1, rng=rng, n_restarts=10)
    np.testing.assert_allclose(clusters.centroids[0], rows[100:].mean(axis=0), atol=1e-5)
    assert clusters.labels.tolist() == [0] * 50 + [1] * 50 + [2] * 20


def test_on_the_sphere_only_novel_centroids_move_and_find_the_rest():
    rng = np.random.default_rng(5)
    truth = rng.permutation(np.repeat(np.arange(5), 30))
    rows = np.eye(8)[truth] + 0.08 * rng.standard_normal((150, 8))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    clusters = pinned_kmeans(rows, np.eye(8)[:3], 2, rng=rng, n_restarts=10, spherical=True)
    codes = clusters.labels
    np.testing.assert_allclose(np.linalg.norm(clusters.centroids, axis=1), 1, atol=1e-6)
    np.testing.assert_array_equal(codes[truth < 3], truth[truth < 3])
    pairs = {(t, c) for t, c in zip(truth.tolist(), codes.tolist(), strict=True) if t >= 3}
    assert sorted(c for _, c in pairs) == [3, 4]
    all_pinned = pinned_kmeans(rows, np.eye(8)[:5], 0, rng=rng, spherical=True)
    np.testing.assert_array_equal(all_pinned.labels, truth)


def test_unit_rows_have_length_one_and_zeros_stay():
    rows = unit_rows(np.array([[3.0, 4.0], [0.0, 0.0]]))
    np.testing.assert_allclose(rows, [[0.6, 0.8], [0, 0]])
