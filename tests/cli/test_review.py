import json

import numpy as np
import pytest
from typer.testing import CliRunner

from vbcgcd.cli import app
from vbcgcd.workspace import Workspace


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A workspace in which one class was found as two categories, 4 and 5, and its command line."""
    rng = np.random.default_rng(0)
    centres = 6 * rng.normal(size=(5, 8))
    np.save(tmp_path / "monday.npy", centres[[0, 4, 4, 4] * 12] + rng.normal(size=(48, 8)))
    kinds = np.array([0, 1, 2, 3] * 12)
    here = Workspace.init(tmp_path / "w", model={"n_components": 6, "prior_strength": 20.0})
    here.learn(centres[kinds] + rng.normal(size=(48, 8)), np.array(["cat", "dog", "owl", "emu"])[kinds])
    here.discover(tmp_path / "monday.npy", n_novel=2)
    monkeypatch.chdir(tmp_path / "w")

    def call(*words, code=0):
        done = CliRunner().invoke(app, ["review", *words])
        assert done.exit_code == code, done.output
        return done.output

    return call


def values(run, *words):
    return json.loads(run(*words, "--json"))


def test_the_list_says_what_why_and_how(run):
    out = run()
    assert "Are 'novel-4' and 'novel-5' the same?" in out
    assert "margins apart, both found in session 1" in out
    assert "vbcgcd categories merge 4 5" in out
    assert "same-4-5" in out
    assert "Next: vbcgcd review show same-4-5" in out


def test_the_list_as_json(run):
    found = values(run, "--kind", "same")
    [question] = found["questions"]
    assert (question["id"], question["kind"], found["total"]) == ("same-4-5", "same", 1)
    assert question["command"] == "vbcgcd categories merge 4 5"
    assert set(question) >= {
        "title",
        "reason",
        "probability",
        "affected",
        "seconds",
        "gain",
        "items",
        "sides",
    }
    assert values(run, "-n", "0")["questions"] == []


def test_one_question_in_full(run):
    out = run("show", "1")
    assert "typical" in out
    assert "settled by" in out
    assert values(run, "show", "same-4-5") == values(run, "show", "1")


def test_accept_and_what_it_made_of_the_question(run):
    assert "Merged 4 'novel-4' and 5 'novel-5' into the new category 6" in run("accept", "same-4-5")
    assert "is not open any more" in run("accept", "same-4-5", code=2)
    assert "was merged into" in run("dismiss", "same-4-5", code=2)


def test_a_number_settles_nothing(run):
    for word in ("accept", "dismiss"):
        assert "settle a question by its id. Number 1 is" in " ".join(run(word, "1", code=2).split())


def test_dismiss_is_remembered_until_it_is_undone(run):
    assert "Dismissed same-4-5" in run("dismiss", "same-4-5")
    assert values(run, "--kind", "same")["questions"] == []
    assert values(run)["dismissed"] == 1
    assert CliRunner().invoke(app, ["undo"]).exit_code == 0
    assert len(values(run, "--kind", "same")["questions"]) == 1


def test_an_item_is_labelled_or_confirmed(run):
    labels = values(run, "--kind", "label")["questions"]
    if labels:
        done = values(run, "accept", labels[0]["id"], "--to", "dog")
        assert (done["command"], done["items"][0]["after"]) == ("move", 1)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("accept", "same-4-5", "--to", "cat"), "Error in --to: Question same-4-5 takes no category"),
        (("accept", "best"), "There is no question 'best'"),
        (("show", "77"), "none has the number 77"),
        (("--ask",), "--ask needs a terminal"),
        (("--kind", "same", "show", "1"), "Put --kind after 'show'"),
    ],
)
def test_what_is_refused(run, words, message):
    before = Workspace.open(".").last_commit
    assert message in " ".join(run(*words, code=2).split())
    assert Workspace.open(".").last_commit == before


def test_questions_are_asked_one_after_the_other(run, monkeypatch):
    keys = iter("nuyq")
    monkeypatch.setattr("vbcgcd.cli.review._in_terminal", lambda: True)
    monkeypatch.setattr("typer.getchar", lambda: next(keys))
    out = run("--ask")
    assert "y = yes, do it" in out
    assert "Merged 4" in out
    commands = [info.command for info in Workspace.open(".").history()]
    assert commands[-3:] == ["dismiss", "undo", "merge"]


def test_what_somebody_else_did_since_is_not_taken_back(run, monkeypatch):
    keys = iter("nuq")

    def press():
        key = next(keys)
        if key == "u":
            Workspace.open(".").rename(0, "lion")  # another process
        return key

    monkeypatch.setattr("vbcgcd.cli.review._in_terminal", lambda: True)
    monkeypatch.setattr("typer.getchar", press)
    run("--ask")
    here = Workspace.open(".")
    assert [info.command for info in here.history()][-2:] == ["dismiss", "rename"]
    assert here.category(0).name == "lion"
