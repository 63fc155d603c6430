import itertools
from dataclasses import astuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vbcgcd.study.scoring import (
    Accuracies,
    FrozenMatch,
    SessionScore,
    discovery,
    forgetting,
    joint_correct,
    macro_accuracy,
    score_session,
    score_stream,
    share,
)

LABELLED = np.array([0, 1])


def added(ids, predicted, truth, classes):
    match = FrozenMatch(LABELLED)
    match.add(np.array(ids), np.array(predicted), np.array(truth), np.array(classes))
    return match


def test_labelled_ids_stand_for_themselves():
    match = FrozenMatch(LABELLED)
    assert match.of == {0: 0, 1: 1}
    np.testing.assert_array_equal(
        match.correct(np.array([0, 1, 1, 7]), np.array([0, 1, 0, 7])), [True, True, False, False]
    )


def test_ids_are_matched_to_most_rows_in_total():
    # Greedily 10 would take class 5 (3 rows) and leave 11 with none of class 6; the sum decides.
    predicted = np.repeat([10, 10, 11, 11], [3, 2, 3, 0])
    truth = np.concatenate([[5] * 3, [6] * 2, [5] * 3])
    assert added([10, 11], predicted, truth, [5, 6]).of == {0: 0, 1: 1, 10: 6, 11: 5}


def test_more_ids_than_classes_leave_ids_that_are_wrong():
    match = added([10, 11, 12], [10, 11, 11, 12, 12, 12], [5, 5, 5, 6, 6, 5], [5, 6])
    assert match.of == {0: 0, 1: 1, 10: None, 11: 5, 12: 6}
    predicted, truth = np.array([10, 11, 12, 10]), np.array([5, 5, 6, 6])
    np.testing.assert_array_equal(match.correct(predicted, truth), [False, True, True, False])


def test_more_classes_than_ids_leave_classes_that_are_missed():
    match = added([10], [10, 10, 10, 0, 1], [5, 5, 6, 6, 7], [5, 6, 7])
    assert match.of == {0: 0, 1: 1, 10: 5}
    np.testing.assert_array_equal(match.correct(np.array([10, 10, 10]), np.array([5, 6, 7])), [1, 0, 0])


def test_no_ids_match_nothing():
    assert added([], [0, 1], [5, 6], [5, 6]).of == {0: 0, 1: 1}


def test_rows_of_known_classes_do_not_decide():
    match = added([10, 11], [10] * 9 + [10, 11], [0] * 9 + [6, 5], [5, 6])
    assert (match.of[10], match.of[11]) == (6, 5)


def test_an_id_that_looks_like_a_class_is_still_an_id():
    match = added([5, 6], [5, 5, 6, 6], [6, 6, 5, 5], [5, 6])
    np.testing.assert_array_equal(match.correct(np.array([5, 6, 5]), np.array([6, 5, 5])), [1, 1, 0])


def test_a_match_is_frozen():
    match = added([10, 11], [10, 10, 11], [5, 5, 6], [5, 6])
    before = dict(match.of)
    # In the next session the old ids appear on its new classes, and new ids on old classes.
    match.add(np.array([12]), np.array([10, 10, 12, 12]), np.array([7, 7, 5, 5]), np.array([7]))
    assert {k: match.of[k] for k in before} == before
    assert match.of[12] == 7


def test_names_are_matched():
    match = FrozenMatch(np.array(["cat"]))
    match.add(
        np.array(["novel-1"]), np.array(["novel-1", "cat"]), np.array(["dog", "cat"]), np.array(["dog"])
    )
    np.testing.assert_array_equal(
        match.correct(np.array(["novel-1", "cat", "dog"]), np.array(["dog", "cat", "dog"])), [1, 1, 0]
    )


@pytest.mark.parametrize("n_novel", [1, 3, 8])
def test_a_perfect_predictor_has_all_and_a_constant_one_its_share(n_novel):
    classes = 2 + np.arange(n_novel)
    truth = np.tile(np.arange(2 + n_novel), 10)
    ids = 100 + classes
    perfect = np.where(truth < 2, truth, 100 + truth)
    match = added(ids, perfect, truth, classes)
    assert match.correct(perfect, truth).all()
    constant = np.full(len(truth), 100 + classes[0])
    assert match.correct(constant, truth).mean() == pytest.approx(1 / (2 + n_novel))
    assert added(ids[:1], constant, truth, classes).correct(constant, truth).mean() == pytest.approx(
        1 / (2 + n_novel)
    )


def test_scores_are_means_over_their_classes():
    truth = np.array([0, 0, 1, 5, 5, 6, 9])
    correct = np.array([1, 0, 1, 1, 0, 0, 1], bool)
    known, novel = np.array([0, 1, 5]), np.array([6])
    score = score_session(correct, truth, LABELLED, known, novel)
    assert astuple(score) == pytest.approx((3 / 6, 3 / 5, 0, 2 / 3, 1 / 3))
    assert np.isnan(score_session(correct, truth, LABELLED, known, np.array([77])).new)


