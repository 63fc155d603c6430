"""Means of few rows are noisy: the similarity to them, corrected, is that to exact means."""

import numpy as np
import pytest

from vbcgcd.discovery.calibrate import COHESION_BOUNDS, _within
from vbcgcd.discovery.geometry import FEWEST, Geometry, attenuation

DIM = 50


def directions(rng, shape, noise=1.5):
    """Unit rows around the first axis."""
    rows = noise * rng.normal(size=(*shape, DIM)) / np.sqrt(DIM)
    rows[..., 0] += 1
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def normals(rng, shape, scale=1.3):
    """Normal rows around (3, 0, 0, ...)."""
    rows = scale * rng.normal(size=(*shape, DIM))
    rows[..., 0] += 3
    return rows


def mean_cosine(rng, n_pairs=20_000):
    one, other = directions(rng, (n_pairs,)), directions(rng, (n_pairs,))
    return float(np.einsum("nd,nd->n", one, other).mean())


@pytest.mark.parametrize("n", [1, 2, 5, 20])
def test_attenuation_is_the_cosine_of_a_mean_of_few_rows_and_the_exact_one(n):
    rng = np.random.default_rng(n)
    means = directions(rng, (3000, n)).mean(axis=1)
    # Of the mean lengths, not of each mean: the squared length is what the formula has on average.
    cosine = means[:, 0].mean() / np.sqrt((means**2).sum(axis=1).mean())
    assert attenuation(mean_cosine(rng), np.array(n)) == pytest.approx(cosine, abs=0.01)


@pytest.mark.parametrize("n", [1, 3, 10])
def test_a_corrected_cosine_is_that_to_the_exact_mean(n):
    rng = np.random.default_rng(n)
    geometry = Geometry("direction", 1.0, mean_cosine(rng))
    means, rows = directions(rng, (3000, n)).mean(axis=1), directions(rng, (3000,))
    seen = np.einsum("nd,nd->n", rows, means) / np.linalg.norm(means, axis=1)
    exact = rows[:, 0].mean()
    assert geometry.corrected(seen, np.array(n)).mean() == pytest.approx(exact, abs=0.012)
    assert seen.mean() < exact - (0.01 if n == 10 else 0.03)


@pytest.mark.parametrize("n", [1, 3, 10])
def test_a_corrected_distance_is_that_to_the_exact_mean(n):
    rng = np.random.default_rng(n)
    within = DIM * 1.3**2
    means, rows = normals(rng, (3000, n)).mean(axis=1), normals(rng, (3000,))
    exact = rows - np.eye(DIM)[0] * 3
    seen = -0.5 * ((rows - means) ** 2).sum(axis=1)
    corrected = Geometry("distance", 1.0, within).corrected(seen, np.array(n))
    assert corrected.mean() == pytest.approx(-0.5 * (exact**2).sum(axis=1).mean(), rel=0.02)


def test_exact_means_are_not_corrected():
    similarity = np.linspace(-1, 1, 12).reshape(4, 3)
    for kind in ("direction", "distance"):
        assert Geometry(kind, 2.0).corrected(similarity, np.ones(3)) is similarity


@pytest.mark.parametrize("kind", ["direction", "distance"])
def test_corrections_vanish_with_the_rows_and_stay_finite_without_any(kind):
    geometry, similarity = Geometry(kind, 1.0, 0.4), np.full((2, 3), 0.25, np.float32)
    corrected = geometry.corrected(similarity, np.array([0.0, FEWEST, 1e9]))
    assert corrected.dtype == np.float32
    np.testing.assert_array_equal(corrected[:, 0], corrected[:, 1])
    np.testing.assert_allclose(corrected[:, 2], 0.25, rtol=1e-6)
    assert (corrected[:, 0] > corrected[:, 2]).all()


@pytest.mark.parametrize("counts", [(2, 2, 2), (1, 4, 30)], ids=str)
def test_the_cohesion_of_directions_is_recovered(counts):
    rng = np.random.default_rng(0)
    own, sizes = [], []
    for n in counts:
        means, rows = directions(rng, (2000, n)).mean(axis=1), directions(rng, (2000,))
        own.append(np.einsum("nd,nd->n", rows, means) / np.linalg.norm(means, axis=1))
        sizes.append(np.full(2000, n))
    found = _within("direction", np.concatenate(own), np.concatenate(sizes))
    assert found == pytest.approx(mean_cosine(rng), abs=0.02)


@pytest.mark.parametrize("counts", [(2, 2, 2), (1, 4, 30)], ids=str)
def test_the_spread_of_distances_is_recovered(counts):
    rng = np.random.default_rng(0)
    own, sizes = [], []
    for n in counts:
        gap = normals(rng, (2000,)) - normals(rng, (2000, n)).mean(axis=1)
        own.append(-0.5 * (gap**2).sum(axis=1))
        sizes.append(np.full(2000, n))
    found = _within("distance", np.concatenate(own), np.concatenate(sizes))
    assert found == pytest.approx(DIM * 1.3**2, rel=0.02)


@pytest.mark.parametrize(("own", "bound"), [(-0.5, 0), (1.0, 1)])
def test_cohesion_stays_inside_its_bounds(own, bound):
    assert _within("direction", np.full(9, own), np.full(9, 4)) == COHESION_BOUNDS[bound]
