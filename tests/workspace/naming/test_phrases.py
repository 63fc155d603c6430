import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vbcgcd.names import skeleton
from vbcgcd.workspace.commands.naming import check_name
from vbcgcd.workspace.naming.phrases import LETTERS, phrase_names

LUGGAGE = [
    "I lost my luggage",
    "the airline lost my luggage",
    "lost my luggage in Rome",
    "my luggage was lost",
]
RATE = ["what is the exchange rate", "exchange rate of the euro", "exchange rates today", "rate for dollars"]
FLIGHT = ["book a flight to Rome", "please book a flight", "can you book a flight", "find me a cheap flight"]


def names_of(*groups, **options):
    texts = [text for group in groups for text in group]
    codes = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    return phrase_names(texts, codes, len(groups), **options)


def first(*groups, **options):
    return [own[0] if own else "" for own in names_of(*groups, **options)]


def test_names_that_a_person_would_write():
    assert first(LUGGAGE, RATE, FLIGHT) == ["lost my luggage", "exchange rate", "book a flight"]


@pytest.mark.parametrize(
    ("groups", "names"),
    [
        (
            (
                ["Ich habe meine Karte verloren", "Karte verloren, bitte sperren", "Karte verloren"],
                ["Ich möchte einen Flug buchen", "kann ich einen Flug buchen", "bitte Flug buchen"],
            ),
            ["Karte verloren", "Flug buchen"],
        ),
        (
            (
                ["я потерял карту", "потерял карту вчера", "я потерял карту"],
                ["какой курс валют", "курс валют доллар", "узнать курс валют"],
            ),
            ["потерял карту", "курс валют"],
        ),
        (
            (["我的卡丢了", "卡丢了怎么办", "银行卡丢了"], ["今天汇率多少", "汇率多少", "美元汇率多少"]),
            ["卡丢了", "汇率多少"],
        ),
        (
            (["कार्ड खो गया", "मेरा कार्ड खो गया"], ["मौसम कैसा है", "आज मौसम कैसा है"]),
            ["कार्ड खो गया", "मौसम कैसा"],
        ),
        ((["ضاعت بطاقتي", "لقد ضاعت بطاقتي"], ["سعر الصرف", "ما سعر الصرف"]), ["ضاعت بطاقتي", "سعر الصرف"]),
    ],
)
def test_other_languages(groups, names):
    found = first(*groups)
    assert all(name in own or own in name for name, own in zip(names, found, strict=True)), found


def test_the_neighbour_decides_what_tells_a_category():
    score = ["what is my credit score", "tell me my credit score", "credit score please"]
    improve = ["improve my credit score", "how can I improve my credit score", "improve my credit score fast"]
    [_, better] = first(score, improve)
    assert "improve" in better


def test_known_names_are_not_given_again():
    assert first(LUGGAGE, RATE, taken=["exchange_rates"])[1] not in ("", "exchange rate", "exchange rates")
    assert first(LUGGAGE, RATE, taken=["Exchange rate"])[1] != "exchange rate"


def test_only_the_wanted_groups():
    assert first(LUGGAGE, RATE, FLIGHT, wanted=[2]) == ["book a flight"]


def test_further_names_say_something_else():
    for own in names_of(LUGGAGE, RATE, FLIGHT, n=3):
        assert 1 <= len(own) <= 3
        assert len(set(own)) == len(own)


def test_duplicates_never_share_a_name():
    names = [name for name in first(["same text"] * 3, ["same text"] * 3, ["same text"] * 3) if name]
    assert len(set(names)) == len(names)


def test_texts_of_one_word_and_none():
    assert first(["yes", "yes"], ["perhaps"], ["", " "], ["12 34", "!!"], ["😀"]) == [
        "yes",
        "perhaps",
        "",
        "",
        "",
    ]


def test_emoji_are_no_words():
    assert first(["party time 😀", "😀 party time"], ["card lost 😢", "card lost"]) == [
        "party time",
        "card lost",
    ]


def test_very_long_texts_and_words():
    names = first(["card " * 5000, "card " * 5000], ["x" * 100_000] * 2, ["wordwordword " * 900] * 2)
    assert names == ["card", "", "wordwordword"]


def test_a_question_keeps_its_question_word():
    texts = ["how long does it take to fly", "how long does it take by bus", "how long does it take"]
    assert first(texts, RATE) == ["how long does it take", "exchange rate"]


def test_no_number_hangs_at_the_end():
    texts = ["set a timer for 5 minutes", "set a timer for 9 minutes", "set a timer for 3 minutes"]
    assert first(texts, RATE)[0] == "set a timer"


def test_no_texts():
    assert phrase_names([], np.empty(0, int), 0) == []
    assert phrase_names([], np.empty(0, int), 2) == [[], []]


WORD = st.sampled_from(
    ["card", "cards", "lost", "rate", "my", "the", "卡", "丢", "é", "O'Clock", "می\u200cخ", "7", "😀"]
)
TEXT = st.lists(WORD, max_size=8).map(" ".join)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(TEXT, st.integers(0, 3)), max_size=14))
def test_names_are_names_and_different(rows):
    texts, codes = [text for text, _ in rows], np.array([code for _, code in rows], int)
    names = [name for own in phrase_names(texts, codes, 4) for name in own]
    assert len({skeleton(name) for name in names}) == len(names)
    for name in names:
        assert check_name(name) == name
        assert len(name) <= LETTERS + 31
        assert "," not in name
