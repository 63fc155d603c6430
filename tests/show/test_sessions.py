"""One record renders as the outcome of learn and discover and as a line of the history."""

import dataclasses
from pathlib import Path

import pytest
from rich.console import Console

from vbcgcd.discovery.options import Options
from vbcgcd.record import SessionRecord
from vbcgcd.show import sessions as show
from vbcgcd.workspace import CategoryInfo, CommandInfo, UndoResult

LEARNED = SessionRecord(
    session=0,
    command="learn",
    rows=40,
    novel={0: "cat", 1: "[dog]"},
    counts={0: 37, 1: 3},
    unlabelled=2,
    source="animals.csv",
    kind="text",
    columns={"text": "body", "label": "team"},
    flagged=0.02,
    commit=1,
    time="2026-03-01T14:05:33+00:00",
)
DISCOVERED = SessionRecord(
    session=1,
    command="discover",
    rows=1200,
    novel={2: "novel-2", 3: "novel-3"},
    counts={0: 700, 2: 100, 3: 400},
    estimated=True,
    flagged=0.4,
    source="a/very/long/path/of/folders/to/monday.csv",
    commit=2,
    time="2026-03-02T09:00:00+00:00",
)


def lines(renderable, width=100):
    console = Console(width=width, highlight=False, color_system=None, force_terminal=False)
    with console.capture() as capture:
        console.print(renderable, markup=False, emoji=False)
    return [line.rstrip() for line in capture.get().splitlines()]


def text(renderable):
    return " ".join(" ".join(lines(renderable)).split())


def test_a_labelled_session_tells_its_categories_items_columns_and_what_was_skipped():
    page = text(show.session(LEARNED, seconds=1.25))
    assert "learned 2 categories from 40 items in animals.csv (1.2 s)" in page
    assert "text from 'body', label from 'team'" in page
    assert "Skipped 2 items" in page
    assert "[dog] (3)" in page
    assert "cat (37)" not in page


@pytest.mark.parametrize(("updated", "words"), [(True, "updated with 7 items"), (False, "--update-known")])
def test_items_of_known_categories_are_counted(updated, words):
    record = dataclasses.replace(LEARNED, rows=47, counts={0: 37, 1: 3, 9: 7})
    page = text(show.session(record, updated=updated))
    assert words in page
    assert "7 items" in page
    assert words not in text(show.session(LEARNED, updated=updated))


def test_a_session_may_learn_no_category():
    record = dataclasses.replace(LEARNED, novel={}, counts={0: 40})
    assert "learned no new categories from 40 items" in text(show.session(record))


def test_folder_names_as_labels_are_not_called_columns():
    record = dataclasses.replace(LEARNED, kind="image", columns={"label": "folder"})
    assert "sub-folders" in text(show.session(record))
    assert "Columns" not in text(show.session(record))


def test_an_unlabelled_session_tells_known_and_novel_items_and_lists_the_novel_categories():
    infos = [CategoryInfo(i, f"novel-{i}", "number", "live", 1, n) for i, n in ((2, 100), (3, 400))]
    page = show.session(DISCOVERED, infos, seconds=2.0)
    assert "1,200 items" in text(page)
    assert "700 are in known categories and 500 in 2 novel categories (number estimated)" in text(page)
    assert "40.0 %" in text(page)
    assert [line.split()[:3] for line in lines(page)[-2:]] == [
        ["3", "novel-3", "400"],
        ["2", "novel-2", "100"],
    ]
    by_hand = text(show.session(dataclasses.replace(DISCOVERED, estimated=False)))
    assert "(as requested)" in by_hand


def test_a_session_without_novel_categories_says_so():
    record = dataclasses.replace(DISCOVERED, novel={}, counts={0: 1200})
    assert "No novel categories (number estimated)" in text(show.session(record))


LEFT = dataclasses.replace(
    DISCOVERED,
    counts={0: 688, 2: 100, 3: 400},
    unassigned=12,
    seedlings=(5, 4, 3),
    grown={3: 1},
    warnings=("Too few labels to judge [the number].",),
)


def test_what_a_session_left_is_told():
    page = text(show.session(LEFT))
    assert "688 are in known categories and 500 in 2 novel categories" in page
    assert "12 items are unassigned" in page
    assert "3 seedlings wait for more items (5, 4 and 3 so far)" in page
    assert "1 category grew from a seedling: novel-3 (since session 1)" in page
    assert LEFT.warnings[0] in page
    nothing = text(show.session(DISCOVERED))
    assert not any(word in nothing for word in ("unassigned", "seedling", "Warning"))


def test_without_novel_categories_not_all_items_need_be_in_known_ones():
    record = dataclasses.replace(LEFT, novel={}, counts={0: 1188}, grown={})
    page = text(show.session(record))
    assert "1,188 items are in known ones" in page
    assert "12 items are unassigned" in page


