from types import SimpleNamespace

import numpy as np
import pytest

from vbcgcd import CategoryDiscoverer
from vbcgcd.study.scoring import Outcome, outcome_of


@pytest.mark.parametrize("labels", [np.array([3, 7, 5]), np.array(["a", "novel-1", "b"])])
def test_novel_ids_may_be_an_array_or_the_keys_of_a_mapping(labels):
    novel = labels[1:2]
    for ids in (novel, {novel[0].item(): "its name"}):
        outcome = outcome_of(SimpleNamespace(labels_=labels, novel=ids))
        np.testing.assert_array_equal(outcome.novel, novel)
        assert outcome.novel.dtype == labels.dtype
        assert outcome.novelty_ is None


def test_a_session_without_novel_categories_has_no_novel_ids():
    outcome = outcome_of(SimpleNamespace(labels_=np.array([1, 2]), novel={}, novelty_=np.zeros(2)))
    assert outcome.novel.shape == (0,)
    assert outcome.novelty_.tolist() == [0, 0]
    assert outcome_of(outcome).labels_.tolist() == [1, 2]
    assert isinstance(outcome, Outcome)


def test_the_record_of_our_model_has_an_outcome(small):
    model = CategoryDiscoverer(n_components=8, count="evidence").fit(small.rows, small.labels)
    outcome = outcome_of(model.discover(small.batch, n_novel=2))
    np.testing.assert_array_equal(outcome.novel, model.classes_[-2:])
    assert len(outcome.labels_) == len(outcome.novelty_) == len(small.batch)


def test_the_probability_of_an_answer_is_that_of_its_column():
    columns = np.array([[0.5, 0.3, 0.1], [0.2, 0.7, 0.1], [0.2, 0.1, 0.1]])
    record = SimpleNamespace(labels_=np.array([4, 9, -1]), novel=[9], probabilities_=columns)
    outcome = outcome_of(record, np.array([3, 4, 9]))
    np.testing.assert_allclose(outcome.probability_, [0.3, 0.1, 0.6])
    np.testing.assert_allclose(outcome_of(record).probability_, [0.5, 0.7, 0.2])
    np.testing.assert_array_equal(outcome_of(outcome).probability_, outcome.probability_)


def test_without_probabilities_there_is_no_probability():
    for record in (
        SimpleNamespace(labels_=np.array([1]), novel=[]),
        SimpleNamespace(labels_=np.array([1]), novel=[], probabilities_=np.empty((0, 0))),
    ):
        assert outcome_of(record).probability_ is None
