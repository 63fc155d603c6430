import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import mixture_of, rays
from vbcgcd import CategoryDiscoverer
from vbcgcd.discovery.calibrate import Margins
from vbcgcd.discovery.distinct import (
    LARGE,
    PICKED,
    SEEDLING_ROWS,
    Judge,
    Stream,
    _choose,
    _Removal,
    find,
    find_number,
    weak_groups,
    worths,
)
from vbcgcd.discovery.mixture import Mixture
from vbcgcd.discovery.strategies import hard_labels

DIM, N_KNOWN, UNEVEN = 16, 8, (90, 90, 20, 12)


def blobs(seed, sizes, *, labels_each=40, scale=2.0):
    """Labelled rows, their labels, a batch with 15 rows of each known category, and its truth (-1: known)."""
    rng = np.random.default_rng(seed)
    centres = scale * rng.normal(size=(N_KNOWN + len(sizes), DIM))
    labels = np.repeat(np.arange(N_KNOWN), labels_each)
    known = np.repeat(np.arange(N_KNOWN), 15)
    which = np.concatenate([known, np.repeat(N_KNOWN + np.arange(len(sizes)), sizes)]).astype(int)
    rows, batch = (centres[k] + rng.normal(size=(len(k), DIM)) for k in (labels, which))
    return rows, labels, batch, np.where(which < N_KNOWN, -1, which - N_KNOWN)


def stream_of(rows, labels, batch, seed=0):
    known = CategoryDiscoverer().fit(rows, labels).knowledge_
    mixture = Mixture.of(
        known.reduced(batch), known.posterior.mean, known.novelty.geometry, counts=known.counts
    )
    return Stream(mixture, known.novelty, known.margins, np.random.default_rng(seed))


def sizes_of(state):
    labels = hard_labels(state.responsibility)
    return sorted(np.bincount(labels[labels >= 0]).tolist())


@given(st.integers(0, 1000), st.floats(0, 20), st.sampled_from([("direction", 4.0), ("distance", 0.5)]))
@settings(max_examples=15)
def test_worth_is_the_likelihood_without_the_category_per_row(seed, chance, geometry):
    rng = np.random.default_rng(seed)
    rows, means, _ = rays(20, 20, seed=seed)
    mixture = mixture_of(rows, means, *geometry, weight=rng.uniform(0.2, 2, size=40))
    state = mixture.em(rng.dirichlet(np.ones(4), size=40)[:, :3].astype(np.float32), 0.5, 3)
    weight, sharpness = mixture.weight.astype(float), geometry[1]
    similarity = mixture.geometry.left_out_similarity(mixture.rows, state.responsibility * weight[:, None])
    novel = state.share / 3 * np.exp(sharpness * similarity.astype(float))
    known = (1 - state.share) * np.exp(sharpness * mixture.known_similarity.astype(float)).mean(axis=1)
    found = worths(mixture, state, chance)
    for k in range(3):
        without = np.log(known + np.delete(novel, k, axis=1).sum(axis=1))
        lost = weight @ (np.log(known + novel.sum(axis=1)) - without)
        size = weight @ state.responsibility[:, k].astype(float)
        np.testing.assert_allclose(found.lost[k], lost, rtol=1e-3, atol=1e-3)
        np.testing.assert_allclose(found.rows[k], size, rtol=1e-5)
        np.testing.assert_allclose(found.per_row[k], lost / (size + chance), rtol=1e-3, atol=1e-4)


def test_even_worths_divide_by_the_average_size():
    rows, means, _ = rays(30, 31)
    mixture = mixture_of(rows, means)
    state = mixture.em(np.random.default_rng(0).dirichlet(np.ones(4), size=61)[:, :3], 0.5, 3)
    found = worths(mixture, state, 2.0, even=1.0)
    np.testing.assert_allclose(found.per_row, found.lost / (found.rows.mean() + 2.0), rtol=1e-6)


def test_a_category_pays_for_its_first_rows_what_picking_them_costs():
    rows, means, _ = rays(30, 30)
    stream = Stream(mixture_of(rows, means), None, Margins(4.0, 3.0), np.random.default_rng(0))
    assert stream.judge == pytest.approx((3.0, PICKED * np.log(60) / 3.0, 4.0), rel=1e-6)


def test_larger_categories_need_more():
    judge = Judge(3.0, 1.0, 4.0)
    np.testing.assert_allclose(judge.needed(np.array([0.0, LARGE / 2, LARGE, 9 * LARGE])), [3, 3.5, 4, 4])


