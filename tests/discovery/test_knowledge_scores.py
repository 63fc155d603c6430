from dataclasses import replace

import numpy as np
import pytest

from vbcgcd.discovery import knowledge
from vbcgcd.discovery.geometry import is_flagged
from vbcgcd.discovery.knowledge import gather, is_rejected, score, top_two
from vbcgcd.discovery.options import check_n_novel, check_reject
from vbcgcd.errors import InputError


def test_top_two_of_each_row():
    best, second = top_two(np.array([[0.1, 0.6, 0.3], [0.5, 0.2, 0.3]]))
    np.testing.assert_array_equal(best, [1, 0])
    np.testing.assert_array_equal(second, [2, 2])


def test_top_two_with_the_best_fixed():
    best, second = top_two(np.array([[0.1, 0.6, 0.3]]), np.array([0]))
    assert (best[0], second[0]) == (0, 1)


@pytest.mark.parametrize("logarithms", [False, True])
def test_without_a_second_there_is_none(logarithms):
    for values in (np.ones((3, 1)), np.array([[0.0, 1.0, 0.0]] * 3)):
        with np.errstate(divide="ignore"):
            values = np.log(values) - 1e-9 if logarithms else values
        np.testing.assert_array_equal(top_two(values)[1], [-1, -1, -1])


def test_the_second_is_known_where_its_probability_is_too_small_for_a_number():
    best, second = top_two(np.array([[-2000.0, -1e-300, -900.0]]))
    assert (best[0], second[0]) == (1, 2)


def test_values_are_gathered_by_column():
    np.testing.assert_array_equal(gather(np.array([[0.1, 0.9], [0.2, 0.8]]), np.array([1, -1])), [0.9, 0.0])


def test_far_categories_are_ranked_by_density(fitted, small):
    scores = score(fitted.knowledge_, 50 * small.batch)
    density = fitted.knowledge_.classifier.log_density(
        fitted.knowledge_.reduced(50 * small.batch), fitted.posterior_
    )
    np.testing.assert_array_equal(scores.second, np.argsort(-density, axis=1)[:, 1])


@pytest.mark.parametrize("chunk_rows", [7, 4096])
def test_scores_are_those_of_the_model(fitted, small, monkeypatch, chunk_rows):
    monkeypatch.setattr(knowledge, "CHUNK_ROWS", chunk_rows)
    result = score(fitted.knowledge_, small.batch)
    probabilities = fitted.predict_proba(small.batch)
    np.testing.assert_array_equal(result.best, probabilities.argmax(axis=1))
    strangeness = fitted.novelty_.strangeness(fitted.novelty(small.batch))
    assert strangeness.max() > 0.1
    probabilities *= 1 - strangeness[:, None]
    np.testing.assert_allclose(result.probability, probabilities.max(axis=1), rtol=1e-4)
    np.testing.assert_allclose(result.second_probability, np.sort(probabilities, axis=1)[:, -2], rtol=1e-4)
    np.testing.assert_allclose(result.novelty, fitted.novelty(small.batch), atol=1e-4)


def test_answers_are_as_sure_as_their_category(fitted, small):
    plain = score(fitted.knowledge_, small.batch)
    reliability = np.linspace(0.3, 1.0, len(fitted.classes_))
    doubted = score(replace(fitted.knowledge_, reliability=reliability), small.batch)
    np.testing.assert_array_equal(doubted.best, plain.best)
    np.testing.assert_allclose(doubted.probability, plain.probability * reliability[plain.best])
    np.testing.assert_allclose(
        doubted.second_probability, plain.second_probability * reliability[plain.second]
    )


def test_own_categories_are_the_best(fitted, small):
    own = np.arange(len(small.batch)) % 6
    result = score(fitted.knowledge_, small.batch, own)
    np.testing.assert_array_equal(result.best, own)
    assert (result.second != own).all()


def test_refusal_begins_above_the_rate():
    novelty = np.array([0.0, 0.94, 0.95, 0.96, 1.0])
    np.testing.assert_array_equal(is_rejected(novelty, 0.05), [False, False, False, True, True])
    assert not is_rejected(novelty, None).any()


def test_a_novelty_that_is_no_number_is_rejected_and_flagged():
    assert is_rejected(np.array([np.nan, 0.1]), 0.05).tolist() == [True, False]
    assert is_flagged(np.array([np.nan, 0.1])).tolist() == [True, False]


@pytest.mark.parametrize(
    ("rate", "result"), [(None, None), (0, None), (0.0, None), (0.05, 0.05), (np.float32(0.5), 0.5)]
)
def test_rates_of_refusal(rate, result):
    assert check_reject(rate) == result


@pytest.mark.parametrize("rate", [-0.1, 1, 1.5, "0.05", True, np.nan, [0.1]], ids=str)
def test_impossible_rates_of_refusal(rate):
    with pytest.raises(InputError) as caught:
        check_reject(rate)
    assert caught.value.option == "reject"


@pytest.mark.parametrize(("n_novel", "result"), [(None, None), (0, 0), (5, 5), (3.0, 3), (np.int64(4), 4)])
def test_numbers_of_novel_categories(n_novel, result):
    assert check_n_novel(n_novel, 11) == result


@pytest.mark.parametrize("n_novel", [-1, 6, 2.5, "3", True, np.nan, np.inf], ids=str)
def test_impossible_numbers_of_novel_categories(n_novel):
    with pytest.raises(InputError) as caught:
        check_n_novel(n_novel, 11)
    assert caught.value.option == "n_novel"
