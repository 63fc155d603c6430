import json
import re

import pytest

from vbcgcd.words import NAMED_BY
from vbcgcd.workspace import Workspace

NOVEL = "3 'novel-3' or 4 'novel-4'"


def words(result):
    return " ".join(result.output.split())


def rows(result):
    """The cells of each line of the table of categories."""
    table = result.output.splitlines()[2:]
    end = next(i for i, line in enumerate(table) if re.match(r"(\d+ of )?\d+ categor", line))
    return [line.split() for line in table[:end]]


def test_the_list_has_one_line_for_each_category(run, animals):
    table = rows(run("categories"))
    assert [row[:2] for row in table] == [
        ["0", "cat"],
        ["1", "dog"],
        ["2", "owl"],
        ["3", "novel-3"],
        ["4", "novel-4"],
    ]
    sizes = [info.size for info in Workspace.open(animals).categories()]
    assert [int(row[2]) for row in table] == sizes
    assert [row[3] for row in table] == ["0", "0", "0", "1", "1"]


def test_the_list_can_be_sorted(run, animals):
    infos = Workspace.open(animals).categories()
    by_size = [str(i.id) for i in sorted(infos, key=lambda i: (-i.size, i.id))]
    assert [row[0] for row in rows(run("categories", "--sort", "size"))] == by_size
    assert [row[0] for row in rows(run("categories", "--sort", "birth"))] == ["3", "4", "0", "1", "2"]
    run("categories", "rename", 0, "Zebra")
    assert [row[0] for row in rows(run("categories", "--sort", "name"))] == ["1", "3", "4", "2", "0"]


def test_the_list_can_be_searched_in_names_and_texts(run, run_json, letters):
    assert [c["name"] for c in run_json("categories", "--find", "WEATH")["categories"]] == ["weather"]
    assert len(run_json("categories", "--find", "music music")["categories"]) == 1
    assert "1 of 5 categories" in words(run("categories", "--find", "card card"))
    assert "No category matches" in run("categories", "--find", "xyzzy").output


def test_retired_categories_are_listed_if_asked(run, run_json, animals):
    run("categories", "merge", 3, 4, "--name", "birds")
    assert len(rows(run("categories"))) == 4
    page = run("categories", "--all").output
    assert page.count("merged into 5") == 2
    assert "grey: retired" in " ".join(page.split())
    assert "merged into 5" in run("categories", "show", 3).output
    assert run_json("categories", "show", "3")["status"] == "merged"


def test_one_category_is_shown_in_full(run, run_json, letters):
    novel = next(c for c in run_json("categories")["categories"] if c["birth"] == 1)
    output = run("categories", "show", novel["id"], "--items", 4).output
    view = run_json("categories", "show", novel["id"], "--items", 4)
    assert "12 (12 in session 1)" in output
    assert f"named by  {NAMED_BY[novel['named_by']]}" in output
    assert "Most typical items" in output
    assert "Most doubtful items" in output
    for item in view["typical"]:
        text = (letters.parent / "batch.csv").read_text().splitlines()[1 + int(item["reference"])]
        assert item["text"] == text
        assert any(line.startswith(f"{item['reference']} ") and text in line for line in output.splitlines())


def test_texts_that_are_gone_leave_the_references(run, letters):
    (letters.parent / "batch.csv").unlink()
    (letters.parent / "labelled.csv").unlink()
    assert "card card" not in run("categories", "show", 0).output
    assert "typical items" in run("categories").output


def test_a_category_is_renamed_and_it_is_undone(run, run_json, animals):
    page = words(run("categories", "rename", "novel-3", "hen"))
    assert "category 3 from 'novel-3' to 'hen'" in page
    assert "Undid: rename category=3 name=hen" in words(run("categories", "undo"))
    assert run_json("categories")["categories"][3]["name"] == "novel-3"
    run("categories", "redo")
    assert run_json("categories")["categories"][3]["name"] == "hen"


