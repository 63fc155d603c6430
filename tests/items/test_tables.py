import csv
import json
import os
import time

import numpy as np
import pytest

from vbcgcd.errors import InputError
from vbcgcd.items import read_items, tables
from vbcgcd.items.tables import BLOCK, Block, DelimitedTable, JsonlTable


@pytest.fixture
def written(tmp_path):
    def write(content, name="t.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_a_block_with_fewer_rows_keeps_them_together():
    block = Block({"a": ["x", "y", "z"], "b": np.arange(6).reshape(3, 2)}, [5, 6, 9])
    kept = block.filter(np.array([True, False, True]))
    assert kept.columns["a"] == ["x", "z"]
    assert kept.columns["b"].tolist() == [[0, 1], [4, 5]]
    assert kept.places == [5, 9]
    assert block.filter(np.ones(3, dtype=bool)) is block


def all_rows(path):
    table = DelimitedTable(path)
    blocks = list(table.blocks(table.names))
    return {name: [c for b in blocks for c in b.columns[name]] for name in table.names}


def test_a_byte_order_mark_blank_lines_and_quotes(written):
    path = written(b'\xef\xbb\xbfa, b \r\n1,"x, y"\r\n\r\n2,"two\nlines"\r\n')
    assert all_rows(path) == {"a": ["1", "2"], "b": ["x, y", "two\nlines"]}


@pytest.mark.parametrize(
    ("name", "text"), [("t.csv", "a;b\n1;2,5\n"), ("t.csv", "a\tb\n1\t2,5\n"), ("t.tsv", "a\tb\n1\t2,5\n")]
)
def test_the_delimiter_is_that_of_the_header(written, name, text):
    assert all_rows(written(text, name)) == {"a": ["1"], "b": ["2,5"]}


def test_blocks_hold_the_asked_columns_and_the_lines(written):
    path = written("a,b\n" + "".join(f"{i},x\n" for i in range(BLOCK + 5)))
    blocks = list(DelimitedTable(path).blocks(["a"]))
    assert [len(b.places) for b in blocks] == [BLOCK, 5]
    assert list(blocks[1].columns) == ["a"]
    assert blocks[1].places[0] == BLOCK + 2


def test_a_huge_cell_is_read_and_the_limit_of_the_process_stays(written):
    before = csv.field_size_limit()
    huge = "x" * (before + 10)
    assert all_rows(written(f"a,b\n1,{huge}\n"))["b"] == [huge]
    assert csv.field_size_limit() == before


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"a,b\n1,2\n1,2,3\n", "Line 3 .* 3 .* 2"),
        (b"a,b\n1\n", "Line 2 .* 1 .* 2"),
        (b"a,b,a\n1,2,3\n", "'a'"),
        (b"a,b\n1,caf\xe9\n", "line 2 .*0xe9.* 6"),
        ("a,b\n1,2\n".encode("utf-16"), "UTF-16"),
        (b'a,b\n1,"open\n', "line 2 .* quote"),
        (b"0.5,text\n0.1,x\n", "'0.5'"),
        (b"\n\n", "no header"),
        (b",,\n1,2,3\n", "no header"),
    ],
)
def test_what_is_wrong_with_a_table_is_said(written, content, words):
    with pytest.raises(InputError, match=words):
        all_rows(written(content))


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
        ('{"a": 1}\n{"a": \n', "Line 2 .*JSON"),
        ('{"a": 1}\n[1]\n', "Line 2 .* list"),
        ('{"a": 1, "a": 2}', "'a'"),
        ('{"a": ' + "[" * 100_000, "Line 1 .*JSON"),
        ('{"a": ' + "1" * 5000 + "}", "Line 1 .*JSON"),
        (b'{"a": 1}\n{"a": "\xff"}\n', "UTF-8 in line 2"),
    ],
)
def test_what_is_wrong_is_said(written, content, words):
    with pytest.raises(InputError, match=words):
        JsonlTable(written(content))


@pytest.mark.parametrize("name", ["a", "text"])
def test_a_header_cell_of_any_length_names_its_column(written, name):
    """The csv module refuses cells above 128 KiB unless it is told otherwise."""
    long = name * 70_000
    assert all_rows(written(f"{long},b\n1,2\n")) == {long: ["1"], "b": ["2"]}
    assert csv.field_size_limit() == 131_072


def test_an_unclosed_quote_in_the_header_is_one_clear_error(written):
    with pytest.raises(InputError, match="malformed near line"):
        DelimitedTable(written('a,"b\n1,2\n'))


@pytest.mark.parametrize("extension", ["csv", "jsonl"])
def test_many_columns_take_time_in_proportion(written, extension):
    n = 60_000  # a search through all names for each of them takes a minute
    if extension == "csv":
        path = written(",".join(f"e{i}" for i in range(n)) + "\n" + ",".join(["0.5"] * n) + "\n")
    else:  # a key of its own in each line: a table of lines by keys would have billions of cells
        path = written("\n".join(f'{{"text": "t", "k{i}": "v"}}' for i in range(n)), "t.jsonl")
    start = time.process_time()
    items = read_items(path, **({} if extension == "csv" else {"text": "text"}))
    assert len(items) == (1 if extension == "csv" else n)
    assert time.process_time() - start < 10


@pytest.mark.parametrize("extension", ["csv", "jsonl"])
def test_more_columns_than_the_limit_are_one_clear_error(written, monkeypatch, extension):
    monkeypatch.setattr(tables, "MOST_COLUMNS", 3)
    wide = "a,b,c,d\n1,2,3,4\n" if extension == "csv" else '{"a": 1, "b": 1}\n{"c": 1, "d": 1}\n'
    with pytest.raises(InputError, match="more than 3 columns"):
        read_items(written(wide, f"t.{extension}"))


@pytest.mark.parametrize("extension", ["csv", "jsonl", "parquet", "npy"])
def test_names_that_are_not_utf8_are_read(tmp_path, extension):
    plain = tmp_path / f"t.{extension}"
    odd = tmp_path / os.fsdecode(b"\xff\xfe." + extension.encode())
    if extension == "parquet":
        arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        parquet.write_table(arrow.table({"text": ["a", "b"]}), plain)
    elif extension == "npy":
        np.save(plain, np.array(["a", "b"]))
    else:
        plain.write_text("text\na\nb\n" if extension == "csv" else '{"text": "a"}\n{"text": "b"}\n')
    odd.write_bytes(plain.read_bytes())
    assert list(read_items(odd).values) == ["a", "b"]
