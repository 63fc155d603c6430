import numpy as np

from vbcgcd.workspace.naming.forms import forms

WORDS = ["rate", "rates", "card", "cards", "bill", "bills", "car", "plan", "planes"]


def grouped(words, profile):
    stands = forms(words, np.array(profile, float))
    return [words[i] for i in stands]


def test_forms_occur_in_the_same_categories():
    profile = [[5, 0], [3, 1], [0, 4], [0, 2], [1, 3], [0, 1], [3, 0], [4, 0], [0, 4]]
    assert grouped(WORDS, profile) == [
        "rate",
        "rate",
        "card",
        "card",
        "bill",
        "bill",
        "car",
        "plan",
        "planes",
    ]


def test_an_ending_that_only_one_pair_has_is_no_ending():
    assert grouped(["rate", "ratex"], [[5, 0], [5, 0]]) == ["rate", "ratex"]


def test_the_first_word_stands_for_all_its_forms():
    words = ["book", "books", "booking", "look", "looks", "looking", "cook", "cooks", "cooking"]
    found = grouped(words, np.ones((9, 1)))
    assert found == ["book"] * 3 + ["look"] * 3 + ["cook"] * 3


def test_no_words():
    assert forms([], np.empty((0, 2))).tolist() == []
