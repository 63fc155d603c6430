import numpy as np
import pytest

from vbcgcd.bayes import Prior, posterior_of, statistics_by_label
from vbcgcd.discovery.distinct import SEEDLING_NOVELTY
from vbcgcd.discovery.geometry import Geometry
from vbcgcd.discovery.seedlings import ENOUGH, MOST, SAME, Seedlings, is_enough, joining, same_kind

DIM = 20
PRIOR = Prior(DIM, 0.01, DIM + 2, 1.0)


def seedlings_of(groups, since=1, worth=None):
    """Seedlings of these groups of rows."""
    labels = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    statistics = statistics_by_label(np.concatenate(groups), labels, len(groups))
    rows = np.array([float(len(group)) for group in groups])
    return Seedlings(
        posterior_of(PRIOR, statistics),
        rows,
        2 * rows if worth is None else np.asarray(worth, float),
        np.full(len(groups), since),
    )


def group(axis, n, seed, noise=0.5, length=6.0):
    rows = noise * np.random.default_rng(seed).normal(size=(n, DIM))
    rows[:, axis] += length
    return rows


def test_arrays_bring_back_the_same_seedlings():
    seedlings = seedlings_of([group(0, 4, 0), group(1, 7, 1)])
    again = Seedlings.from_arrays(seedlings.arrays(), seedlings.posterior.structure)
    for name, array in seedlings.arrays().items():
        np.testing.assert_array_equal(again.arrays()[name], array)
    assert len(again) == 2
    assert again.sizes == (7, 4)
    assert Seedlings.from_arrays({}, "full") is None


def test_parts_can_be_taken_and_put_together():
    seedlings = seedlings_of([group(k, 3 + k, k) for k in range(4)])
    parts = [seedlings.take(np.array([k])) for k in range(4)]
    again = Seedlings.concatenate(parts)
    for name, array in seedlings.arrays().items():
        np.testing.assert_array_equal(again.arrays()[name], array)


def test_only_the_most_valuable_are_kept_in_their_order():
    worth = np.random.default_rng(0).permutation(MOST + 10)
    every = seedlings_of([group(0, 3, k) for k in range(MOST + 10)], worth=worth)
    assert every.take(every.most_valuable).worth.tolist() == worth[worth >= 10].tolist()


GEOMETRIES = [Geometry("direction", 10.0, 0.95), Geometry("distance", 0.5, DIM * 0.25)]


@pytest.mark.parametrize("geometry", GEOMETRIES, ids=lambda g: g.kind)
def test_groups_of_one_kind_are_recognised(geometry):
    seedlings = seedlings_of([group(0, 4, 0), group(1, 4, 1)])
    means = np.stack([group(axis, 5, 9 + axis).mean(axis=0) for axis in (1, 2, 0)])
    found = same_kind(means, np.full(3, 5.0), seedlings, geometry, 1.0)
    assert found.tolist() == [1, -1, 0]


@pytest.mark.parametrize("geometry", GEOMETRIES, ids=lambda g: g.kind)
def test_no_group_or_no_seedling_has_no_kind(geometry):
    seedlings = seedlings_of([group(0, 4, 0)])
    assert same_kind(np.empty((0, DIM)), np.empty(0), seedlings, geometry, 1.0).tolist() == []
    nothing = seedlings.take(np.empty(0, dtype=int))
    assert same_kind(np.ones((2, DIM)), np.ones(2), nothing, geometry, 1.0).tolist() == [-1, -1]


def test_kinds_differ_from_the_margin_on():
    # Exact means at a known angle: telling them apart gains sharpness (1 - cosine) nats per row.
    geometry, seedlings = Geometry("direction", 10.0), seedlings_of([group(0, 4, 0, noise=0.0)])
    cosine = 0.7
    mean = np.zeros((1, DIM))
    mean[0, :2] = cosine, np.sqrt(1 - cosine**2)
    gap = 10.0 * (1 - cosine)
    assert same_kind(mean, np.ones(1), seedlings, geometry, 1.01 * gap / SAME).tolist() == [0]
    assert same_kind(mean, np.ones(1), seedlings, geometry, 0.99 * gap / SAME).tolist() == [-1]


@pytest.mark.parametrize("geometry", GEOMETRIES, ids=lambda g: g.kind)
def test_rows_join_the_seedling_that_explains_them_better(geometry):
    seedlings = seedlings_of([group(0, 4, 0), group(1, 4, 1)])
    rows = np.concatenate([group(1, 3, 5), group(0, 2, 6), group(2, 2, 7)])
    best = geometry.similarity(geometry.prepared(rows), group(2, 1, 0, noise=0.0))[:, 0]
    novelty = np.array([1.0, 1.0, SEEDLING_NOVELTY, 1.0, 1.0, 1.0, 1.0])  # the third is not novel enough
    groups = joining(geometry.prepared(rows), seedlings, geometry, best, novelty, 1.0)
    np.testing.assert_array_equal(groups.members.argmax(axis=1)[:5], [1, 1, 0, 0, 0])
    np.testing.assert_array_equal(groups.members.sum(axis=1), [1, 1, 0, 1, 1, 0, 0])
    similarity = geometry.similarity(geometry.prepared(rows), seedlings.posterior.mean)
    gain = geometry.sharpness * (geometry.corrected(similarity, seedlings.rows) - best[:, None])
    np.testing.assert_allclose(groups.worth, (groups.members * gain).sum(axis=0), rtol=1e-5)


def test_the_worth_of_joining_rows_is_weighted():
    geometry, seedlings = GEOMETRIES[0], seedlings_of([group(0, 4, 0)])
    rows = geometry.prepared(group(0, 6, 5))
    best, novelty, weight = np.zeros(6), np.ones(6), np.array([0, 1, 2, 0, 3, 1])
    weighted = joining(rows, seedlings, geometry, best, novelty, 1.0, weight)
    repeated = joining(
        np.repeat(rows, weight, axis=0), seedlings, geometry, best.repeat(weight), novelty.repeat(weight), 1.0
    )
    np.testing.assert_allclose(weighted.worth, repeated.worth, rtol=1e-5)


def test_enough_is_the_margin_for_each_row_and_those_of_chance():
    rows, worth = np.array([10.0, 10.0]), ENOUGH * np.array([30.01, 29.9])
    assert is_enough(rows, worth, 2.0, 5.0).tolist() == [True, False]
    assert is_enough(rows, worth, 2.0, 5.1).tolist() == [False, False]
