"""The best few categories: agreement with the densities of all, bounds, determinism and edge cases."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vbcgcd.bayes import Classifier, Prior, posterior_of, statistics_by_label, top_categories
from vbcgcd.bayes import shortlist as shortlist_module
from vbcgcd.bayes.shortlist import USUAL_LIST, _highest, list_length

DIM, N_CATEGORIES = 40, 90


def categories_and_rows(n_categories=N_CATEGORIES, dim=DIM, seed=0, structure="full", spread=1.5):
    """Posteriors of categories of different shape, and rows of them."""
    rng = np.random.default_rng(seed)
    means = spread * rng.normal(size=(n_categories, dim))
    codes = np.repeat(np.arange(n_categories), 30)
    shape = np.exp(0.3 * rng.normal(size=(n_categories, dim)))
    rows = means[codes] + shape[codes] * rng.normal(size=(len(codes), dim))
    prior = Prior(dim=dim, nu=(1 if structure == "diagonal" else dim) + 30.0, structure=structure)
    statistics = statistics_by_label(rows, codes, n_categories, structure=structure)
    return posterior_of(prior, statistics, dtype=np.float32), rows[::7].astype(np.float32)


@pytest.fixture(autouse=True)
def a_few_dozen_categories_are_many(monkeypatch):
    monkeypatch.setattr(shortlist_module, "FEW_CATEGORIES", 20)


RULES = {
    "plug-in": Classifier(dtype=np.float32),
    "Student": Classifier(predictive="student", dtype=np.float32),
    "no determinant": Classifier(log_determinant=False, dtype=np.float32),
    "float64": Classifier(),
    "Euclidean": Classifier(metric="euclidean"),
}


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@pytest.mark.parametrize("structure", ["full", "diagonal"])
def test_the_short_list_finds_what_all_densities_find(rule, structure):
    posterior, rows = categories_and_rows(structure=structure)
    density = rule.log_density(rows, posterior)
    top = top_categories(rows, posterior, rule, 4)
    np.testing.assert_array_equal(top.categories[:, 0], density.argmax(axis=1))
    np.testing.assert_allclose(
        top.log_density, np.take_along_axis(density, top.categories, axis=1), rtol=1e-5, atol=1e-3
    )
    assert (np.diff(top.log_density, axis=1) <= 0).all()
    np.testing.assert_array_equal(rule.predict(rows, posterior), density.argmax(axis=1))


def test_without_a_short_list_all_categories_are_ranked():
    posterior, rows = categories_and_rows()
    rule = Classifier(shortlist=None)
    density = rule.log_density(rows, posterior)
    top = top_categories(rows, posterior, rule, 5)
    np.testing.assert_array_equal(top.categories, np.argsort(-density, axis=1, kind="stable")[:, :5])
    np.testing.assert_array_equal(top.bound, -np.sort(-density, axis=1)[:, 5])
    assert top.certain.all()


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    dim=st.sampled_from([2, 5, 33]),
    m=st.integers(1, 4),
    size=st.integers(2, 12),
    name=st.sampled_from(["plug-in", "Student", "no determinant"]),
    distance=st.sampled_from([0.1, 1.0, 30.0, 1e5]),
)
def test_no_category_outside_exceeds_the_bound(seed, dim, m, size, name, distance):
    posterior, rows = categories_and_rows(30, dim, seed)
    rows = np.float32(distance) * rows[:20]
    rule = replace(RULES[name], shortlist=size)
    top = top_categories(rows, posterior, rule, m, certify=True)
    density = Classifier(rule.metric, rule.predictive, rule.log_determinant).log_density(rows, posterior)
    best = density.max(axis=1)
    np.put_along_axis(density, top.categories, -np.inf, axis=1)
    slack = 1e-4 * np.abs(density.max(axis=1)) + 1e-3
    assert (density.max(axis=1) <= top.bound + slack).all()
    certain = top.certain
    np.testing.assert_allclose(top.log_density[certain, 0], best[certain], rtol=1e-4, atol=1e-2)


def test_some_rows_are_certain_and_nothing_is_claimed_unasked():
    posterior, rows = categories_and_rows(spread=12.0)
    rule = RULES["plug-in"]
    assert top_categories(rows, posterior, rule, certify=True).certain.mean() > 0.9
    assert np.isinf(top_categories(rows, posterior, rule).bound).all()


def test_the_order_and_number_of_rows_do_not_matter(monkeypatch):
    posterior, rows = categories_and_rows()
    rule = Classifier(dtype=np.float64)
    whole = top_categories(rows, posterior, rule, 3)
    order = np.random.default_rng(1).permutation(len(rows))
    turned = top_categories(rows[order], posterior, rule, 3)
    np.testing.assert_array_equal(turned.categories, whole.categories[order])
    monkeypatch.setattr("vbcgcd.bayes.shortlist.BLOCK_ROWS", 7)
    monkeypatch.setattr("vbcgcd.bayes.shortlist.BLOCK_SCORES", 300)
    monkeypatch.setattr("vbcgcd.bayes.shortlist.PAIRS", 5)
    pieces = top_categories(rows, posterior, rule, 3)
    np.testing.assert_array_equal(pieces.categories, whole.categories)
    np.testing.assert_allclose(pieces.log_density, whole.log_density, rtol=1e-9)


@pytest.mark.parametrize("shortlist", ["auto", None, 2])
@pytest.mark.parametrize("n_categories", [1, 2, 3])
def test_few_categories(n_categories, shortlist):
    posterior, rows = categories_and_rows(n_categories)
    top = top_categories(rows, posterior, Classifier(shortlist=shortlist), 8)
    assert top.categories.shape == top.log_density.shape == (len(rows), n_categories)
    np.testing.assert_array_equal(
        np.sort(top.categories, axis=1), np.tile(np.arange(n_categories), (len(rows), 1))
    )
    assert (top.bound == -np.inf).all()


def test_no_rows():
    posterior, rows = categories_and_rows()
    top = top_categories(rows[:0], posterior, Classifier(), 3)
    assert top.categories.shape == (0, 3)
    assert Classifier().predict(rows[:0], posterior).shape == (0,)


def test_of_equal_categories_the_first_comes_first():
    posterior, rows = categories_and_rows(30)
    twice = posterior.take(np.tile(np.arange(30), 3))
    top = top_categories(rows, twice, Classifier(), 3)
    first = Classifier(shortlist=None).predict(rows, posterior)
    np.testing.assert_array_equal(top.categories, np.stack([first, first + 30, first + 60], axis=1))


@pytest.mark.parametrize("distance", [8.0, 1e3, 1e6, 1e12])
def test_rows_far_out_are_compared_with_all_categories(distance):
    posterior, _ = categories_and_rows(spread=3.0)
    rows = np.float32(distance) * posterior.mean
    rule = RULES["float64"]
    expected = replace(rule, shortlist=None).predict(rows, posterior)
    np.testing.assert_array_equal(rule.predict(rows, posterior), expected)


def test_with_few_categories_all_densities_are_computed_unless_a_list_is_asked_for(monkeypatch):
    posterior, _ = categories_and_rows()
    monkeypatch.setattr(shortlist_module, "FEW_CATEGORIES", len(posterior))
    assert list_length(Classifier(), posterior) is None
    assert list_length(Classifier(shortlist=10), posterior) == 10


def test_when_a_short_list_is_used():
    posterior, _ = categories_and_rows()
    assert list_length(Classifier(), posterior) == USUAL_LIST
    assert list_length(Classifier(shortlist=10), posterior) == 10
    assert list_length(Classifier(shortlist=10), posterior, m=8) == 16
    assert list_length(Classifier(shortlist=None), posterior) is None
    assert list_length(Classifier(shortlist=90), posterior) is None
    assert list_length(Classifier(metric="euclidean"), posterior) is None
    assert list_length(Classifier(), categories_and_rows(structure="diagonal")[0]) is None


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 1000), n_columns=st.integers(2048, 2100), n=st.integers(1, 30))
def test_the_highest_of_many_columns(seed, n_columns, n):
    scores = np.random.default_rng(seed).normal(size=(5, n_columns)).astype(np.float32)
    found = np.sort(_highest(scores, n), axis=1)
    np.testing.assert_array_equal(found, np.sort(np.argsort(scores, axis=1)[:, -n:], axis=1))
