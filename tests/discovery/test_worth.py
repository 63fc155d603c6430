from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support import mixture_of, rays
from vbcgcd.discovery.geometry import Geometry
from vbcgcd.discovery.mixture import Mixture, MixtureState
from vbcgcd.discovery.worth import (
    APART_BOUNDS,
    COMMON,
    FOUND_BEFORE,
    LATE,
    LATE_EVEN,
    PICKED,
    SIZE_EVEN,
    SIZE_UNEVEN,
    SMALLEST_SIZE,
    SURE,
    SURE_CLEAR,
    SURE_JUDGE,
    WORTH,
    Evidence,
    Known,
    Stream,
    clearness,
    worths,
)

sizes = st.lists(st.floats(1, 1000), max_size=20).map(np.array)


def stream_of(mixture, margin=4.0):
    return Stream(mixture, None, margin, np.random.default_rng(0))


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
    similarity = mixture.left_out_similarity(state.responsibility)
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
    ("found", "uneven"),
    [
        ([90.0] * 12, 0.0),
        ([90.0] * 12 + [5.0, 20.0], 0.0),  # two pieces do not make twelve uneven
        (np.geomspace(10, 400, 12), 1.0),
    ],
    ids=str,
)
def test_unevenness_of_found_sizes(found, uneven):
    assert some_stream().unevenness(np.array(found)) == uneven


@given(sizes, st.floats(0, 2))
def test_evenness_is_what_unevenness_lacks_and_never_certain(found, spread):
    stream = some_stream(spread)
    assert 0 <= stream.evenness(found) < 1
    assert stream.evenness(found) <= 1 - stream.unevenness(found)


@pytest.mark.parametrize(("number", "even"), [(0, 0.0), (1, 0.25), (3, 0.5), (12, 0.8)])
def test_evenness_is_sure_only_with_many_categories(number, even):
    assert some_stream().evenness(np.full(number, 90.0)) == pytest.approx(even)


def test_the_second_pass_counts_for_less_after_even_categories():
    one, other = (
        Evidence(np.zeros(2), np.zeros(2), np.zeros(2), np.array([False, True]), 0.0, even).log_odds
        for even in (0.0, 0.5)
    )
    np.testing.assert_allclose(one, [COMMON, COMMON + LATE])
    np.testing.assert_allclose(other, [COMMON, COMMON + LATE + 0.5 * LATE_EVEN])


def test_without_found_categories_the_labelled_ones_tell():
    assert some_stream(0.0).unevenness(np.zeros(0)) == 0.0
    assert some_stream(0.5).unevenness(np.zeros(0)) == 1.0


def pair(cosine, n_rows=20, dim=64):
    """Two groups of rows whose directions have this cosine, far from the known category."""
    rng = np.random.default_rng(0)
    axes = np.eye(dim)[:3]
    second = cosine * axes[1] + np.sqrt(1 - cosine**2) * axes[2]
    rows = np.repeat([axes[1], second], n_rows, axis=0) + 0.02 * rng.normal(size=(2 * n_rows, dim))
    mixture = Mixture.of(rows, axes[:1], Geometry("direction", 20.0))
    responsibility = np.repeat(np.eye(2), n_rows, axis=0).astype(np.float32)
    return mixture, MixtureState(responsibility, 0.0, 0.0, 0.9)


def evidence_of(mixture, state, margin=4.0, late=(False, False), past=None):
    return stream_of(mixture, margin).evidence(mixture, state, np.array(late), past=past)


@pytest.mark.parametrize(("cosine", "taken"), [(0.5, 1.0), (-0.5, 0.0)])
def test_rows_are_taken_by_another_novel_category_that_explains_them_better_than_known_ones(cosine, taken):
    assert evidence_of(*pair(cosine)).taken.tolist() == [taken, taken]


