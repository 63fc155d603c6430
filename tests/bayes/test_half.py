"""Factors in half precision: nothing overflows, and how little is lost."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vbcgcd.bayes import (
    Classifier,
    Posterior,
    Prior,
    penalised,
    posterior_of,
    recover_statistics,
    statistics_by_label,
    structure_of,
)

KINDS = ("full", "lowrank:6", "diagonal")
DIM = 16


def both(kind, seed=0, reach=1.0, nu=80.0):
    """Rows, and the posteriors of the same statistics in double and in half precision."""
    rng = np.random.default_rng(seed)
    labels = np.arange(90) % 3
    rows = reach * (rng.normal(size=(90, DIM)) * rng.uniform(0.2, 3, size=DIM) + 2 * labels[:, None])
    found = []
    for name in (kind, f"{kind}:half"):
        prior = Prior(DIM, 0.05, nu, variance=reach**2, structure=name)
        found.append(posterior_of(prior, statistics_by_label(rows, labels, 3, structure=name)))
    return rows, *found


@pytest.mark.parametrize("kind", KINDS)
def test_factors_take_two_bytes_a_number(kind):
    _, exact, half = both(kind)
    assert half.factor.dtype == np.float16
    assert half.mean.dtype == exact.mean.dtype
    assert half.factor.nbytes <= exact.factor.nbytes / 4 + 3 * 2 * 3


@given(st.sampled_from(KINDS), st.integers(0, 10**6), st.sampled_from([1e-12, 1e-3, 1.0, 1e4, 1e12]))
@settings(max_examples=40, deadline=None)
def test_any_magnitude_is_kept_to_three_digits(kind, seed, reach):
    rows, exact, half = both(kind, seed, reach)
    assert np.isfinite(half.factor).all()
    np.testing.assert_allclose(half.log_det_scale, exact.log_det_scale, atol=0.02)
    np.testing.assert_allclose(half.form.traces(half.factor), exact.form.traces(exact.factor), rtol=2e-3)
    np.testing.assert_allclose(half.distances(rows), exact.distances(rows), rtol=5e-3)
    for k in range(3):
        np.testing.assert_allclose(half.scale(k), exact.scale(k), atol=2e-3 * np.abs(exact.scale(k)).max())


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("predictive", ["plugin", "student"])
def test_densities_are_nearly_the_same(kind, predictive):
    rows, exact, half = both(kind)
    rule = Classifier(predictive=predictive, dtype=np.float32)
    np.testing.assert_allclose(rule.log_density(rows, half), rule.log_density(rows, exact), atol=0.2)
    assert np.array_equal(rule.predict(rows, half), rule.log_density(rows, half).argmax(axis=1))


def test_more_categories_than_are_unpacked_at_a_time(monkeypatch):
    rows, _, half = both("lowrank:6")
    rule = Classifier(predictive="student")
    together = rule.log_density(rows, half), half.log_det_scale, half.distances(rows)
    monkeypatch.setattr("vbcgcd.bayes.structures.half.TOGETHER", 2)
    apart = rule.log_density(rows, half), half.log_det_scale, half.distances(rows)
    for one, other in zip(together, apart, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("kind", KINDS)
def test_counts_and_means_are_recovered_exactly_and_scatters_nearly(kind):
    _, exact, half = both(kind)
    priors = [Prior(DIM, 0.05, 80.0, structure=p.structure) for p in (exact, half)]
    expected, found = recover_statistics(priors[0], exact), recover_statistics(priors[1], half)
    np.testing.assert_array_equal(found.count, expected.count)
    np.testing.assert_array_equal(found.mean, expected.mean)
    for k in range(3):
        one, other = (s.form.square(s.scatter[k]) for s in (expected, found))
        assert np.abs(one - other).max() < 5e-3 * np.abs(exact.scale(k)).max()


def test_the_level_of_a_low_rank_covariance_keeps_all_of_its_digits():
    prior = Prior(384, 0.01, 1921.0, variance=1.2345678, structure="lowrank:4:half")
    stored = Posterior.of_prior(prior)
    assert stored.log_det_scale[0] == pytest.approx(prior.log_det_scale, abs=1e-3)
    assert prior.form.square(prior.form.scale(stored.factor[0]))[0, 0] == pytest.approx(prior.scale, rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_packing_what_was_unpacked_changes_no_bit(kind):
    _, _, half = both(kind)
    np.testing.assert_array_equal(half.form.packed(half.form.unpacked(half.factor)), half.factor)


def test_nothing_is_packed_as_nothing():
    form = structure_of("diagonal:half", 3)
    np.testing.assert_array_equal(form.unpacked(form.packed(np.zeros((1, 3)))), np.zeros((1, 3)))


def test_a_penalty_rescales_what_is_stored():
    _, exact, half = both("lowrank:6")
    known = np.array([30.0])
    one, other = (penalised(p, known, weight=1e6).log_det_covariance for p in (exact, half))
    np.testing.assert_allclose(other, one, atol=0.02)


def test_a_large_category_learns_from_single_rows():
    rows = 1 + 2 * np.random.default_rng(0).normal(size=(4000, 3))
    prior = Prior(3, structure="full:half")

    def posterior(statistics):
        return posterior_of(prior, statistics, dtype=np.float32)

    def taken(some):
        return statistics_by_label(some, np.zeros(len(some), int), 1, structure="full:half")

    one_by_one = posterior(taken(rows[:2500]))
    for row in rows[2500:]:
        one_by_one = posterior(recover_statistics(prior, one_by_one) + taken(row[None]))
    np.testing.assert_allclose(
        np.diagonal(one_by_one.covariance(0)), np.diagonal(posterior(taken(rows)).covariance(0)), rtol=0.03
    )
