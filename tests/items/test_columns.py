import pytest

from vbcgcd.errors import InputError
from vbcgcd.items.columns import choose_columns, pick_column


def report(natures, **options):
    return choose_columns(natures, source="t.csv", **options).report


NUMBERS = {f"e{i}": "number" for i in range(8)}
E8 = tuple(NUMBERS)


@pytest.mark.parametrize(
    ("natures", "options", "expected"),
    [
        ({"split": "text", "label": "text", "text": "text"}, {}, {"text": "text", "label": "label"}),
        ({"Utterance": "text", "Intent": "text"}, {}, {"text": "Utterance", "label": "Intent"}),
        ({"title": "text", "text": "text"}, {}, {"text": "text"}),
        ({"words": "text", "n": "number", "y": "number"}, {}, {"text": "words", "label": "y"}),
        ({"file": "picture", "class": "text"}, {}, {"image": "file", "label": "class"}),
        ({"thumb": "picture", "path": "picture"}, {}, {"image": "path"}),
        ({"id": "number", "v": "vector"}, {}, {"embedding": "v", "id": "id"}),
        ({"": "number", **NUMBERS, "target": "text"}, {}, {"embedding": E8, "label": "target", "id": ""}),
        ({**dict(reversed(NUMBERS.items())), "note": "text"}, {}, {"embedding": E8}),
        ({"1": "number", "2": "number"}, {}, {"embedding": ("1", "2")}),
        ({"q1": "number", "q2": "number", "text": "text"}, {}, {"text": "text"}),
        ({"e0": "number", "e1": "number", "score": "number"}, {}, {"embedding": ("e0", "e1")}),
        (
            {"wide": "number", "long": "number", "y": "number"},
            {},
            {"embedding": ("wide", "long"), "label": "y"},
        ),
        ({"text": "text", "v": "vector"}, {"kind": "embedding"}, {"embedding": "v", "text": "text"}),
        ({"text": "text", "v": "vector"}, {"embedding": "v"}, {"embedding": "v", "text": "text"}),
        ({"a": "text", "b": "text", "v": "vector"}, {"embedding": "v"}, {"embedding": "v"}),
        (
            {"a": "text", "b": "text", "v": "vector"},
            {"embedding": "v", "text": "b"},
            {"embedding": "v", "text": "b"},
        ),
        (
            {"a": "picture", "v": "vector"},
            {"kind": "embedding", "image": "a"},
            {"embedding": "v", "image": "a"},
        ),
        ({"note": "text", "feedback": "text", "team": "text"}, {}, {"text": "feedback"}),
        ({"text": "text", "v": "vector"}, {"prefer": {"kind": "text"}}, {"text": "text"}),
        (
            {"text": "text", "v": "vector"},
            {"prefer": {"kind": "embedding"}},
            {"embedding": "v", "text": "text"},
        ),
        ({"text": "text", "a": "text"}, {"prefer": {"text": "a", "label": "gone"}}, {"text": "a"}),
        ({"text": "text", "a": "text"}, {"prefer": {"label": "a"}}, {"text": "text", "label": "a"}),
        ({"text": "text", "a": "text"}, {"text": "text", "prefer": {"text": "a"}}, {"text": "text"}),
        (
            {"text": "text", "a": "text", "label": "text"},
            {"label": "label", "prefer": {"label": "a"}},
            {"text": "text", "label": "label"},
        ),
        ({"text": "text", "v": "vector"}, {"kind": "text"}, {"text": "text"}),
        ({"text": "text", "v": "vector"}, {"text": "text"}, {"text": "text"}),
        ({"a": "text", "b": "text"}, {"text": "b", "label": "a"}, {"text": "b", "label": "a"}),
        ({"y": "number", "z": "number"}, {"embedding": ["y", "z"]}, {"embedding": ("y", "z")}),
        (
            {"f1": "number", "f2": "number", "e0": "number", "e1": "number"},
            {"embedding": "f"},
            {"embedding": ("f1", "f2")},
        ),
        ({"id": "text"}, {"text": "id"}, {"text": "id"}),
        ({"a": "text", "b": "text"}, {"ignore": ["a"]}, {"text": "b"}),
        ({"text": "other", "n": "number"}, {}, {"text": "text"}),
        ({"text": "other", "photo": "other"}, {"kind": "image"}, {"image": "photo"}),
    ],
)
def test_columns_are_chosen_named_or_the_only_ones(natures, options, expected):
    assert report(natures, **options) == expected


@pytest.mark.parametrize(
    ("natures", "options", "words", "option"),
    [
        (
            {"text": "text", "v": "vector"},
            {},
            "'text'.*'v'",
            "kind",
        ),
        ({"a": "text", "b": "text"}, {}, "not clear.* 'a', 'b'", None),
        ({"a": "text"}, {"kind": "image"}, "'image'", "image"),
        ({"p": "picture", "q": "picture"}, {}, "not clear", None),
        ({"v": "vector", "w": "vector"}, {}, "not clear", None),
        ({"n": "number"}, {}, "not clear", None),
        ({"n": "other"}, {}, "not clear", None),
        ({"text": "other", "photo": "other"}, {}, "not clear", None),
        (
            {"e0": "number", "e2": "number", "a": "text", "b": "text"},
            {"embedding": "e"},
            "'e'",
            "embedding",
        ),
        ({"label": "text"}, {}, "none", None),
        ({"text": "text"}, {"label": "intent"}, "'intent'.*'text'", "label"),
        ({"text": "text"}, {"id": "intent"}, "'intent'", "id"),
        ({"text": "text"}, {"text": "x"}, "'x'", "text"),
        ({"text": "text"}, {"embedding": ["text", "x"]}, "'x'", "embedding"),
        ({"text": "text"}, {"embedding": []}, "at least one column", "embedding"),
        ({"text": "text"}, {"text": "text", "image": "text"}, "contradict", "text"),
        ({"text": "text"}, {"kind": "image", "text": "text"}, "'image'.*contradict", "kind"),
        ({"text": "text"}, {"kind": "sound"}, "'sound'", "kind"),
        ({"text": "text"}, {"text": "text", "label": "text"}, "used twice", None),
        ({f"c{i * 2}": "text" for i in range(20)}, {}, "and 12 more", None),
    ],
)
def test_no_answer_or_two_answers_are_a_question(natures, options, words, option):
    with pytest.raises(InputError, match=words) as caught:
        report(natures, **options)
    assert caught.value.option == option


def test_a_name_is_picked_in_the_order_of_preference():
    assert pick_column(["Target", "Class-Name", "x"], ("class_name", "target")) == "Class-Name"
    assert pick_column(["x"], ("y",)) is None
