"""Rows one by one: what becomes of them, and what does not change."""

import copy

import numpy as np
import pytest

from support import PARTS, assert_same_posterior, assert_same_seedlings
from vbcgcd import CategoryDiscoverer, InputError, NotFittedError
from vbcgcd.bayes import recover_statistics, statistics_by_label

DIM = 24
CENTRES = 4 * np.random.default_rng(5).normal(size=(12, DIM))


def rows_of(categories, seed):
    rng = np.random.default_rng(seed)
    return CENTRES[np.asarray(categories)] + rng.normal(size=(len(categories), DIM))


def fitted(**options):
    labels = np.repeat(np.arange(8), 20)
    return CategoryDiscoverer(**options).fit(rows_of(labels, 0), labels)


@pytest.fixture(scope="module")
def base():
    """A model of eight categories; tests must not change it."""
    return fitted()


@pytest.fixture
def model(base):
    return copy.deepcopy(base)


#: Categories 8 and 9 are novel, among rows of known ones.
TRUTH = np.random.default_rng(1).choice(10, size=200, p=[0.05] * 8 + [0.3, 0.3])
STREAM = rows_of(TRUTH, 2)


def posterior_copy(model, n):
    return {name: getattr(model.posterior_, name)[:n].copy() for name in PARTS}


def test_known_rows_get_their_category(model):
    truth = np.arange(40) % 8
    seen = model.observe(rows_of(truth, 3))
    assert [each.label for each in seen] == truth.tolist()
    assert {each.outcome for each in seen} == {"known"}
    assert all(0.5 < each.probability <= 1 and 0 <= each.novelty <= 1 for each in seen)


def test_it_agrees_with_predict_on_known_rows(model):
    rows = rows_of(np.arange(40) % 8, 4)
    assert [each.label for each in model.observe(rows)] == model.predict(rows).tolist()


def test_novel_rows_wait_and_then_become_categories(model):
    seen = model.observe(STREAM)
    assert len(model.classes_) == 10
    born = [i for i, each in enumerate(seen) if each.born]
    assert [seen[i].label for i in born] == [8, 9] == model.classes_[8:].tolist()
    assert model.n_discovered_ == 2
    for k, i in zip((8, 9), born, strict=True):
        true = TRUTH[i]
        before = [each.outcome for each, t in zip(seen[:i], TRUTH, strict=False) if t == true]
        assert before[0] == "unassigned"
        assert before.count("seedling") >= 2
        after = [each for each, t in zip(seen[i:], TRUTH[i:], strict=True) if t == true]
        assert np.mean([each.label == k for each in after]) > 0.95
        assert {each.outcome for each in after if each.label == k} == {"found"}
    assert all(each.label is None for each in seen if each.outcome in ("seedling", "unassigned"))
    waiting = model.knowledge_.seedlings
    assert waiting is None or waiting.rows.max() < 4


def test_known_posteriors_stay_bit_for_bit(model):
    before = posterior_copy(model, 8)
    model.observe(STREAM)
    after = posterior_copy(model, 8)
    for name in PARTS:
        np.testing.assert_array_equal(after[name], before[name])


def test_categories_that_were_born_learn_by_statistics():
    model = fitted(dtype="float64")
    seen = model.observe(STREAM)
    born = next(each.label for each in seen if each.born)
    true = TRUTH[next(i for i, each in enumerate(seen) if each.born)]
    have = recover_statistics(model.prior_, model.posterior_.take([born]))
    members = STREAM[true == TRUTH]
    assert have.count[0] == len(members)
    want = statistics_by_label(model.knowledge_.reduced(members), np.zeros(len(members), dtype=int), 1)
    np.testing.assert_allclose(have.mean, want.mean, rtol=1e-8)
    np.testing.assert_allclose(have.scatter, want.scatter, rtol=1e-6, atol=1e-6)


def test_update_known_lets_known_categories_learn():
    model, rows = fitted(update_known=True), rows_of(np.arange(40) % 8, 3)
    before = model.posterior_.kappa.copy()
    model.observe(rows)
    assert (model.posterior_.kappa - before).sum() == pytest.approx(40, abs=3)


