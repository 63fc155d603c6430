"""Sums over blocks: they add up to the moments of all rows, wherever the blocks are cut."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vbcgcd.bayes import statistics_by_label
from vbcgcd.discovery.gathered import Shift, gathered_reducer, learn_more_gathered
from vbcgcd.discovery.knowledge import learn_more
from vbcgcd.discovery.options import Options
from vbcgcd.discovery.reduce import _moments, _Settings
from vbcgcd.errors import InputError
from vbcgcd.validation import check_finite


def data(n=300, width=6, kinds=4, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.concatenate([np.arange(kinds), rng.integers(kinds, size=n - kinds)])
    return 3 * rng.normal(size=(kinds, width))[codes] + rng.normal(size=(n, width)) + 20, codes


def gathered(rows, codes, shift, cuts=()):
    pieces = zip(np.split(rows, cuts), np.split(codes, cuts), strict=True)
    parts = [shift.sums(some, own, codes.max() + 1) for some, own in pieces]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


@pytest.mark.parametrize("unit", [False, True])
@pytest.mark.parametrize("standardise", [False, True])
def test_moments_are_those_of_all_rows(unit, standardise):
    rows, codes = data()
    settings = _Settings(None, unit, standardise)
    direct = _moments(rows, codes, settings, np.random.default_rng(0))
    shift = Shift(settings, settings.prepare(rows[:50]).mean(axis=0))
    found = shift.moments(gathered(rows, codes, shift, (70, 71, 200)), rows.dtype)
    np.testing.assert_allclose(found.center, direct.center, rtol=1e-10)
    np.testing.assert_allclose(found.sizes, direct.sizes)
    for name in ("total", "within"):
        values = [np.linalg.eigvalsh(getattr(m, name)) for m in (found, direct)]
        np.testing.assert_allclose(*values, rtol=1e-8)
    # The axes are unique up to sign, and so is everything in their coordinates.
    np.testing.assert_allclose(np.abs(found.basis), np.abs(direct.basis), atol=1e-7)
    np.testing.assert_allclose(np.abs(found.means), np.abs(direct.means), atol=1e-7)


@given(st.lists(st.integers(1, 299), max_size=6), st.integers(0, 5))
def test_the_cuts_do_not_matter(cuts, seed):
    rows, codes = data(seed=seed)
    shift = Shift(_Settings(None, False, False), rows[:40].mean(axis=0))
    one, two = gathered(rows, codes, shift), gathered(rows, codes, shift, sorted(cuts))
    for name in ("count", "total", "outer", "by_category"):
        a, b = getattr(one, name), getattr(two, name)
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-10 * max(np.abs(a).max(), 1))


def test_rows_of_no_category_count_for_nothing():
    rows, codes = data()
    shift = Shift(_Settings(None, False, False), rows.mean(axis=0))
    none = shift.sums(rows[:0], codes[:0], 4)
    assert not none.count.any()
    check_finite("The sums", none.outer, none.by_category, none.total)


def test_axes_without_means_are_settled_by_their_length():
    rows, codes = data(n=400, width=9, kinds=3)
    options = Options(normalise=False, whiten_shrinkage=0.2)
    turns = []
    for cuts in ((), (11, 90, 333)):
        reducer = gathered_reducer(
            rows[:100], codes[:100], 3, options, lambda shift, cuts=cuts: gathered(rows, codes, shift, cuts)
        )
        turns.append(reducer.projection)
    np.testing.assert_allclose(turns[0], turns[1], atol=1e-9)
    rest = turns[0][:, 2:]
    lengths = rest.T @ rest
    np.testing.assert_allclose(lengths, np.diag(np.diagonal(lengths)), atol=1e-9)


@pytest.mark.parametrize("update_known", [False, True])
def test_later_labels_teach_as_their_rows_would(fitted, small, update_known):
    knowledge, rows = fitted.knowledge_, small.batch[:60]
    codes = np.where(small.truth[:60] > 6, small.truth[:60] - 1, small.truth[:60])  # 6, 7, 8 are new
    codes = np.where(codes > 5, 6 + np.unique(codes[codes > 5]).searchsorted(codes), codes)
    reduced = knowledge.reduced(rows)

    def statistics(chosen, structure):
        place = np.full(codes.max() + 1, -1)
        place[chosen] = np.arange(len(chosen))
        yield chosen, statistics_by_label(reduced, place[codes], len(chosen), structure=structure)

    ours = learn_more_gathered(knowledge, codes, statistics, update_known=update_known)
    theirs = learn_more(knowledge, reduced, codes, update_known=update_known)
    np.testing.assert_allclose(ours.posterior.mean, theirs.posterior.mean, atol=1e-6)
    np.testing.assert_allclose(ours.posterior.factor, theirs.posterior.factor, atol=1e-5)
    n = len(knowledge.posterior)
    assert update_known or np.array_equal(ours.posterior.mean[:n], knowledge.posterior.mean)


def test_a_head_is_refused(fitted):
    knowledge = replace(fitted.knowledge_, head=object())
    with pytest.raises(InputError, match="A head learns from all rows at once"):
        learn_more_gathered(knowledge, np.array([0]), lambda *a: iter(()), update_known=True)
