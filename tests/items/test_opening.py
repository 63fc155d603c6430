import gzip
import io

import pytest

from vbcgcd.errors import InputError
from vbcgcd.items import opening, read_items

CSV = "text,label\nhello,greet\nbye,leave\n"


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv.gz", CSV),
        ("a.tsv.gz", CSV.replace(",", "\t")),
        ("a.jsonl.gz", '{"text": "hello", "label": "greet"}\n{"text": "bye", "label": "leave"}\n'),
        ("A.CSV.GZ", CSV),
        (
            "a.json.gz",
            '[{"text": "hello", "label": "greet"}, {"text": "bye", "label": "leave"}]',
        ),
    ],
)
def test_packed_tables_are_read_as_others(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(gzip.compress(content.encode()))
    items = read_items(path)
    assert items.values == ["hello", "bye"]
    assert items.labels.tolist() == ["greet", "leave"]


@pytest.mark.parametrize(
    "content", [b"text\nhello\n", gzip.compress(CSV.encode() * 50, mtime=0)[:-9], b"\x1f\x8b"]
)
def test_what_is_not_gzip_or_cut_off_is_one_error(tmp_path, content):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(content)
    with pytest.raises(InputError, match="gzip"):
        read_items(path)


@pytest.mark.parametrize("name", ["a.csv.gz", "a.jsonl.gz", "a.txt.gz", "a.json.gz"])
def test_a_bomb_is_not_unpacked(tmp_path, monkeypatch, name):
    monkeypatch.setattr(opening, "ALWAYS", 2**20)
    start = b'["' if "json.gz" in name else b'{"text": "' if "jsonl" in name else b"text\n"
    content = start + b"a" * (40 * 2**20)
    path = tmp_path / name
    path.write_bytes(gzip.compress(content))
    read = []
    real = gzip.GzipFile.read
    monkeypatch.setattr(gzip.GzipFile, "read", lambda self, n=-1: read.append(n) or real(self, n))
    with pytest.raises(InputError, match="times its size"):
        read_items(path)
    assert all(n >= 0 for n in read)
    assert sum(read) < 20 * 2**20


def test_a_bomb_of_blank_lines_is_refused_before_its_lines_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr(opening, "ALWAYS", 2**20)
    path = tmp_path / "a.txt.gz"
    path.write_bytes(gzip.compress(b"\n" * (40 * 2**20)))
    with pytest.raises(InputError, match="times its size"), opening.open_bytes(path):
        pytest.fail("opened")
    path.write_bytes(gzip.compress(b"hello\n" + b"\n" * 2**19))
    assert read_items(path).values == ["hello"]


def test_an_honest_file_may_be_large_however_small_the_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(opening, "ALWAYS", 10)
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(CSV.encode()))
    assert len(read_items(path)) == 2


def test_bytes_that_are_no_utf8_in_a_packed_file(tmp_path):
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(b"text\nhell\xff\n"))
    with pytest.raises(InputError, match="line 2"):
        read_items(path)


def test_the_text_can_be_read_after_the_wrapper_is_gone(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"\xef\xbb\xbfhello\r\n")
    with opening.open_text(path) as file:
        assert file.read() == "hello\n"
    with opening.open_text(path, newline="") as file:
        assert isinstance(file, io.TextIOWrapper)
        assert file.read() == "hello\r\n"