def test_evidence_is_worth_in_margins_and_size_beside_the_median():
    mixture, state = pair(0.5)
    responsibility = np.hstack([state.responsibility, np.zeros((40, 1), np.float32)])
    responsibility[:5, 0], responsibility[:5, 2] = 0, 1
    state = state._replace(responsibility=responsibility)
    found = evidence_of(mixture, state, margin=3.0, late=(False, True, False))
    chance = PICKED * np.log(40) / 3.0
    worth = worths(mixture, state, mixture.parts(state)[2], chance).per_row
    np.testing.assert_allclose(found.worth, np.log(worth / 3.0), rtol=1e-6)
    np.testing.assert_allclose(found.size, np.log(np.array([15, 20, 5]) / 15), rtol=1e-6)
    assert found.late.tolist() == [False, True, False]
    assert found.spread == 0.0


def test_rows_of_earlier_sessions_count_in_the_worth_of_their_category_alone():
    mixture, state = pair(0.5)
    worth = worths(mixture, state, mixture.parts(state)[2], 0.0)
    past = np.array([9 * worth.lost[0], 0]), np.array([9 * worth.rows[0], 0])
    alone, more = evidence_of(mixture, state), evidence_of(mixture, state, past=past)
    assert more.worth[0] > alone.worth[0]
    assert more.worth[1] == pytest.approx(alone.worth[1])


def test_the_judge_is_a_logistic_regression():
    found = Evidence(np.log([2.0]), np.array([0.5]), np.log([0.5]), np.array([True]), 0.0, chance=0.1)
    odds = COMMON + (WORTH - SIZE_EVEN) * np.log(2) + 0.5 * np.log(0.1) + LATE
    np.testing.assert_allclose(found.log_odds, odds)
    np.testing.assert_allclose(found.probability, 1 / (1 + np.exp(-odds)))


@pytest.mark.parametrize(("spread", "weight"), [(0.0, SIZE_EVEN), (0.6, SIZE_UNEVEN), (2.0, SIZE_UNEVEN)])
def test_size_says_less_where_labelled_categories_are_uneven(spread, weight):
    one, other = (
        Evidence(np.zeros(1), np.zeros(1), np.array([s]), np.zeros(1), spread).log_odds for s in (0, -1)
    )
    np.testing.assert_allclose(one - other, weight)


def test_beyond_the_smallest_size_it_says_no_more():
    one, other = (
        Evidence(np.zeros(1), np.zeros(1), np.array([SMALLEST_SIZE - s]), np.zeros(1), 0.0).log_odds
        for s in (0, 2)
    )
    assert one == other


@given(st.floats(-3, 3), st.floats(0, 1), st.floats(-1, 3), st.booleans(), st.floats(0, 1))
def test_more_worth_a_larger_size_and_fewer_rows_for_others_speak_for_a_category(
    worth, taken, size, late, spread
):
    def log_odds(*changed):
        base = np.array([worth, taken, size]) + changed
        return Evidence(*base, late, spread, chance=0.2).log_odds

    assert log_odds(0.1, 0, 0) > log_odds(0, 0, 0)
    assert log_odds(0, 0.1, 0) < log_odds(0, 0, 0)
    assert log_odds(0, 0, 0.1) > log_odds(0, 0, 0)


def test_a_neighbour_that_is_novel_by_chance_alone_says_little():
    few, many = (Evidence(0.0, 0.8, 0.0, False, 0.0, chance=c).log_odds for c in (1 / 141, 14 / 89))
    np.testing.assert_allclose(few - many, 0.8 * np.log((1 / 141) / (14 / 89)))


def test_the_chance_of_a_novel_neighbour_is_the_share_of_novel_ones_among_the_others():
    mixture, state = pair(0.5)
    n_known = mixture.known_similarity.shape[1]
    assert evidence_of(mixture, state).chance == pytest.approx(1 / (1 + n_known))
    alone = mixture.em(state.responsibility[:, :1], state.share, 3)
    assert evidence_of(mixture, alone).chance == 1.0