def test_forgetting_and_discovery_by_hand():
    scores = [SessionScore(0.8, 0.85, 0.5, 0.9), SessionScore(0.7, 0.75, 0.3, 0.84)]
    assert forgetting(0.95, scores) == pytest.approx(0.11)
    assert discovery(scores) == pytest.approx(0.4)
    assert forgetting(0.8, scores) == pytest.approx(-0.04)


def test_accuracies_of_a_run_use_the_same_definitions():
    run = Accuracies(0.95, (SessionScore(0.8, 0.85, 0.5, 0.9), SessionScore(0.7, 0.75, 0.3, 0.84)))
    bound = Accuracies(0.95, (SessionScore(0.875, 0.9, 0.8, 0.9),))
    assert run.final is run.scores[-1]
    assert (run.forgetting, run.discovery) == (forgetting(0.95, run.scores), discovery(run.scores))
    assert share(run, bound) == pytest.approx(0.8)


ids = st.integers(0, 9)


@given(st.data(), st.integers(1, 40), st.integers(1, 40))
def test_joint_all_is_never_below_frozen_all(data, n_stream, n_test):
    """For arbitrary predictions: the frozen map is one of the maps that the joint match chooses among."""
    draw = lambda of, n: np.array(data.draw(st.lists(of, min_size=n, max_size=n)))  # noqa: E731
    match = FrozenMatch(LABELLED)
    for novel_ids, classes in (([2, 3, 4], [2, 3]), ([5], [4, 5, 6])):
        match.add(
            np.array(novel_ids), draw(ids, n_stream), draw(st.integers(0, 6), n_stream), np.array(classes)
        )
    predicted, truth = draw(ids, n_test), draw(st.integers(0, 6), n_test)
    assert joint_correct(predicted, truth).mean() >= match.correct(predicted, truth).mean()


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=1, max_size=30))
def test_the_joint_match_is_the_best_of_all_permutations(pairs):
    predicted, truth = (np.array(side) for side in zip(*pairs, strict=True))
    best = max(np.mean(np.array(p)[predicted] == truth) for p in itertools.permutations(range(5)))
    assert joint_correct(predicted, truth).mean() == pytest.approx(best)


def test_a_perfect_predictor_scores_one_in_both():
    truth = np.array([0, 0, 1, 5, 5, 6])
    match = added([5, 6], truth, truth, [5, 6])
    for correct in (match.correct(truth, truth), joint_correct(truth, truth)):
        score = score_session(correct, truth, LABELLED, LABELLED, np.array([5, 6]))
        assert score == SessionScore(1, 1, 1, 1, 1)


def test_a_constant_predictor_scores_the_share_of_its_class():
    truth = np.array([0] * 3 + [1] * 2 + [5] * 5)
    constant = np.zeros(10, dtype=int)
    match = added([5], constant, truth, [5])
    frozen = score_session(match.correct(constant, truth), truth, LABELLED, LABELLED, np.array([5]))
    assert frozen == SessionScore(0.3, 0.6, 0.0, 0.6, 0.0)
    joint = score_session(joint_correct(constant, truth), truth, LABELLED, LABELLED, np.array([5]))
    assert joint == SessionScore(
        0.5, 0.0, 1.0, 0.0, 1.0
    )  # one match for all: the constant stands for the largest class


def test_the_stream_is_judged_by_hand():
    truth = np.array([0, 0, 1, 5, 5, 5, 6, 6])
    predicted = np.array([0, 10, 1, 10, 10, 0, 11, 11])
    novelty = np.array([0.1, 0.9, 0.2, 0.8, 0.7, 0.3, 0.6, 0.95])
    score = score_stream(predicted, novelty, truth, np.array([10, 11]), np.array([5, 6]))
    assert (score.rows, score.novel_rows, score.judged_novel) == (8, 5, 5)
    assert score.precision == score.recall == pytest.approx(4 / 5)
    pairs = [(n, k) for n in novelty[3:] for k in novelty[:3]]
    assert score.auroc == pytest.approx(np.mean([(n > k) + (n == k) / 2 for n, k in pairs]))
    assert 0 < score.nmi < 1
    same = np.array([[a == b for b in truth] for a in truth])[np.triu_indices(8, 1)]
    alike = np.array([[a == b for b in predicted] for a in predicted])[np.triu_indices(8, 1)]
    both, expected = (same & alike).sum(), same.sum() * alike.sum() / len(same)
    assert score.ari == pytest.approx((both - expected) / ((same.sum() + alike.sum()) / 2 - expected))


def test_what_cannot_be_judged_is_nan():
    truth = np.array([5, 5])
    score = score_stream(np.array([0, 0]), None, truth, np.array([10]), np.array([5]))
    assert score.recall == 0
    assert np.isnan([score.precision, score.auroc]).all()
    assert np.isnan(score_stream(truth, truth, truth, truth[:1], np.array([5])).auroc)  # all rows are novel


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), min_size=1, max_size=30))
def test_macro_accuracy_is_the_mean_over_classes(pairs):
    truth, correct = (np.array(column) for column in zip(*pairs, strict=True))
    each = [np.mean([r for c, r in pairs if c == k]) for k in {c for c, _ in pairs}]
    assert macro_accuracy(correct, truth) == pytest.approx(np.mean(each))
