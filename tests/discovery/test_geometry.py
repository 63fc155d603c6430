import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vbcgcd.bayes.leave_one_out import LeftOut
from vbcgcd.discovery.calibrate import _concentration, calibrate_geometry, left_out_similarities
from vbcgcd.discovery.geometry import Geometry

KINDS = ["direction", "distance"]


def problem(seed, dim=3, n_categories=4, n_rows=30):
    rng = np.random.default_rng(seed)
    labels = np.sort(
        np.concatenate([np.repeat(np.arange(n_categories), 2), rng.integers(n_categories, size=n_rows)])
    )
    rows = 3 * rng.normal(size=(n_categories, dim))[labels] + rng.normal(size=(len(labels), dim))
    means = np.stack([rows[labels == k].mean(axis=0) for k in range(n_categories)])
    return rows, labels, means, np.bincount(labels).astype(float)


def naive(kind, row, mean, inner):
    if kind == "direction":
        return row @ inner @ mean / np.sqrt((row @ inner @ row) * (mean @ inner @ mean))
    return -0.5 * (row - mean) @ inner @ (row - mean)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("weight", [0.0, 0.005, 0.02])
@pytest.mark.parametrize("seed", range(4))
def test_left_out_similarities_equal_brute_force(kind, weight, seed):
    rows, labels, means, sizes = problem(seed)
    found = left_out_similarities(means, sizes, LeftOut(rows, labels, weight))[kind]
    for i, row in enumerate(rows):
        rest = (np.arange(len(rows)) != i) & (labels == labels[i])
        gap = row - rows[rest].mean(axis=0)
        n = rest.sum()
        # Weight times what the row adds to the scatter of its category.
        removed = weight * n / (n + 1) * np.outer(gap, gap)
        inner = np.linalg.inv(np.eye(len(row)) - removed)
        for k, mean in enumerate(means):
            mean = rows[rest].mean(axis=0) if k == labels[i] else mean
            np.testing.assert_allclose(found[i, k], naive(kind, row, mean, inner), rtol=1e-6, atol=1e-8)


@given(st.integers(0, 1000), st.sampled_from(KINDS))
@settings(max_examples=30, deadline=None)
def test_left_out_similarity_equals_brute_force(seed, kind):
    rng = np.random.default_rng(seed)
    geometry = Geometry(kind, 1.0)
    rows = geometry.prepared(rng.normal(size=(12, 4)))
    weight = rng.uniform(0.1, 1, size=(12, 3))
    found = geometry.left_out_similarity(rows, weight)
    for i in range(12):
        others = np.arange(12) != i
        for k in range(3):
            mean = weight[others, k] @ rows[others] / weight[others, k].sum()
            want = naive(kind, rows[i].astype(float), mean, np.eye(4))
            np.testing.assert_allclose(found[i, k], want, rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_similarity_is_cosine_or_tied_gaussian(kind):
    rng = np.random.default_rng(0)
    rows, means = rng.normal(size=(9, 5)), rng.normal(size=(4, 5))
    geometry = Geometry(kind, 7.0)
    found = geometry.similarity(geometry.prepared(rows), means)
    want = [[naive(kind, row, mean, np.eye(5)) for mean in means] for row in rows]
    np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-5)


def test_rows_of_zeros_are_similar_to_nothing():
    geometry = Geometry("direction", 5.0)
    rows = geometry.prepared(np.zeros((2, 3)))
    np.testing.assert_array_equal(geometry.similarity(rows, np.eye(3)), 0)


