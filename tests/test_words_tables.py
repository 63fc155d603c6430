"""Tables stay tables, whatever the names and texts are."""

import pytest
from rich.cells import cell_len
from rich.console import Console

from vbcgcd.show import categories as show
from vbcgcd.words import category_table, facts, next_steps, sample_line
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
    assert sum(any(f"{37 * i:,}" in line for line in lines) for i in range(140, 160)) == 20
    assert any("0.98" in line for line in lines) == (width >= 100)  # the spread gives way to names
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


def test_the_categories_of_a_session_are_listed_largest_first():
    table = category_table([info(3, "a", "x"), info(4, "b", "y")], {3: 5, 4: 70})
    lines = printed(table)
    assert [line.split()[:3] for line in lines[2:]] == [["4", "b", "70"], ["3", "a", "5"]]


def test_empty_facts_are_left_out():
    assert [line.split() for line in printed(facts({"a": "1", "b": "", "c": "[x]"}))] == [
        ["a", "1"],
        ["c", "[x]"],
    ]


def test_commands_to_run_next_stand_below_each_other():
    assert printed(next_steps("one", "two")) == ["Next: one", "      two"]


def test_items_without_a_text_are_called_by_reference_and_folder():
    assert sample_line(["1.png", "2"], ["", "hello"], ["photos/monday", "t.csv"]) == "monday/1.png | hello"
    assert sample_line(["1", "2"], [], []) == "1 | 2"
