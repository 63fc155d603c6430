import pytest

from vbcgcd.workspace.report.words import date, joined, moment, option_lines, size, source_name


def test_dates_are_for_people():
    assert date("2026-01-02T03:04:05+00:00") == "2 Jan 2026"
    assert moment("2026-01-02T03:04:05+00:00") == "2 Jan 2026, 03:04"
    assert (date("soon"), moment("soon")) == ("soon", "soon")


def test_lists_are_sentences():
    assert [joined(parts) for parts in ([], ["a"], ["a", "b"], ["a", "b", "c"])] == [
        "",
        "a",
        "a and b",
        "a, b and c",
    ]


@pytest.mark.parametrize(
    ("n", "text"), [(0, "0 bytes"), (999, "999 bytes"), (1e6, "1.0 MB"), (4.2e10, "42 GB")]
)
def test_sizes(n, text):
    assert size(n) == text


@pytest.mark.parametrize(
    ("source", "name"),
    [("/a/b.csv", "b.csv"), ("a\\b.csv", "b.csv"), ("dir/", "dir"), ("array", "array"), ("/", "/")],
)
def test_sources_are_named_by_their_last_part(source, name):
    assert source_name(source) == name


def test_settings_are_words():
    assert option_lines({"a": {"b": None}, "c": [1, 2]}) == ["a: b: not set", "c: 1, 2"]
    assert (option_lines([]), option_lines(False), option_lines(0.5)) == (["none"], ["no"], ["0.5"])
    assert option_lines(None, "nothing") == ["nothing"]
