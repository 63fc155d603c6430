"""Tables stay tables, whatever the names and texts are."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from vbcgcd.cli.show import categories as show
from vbcgcd.cli.show.text import visible
from vbcgcd.workspace import CategoryInfo


def printed(renderable, width=100):
    console = Console(width=width, highlight=False, color_system=None, force_terminal=False)
    with console.capture() as captured:
        console.print(renderable, markup=False, emoji=False)
    return captured.get().splitlines()


def info(number, name, text):
    return CategoryInfo(
        id=number,
        name=name,
        named_by="terms",
        status="live",
        birth=number % 6,
        size=37 * number,
        spread=0.98,
        nearest=0,
        nearest_name=name,
        nearest_distance=2.0,
        samples=("1", "2", "3"),
        sample_texts=(text, text, ""),
    )


STRANGE = {
    "long": "x" * 200,
    "wide": "長い名前" * 50,
    "emoji": "👨‍👩‍👧 family 🎉" * 20,
    "escapes": "\x1b[2J\x1b[31mred\x07\x00\x9b",
    "lines": "two\r\nlines\u2028three\tfour",
    "override": "abc\u202edef\u2066",
    "right to left": "שלום עולם مرحبا" * 9,
    "markup": "[bold]b[/bold] [/] :smile:",
    "marks": "e" + "\u0301" * 40,
}


@pytest.mark.parametrize("name", STRANGE.values(), ids=STRANGE)
@pytest.mark.parametrize("width", [80, 100])
def test_categories_take_one_line_each_within_the_width(name, width):
    infos = [info(i, name, f"text {name}" * 3) for i in range(140, 160)]
    lines = printed(show.categories(infos, total=20), width)
    assert len([line for line in lines if "0.98" in line]) == 20
    assert len(lines) <= 25
    assert max(map(cell_len, lines)) <= width
    assert not any(letter in "\x00\x07\x1b\x9b\u202e\u2066\u2028" for line in lines for letter in line)


def test_columns_stay_below_each_other():
    names = [*STRANGE.values(), "plain"]
    lines = printed(show.categories([info(i, name, name) for i, name in enumerate(names)], total=len(names)))
    places = {cell_len(line[: line.index("0.98")]) for line in lines if "0.98" in line}
    assert len(places) == 1


def test_cells_beside_text_from_right_to_left_keep_their_places():
    row = next(line for line in printed(show.categories([info(3, "שלום", "hi")], total=1)) if "0.98" in line)
    # Left-to-right marks stand before every other cell, so that numbers are not drawn into the Hebrew.
    after = row[row.index("ם") + 1 :]
    assert "\u200e111" in after
    assert "\u200e0.98" in after


@settings(max_examples=60)
@given(st.text(max_size=300), st.integers(2, 50))
def test_visible_texts_are_one_short_line(text, limit):
    shown = visible(text, limit)
    assert len(shown) <= limit
    assert not any(ord(letter) < 32 or 0x7F <= ord(letter) < 0xA0 for letter in shown)
    assert len(shown.splitlines()) <= 1


def test_ordinary_texts_are_shown_as_they_are():
    assert visible("naïve – 鶏 [x]") == "naïve – 鶏 [x]"
    assert visible("a" * 10_000_000, 50) == "a" * 49 + "…"