def line_of_blobs():
    """Categories that differ in length, not in direction."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(4), 50)
    return np.array([[3.0, 0], [9.0, 0], [15.0, 0], [21.0, 0]])[labels] + rng.normal(size=(200, 2)), labels


def rays():
    """Categories that differ in direction, with rows of wildly different lengths."""
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(5), 60)
    directions = rng.normal(size=(5, 100))
    rows = directions[labels] + 0.7 * rng.normal(size=(300, 100))
    return rows * np.exp(rng.normal(size=(300, 1))), labels


@pytest.mark.parametrize(("make", "kind"), [(line_of_blobs, "distance"), (rays, "direction")])
def test_labelled_rows_choose_the_kind(make, kind):
    rows, labels = make()
    means = np.stack([rows[labels == k].mean(axis=0) for k in np.unique(labels)])
    sizes = np.bincount(labels).astype(float)
    found = calibrate_geometry(means, sizes, LeftOut(rows, labels, 0.0))
    assert found.geometry.kind == kind
    assert found.geometry.sharpness > 0
    np.testing.assert_array_equal(found.best_similarity, np.sort(found.best_similarity))
    counts = sizes - np.eye(len(sizes))[labels]  # the row's own mean has lost it
    similarity = left_out_similarities(means, sizes, LeftOut(rows, labels, 0.0))[kind]
    corrected = found.geometry.corrected(similarity, counts)
    np.testing.assert_allclose(found.best_similarity, np.sort(corrected.max(axis=1)))
    others = np.where(np.eye(len(sizes), dtype=bool)[labels], -np.inf, corrected)
    np.testing.assert_allclose(found.strange_similarity, others.max(axis=1))
    assert found.margin > 0


@pytest.mark.parametrize(("noise", "kind"), [(1.0, "distance"), (3.0, "direction")])
def test_in_many_dimensions_the_distance_must_be_that_of_a_gaussian(noise, kind):
    rng, labels = np.random.default_rng(0), np.repeat(np.arange(4), 50)
    along = np.eye(12)[0] * np.array([3.0, 6.0, 9.0, 12.0])[:, None]
    rows = noise * (along[labels] + rng.normal(size=(200, 12)))
    means = np.stack([rows[labels == k].mean(axis=0) for k in range(4)])
    sizes, left_out = np.bincount(labels).astype(float), LeftOut(rows, labels, 0.0)
    by_distance = calibrate_geometry(means, sizes, left_out, "distance").geometry
    # Log-likelihood ratios of unit Gaussians are too large by the variance that the rows really have.
    assert by_distance.sharpness == pytest.approx(1 / noise**2, rel=0.2)
    assert calibrate_geometry(means, sizes, left_out).geometry.kind == kind


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("make", [line_of_blobs, rays])
def test_the_kind_can_be_given(make, kind):
    rows, labels = make()
    means = np.stack([rows[labels == k].mean(axis=0) for k in np.unique(labels)])
    found = calibrate_geometry(means, np.bincount(labels).astype(float), LeftOut(rows, labels, 0.0), kind)
    assert found.geometry.kind == kind


@pytest.mark.parametrize("kind", KINDS)
def test_the_kind_given_holds_where_no_row_can_be_left_out(kind):
    left_out = LeftOut(np.empty((0, 3)), np.empty(0, dtype=int), 0.0)
    assert calibrate_geometry(np.eye(3), np.ones(3), left_out, kind).geometry.kind == kind


@pytest.mark.parametrize("kind", ["direction", "distance"])
def test_similarity_to_the_others_with_weights_of_any_size(kind):
    rng = np.random.default_rng(3)
    geometry = Geometry(kind, 2.0)
    rows = geometry.prepared(rng.normal(size=(12, 4)))
    weight = rng.uniform(0.2, 1.7, size=(12, 3))
    similarity = geometry.left_out_similarity(rows, weight)
    for i in range(12):
        others = np.delete(np.arange(12), i)
        means = weight[others].T @ rows[others] / weight[others].sum(axis=0)[:, None]
        np.testing.assert_allclose(similarity[i], geometry.similarity(rows[i : i + 1], means)[0], rtol=1e-4)


@pytest.mark.parametrize("kind", ["direction", "distance"])
def test_similarity_to_few_others_is_corrected_for_their_number(kind):
    rng = np.random.default_rng(4)
    geometry = Geometry(kind, 2.0, 0.3)
    rows = geometry.prepared(rng.normal(size=(9, 4)))
    weight = np.eye(3)[rng.permutation(9) % 3].astype(np.float32)
    weight[0] = 0.0
    plain = geometry.left_out_similarity(rows, weight)
    others = np.maximum(weight.sum(axis=0) - weight, 1.0)
    found = geometry.left_out_similarity(rows, weight, corrected=True)
    np.testing.assert_allclose(found, geometry.corrected(plain, others), rtol=1e-5)
    assert not np.allclose(found, plain)
    exact = Geometry(kind, 2.0)
    np.testing.assert_array_equal(exact.left_out_similarity(rows, weight, corrected=True), plain)


@pytest.mark.parametrize(("cosine", "expected"), [(0.5, 13.1667), (0.0, 1.0025), (0.3, 6.5637)])
def test_the_concentration_of_directions(cosine, expected):
    assert _concentration(cosine, 20) == pytest.approx(expected, abs=1e-3)
    assert _concentration(0.05, 2) == 1.0


def test_distances_of_far_rows_are_as_exact_as_those_of_near_ones():
    rng = np.random.default_rng(5)
    geometry = Geometry("distance", 1.0)
    near, means = rng.normal(size=(9, 4)), rng.normal(size=(3, 4))
    want = geometry.similarity(geometry.prepared(near), means)
    far = geometry.similarity(geometry.prepared(near + 1e6), means + 1e6)
    np.testing.assert_allclose(far, want, atol=1e-2)
    weight = np.full((9, 3), 1e9, dtype=np.float32)
    assert np.isfinite(geometry.left_out_similarity(geometry.prepared(near * 1e12), weight)).all()
