import json

import pytest

from vbcgcd.workspace import Workspace


class Says:
    name = "says"

    def suggest(self, question):
        return f"All about {question.texts[0].split()[0]}"


@pytest.fixture
def says(monkeypatch):
    monkeypatch.setattr("vbcgcd.workspace.naming.namers.call_plugin", lambda group, name, argument: Says())


def names(path):
    return [category.name for category in Workspace(path).entries()]


def test_the_present_names_are_the_best(letters, run):
    before = names(letters)
    assert set(before[3:]) == {"music", "flight"}
    out = run("categories", "suggest").stdout
    assert out.count("good as it is") == 2
    assert names(letters) == before


def test_a_better_name_is_shown_with_its_command_and_applied(letters, run):
    good = names(letters)[3]
    run("categories", "rename", 3, "thing")
    out = run("categories", "suggest", "thing").stdout
    assert f"vbcgcd categories rename 3 {good}" in out
    assert names(letters)[3] == "thing"
    out = run("categories", "suggest", "thing", "--apply").stdout
    assert "1 category was renamed." in out
    assert names(letters)[3] == good
    run("undo")
    assert names(letters)[3] == "thing"


def test_a_namer_suggests(letters, run, run_json, says):
    out = run("categories", "suggest", "--namer", "mine").stdout
    assert "All about music (says)" in out
    run("config", "namer", "mine")
    values = run_json("categories", "suggest", "#4")
    [suggestion] = values["suggestions"]
    assert suggestion["proposals"][0]["source"] == "says"
    assert values["renamed"] == {}
    assert "says" not in run("categories", "suggest", "--no-namer").stdout


def test_a_namer_that_cannot_be_reached(letters, run):
    out = run("categories", "suggest", 3, "--namer", "openai:http://127.0.0.1:9/v1#m").stdout
    assert "cannot be reached" in out
    assert "good as it is" in out


def test_bad_input(letters, run):
    for arguments in (
        ("99",),
        ("--namer", "absent"),
        ("--namer", "openai:x"),
        ("--namer", "mine", "--no-namer"),
    ):
        assert "Error" in run("categories", "suggest", *arguments, code=2).stderr


def test_settings_of_names(letters, run, place):
    (place / "words.txt").write_text("oak tree\nelm\n")
    run("config", "vocabulary", "../words.txt")
    assert json.loads(run("config", "vocabulary").stdout) == ["oak tree", "elm"]
    assert "Error" in run("config", "vocabulary", "../absent.txt", code=2).stderr
    assert "Error" in run("config", "namer", "openai:nowhere", code=2).stderr


def test_nothing_to_name(animals, run):
    run("categories", "rename", 3, "hen")
    run("categories", "rename", 4, "cow")
    assert "Every category has a name" in run("categories", "suggest").stdout
