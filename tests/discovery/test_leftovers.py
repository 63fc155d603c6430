"""Seedlings over sessions: rows wait without an id, more come, and a category grows."""

from dataclasses import replace

import numpy as np
import pytest

from support import assert_same_posterior, assert_same_record, assert_same_seedlings, assert_sound
from vbcgcd import CategoryDiscoverer
from vbcgcd.bayes import posterior_of, recover_statistics, statistics_by_label
from vbcgcd.discovery.session import few_labels
from vbcgcd.discovery.strategies import CONFIDENT

DIM, N_KNOWN = 16, 12


class Story:
    """Twelve known categories, and a thirteenth of which some rows come in each session."""

    def __init__(self, seed, **options):
        self.rng = np.random.default_rng(seed)
        self.centres = 1.3 * self.rng.normal(size=(N_KNOWN + 1, DIM))
        self.centres[-1] *= 0.7
        labels = np.repeat(np.arange(N_KNOWN), 40)
        self.model = CategoryDiscoverer(**options).fit(self.draw(labels), labels)

    def draw(self, labels):
        return self.centres[labels] + self.rng.normal(size=(len(labels), DIM))

    def batch(self, n):
        """Ten rows of each known category, then so many of the other."""
        return self.draw(np.concatenate([np.repeat(np.arange(N_KNOWN), 10), np.full(n, N_KNOWN)]))


def beginnings(model):
    """Session in which each seedling began."""
    seedlings = model.knowledge_.seedlings
    return [] if seedlings is None else seedlings.since.tolist()


@pytest.mark.parametrize("seed", [0, 2, 4, 5])
def test_few_rows_wait_as_a_seedling_and_grow_into_a_category(seed):
    story = Story(seed)
    model, first, second = story.model, story.batch(4), story.batch(10)
    one = model.discover(first)
    assert one.n_novel == 0
    assert one.novel == one.grown == {}
    assert len(one.seedlings) == 1
    assert 3 <= one.seedlings[0] <= 5
    assert model.classes_.tolist() == list(range(N_KNOWN))
    assert (one.labels_[-4:] == -1).sum() >= 3
    assert_sound(model, one, N_KNOWN, len(first))
    two = model.discover(second)
    assert list(two.novel) == [N_KNOWN]
    assert two.grown == {N_KNOWN: 1}
    assert model.births_.tolist() == [0] * N_KNOWN + [2]
    assert (two.labels_[-10:] == N_KNOWN).sum() >= 5
    assert 1 not in beginnings(model)
    assert_sound(model, two, N_KNOWN, len(second))


@pytest.mark.parametrize("seed", [0, 2, 5])
@pytest.mark.parametrize("covariance", ["full", "diagonal"])
def test_a_grown_category_has_learned_from_the_rows_of_all_sessions(seed, covariance):
    story = Story(seed, covariance=covariance, dtype="float64")
    model, first, second = story.model, story.batch(4), story.batch(10)
    one = model.discover(first)
    seedling = model.knowledge_.seedlings
    assert one.seedlings == (4,)
    prior, structure = model.prior_, model.prior_.structure

    def statistics(rows):
        reduced = model.knowledge_.reduced(rows)
        return statistics_by_label(reduced, np.zeros(len(rows), int), 1, structure=structure)

    waiting = first[-4:]
    np.testing.assert_allclose(
        seedling.posterior.mean, posterior_of(prior, statistics(waiting)).mean, rtol=1e-9, atol=1e-9
    )
    two = model.discover(second)
    share = two.probabilities_[:, N_KNOWN] / two.probabilities_.sum(axis=1)
    joined = second[share >= CONFIDENT]
    want = posterior_of(prior, statistics(np.concatenate([waiting, joined])))
    have = model.posterior_.take([N_KNOWN])
    for name in ("mean", "kappa", "nu", "factor"):
        np.testing.assert_allclose(getattr(have, name), getattr(want, name), rtol=1e-6, atol=1e-6)


def test_a_seedling_that_is_not_enough_yet_adds_up(monkeypatch):
    monkeypatch.setattr("vbcgcd.discovery.leftovers.is_enough", lambda rows, worth, margin, chance: [False])
    story = Story(0, dtype="float64")
    model = story.model
    model.discover(story.batch(4))
    before = model.knowledge_.seedlings
    assert before.since.tolist() == [1]
    batch = story.batch(4)
    assert model.discover(batch).n_novel == 0
    after = model.knowledge_.seedlings.take(np.flatnonzero(model.knowledge_.seedlings.since == 1))
    assert len(after) == 1
    assert after.rows[0] > before.rows[0]
    assert after.worth[0] > before.worth[0]
    earlier, later = (recover_statistics(model.prior_, s.posterior) for s in (before, after))
    assert later.count[0] == pytest.approx(after.rows[0])
    # What was added is the sum of some rows of the second batch: those of the category that joined.
    rows = model.knowledge_.reduced(batch[-4:])
    subsets = np.array([[i >> k & 1 for k in range(4)] for i in range(1, 16)])
    errors = np.abs(subsets @ rows - (later.count * later.mean - earlier.count * earlier.mean)).max(axis=1)
    assert errors.min() < 1e-6


