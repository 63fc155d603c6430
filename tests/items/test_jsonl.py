import json

import pytest

from vbcgcd.errors import InputError
from vbcgcd.items.jsonl import JsonlTable
from vbcgcd.items.tables import BLOCK


@pytest.fixture
def written(tmp_path):
    def write(content):
        path = tmp_path / "t.jsonl"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_keys_of_all_lines_are_columns_and_missing_keys_are_none(written):
    lines = [json.dumps({"a": i}) for i in range(BLOCK)] + ["", '{"b": "é", "a": null}']
    table = JsonlTable(written("\ufeff" + "\n".join(lines)))
    assert table.names == ["a", "b"]
    first, second = table.blocks(["b", "a"])
    assert first.columns["b"] == [None] * BLOCK
    assert second.columns == {"b": ["é"], "a": [None]}
    assert second.places == [BLOCK + 2]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ('{"a": 1}\n{"a": \n', "Line 2 .* is not JSON"),
        ('{"a": 1}\n[1]\n', "Line 2 .* holds a list"),
        ('{"a": 1, "a": 2}', "more than one column named 'a'"),
        ('{"a": ' + "[" * 100_000, "Line 1 .* is not JSON"),
        ('{"a": ' + "1" * 5000 + "}", "Line 1 .* is not JSON"),
        (b'{"a": 1}\n{"a": "\xff"}\n', "not UTF-8 in line 2"),
    ],
)
def test_what_is_wrong_is_said(written, content, words):
    with pytest.raises(InputError, match=words):
        JsonlTable(written(content))
