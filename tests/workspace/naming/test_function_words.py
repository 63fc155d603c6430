import numpy as np
import pytest

from vbcgcd.workspace.naming.function_words import function_words
from vbcgcd.workspace.naming.words import read_texts


def found(texts, spread):
    corpus = read_texts(texts)
    weak = function_words(corpus, np.array([spread.get(word, 1.0) for word in corpus.words]), 4)
    return {word for word, is_weak in zip(corpus.words, weak, strict=True) if is_weak}


@pytest.mark.parametrize(
    ("texts", "weak"),
    [
        (["I lost my card", "where is the card"], {"i", "my", "where", "is", "the"}),
        (["ich habe die Karte verloren", "wo ist die Karte"], {"ich", "habe", "die", "wo", "ist"}),
        (["j'ai perdu ma carte", "où est la carte"], {"j'ai", "ma", "où", "est", "la"}),
    ],
)
def test_the_list_of_the_language_of_the_texts(texts, weak):
    assert found(texts, {}) == weak


def test_a_word_of_another_language_stays_a_word():
    assert "die" not in found(["how did the plant die", "why did it die"], {})


def test_other_languages_have_frequent_words_that_are_spread_evenly():
    texts = ["ja mam kartę", "ja mam kurs", "ja mam lot", "ja mam dom", "kartę kartę kartę"]
    assert found(texts, {"ja": 4.0, "mam": 3.9}) == {"ja", "mam"}


def test_few_texts_say_nothing_about_words():
    assert found(["курс валют", "курс валют"], {}) == set()
