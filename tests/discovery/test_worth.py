import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import mixture_of, rays
from vbcgcd.discovery.geometry import Geometry, attenuation
from vbcgcd.discovery.mixture import Mixture, MixtureState
from vbcgcd.discovery.worth import (
    ALIKE,
    PICKED,
    PIECE,
    RELIABLE,
    SMALL_EVEN,
    SMALL_UNEVEN,
    USUAL_ROWS,
    Judge,
    Stream,
    worths,
)

sizes = st.lists(st.floats(1, 1000), max_size=20).map(np.array)


def stream_of(mixture, means=None, counts=None, margin=4.0):
    means = np.zeros((0, mixture.rows.shape[1])) if means is None else means
    counts = np.full(len(means), 50.0) if counts is None else counts
    return Stream(mixture, None, margin, means, counts, np.random.default_rng(0))


def some_stream(size_spread=0.0):
    rows, means, _ = rays(30, 30)
    geometry = Geometry("direction", 4.0)
    return stream_of(Mixture.of(rows, means, geometry, size_spread=size_spread))


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
    found = worths(mixture, state, mixture.parts(state)[2], chance)
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
    found = worths(mixture, state, mixture.parts(state)[2], 2.0, even=True)
    np.testing.assert_allclose(found.per_row, found.lost / (found.rows.mean() + 2.0), rtol=1e-6)


def test_a_category_pays_for_its_first_rows_what_picking_them_costs():
    stream = some_stream()
    assert stream.chance == pytest.approx(PICKED * np.log(60) / 4.0, rel=1e-6)
    assert stream.judge(np.zeros(0)).chance == stream.chance


def test_the_margin_moves_with_the_size_up_to_a_typical_one():
    judge = Judge(4.0, 3.0, 50.0, 1.0)
    np.testing.assert_allclose(judge.needed(np.array([0.0, 25.0, 50.0, 900.0])), [3, 3.5, 4, 4])


@given(sizes, st.floats(0, 2))
def test_unevenness_is_a_share_that_depends_on_ratios_of_sizes_alone(found, spread):
    stream = some_stream(spread)
    uneven = stream.unevenness(found)
    assert 0 <= uneven <= 1
    assert stream.unevenness(7 * found) == pytest.approx(uneven, abs=1e-9)
    assert stream.unevenness(found[::-1]) == pytest.approx(uneven, abs=1e-9)


@given(sizes)
def test_uneven_labelled_sizes_never_make_a_stream_more_even(found):
    assert some_stream(0.5).unevenness(found) >= some_stream(0.0).unevenness(found) - 1e-12


@pytest.mark.parametrize(
    ("found", "small"),
    [
        ([90.0] * 12, SMALL_EVEN),
        ([90.0] * 12 + [5.0, 20.0], SMALL_EVEN),  # two pieces do not make twelve uneven
        (np.geomspace(10, 400, 12), SMALL_UNEVEN),
    ],
    ids=str,
)
def test_small_categories_need_more_among_even_ones_and_less_among_uneven_ones(found, small):
    judge = some_stream().judge(np.array(found))
    assert judge.small == pytest.approx(small * 4.0)
    assert judge.margin == 4.0
    assert judge.typical == pytest.approx(np.median(found))


def test_without_found_categories_the_labelled_ones_tell():
    assert some_stream(0.0).judge(np.zeros(0)) == pytest.approx(
        (4.0, SMALL_EVEN * 4.0, USUAL_ROWS, some_stream().chance)
    )
    assert some_stream(0.5).judge(np.zeros(0)).small == pytest.approx(SMALL_UNEVEN * 4.0)


def pair(cosine, n_rows=20, dim=64):
    """Two groups of rows whose directions have this cosine, far from the known category."""
    rng = np.random.default_rng(0)
    axes = np.eye(dim)[:3]
    second = cosine * axes[1] + np.sqrt(1 - cosine**2) * axes[2]
    rows = np.repeat([axes[1], second], n_rows, axis=0) + 0.02 * rng.normal(size=(2 * n_rows, dim))
    mixture = Mixture.of(rows, axes[:1], Geometry("direction", 20.0))
    responsibility = np.repeat(np.eye(2), n_rows, axis=0).astype(np.float32)
    return mixture, MixtureState(responsibility, 0.0, 0.0, 0.9)


def test_a_group_that_another_would_take_whole_needs_more():
    judge = Judge(1.0, 1.0, 10.0, 0.0)
    for cosine, doubt in ((0.5, 1 + PIECE), (-0.5, 1.0)):
        mixture, state = pair(cosine)
        surplus = stream_of(mixture).surplus(mixture, state, judge)
        worth = worths(mixture, state, mixture.parts(state)[2], 0.0).per_row
        np.testing.assert_allclose(surplus, worth / doubt, rtol=1e-6)


@pytest.mark.parametrize("count", [3.0, 1000.0])
def test_a_group_like_a_known_category_needs_more_however_few_rows_that_has(count):
    within = 0.3
    exact = np.eye(64)[0]
    cosine = float(attenuation(within, np.array(count)))
    noisy = cosine * exact + np.sqrt(1 - cosine**2) * np.eye(64)[1]
    rows = np.repeat([exact], 400, axis=0)
    mixture = Mixture.of(rows, noisy[None], Geometry("direction", 20.0, within), counts=np.array([count]))
    state = MixtureState(np.ones((400, 1), np.float32), 0.0, 0.0, 0.9)
    stream = stream_of(mixture, noisy[None], np.array([count]))
    other = stream_of(mixture, np.eye(64)[5:6], np.array([count]))
    judge = Judge(1.0, 1.0, 10.0, 0.0)
    ratio = other.surplus(mixture, state, judge) / stream.surplus(mixture, state, judge)
    assert ratio == pytest.approx(1 + PIECE, abs=0.02)
    assert 0 < ALIKE < 1


def test_reliability_grows_with_the_worth():
    mixture, state = pair(0.5)
    stream = stream_of(mixture)
    worth = stream.surplus(mixture, state, Judge(stream.margin, stream.margin, 1.0, stream.chance))
    found = stream.reliability(mixture, state, np.zeros(2), np.zeros(2))
    np.testing.assert_allclose(found, 1 - np.exp(-RELIABLE * worth), rtol=1e-6)
    less = stream_of(mixture, margin=8.0).reliability(mixture, state, np.zeros(2), np.zeros(2))
    assert (less < found).all()


def test_rows_of_earlier_sessions_make_a_category_more_reliable():
    mixture, state = pair(0.5)
    stream = stream_of(mixture)
    alone = stream.reliability(mixture, state, np.zeros(2), np.zeros(2))
    worth = worths(mixture, state, mixture.parts(state)[2], 0.0)
    more = stream.reliability(
        mixture, state, np.array([9 * worth.lost[0], 0]), np.array([9 * worth.rows[0], 0])
    )
    assert more[0] > alone[0]
    assert more[1] == pytest.approx(alone[1])
