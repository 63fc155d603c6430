from pathlib import Path

import numpy as np
import pytest

from vbcgcd.errors import InputError
from vbcgcd.items import read_items
from vbcgcd.items.cells import is_picture, nature_of, parse_vector


@pytest.mark.parametrize(
    ("cells", "typed", "nature"),
    [
        (["1", "2.5", "", "nan", "-1e3"], False, "number"),
        (["1", "2.5"], True, "text"),
        (["1", "x"], False, "text"),
        (["[1, 2]", "[0.5]"], False, "vector"),
        (["[1, 2]", "[note] x"], False, "text"),
        (["[]"], False, "text"),
        (["a.png", "dir/b.JPEG "], False, "picture"),
        (["a.png", "b.txt"], True, "text"),
        ([[1, 2.0], None], True, "vector"),
        ([["a"], ["b"]], True, "other"),
        ([1, 2.0, None], True, "number"),
        ([True, False], True, "other"),
        ([{"a": 1}], True, "other"),
        (["a", 1], True, "other"),
        (["", " "], False, "empty"),
        ([None], True, "empty"),
        (np.zeros(3), True, "number"),
        (np.zeros((3, 2)), True, "vector"),
    ],
)
def test_the_nature_of_a_column(cells, typed, nature):
    assert nature_of(cells, typed=typed) == nature


def test_pictures_are_known_by_their_ending():
    assert is_picture("a.b.WebP")
    assert not any(map(is_picture, ["png", ".png", "a.png.txt", "a"]))


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("[1, 2.5]", [1, 2.5]),
        (" [1]", [1]),
        ([1, 2], [1, 2]),
        ("[0.1 0.2]", None),
        ("[1, null]", None),
        ('["1"]', None),
        ("[" * 100_000, None),
        ("12", None),
        ([], None),
        ([True], None),
        (None, None),
        (3.0, None),
    ],
)
def test_a_vector_is_a_list_of_numbers_or_its_json(cell, expected):
    assert parse_vector(cell) == expected


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("t.csv", 'v\n"[1, 2]"\n"[1]"\n', "line 3: 1 .* 2"),
        ("t.csv", "v0,v1\n1,2\n1,\n", "'v1'.* line 3: .*empty"),
        ("t.csv", "v0,v1\n1,2\n1,nan\n", "1 of 2 .*'1', position 1"),
        ("t.csv", "v0,v1\n1,2\n1,inf\n", "NaN or infinity"),
        ("t.jsonl", '{"v": [1, 2]}\n{"v": [1, NaN]}\n', "NaN or infinity"),
        ("t.jsonl", '{"v": [1, 2]}\n{}\n', "line 2: .*empty"),
        ("t.jsonl", '{"a": 1, "b": 2}\n{"a": 1}\n', "'b'.* line 2: .*empty"),
        ("t.jsonl", '{"v": [1, 1' + "0" * 400 + "]}", "too large"),
    ],
)
def test_bad_embeddings_in_tables(tmp_path, name, text, words):
    with pytest.raises(InputError, match=words):
        read_items(write(tmp_path, name, text))


def test_an_array_as_numpy_prints_it_is_no_list(tmp_path):
    path = write(tmp_path, "t.csv", 'v\n"[1, 2]"\n\n[1. 2.]\n')
    with pytest.raises(InputError, match=r"'v'.* line 4: '\[1. 2.\]'"):
        read_items(path, embedding="v")


@pytest.mark.parametrize(("row", "words"), [("x,2", "line 1003: 'x'"), (",2", "line 1003")])
def test_a_bad_number_after_the_rows_that_are_judged(tmp_path, row, words):
    with pytest.raises(InputError, match=words):
        read_items(write(tmp_path, "t.csv", "v0,v1\n" + "1,2\n" * 1001 + row + "\n"))


def test_a_change_of_width_after_the_first_block(tmp_path):
    text = '{"v": [1, 2]}\n' * 1000 + '{"v": [1]}\n'
    with pytest.raises(InputError, match=r"line 1001 .* 1 .* 2"):
        read_items(write(tmp_path, "t.jsonl", text))