def test_one_row_or_many_is_the_same(model):
    other = copy.deepcopy(model)
    many = model.observe(STREAM[:80])
    assert [other.observe(row) for row in STREAM[:80]] == many
    assert_same_posterior(other.posterior_, model.posterior_)
    np.testing.assert_array_equal(other.classes_, model.classes_)


def test_save_and_load_in_the_middle_change_nothing(model, tmp_path):
    model.observe(STREAM[:12])
    assert model.knowledge_.seedlings is not None
    model.save(tmp_path / "m")
    again = CategoryDiscoverer.load(tmp_path / "m")
    assert again.knowledge_.watch == model.knowledge_.watch
    assert_same_seedlings(again.knowledge_.seedlings, model.knowledge_.seedlings)
    assert again.observe(STREAM[12:]) == model.observe(STREAM[12:])
    assert_same_posterior(again.posterior_, model.posterior_)


def test_what_was_born_stops_learning_with_the_next_session(model):
    model.observe(STREAM)
    assert model.births_.tolist() == [0] * 8 + [1, 1]
    record = model.discover(rows_of(np.repeat([0, 8, 10, 11], 25), 6))
    assert record.session == model.n_sessions_ == 2
    assert record.n_novel == 2
    assert model.births_.tolist() == [0] * 8 + [1, 1, 2, 2]
    before = posterior_copy(model, 12)
    model.observe(rows_of(np.arange(40) % 12, 7))
    after = posterior_copy(model, 12)
    for name in PARTS:
        np.testing.assert_array_equal(after[name], before[name])


def test_seedlings_of_a_session_go_on_growing(model):
    rows = rows_of([8] * 12, 9)
    model.observe(rows[:3])
    assert model.knowledge_.seedlings.rows.tolist() == [3.0]
    began = model.knowledge_.seedlings.since.tolist()
    model.discover(rows_of(np.arange(40) % 8, 8))
    assert model.knowledge_.seedlings.since.tolist() == began == [1]
    assert any(each.born for each in model.observe(rows[3:]))


def test_of_strangers_alone_it_makes_fewer_categories_than_a_session(model):
    strangers = 4 * np.random.default_rng(8).normal(size=(80, DIM))
    session = copy.deepcopy(model).discover(strangers)
    seen = model.observe(strangers)
    assert sum(each.born for each in seen) <= session.n_novel
    assert np.mean([each.label is None for each in seen]) > 0.85


def test_the_seedlings_that_wait_are_bounded(model, monkeypatch):
    monkeypatch.setattr("vbcgcd.discovery.observe.MOST", 5)
    model.observe(4 * np.random.default_rng(8).normal(size=(40, DIM)))
    assert len(model.knowledge_.seedlings) <= 5


def test_labels_that_are_strings_go_on_as_strings():
    labels = np.repeat([f"kind {k}" for k in range(8)], 20)
    model = CategoryDiscoverer().fit(rows_of(np.repeat(np.arange(8), 20), 0), labels)
    seen = model.observe(STREAM)
    assert model.classes_[8:].tolist() == ["novel-1", "novel-2"]
    assert all(each.label is None or type(each.label) is str for each in seen)


@pytest.mark.parametrize(
    "wrong", [np.full(DIM, np.nan), np.zeros(3), np.zeros((2, 2, 2)), "text", [[1, 2], [3]]]
)
def test_impossible_rows_change_nothing(model, wrong, state_of):
    before = state_of(model)
    with pytest.raises(InputError):
        model.observe(wrong)
    assert state_of(model) == before


def test_it_needs_a_fitted_model_without_a_head(model):
    with pytest.raises(NotFittedError):
        CategoryDiscoverer().observe([1.0, 2.0])
    model.knowledge_ = copy.copy(model.knowledge_)
    object.__setattr__(model.knowledge_, "head", object())
    with pytest.raises(InputError, match="head=None"):
        model.observe(STREAM[0])


@pytest.mark.parametrize("options", [{"covariance": "diagonal"}, {"whiten": False}, {"geometry": "distance"}])
def test_other_options_work_too(options):
    model = fitted(**options)
    seen = model.observe(STREAM[:60])
    assert len(seen) == 60
    assert len(model.classes_) == len(model.posterior_) == len(model.births_)
    assert len(model.knowledge_.reliabilities) == len(model.classes_)
