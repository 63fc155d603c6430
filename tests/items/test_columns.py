import pytest

from vbcgcd.errors import InputError
from vbcgcd.items.columns import choose_columns, named


def chosen(natures, **said):
    return choose_columns(natures, source="t.csv", **said).report


NUMBERS = {f"e{i}": "number" for i in range(8)}
E8 = tuple(NUMBERS)


@pytest.mark.parametrize(
    ("natures", "said", "report"),
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
        ({"text": "text", "v": "vector"}, {"kind": "embedding"}, {"embedding": "v"}),
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
def test_columns_are_said_named_or_the_only_ones(natures, said, report):
    assert chosen(natures, **said) == report


@pytest.mark.parametrize(
    ("natures", "said", "words"),
    [
        (
            {"text": "text", "v": "vector"},
            {},
            "could be text \\('text'\\) or embedding \\('v'\\); say which with kind=",
        ),
        ({"a": "text", "b": "text"}, {}, "not clear .* 'a', 'b'"),
        ({"a": "text"}, {"kind": "image"}, "holds the image.* image="),
        ({"p": "picture", "q": "picture"}, {}, "not clear"),
        ({"v": "vector", "w": "vector"}, {}, "not clear"),
        ({"n": "number"}, {}, "not clear"),
        ({"n": "other"}, {}, "not clear"),
        ({"text": "other", "photo": "other"}, {}, "not clear"),
        ({"e0": "number", "e2": "number", "a": "text", "b": "text"}, {"embedding": "e"}, "no column 'e'"),
        ({"label": "text"}, {}, "free columns are none"),
        ({"text": "text"}, {"label": "intent"}, "no column 'intent'; its columns are 'text'"),
        ({"text": "text"}, {"id": "intent"}, "no column 'intent'"),
        ({"text": "text"}, {"text": "x"}, "no column 'x'"),
        ({"text": "text"}, {"embedding": ["text", "x"]}, "no column 'x'"),
        ({"text": "text"}, {"embedding": []}, "at least one column"),
        ({"text": "text"}, {"text": "text", "image": "text"}, "contradict"),
        ({"text": "text"}, {"kind": "image", "text": "text"}, "kind='image' and text='text' contradict"),
        ({"text": "text"}, {"kind": "sound"}, "kind must be one of"),
        ({"text": "text"}, {"text": "text", "label": "text"}, "used for two things"),
        ({f"c{i * 2}": "text" for i in range(20)}, {}, "and 12 more"),
    ],
)
def test_no_answer_or_two_answers_are_a_question(natures, said, words):
    with pytest.raises(InputError, match=words):
        chosen(natures, **said)


def test_a_name_is_found_in_the_order_of_preference():
    assert named(["Target", "Class-Name", "x"], ("class_name", "target")) == "Class-Name"
    assert named(["x"], ("y",)) is None