def test_categories_are_merged_split_and_dropped(run, run_json, animals):
    merged = words(run("categories", "merge", "cat", 3, "--name", "feline"))
    assert "0 'cat' and 3 'novel-3' into the new category 5 'feline'" in merged
    parts = words(run("categories", "split", "feline", "../batch.npz", "--name", "big", "--name", "small"))
    assert "Split 5 'feline' into 6 'big' (" in parts
    assert "7 'small' (" in parts
    assert "Dropped 7 'small'" in words(run("categories", "drop", "small"))
    assert [c["id"] for c in run_json("categories")["categories"]] == [1, 2, 4, 6]
    for _ in range(3):
        run("categories", "undo")
    assert [c["id"] for c in run_json("categories")["categories"]] == [0, 1, 2, 3, 4]


def test_undo_of_categories_refuses_other_commands_by_name(run, animals):
    message = run("categories", "undo", code=2).stderr
    assert "discover" in message
    assert "'vbcgcd undo'" in message
    run("config", "sample", 10)
    assert "config sample=10" in run("categories", "undo", code=2).stderr
    run("undo")
    assert "'vbcgcd redo'" in run("categories", "redo", code=2).stderr
    run("redo")
    run("categories", "rename", 3, "hen")
    run("undo")
    run("categories", "redo")


def test_a_name_that_is_also_an_id_is_refused(run, run_json, animals):
    run("categories", "rename", 3, "1")
    message = run("categories", "rename", "1", "wolf", code=2).stderr
    assert "'#3'" in message
    assert "'#1'" in message
    run("categories", "rename", "#1", "wolf")
    names = {c["id"]: c["name"] for c in run_json("categories")["categories"]}
    assert (names[1], names[3]) == ("wolf", "1")
    run("categories", "rename", "#3", "77")
    assert run("categories", "rename", "77", "hen").stderr == ""
    assert run_json("categories")["categories"][3]["name"] == "hen"


@pytest.mark.parametrize(
    ("key", "meant"),
    [("nvl-3", NOVEL), ("NOVEL", NOVEL), ("dgo", "1 'dog'")],
)
def test_unknown_names_propose_the_closest(run, animals, key, meant):
    assert f"Did you mean {meant}?" in run("categories", "drop", key, code=2).stderr


def test_markup_in_names_is_shown_as_text(run, animals):
    name = "[bold]red[/bold] :smile: [link=x]"
    assert name in words(run("categories", "rename", 3, name))
    assert name in run("categories", "show", 3).output
    assert "[bold]red" in run("categories").output
    assert name in run("categories", "drop", 3).output


def test_the_parts_of_a_split_are_shown(run, run_json, animals):
    output = run("categories", "split", 3, "--parts", "2").output
    parts = [info["id"] for info in run_json("categories")["categories"] if info["parents"] == [3]]
    assert len(parts) == 2
    for part in parts:
        assert f"\n{part:>2}  " in f"\n{output}"
        assert f"vbcgcd categories show {part}" in output


@pytest.mark.parametrize("order", ["id", "name", "size", "birth"])
def test_a_long_list_is_cut_and_says_so(run, animals, order):
    every = [row[0] for row in rows(run("categories", "--sort", order))]
    result = run("categories", "--sort", order, "--limit", "2")
    assert [row[0] for row in rows(result)] == every[:2]
    assert "5 categories" in words(result)
    assert "... and 3 more categories; use --limit N to see more, --limit 0 for all" in words(result)
    assert "more categor" not in words(run("categories", "--limit", "5"))
    assert [row[0] for row in rows(run("categories", "--sort", order, "--limit", "0"))] == every


def test_a_script_gets_all_categories_unless_it_asks_for_fewer(run, animals, monkeypatch):
    monkeypatch.setattr("vbcgcd.cli.categories.MOST", 2)
    assert len(rows(run("categories"))) == 2
    assert len(json.loads(run("categories", "--json").stdout)["categories"]) == 5
    limited = json.loads(run("categories", "--json", "--limit", "3").stdout)["categories"]
    assert [info["id"] for info in limited] == [0, 1, 2]


def test_what_a_search_finds_is_counted_whole(run, animals):
    result = run("categories", "--find", "novel", "--limit", "1")
    assert "novel-3" in words(result)
    assert "novel-4" not in words(result)
    assert "2 of 5 categories" in words(result)
    assert "and 1 more category" in words(result)