@pytest.mark.parametrize(
    ("worth", "chosen"),
    [
        ((9, 8, 7, 1, 1, 1), 3),
        ((9, 8, 1, 9, 1, 1), 4),  # a dip on the way is no end
        ((1, 1, 1, 1, 1, 1), 0),
        ((9, 9, 9, 9, 9, 9), 6),
    ],
    ids=str,
)
def test_the_number_is_that_up_to_which_categories_pay(worth, chosen):
    path = [_Removal(None, np.full(k, float(worth[k - 1]))) for k in range(len(worth), 0, -1)]
    scores, number = _choose(path, 2.0)
    assert number == chosen
    np.testing.assert_allclose(scores, np.cumsum([0, *np.array(worth) - 2.0]))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("labels_each", "scale"), [(40, 2.0), (5, 3.0)])
def test_large_and_small_categories_are_all_found(seed, labels_each, scale):
    rows, labels, batch, truth = blobs(seed, UNEVEN, labels_each=labels_each, scale=scale)
    found = find(stream_of(rows, labels, batch))
    assert found.curve.chosen == 4
    own = hard_labels(found.state.responsibility)
    assert np.mean((own >= 0) == (truth >= 0)) > 0.98
    for k in range(4):
        members = own[truth == k]
        assert np.mean(members == np.bincount(members[members >= 0]).argmax()) > 0.95
    assert sizes_of(found.state) == pytest.approx(sorted(UNEVEN), abs=2)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize(("labels_each", "scale"), [(40, 2.0), (5, 2.0), (5, 3.0)])
def test_nothing_is_invented_from_rows_of_known_categories(seed, labels_each, scale):
    rows, labels, batch, _ = blobs(seed, (), labels_each=labels_each, scale=scale)
    found = find(stream_of(rows, labels, batch))
    assert found.state is None
    assert found.curve.chosen == 0


@pytest.mark.parametrize("dim", [4, 16])
@pytest.mark.parametrize("seed", [1, 2])
def test_categories_are_found_however_far_apart(dim, seed):
    rng = np.random.default_rng(seed)
    centres = 30 * rng.normal(size=(12, dim))
    labels, which = np.repeat(np.arange(8), 20), np.repeat(np.arange(12), 15)
    rows, batch = (centres[k] + rng.normal(size=(len(k), dim)) for k in (labels, which))
    found = find(stream_of(rows, labels, batch))
    assert found.curve.chosen == 4
    assert sizes_of(found.state) == [15] * 4


@pytest.mark.parametrize("sizes", [(40, 40, 40), (90, 90, 12)], ids=str)
@pytest.mark.parametrize("number", [1, 2, 3, 5, 8])
def test_a_given_number_is_found_exactly(sizes, number):
    rows, labels, batch, _ = blobs(1, sizes)
    state = find_number(stream_of(rows, labels, batch), number)
    assert state.responsibility.shape == (len(batch), number)
    assert np.isfinite(state.responsibility).all()
    assert state.responsibility.sum(axis=1).max() <= 1 + 1e-5
    if number == 3:
        assert sizes_of(state) == pytest.approx(sorted(sizes), abs=1)


@pytest.mark.parametrize("found", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_weak_groups_hold_whole_rows_that_no_category_explains(seed, found):
    rows, labels, batch, truth = blobs(seed, (40, 3), scale=1.2)
    stream = stream_of(rows, labels, batch)
    state = find(stream).state if found else None
    members, worth = weak_groups(stream, state)
    assert members.shape == (len(batch), len(worth.lost))
    assert set(np.unique(members)) <= {0.0, 1.0}
    assert members.sum(axis=1).max(initial=0) <= 1
    assert members.sum(axis=0).min(initial=SEEDLING_ROWS) >= SEEDLING_ROWS
    if not found:
        assert np.mean(members[truth >= 0].any(axis=1)) > 3 * np.mean(members[truth < 0].any(axis=1))


def test_rows_of_known_categories_alone_have_hardly_weak_groups():
    rows, labels, batch, _ = blobs(0, ())
    members, worth = weak_groups(stream_of(rows, labels, batch), None)
    assert members.sum() <= 0.05 * len(batch)
    assert len(worth.lost) == members.shape[1]


def test_the_same_seed_finds_the_same():
    rows, labels, batch, _ = blobs(0, UNEVEN)
    one, other = (find(stream_of(rows, labels, batch)) for _ in range(2))
    np.testing.assert_array_equal(one.state.responsibility, other.state.responsibility)
    assert one.curve == other.curve
