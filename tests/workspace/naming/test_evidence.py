import numpy as np
import pytest

from vbcgcd.workspace.naming.evidence import MOST_TEXTS, gather_evidence

TEXTS = ["lost card", "lost card today", "stolen card", "exchange rate", "rate today", "weather today"]
CODES = np.array([0, 0, 0, 1, 1, 2])


def test_salience_by_hand():
    evidence = gather_evidence(TEXTS, CODES, 3)
    place = {word: i for i, word in enumerate(evidence.corpus.words)}
    # "today" is in 1 of 3, 1 of 2 and 1 of 1 texts; each group counts as one text more.
    share = np.array([1 / 4, 1 / 3, 1 / 2])
    usual = (share.mean() + share[[1, 2]].mean() + share[[1, 2]].max() / 2) / 2.5
    expected = max(share[0] ** 1.5 * np.log((share[0] + 0.01) / (usual + 0.01)), 0)
    assert evidence.salience[place["today"], 0] == pytest.approx(expected, abs=1e-6)
    share = np.array([3 / 4, 0, 0])
    expected = share[0] ** 1.5 * np.log((share[0] + 0.01) / (share.mean() / 2.5 + 0.01))
    assert evidence.salience[place["card"], 0] == pytest.approx(expected, abs=1e-6)


def test_shares_of_texts_that_hold_all_words():
    evidence = gather_evidence(TEXTS, CODES, 3)
    place = {word: i for i, word in enumerate(evidence.corpus.words)}
    assert evidence.shares([place["lost"], place["card"]]).tolist() == pytest.approx([2 / 3, 0, 0])
    assert evidence.shares([place["today"]]).tolist() == pytest.approx([1 / 3, 1 / 2, 1])


def test_nearest_groups_by_words_or_as_given():
    texts, codes = ["red card", "red bill", "blue sky", "blue sky"], np.arange(4)
    assert gather_evidence(texts, codes, 4).nearest[2, 0] == 3
    given = np.array([[0, 1, 9, 2], [1, 0, 0, 0], [9, 0, 0, 1], [2, 0, 1, 0]])
    assert gather_evidence(texts, codes, 4, given).nearest[0].tolist() == [2, 3, 1]


def test_large_groups_are_read_in_part():
    evidence = gather_evidence(
        ["card"] * (3 * MOST_TEXTS) + ["rate"], np.array([0] * 3 * MOST_TEXTS + [1]), 2
    )
    assert evidence.sizes.tolist() == [MOST_TEXTS, 1]