@pytest.mark.parametrize("width", [80, 100])
def test_the_history_counts_unassigned_items_where_there_are_any(width):
    table = lines(show.sessions([LEARNED, LEFT]), width)
    assert max(map(len, table)) <= width
    if width < 100:  # without what matters least
        assert table[2].split()[-4:] == ["40", "40", "0", "2"]
        assert table[3].split()[-4:] == ["1,200", "500", "12", "~2"]
    else:
        assert table[2].split()[-7:-2] == ["40", "0", "40", "0", "2"]
        assert table[3].split()[-7:-2] == ["1,200", "688", "500", "12", "~2"]
    assert "unassigned" not in text(show.sessions([LEARNED, DISCOVERED]))


@pytest.mark.parametrize("width", [80, 100])
def test_the_history_has_one_line_per_session(width):
    undone = dataclasses.replace(DISCOVERED, session=2, undone=True, flagged=None, estimated=False)
    table = lines(show.sessions([LEARNED, DISCOVERED, undone]), width)
    assert max(map(len, table)) <= width
    assert [line.split()[0] for line in table[2:5]] == ["0", "1", "2"]
    if width < 100:
        assert table[3].split()[-3:] == ["1,200", "500", "~2"]
    else:
        assert table[2].split()[-6:] == ["40", "0", "40", "2", "2.0", "%"]
        assert table[3].split()[-6:] == ["1,200", "700", "500", "~2", "40.0", "%"]
        assert table[4].split()[-2:] == ["2", "-"]
    assert "discover, undone" in table[4]
    assert " monday" in table[3]


def test_no_sessions():
    assert lines(show.sessions([])) == ["No sessions yet."]


COMMANDS = [
    CommandInfo(1, "init", LEARNED.time, {"excerpts": 0, "model": {}, "kind": None}, False),
    CommandInfo(2, "discover", LEARNED.time, {"n_novel": 2, "again": False}, True),
    CommandInfo(3, "rename", LEARNED.time, {"category": 0, "name": "tom"}, False),
]


def test_every_command_is_one_line_with_its_parameters():
    table = lines(show.commands(COMMANDS, {2: "batch.npz"}))
    assert table[2].endswith("init              excerpts=0")
    assert "discover, undone" in table[3]
    assert table[3].endswith("batch.npz n_novel=2")
    assert table[4].endswith("category=0 name=tom")
    assert show.command_line(COMMANDS[1], "batch.npz") == "discover batch.npz n_novel=2"


def test_the_log_speaks_of_items_and_categories_in_words():
    moved = CommandInfo(4, "move", LEARNED.time, {"items": ["3", "5"], "to": 10}, False)
    assert show.command_line(moved, names={10: "lost card"}) == "move items 3, 5 to 10 'lost card'"
    assert show.command_line(moved) == "move items 3, 5 to 10"
    learned = CommandInfo(5, "learn", LEARNED.time, {"new_labels": True, "split": None}, False)
    assert show.command_line(learned, "a.csv") == "learn a.csv new labels"
    merged = CommandInfo(6, "merge", LEARNED.time, {"categories": [1, 2], "name": "x"}, False)
    assert show.command_line(merged, names={2: "b"}) == "merge categories=1, 2 'b' name=x"


def test_undo_and_redo_name_the_command():
    assert (
        text(show.undo(UndoResult(4, "undo", 3, "rename"), "rename category=0")) == "Undid: rename category=0"
    )
    assert (
        text(show.undo(UndoResult(4, "redo", 3, "rename"), "rename category=0")) == "Redid: rename category=0"
    )


def test_every_setting_has_a_meaning():
    from vbcgcd.workspace.config import DEFAULTS

    assert set(show.SETTINGS) == set(DEFAULTS)
    page = text(show.settings(DEFAULTS))
    assert all(name in page for name in DEFAULTS)
    assert all(meaning in page for meaning in show.SETTINGS.values())


def test_every_step_of_a_session_has_a_name_for_people():
    steps = []
    from sklearn.datasets import load_iris

    from vbcgcd import CategoryDiscoverer

    X, y = load_iris(return_X_y=True)
    CategoryDiscoverer().fit(X[:100], y[:100]).discover(X[50:], progress=steps.append)
    assert steps
    assert set(steps) <= set(show.STEPS)


def test_where_a_workspace_was_created():
    assert "here/[x]" in text(show.creation(Path("here/[x]")))


def test_options_of_the_model_fit_eighty_columns_uncut():
    defaults = dataclasses.asdict(Options())
    assert list(show.OPTIONS) == list(defaults)
    rows = [
        {"option": name, "value": value, "default": value, "set": False, "meaning": show.OPTIONS[name]}
        for name, value in defaults.items()
    ]
    rows[0] |= {"value": 64, "set": True}
    page = lines(show.options(rows), width=80)
    assert max(map(len, page)) <= 80
    assert len(page) == len(rows) + 2
    assert page[2].split(maxsplit=3) == ["n_components", "64", "384", show.OPTIONS["n_components"]]
    for row, line in zip(rows, page[2:], strict=True):
        assert line.endswith(row["meaning"])
