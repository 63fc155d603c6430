import json
from types import SimpleNamespace

import numpy as np
import pytest
from typer.testing import CliRunner

from vbcgcd.cli import app
from vbcgcd.workspace import Workspace


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A workspace of numbers in tables, and its command line."""
    rng = np.random.default_rng(0)
    centres = 6 * rng.normal(size=(5, 8))
    head = ",".join(f"e{i}" for i in range(8))

    def table(name, kinds, labels):
        lines = []
        for kind in kinds:
            numbers = ",".join(f"{x:.4f}" for x in centres[kind] + rng.normal(size=8))
            lines.append(numbers + (f",{['cat', 'dog', 'owl', 'emu'][kind]}" if labels else ""))
        (tmp_path / name).write_text(f"{head}{',label' if labels else ''}\n" + "\n".join(lines) + "\n")

    table("learned.csv", [0, 1, 2, 3] * 12, True)
    table("monday.csv", [0, 4] * 10, False)
    workspace = Workspace.init(tmp_path / "w", model={"n_components": 6, "prior_strength": 20.0})
    workspace.learn(tmp_path / "learned.csv")
    workspace.discover(tmp_path / "monday.csv", n_novel=1)
    monkeypatch.chdir(tmp_path / "w")

    def call(*arguments, code=0):
        result = CliRunner().invoke(app, list(arguments))
        assert result.exit_code == code, result.output
        return result

    return call


def test_items_are_listed_and_saved(run, tmp_path):
    assert "labelled" in run("items", "--where", "category=cat").stdout
    rows = json.loads(run("items", "--where", "session=0", "--where", "category=cat", "--json").stdout)[
        "items"
    ]
    assert {row["name"] for row in rows} == {"cat"}
    for suffix in ("csv", "jsonl", "parquet"):
        run("items", "--where", "session=1", "-o", str(tmp_path / f"found.{suffix}"))
        assert (tmp_path / f"found.{suffix}").stat().st_size > 0
    assert len((tmp_path / "found.csv").read_text().splitlines()) == 21
    assert "No item meets" in run("items", "--where", "category=none").stdout


def test_items_are_moved_confirmed_rejected_and_unlabelled(run):
    out = run("items", "move", "monday.csv:1", "monday.csv:3", "--to", "dog").stdout
    assert "Moved 2 items to 'dog'" in out
    assert "'dog' has learned from 14 items, 12 before." in out
    done = json.loads(run("items", "reject", "monday.csv:1", "--json").stdout)
    assert done["items"][0]["after"] is None
    assert (
        "Removed the labels"
        in run("items", "unlabel", "--where", "source=monday.csv", "--where", "state=moved").stdout
    )
    assert "new category 'fox'" in run("items", "move", "monday.csv:5", "--to", "fox", "--new").stdout
    run("undo")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["items", "move", "--to", "dog"], "No item was given"),
        (["items", "move", "nobody", "--to", "dog"], "no item 'nobody'"),
        (["items", "--where", "colour=red"], "Error in --where: A condition is one of"),
        (["items", "--where", "probabilty<0.9"], "Did you mean 'probability'?"),
        (["items", "-o", "x.doc"], "Unsupported file type '.doc'"),
        (["items", "--json", "confirm", "1"], "Put --json after 'confirm'"),
    ],
)
def test_wrong_input_is_one_clear_error(run, arguments, message):
    assert message in run(*arguments, code=2).stderr


def test_a_query_that_finds_nothing_leaves_nothing_to_do(run, place):
    message = "Error in --where: No item meets state=moved"
    assert message in run("items", "confirm", "--where", "state=moved", code=7).stderr
    assert message in run("items", "--where", "state=moved", "-o", place / "x.csv", code=7).stderr
    assert not (place / "x.csv").exists()


@pytest.mark.parametrize(("answer", "code", "sessions"), [("y\n", 0, 3), ("n\n", 130, 2)])
def test_a_probable_typo_is_asked_about_in_a_terminal(run, tmp_path, monkeypatch, answer, code, sessions):
    lines = (tmp_path / "learned.csv").read_text()
    (tmp_path / "again.csv").write_text(lines.replace(",emu", ",ostrch"))
    Workspace.open(tmp_path / "w").rename("emu", "ostrich")
    assert "--new-labels" in run("learn", str(tmp_path / "again.csv"), code=2).stderr  # a script is refused
    terminal = SimpleNamespace(isatty=lambda: True)
    for module in ("batches", "incoming"):
        monkeypatch.setattr(f"vbcgcd.cli.{module}.sys", SimpleNamespace(stdin=terminal, stderr=terminal))
    result = CliRunner().invoke(app, ["learn", str(tmp_path / "again.csv")], input=answer)
    assert result.exit_code == code
    assert "'ostrch' is new; did you mean 'ostrich'? Learn all labels" in " ".join(result.stderr.split())
    assert len(Workspace.open(tmp_path / "w").sessions()) == sessions
