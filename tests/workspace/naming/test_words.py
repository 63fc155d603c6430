import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vbcgcd.workspace.naming.words import BREAK, LONGEST_WORD, NUMBER, is_unspaced, read_texts, tokens


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Book a flight", ["Book", "a", "flight", None]),
        ("lost, or stolen", ["lost", None, "or", "stolen", None]),
        ("don’t carry-on o'clock", ["don't", "carry-on", "o'clock", None]),
        ("at 5 pm my 401k", ["at", "", "pm", "my", "401k", None]),
        ("卡丢了", ["卡", "丢", "了", None]),
        ("मौसम कैसा", ["मौसम", "कैसा", None]),
        ("می\u200cخواهم", ["می\u200cخواهم", None]),
        ("😀 party", [None, "party", None]),
        ("", [None]),
        ("_ - '", [None]),
    ],
)
def test_words_as_they_are_written(text, words):
    assert list(tokens(text)) == words


def test_a_word_beyond_all_measure_ends_a_phrase():
    assert list(tokens("a " + "x" * (LONGEST_WORD + 1))) == ["a", "", None]


def test_texts_become_numbers():
    corpus = read_texts(["a card", "card 5", ""])
    assert [corpus.words[i] if i >= 0 else i for i in corpus.ids.tolist()] == [
        "a",
        "card",
        BREAK,
        "card",
        NUMBER,
        BREAK,
        BREAK,
    ]
    assert corpus.text.tolist() == [0, 0, 0, 1, 1, 1, 2]


def test_a_word_is_written_as_in_the_middle_of_a_sentence():
    corpus = read_texts(["Card lost", "Card stolen", "Card gone", "my card", "die Karte", "eine Karte"])
    written = dict(zip(corpus.words, corpus.written, strict=True))
    assert (written["card"], written["karte"]) == ("card", "Karte")


@given(st.lists(st.text(max_size=40), max_size=5))
def test_any_texts_can_be_read(texts):
    corpus = read_texts(texts)
    assert len(corpus.ids) == len(corpus.text)
    assert np.all(corpus.ids < max(len(corpus.words), 1))
    assert np.sum(np.bincount(corpus.text, minlength=len(texts)) > 0) == len(texts)


def test_which_scripts_have_no_blanks():
    assert [is_unspaced(word) for word in ("卡", "カ", "ส", "card", "карта", "카드", "कार्ड")] == [
        True
    ] * 3 + [False] * 4
