import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console, Group
from rich.text import Text

from vbcgcd.words import ByWidth, add_row, date, file_size, grid, moment, one_line, series, source_name


@settings(max_examples=60)
@given(st.text(max_size=300), st.integers(2, 50))
def test_any_text_becomes_one_short_line(text, limit):
    line = one_line(text, limit)
    assert len(line) <= limit
    assert not any(ord(letter) < 32 or 0x7F <= ord(letter) < 0xA0 for letter in line)
    assert len(line.splitlines()) <= 1


def test_ordinary_texts_stay_as_they_are():
    assert one_line("naïve – 鶏 [x]") == "naïve – 鶏 [x]"
    assert one_line("a" * 10_000_000, 50) == "a" * 49 + "…"


@pytest.mark.parametrize(
    ("parts", "most", "text"),
    [
        ([], None, ""),
        (["a"], 1, "a"),
        (["a", "b"], None, "a and b"),
        (["a", "b", "c"], 3, "a, b and c"),
        (["a", "b", "c"], 1, "a and 2 more"),
    ],
)
def test_series(parts, most, text):
    assert series(parts, most) == text


def test_what_is_not_a_time_is_shown_as_it_is():
    assert date("soon") == moment("soon") == "soon"


def test_dates_are_for_people():
    assert date("2026-01-02T03:04:05+00:00") == "2 Jan 2026"
    assert moment("2026-01-02T03:04:05+00:00") == "2 Jan 2026, 03:04"


@pytest.mark.parametrize(
    ("n", "text"), [(0, "0 bytes"), (999, "999 bytes"), (1e6, "1.0 MB"), (4.2e10, "42 GB")]
)
def test_sizes(n, text):
    assert file_size(n) == text


@pytest.mark.parametrize(
    ("source", "name"),
    [("/a/b.csv", "b.csv"), ("a\\b.csv", "b.csv"), ("dir/", "dir"), ("array", "array"), ("/", "/")],
)
def test_sources_are_named_by_their_last_part(source, name):
    assert source_name(source) == name


@pytest.mark.parametrize(("width", "shown"), [(80, False), (100, True)])
def test_spare_columns_give_way_on_a_narrow_page(width, shown):
    table = grid(">id", "?!second", "?>p", "*text")
    add_row(table, "7", "another", "0.25", "a text")
    console = Console(width=width, color_system=None)
    for _ in range(2):  # a page can be shown again
        with console.capture() as capture:
            console.print(Group(table, ByWidth(Text("long"), Text("short"))))
        page = capture.get()
        assert ("another" in page, "0.25" in page, "second" in page, "long" in page) == (shown,) * 4
        assert ("a text" in page, "short" in page) == (True, not shown)
