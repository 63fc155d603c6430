"""The most probable categories of a row: with a table of all, and from a short-list."""

import numpy as np
import pytest

from vbcgcd import CategoryDiscoverer
from vbcgcd.bayes import shortlist
from vbcgcd.discovery import top
from vbcgcd.discovery.knowledge import score
from vbcgcd.discovery.top import is_listed, top_probabilities
from vbcgcd.errors import InputError

N_CATEGORIES, DIM = 80, 40


@pytest.fixture(scope="module")
def many():
    """A model of many categories, and rows of them."""
    rng = np.random.default_rng(0)
    means = 1.2 * rng.normal(size=(N_CATEGORIES, DIM))
    codes = np.repeat(np.arange(N_CATEGORIES), 12)
    rows = (means[codes] + rng.normal(size=(len(codes), DIM))).astype(np.float32)
    model = CategoryDiscoverer(count="evidence", normalise=False).fit(rows, codes)
    fresh = (means[codes[::5]] + 1.3 * rng.normal(size=(len(codes[::5]), DIM))).astype(np.float32)
    return model, fresh


@pytest.fixture
def from_short_lists(monkeypatch):
    monkeypatch.setattr(top, "FEW_CATEGORIES", 10)
    monkeypatch.setattr(shortlist, "FEW_CATEGORIES", 10)


def test_few_categories_are_those_of_the_table(many):
    model, rows = many
    found = model.predict_top(rows, k=3)
    table = model.predict_proba(rows)
    order = np.argsort(-table, axis=1, kind="stable")[:, :3]
    np.testing.assert_array_equal(found.labels, model.classes_[order])
    np.testing.assert_allclose(found.probabilities, np.take_along_axis(table, order, axis=1), atol=1e-12)
    np.testing.assert_allclose(found.rest, 1 - found.probabilities.sum(axis=1), atol=1e-9)
    np.testing.assert_array_equal(found.bound, found.rest)
    np.testing.assert_array_equal(found.novelty, model.novelty(rows))


def test_a_short_list_comes_close_to_the_table(many, from_short_lists):
    model, rows = many
    assert is_listed(model.knowledge_)
    found = model.predict_top(rows, k=3)
    table = model.predict_proba(rows)
    np.testing.assert_array_equal(found.labels[:, 0], model.classes_[table.argmax(axis=1)])
    np.testing.assert_allclose(found.probabilities[:, 0], table.max(axis=1), atol=0.02)
    np.testing.assert_allclose(found.probabilities.sum(axis=1) + found.rest, 1, atol=1e-9)
    np.testing.assert_array_equal(found.bound, 1)
    assert (np.diff(found.probabilities, axis=1) <= 0).all()


def test_the_bound_holds(many, from_short_lists):
    model, rows = many
    found = model.predict_top(rows, k=3, certify=True)
    table = model.predict_proba(rows)
    listed = np.take_along_axis(table, np.searchsorted(model.classes_, found.labels), axis=1)
    assert (1 - listed.sum(axis=1) <= found.bound + 1e-6).all()
    assert (found.bound <= 1 + 1e-9).all()


@pytest.mark.parametrize("options", [{"head": "direction"}, {"covariance": "diagonal"}, {"shortlist": None}])
def test_where_all_are_needed_all_are_computed(many, from_short_lists, options):
    model, rows = many
    codes = model.predict(rows)
    again = CategoryDiscoverer(count="evidence", **options).fit(rows, codes)
    table = again.predict_proba(rows)
    found = again.predict_top(rows, k=2)
    np.testing.assert_array_equal(found.labels[:, 0], again.predict(rows))
    np.testing.assert_allclose(found.probabilities[:, 0], table.max(axis=1), atol=1e-12)


@pytest.mark.parametrize("fixed", [False, True])
def test_scores_from_a_short_list_are_those_of_the_table(many, monkeypatch, fixed):
    model, rows = many
    own = np.arange(len(rows)) % N_CATEGORIES if fixed else None
    expected = score(model.knowledge_, rows, own)
    monkeypatch.setattr(top, "FEW_CATEGORIES", 10)
    monkeypatch.setattr(shortlist, "FEW_CATEGORIES", 10)
    found = score(model.knowledge_, rows, own)
    np.testing.assert_array_equal(found.best, expected.best)
    assert np.mean(found.second == expected.second) > 0.98
    np.testing.assert_allclose(found.probability, expected.probability, atol=0.02)
    np.testing.assert_allclose(found.second_probability, expected.second_probability, atol=0.02)
    np.testing.assert_array_equal(found.novelty, expected.novelty)


def test_no_rows_and_too_many_wanted(many, from_short_lists):
    model, rows = many
    none = top_probabilities(model.knowledge_, np.empty((0, model.posterior_.dim), np.float32), 3)
    assert none.categories.shape == (0, 3)
    assert model.predict_top(rows[:2], k=1000).labels.shape == (2, N_CATEGORIES)
    with pytest.raises(InputError, match="k must be"):
        model.predict_top(rows, k=0)
