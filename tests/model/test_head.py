"""The estimator with a head: what changes, and what does not."""

import numpy as np
import pytest

from support import assert_answers, assert_same_posterior, assert_sound, fit
from vbcgcd import CategoryDiscoverer
from vbcgcd.discovery import head_choice

OPTIONS = {"head": "ridge", "head_features": 200}


@pytest.fixture(autouse=True, scope="module")
def _always_a_head():
    """The fast problem is too easy for a head to be chosen."""
    with pytest.MonkeyPatch.context() as patch:
        settings = head_choice.Settings(0.1, 4.0, np.zeros(1), 1.0)
        patch.setattr(head_choice, "choose_settings", lambda *arguments: (1e-3, settings))
        yield


@pytest.fixture(scope="module", params=["ridge", "direction"])
def pair(small, request):
    """The same stream without and with a head of each kind, and their records."""
    plain, headed = fit(small), fit(small, **OPTIONS | {"head": request.param})
    return plain, headed, plain.discover(small.batch, n_novel=4), headed.discover(small.batch, n_novel=4)


def test_the_head_is_there_and_knows_all_categories(pair):
    _, headed, *_ = pair
    if headed.head == "ridge":
        assert len(headed.knowledge_.head.statistics) == len(headed.classes_) == 10
    assert headed.nbytes - headed.posterior_.nbytes == headed.knowledge_.head.nbytes > 0


def test_search_novelty_and_posteriors_stay_those_of_the_gaussians(pair, small):
    plain, headed, one, other = pair
    assert_same_posterior(headed.posterior_, plain.posterior_)
    np.testing.assert_array_equal(headed.novelty(small.batch), plain.novelty(small.batch))
    np.testing.assert_array_equal(headed.score_samples(small.batch), plain.score_samples(small.batch))
    np.testing.assert_array_equal(one.probabilities_[:, 6:], other.probabilities_[:, 6:])
    assert headed.temperature_ == plain.temperature_


def test_answers_are_sound_and_agree_with_each_other(pair, small):
    _, headed, _, record = pair
    assert_answers(headed, small.batch)
    assert_sound(headed, record, 6, len(small.batch))
    best = headed.classes_[headed.predict_proba(small.batch).argmax(axis=1)]
    np.testing.assert_array_equal(headed.predict(small.batch), best)
    assert headed.predict(small.batch[:1]).shape == (1,)


def test_save_and_load_change_nothing(pair, small, tmp_path):
    _, headed, *_ = pair
    headed.save(tmp_path / "m")
    again = CategoryDiscoverer.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict_proba(small.batch), headed.predict_proba(small.batch))
    assert again.get_params() == headed.get_params()


def test_with_directions_odds_between_known_categories_stay(small):
    model = fit(small, **OPTIONS | {"head": "direction"})
    reduced = model.knowledge_.reduced(small.batch)
    before = model.knowledge_.log_probabilities(reduced)
    model.discover(small.batch, n_novel=4)
    after = model.knowledge_.log_probabilities(reduced)[:, :6]
    np.testing.assert_allclose(np.diff(after, axis=1), np.diff(before, axis=1), rtol=1e-6, atol=1e-6)


def test_the_order_of_the_rows_does_not_matter(small):
    order = np.random.default_rng(0).permutation(len(small.batch))
    one, other = fit(small, **OPTIONS), fit(small, **OPTIONS)
    one.discover(small.batch, n_novel=3)
    other.discover(small.batch[order], n_novel=3)
    np.testing.assert_array_equal(one.predict_proba(small.batch), other.predict_proba(small.batch))


def test_labels_that_come_later_teach_the_head(small):
    model = fit(small, **OPTIONS)
    before = model.knowledge_.head.statistics
    model.partial_fit(small.batch, small.truth)
    after = model.knowledge_.head.statistics
    assert len(after) == len(model.classes_) == 10
    np.testing.assert_array_equal(after.row_weight[:6], before.row_weight)
    grown = after.sums[:6].sum(axis=1) / before.sums.sum(axis=1)
    counts = np.bincount(small.truth, minlength=10)[:6] / np.bincount(small.labels)
    np.testing.assert_allclose(grown, 1 + counts, rtol=0.1)
    assert (model.predict(small.batch) == small.truth).mean() > 0.97


def test_update_known_teaches_the_head(small):
    model = fit(small, update_known=True, **OPTIONS)
    before = model.knowledge_.head.statistics.sums.sum()
    model.discover(small.batch, n_novel=0)
    assert model.knowledge_.head.statistics.sums.sum() > before


def test_without_a_seed_the_features_still_come_back(small, tmp_path):
    model = fit(small, random_state=None, **OPTIONS)
    model.save(tmp_path / "m")
    again = CategoryDiscoverer.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict_proba(small.batch), model.predict_proba(small.batch))