@pytest.mark.parametrize("n_novel", [0, 1])
def test_seedlings_do_not_grow_beyond_a_given_number(n_novel):
    story = Story(2)
    story.model.discover(story.batch(4))
    record = story.model.discover(story.batch(10), n_novel=n_novel)
    assert record.n_novel == n_novel
    assert (1 in beginnings(story.model)) == (n_novel == 0)


def test_a_model_with_seedlings_goes_on_after_saving_and_loading(tmp_path, state_of):
    story = Story(0)
    model, first, second = story.model, story.batch(4), story.batch(10)
    model.discover(first)
    model.save(tmp_path / "m")
    loaded = CategoryDiscoverer.load(tmp_path / "m")
    assert_same_seedlings(loaded.knowledge_.seedlings, model.knowledge_.seedlings)
    assert loaded.knowledge_.margin == model.knowledge_.margin
    assert loaded.novelty_.alertness == model.novelty_.alertness
    assert loaded.novelty_.geometry == model.novelty_.geometry
    assert state_of(loaded) == state_of(model)
    for method in ("predict", "predict_proba", "novelty"):
        np.testing.assert_array_equal(getattr(loaded, method)(second), getattr(model, method)(second))
    assert_same_record(loaded.discover(second), model.discover(second))
    assert_same_posterior(loaded.posterior_, model.posterior_)


@pytest.mark.parametrize("seed", [0, 2])
def test_the_order_of_the_rows_does_not_matter_for_seedlings(seed):
    one, other = Story(seed), Story(seed)
    for n in (4, 10):
        batch, same = one.batch(n), other.batch(n)
        order = np.random.default_rng(n).permutation(len(batch))
        a, b = one.model.discover(batch), other.model.discover(same[order])
        assert a.unassigned > 0 or n == 10
        for name in ("labels_", "probabilities_", "novelty_"):
            np.testing.assert_array_equal(getattr(b, name), getattr(a, name)[order])
        assert (a.seedlings, a.grown, a.unassigned) == (b.seedlings, b.grown, b.unassigned)
        assert_same_posterior(one.model.posterior_, other.model.posterior_)
        seedlings = [story.model.knowledge_.seedlings for story in (one, other)]
        assert (seedlings[0] is None) == (seedlings[1] is None)
        if seedlings[0] is not None:
            assert_same_seedlings(*seedlings)


def test_known_posteriors_stay_bit_for_bit_with_seedlings():
    story = Story(5)
    before = story.model.posterior_
    for n in (4, 10, 3):
        story.model.discover(story.batch(n))
        assert_same_posterior(story.model.posterior_.take(np.arange(N_KNOWN)), before)


def test_without_unassigned_nothing_waits():
    story = Story(2, unassigned=False)
    for n in (4, 10):
        record = story.model.discover(story.batch(n))
        assert (record.unassigned, record.seedlings, record.grown) == (0, (), {})
        assert story.model.knowledge_.seedlings is None
        assert (record.labels_ >= 0).all()
        np.testing.assert_allclose(record.probabilities_.sum(axis=1), 1, rtol=1e-4)


def test_waiting_rows_do_not_teach_known_categories():
    story = Story(2, update_known=True)
    before = story.model.posterior_.kappa
    record = story.model.discover(story.batch(4))
    assert story.model.posterior_.kappa.sum() - before.sum() <= record.rows - record.unassigned + 1e-6


def test_rows_without_weight_bring_no_seedling():
    story = Story(2)
    batch = story.batch(4)
    weight = np.ones(len(batch))
    weight[-4:] = 0
    assert story.model.discover(batch, sample_weight=weight).seedlings == ()


def knowledge_with(fitted, n_categories, n_rows):
    """What is known, as if of so many categories with so many rows each."""
    known = fitted.knowledge_
    posterior = known.posterior.take(np.arange(n_categories) % len(known.posterior))
    return replace(
        known, posterior=replace(posterior, kappa=np.full(n_categories, known.prior.kappa + n_rows))
    )


@pytest.mark.parametrize(
    ("n_categories", "n_rows", "words"),
    [
        (1, 20, "Only 1 category is"),
        (2, 20, "Only 2 categories are"),
        (6, 3, "at most 3 rows"),
        (6, 20, None),
    ],
)
def test_too_few_labels_are_said(fitted, n_categories, n_rows, words):
    warnings = few_labels(knowledge_with(fitted, n_categories, n_rows))
    assert len(warnings) == (words is not None)
    assert all(words in text for text in warnings)


@pytest.mark.parametrize(("n_categories", "each", "expected"), [(2, 20, 1), (6, 3, 1), (6, 20, 0)])
def test_the_record_warns_of_too_few_labels_where_the_number_is_estimated(
    small, n_categories, each, expected
):
    chosen = np.concatenate([np.flatnonzero(small.labels == k)[:each] for k in range(n_categories)])
    model = CategoryDiscoverer(n_components=8).fit(small.rows[chosen], small.labels[chosen])
    assert len(model.discover(small.batch).warnings) == expected
    assert model.discover(small.batch, n_novel=2).warnings == ()
