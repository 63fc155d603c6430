import json

import pytest

from vbcgcd.errors import InputError
from vbcgcd.items import read_items


def test_a_text_on_each_line(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("hello, you\n\n  17  \nbye")
    items = read_items(path)
    assert (items.kind, items.values, items.references) == (
        "text",
        ["hello, you", "17", "bye"],
        ["0", "1", "2"],
    )
    assert items.labels is None


def test_lines_that_name_pictures_are_pictures(tmp_path):
    (tmp_path / "1.png").touch()
    (tmp_path / "list.txt").write_text("1.png\n")
    assert read_items(tmp_path / "list.txt").values == [tmp_path / "1.png"]


def test_lines_that_are_no_utf8(tmp_path):
    (tmp_path / "a.txt").write_bytes(b"hello\n\xff\n")
    with pytest.raises(InputError, match="line 2"):
        read_items(tmp_path / "a.txt")


@pytest.mark.parametrize("blank", ["", "\n", " \n \n"])
def test_no_lines(tmp_path, blank):
    (tmp_path / "a.txt").write_text(blank)
    with pytest.raises(InputError, match=r"no rows|is empty"):
        read_items(tmp_path / "a.txt")


@pytest.mark.parametrize(
    "content",
    [
        json.dumps([{"text": "hello", "label": 3}, {"label": 4, "text": "bye"}], indent=1),
        '\ufeff[{"text": "hello", "label": 3}, {"text": "bye", "label": 4}]',
        '{"text": "hello", "label": 3}\n{"text": "bye", "label": 4}\n',
    ],
)
def test_json_of_objects(tmp_path, content):
    (tmp_path / "a.json").write_text(content, encoding="utf-8")
    items = read_items(tmp_path / "a.json")
    assert items.values == ["hello", "bye"]
    assert items.labels.tolist() == [3, 4]


def test_json_of_texts(tmp_path):
    (tmp_path / "a.json").write_text('["hello", "bye"]')
    assert read_items(tmp_path / "a.json").values == ["hello", "bye"]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[1, 2]", "Item 0"),
        ('["hello", 2]', "Item 0"),
        ('[{"text": "a"}, "b"]', "Item 1"),
        ('"hello"', "holds a str"),
        ("[", "not JSON"),
        ('{\n  "text": "pretty"\n}', "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "no rows"),
    ],
)
def test_json_of_anything_else_is_one_error(tmp_path, content, words):
    (tmp_path / "a.json").write_text(content)
    with pytest.raises(InputError, match=words):
        read_items(tmp_path / "a.json")


def test_a_format_says_what_a_name_does_not(tmp_path):
    (tmp_path / "export.dat").write_text("text;label\nhello;a\n")
    assert read_items(tmp_path / "export.dat", format="csv").values == ["hello"]
    with pytest.raises(InputError, match="format"):
        read_items(tmp_path / "export.dat")
    with pytest.raises(InputError, match="xlsx"):
        read_items(tmp_path / "export.dat", format="xlsx")