def test_clearness_is_the_mean_log_odds_of_the_rows_of_a_category():
    responsibility = np.array([[0.9, 0.05], [0.6, 0.3], [0.1, 0.8], [0.2, 0.1]])  # the last row is known
    odds = np.log([0.9 / 0.1, 0.6 / 0.4])
    np.testing.assert_allclose(clearness(responsibility), [odds.mean(), np.log(0.8 / 0.2)])
    assert clearness(np.array([[0.9, 0.0]]))[1] == 0  # without a row of its own
    assert np.isfinite(clearness(np.eye(2))).all()


def test_reliability_follows_from_the_judge_and_from_clearness():
    found = Evidence(np.zeros(1), np.zeros(1), np.zeros(1), np.zeros(1), 0.0)
    responsibility = np.array([[0.9], [0.7], [0.0]])
    odds = SURE + SURE_JUDGE * COMMON + SURE_CLEAR * np.log([0.9 / 0.1, 0.7 / 0.3]).mean()
    np.testing.assert_allclose(found.reliability(responsibility), 1 / (1 + np.exp(-odds)))


def gathered(known, later, second=(0.0, 1.0)):
    """Evidence of two groups on the axes 1 and 2, or a mix of them; known categories lie on others."""
    axes = np.eye(64)
    mixture, state = pair(0.0)
    rows = np.repeat([axes[1], second[0] * axes[1] + second[1] * axes[2]], [24, 16], axis=0)
    rows = rows + 0.02 * np.random.default_rng(0).normal(size=rows.shape)
    means = np.array([axes[i] for i in known])
    mixture = Mixture.of(rows, means, Geometry("direction", 20.0))
    responsibility = np.repeat(np.eye(2), [24, 16], axis=0).astype(np.float32)
    stream = replace(
        stream_of(mixture), known=Known(means, np.full(len(known), 30.0), np.array(later, dtype=bool))
    )
    return stream.evidence(mixture, state._replace(responsibility=responsibility), np.zeros(2, dtype=bool))


def test_margins_tell_how_far_known_categories_are():
    found = gathered([1, 5, 6], [True, False, True])
    np.testing.assert_allclose(found.found_before, [0.0, 5.0], atol=0.3)  # 20 nats, a margin is 4
    np.testing.assert_allclose(found.labelled, [5.0, 5.0], atol=0.3)
    assert found.nearest[0] == 0
    assert found.nearest[1] in (0, 2)


def test_what_lies_where_a_category_was_found_before_is_that_category():
    found = gathered([1, 5, 6], [True, False, True])
    low, high = APART_BOUNDS
    drop = found.log_odds_here - found.log_odds
    np.testing.assert_allclose(drop, [FOUND_BEFORE * np.log(high / low), 0.0])


def test_a_labelled_category_next_door_says_less():
    before, labelled = (gathered([1, 5, 6], [later, False, False]).log_odds[0] for later in (True, False))
    clear = gathered([4, 5, 6], [False, False, False]).log_odds[0]
    assert before < labelled < clear
    assert gathered([1, 5, 6], [False] * 3).nearest.tolist() == [-1, -1]


def test_a_half_is_nearer_to_the_other_than_known_categories_are():
    known = [10 + i for i in range(20)]
    whole, half = gathered(known, [False] * 20), gathered(known, [False] * 20, second=(0.8, 0.6))
    assert half.nearness.tolist() == pytest.approx([1.0, 1 / 21])
    assert whole.nearness[0] == 1.0
    assert half.log_nearness[1] == pytest.approx(np.log(1 / 21) + 1)
    unrelated = Evidence(0.0, 0.0, 0.0, False, 0.0, nearness=0.5)
    assert unrelated.log_nearness == 0  # what is not unusual says nothing


def test_without_known_categories_nothing_is_near():
    found = evidence_of(*pair(0.5))
    assert np.isinf(found.found_before).all()
    assert found.log_odds.tolist() == found.log_odds_here.tolist()
    assert found.nearness.tolist() == [1.0, 1.0]
