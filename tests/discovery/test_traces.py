import numpy as np
import pytest

from vbcgcd.discovery.geometry import Geometry
from vbcgcd.discovery.traces import FEWEST, halves, traces_of

GEOMETRIES = [Geometry("distance", 1.0), Geometry("direction", 10.0)]


def two_groups(rng, gap, n=40, dim=10):
    """Half of the rows moved along one axis."""
    rows = rng.normal(size=(n, dim)) + 3
    rows[: n // 2, 0] += gap
    return rows


def test_counts_shifts_and_spreads_are_those_of_the_rows():
    rng = np.random.default_rng(0)
    rows, codes, means = rng.normal(size=(50, 4)), rng.integers(-1, 4, 50), rng.normal(size=(6, 4))
    traces = traces_of(rows, codes, means, GEOMETRIES[0])
    assert traces.category.tolist() == [0, 1, 2, 3]
    for k in range(4):
        own = rows[codes == k]
        assert traces.count[k] == len(own)
        assert traces.shift[k] == pytest.approx(np.mean((own.mean(axis=0) - means[k]) ** 2), rel=1e-5)
        assert traces.spread[k] == pytest.approx(own.var(axis=0, ddof=1).mean(), rel=1e-5)


def test_few_rows_have_no_halves_and_one_has_no_spread():
    traces = traces_of(np.eye(4), np.array([0, 1, 1, -1]), np.zeros((2, 4)), GEOMETRIES[0])
    assert traces.count.tolist() == [1, 2]
    assert np.isnan(traces.spread).tolist() == [True, False]
    assert np.isnan(traces.halves).all()
    assert np.isnan(traces.smaller).all()


def test_without_assigned_rows_there_are_no_traces():
    traces = traces_of(np.eye(3), np.full(3, -1), np.zeros((2, 3)), GEOMETRIES[0])
    assert len(traces.category) == len(traces.count) == len(traces.halves) == 0


@pytest.mark.parametrize("geometry", GEOMETRIES, ids=lambda geometry: geometry.kind)
def test_halves_of_one_gaussian_do_not_differ_on_average(geometry):
    rng = np.random.default_rng(1)
    values = [halves(two_groups(rng, 0.0), geometry)[0] for _ in range(200)]
    assert abs(np.mean(values)) < 3 * np.std(values) / np.sqrt(len(values)) + 0.02 * geometry.sharpness


@pytest.mark.parametrize("geometry", GEOMETRIES, ids=lambda geometry: geometry.kind)
def test_two_groups_differ_the_more_the_farther_they_are_apart(geometry):
    rng = np.random.default_rng(2)
    near, far = (np.mean([halves(two_groups(rng, gap), geometry)[0] for _ in range(20)]) for gap in (4, 8))
    alone = np.mean([halves(two_groups(rng, 0.0), geometry)[0] for _ in range(20)])
    assert alone < near < far
    assert halves(two_groups(rng, 8), geometry)[1] == pytest.approx(0.5, abs=0.1)


def test_the_difference_is_that_of_the_exact_means():
    rng, gap = np.random.default_rng(3), 10.0
    found = np.mean([halves(two_groups(rng, gap, n=200), GEOMETRIES[0])[0] for _ in range(20)])
    assert found == pytest.approx(0.5 * gap**2, rel=0.1)


def test_one_dimension_cannot_be_judged_by_another():
    assert np.isnan(halves(np.arange(20.0)[:, None], GEOMETRIES[0])).all()


def test_equal_rows_have_no_halves():
    assert np.isnan(halves(np.ones((FEWEST, 4)), GEOMETRIES[0])).all()
