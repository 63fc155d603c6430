import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

from vbcgcd.cli import app
from vbcgcd.workspace import Workspace


def words(result):
    """Output without line breaks."""
    return " ".join(result.output.split())


def test_a_workspace_is_made_learned_and_extended(run, template, place, monkeypatch):
    made = words(run("init", "zoo", "--set", "model.count=evidence", "--set", "model.n_components=6"))
    assert "Made the workspace" in made
    assert "cd zoo" in made
    monkeypatch.chdir(place / "zoo")
    learned = words(run("learn", template / "labelled.npz"))
    assert "Session 0: learned 3 categories from 90 items" in learned
    assert "Next: vbcgcd discover" in learned
    found = words(run("discover", template / "batch.npz", "--n-novel", 2))
    assert "Session 1: 100 items" in found
    assert "of 2 new" in found
    assert "novel-3" in found
    assert "vbcgcd categories rename" in found
    assert len(Workspace.open(place / "zoo").categories()) == 5


def test_init_without_a_name_uses_the_empty_folder_you_are_in(run, place, monkeypatch):
    (place / "here").mkdir()
    monkeypatch.chdir(place / "here")
    run("init")
    assert Workspace.open(place / "here").config()["embedder"] is None


def test_settings_of_init_reach_the_workspace(run, place):
    options = ("--with", "minilm", "--kind", "text", "--excerpts", 4, "--reject", 0.05)
    parts = ("--set", "model.covariance=diagonal", "--set", "model.n_components=7", "--set", 'names="number"')
    run("init", "n", *options, *parts)
    config = Workspace.open(place / "n").config()
    assert config["model"] == {"covariance": "diagonal", "n_components": 7}
    told = {key: config[key] for key in ("embedder", "kind", "excerpts", "reject", "names")}
    assert told == {"embedder": "minilm", "kind": "text", "excerpts": 4, "reject": 0.05, "names": "number"}


def test_an_embedder_that_is_a_path_is_found_from_everywhere(run, place):
    (place / "tuned").mkdir()
    run("init", "n", "--with", "tuned")
    assert Workspace.open(place / "n").config()["embedder"] == str(place / "tuned")


def test_a_workspace_is_found_in_folders_above_by_option_and_by_variable(run, run_json, animals, monkeypatch):
    (animals / "notes" / "deep").mkdir(parents=True)
    monkeypatch.chdir(animals / "notes" / "deep")
    assert run_json("status")["workspace"] == str(animals)
    monkeypatch.chdir(animals.parent)
    assert "no workspace" in run("status", code=2).output
    assert run_json("status", "--workspace", "animals")["workspace"] == str(animals)
    monkeypatch.setenv("VBCGCD_WORKSPACE", "animals")
    assert run_json("status")["workspace"] == str(animals)


def test_a_file_of_another_program_does_not_make_a_workspace(run, place):
    (place / "workspace.json").write_text('{"version": 2, "projects": {}}')
    assert "vbcgcd init" in run("status", code=2).output


def test_the_status_says_what_is_known_and_what_to_do(run, run_json, animals):
    told = run_json("status")
    assert (told["categories"], told["labelled"], told["found"], told["items"]) == (5, 3, 2, 190)
    assert told["last_session"]["session"] == 1
    assert told["next"][0] == "vbcgcd discover NEW-ITEMS"
    assert "5 (3 labelled, 2 found)" in words(run("status"))


def test_later_labels_are_added_and_known_ones_updated_only_if_asked(run, run_json, animals, template):
    rng = np.random.default_rng(3)
    x = np.load(template / "labelled.npz")["x"]
    np.savez(
        "more.npz", x=np.concatenate([x[:10], rng.normal(size=(12, 6)) - 9]), y=["cat"] * 10 + ["emu"] * 12
    )
    before = run_json("categories")["categories"][0]["taught"]
    assert run_json("learn", "more.npz")["categories"] == {"5": "emu"}
    assert run_json("categories")["categories"][0]["taught"] == before
    told = run_json("status")
    assert (told["labelled"], told["found"]) == (4, 2)
    shown = words(run("learn", "more.npz", "--update-known", "--again"))
    assert "Of known categories: 22 items, from which they learned." in shown
    assert run_json("categories")["categories"][0]["taught"] == before + 10


def test_items_without_a_label_are_left_out_and_counted(run, place, monkeypatch):
    rng = np.random.default_rng(0)
    rows = [[*rng.normal(size=3) + 9 * (k % 2), "ab"[k % 2] if k < 30 else ""] for k in range(33)]
    with (place / "d.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["v0", "v1", "v2", "label"], *rows])
    run("init", "n")
    shown = words(run("learn", "d.csv", "-w", "n", "--embedding", "v"))
    assert "learned 2 categories from 30 items of d.csv" in shown
    assert "3 items without a label left out" in shown
    assert "embedding from 'v0 to v2'" in shown


def test_columns_can_be_said(run, run_json, place):
    rng = np.random.default_rng(0)
    part = np.array(["train", "test"])[np.arange(40) % 4 // 3]
    rows = [
        [f"id-{k}", rng.normal() + 9 * (k % 2), rng.normal(), rng.normal(), f"team {k % 2}", p]
        for k, p in enumerate(part)
    ]
    with (place / "d.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["ticket", "a", "b", "other", "team", "part"], *rows])
    run("init", "n")
    columns = ("--embedding", "a", "--embedding", "b", "--id", "ticket")
    learned = run_json(
        "learn",
        "d.csv",
        "-w",
        "n",
        *columns,
        "--label",
        "team",
        "--split",
        "part=train",
        "--kind",
        "embedding",
    )
    assert (learned["rows"], learned["categories"]) == (30, {"0": "team 0", "1": "team 1"})
    answers = run_json("predict", "d.csv", "-w", "n", *columns, "--split", "part=test")
    assert [row["reference"] for row in answers["predictions"]] == [f"id-{k}" for k in range(3, 40, 4)]


def test_undo_and_redo_take_back_any_command(run, run_json, animals):
    shown = words(run("undo"))
    assert "Took back: discover" in shown
    assert "n_novel 2" in shown
    assert run_json("status")["categories"] == 3
    assert "Done again: discover" in words(run("redo"))
    assert run_json("status")["categories"] == 5
    run("undo")
    run("undo")
    assert "nothing left to undo" in run("undo", code=2).output
    assert run_json("status")["next"] == ["vbcgcd learn LABELLED-ITEMS"]


def test_the_history_shows_sessions_or_all_commands(run, run_json, animals):
    run("categories", "rename", 3, "hen")
    run("undo")
    lines = run("sessions").output.splitlines()
    assert [line.split()[3] for line in lines[2:4]] == ["learn", "discover"]
    told = run_json("sessions")["sessions"]
    counts = [told[1][key] for key in ("rows", "known_rows", "novel_rows")]
    assert lines[3].split()[-6:-2] == [*map(str, counts), "2"]
    assert [s["rows"] for s in told] == [90, 100]
    assert [c["command"] for c in run_json("sessions", "--all")["commands"]][-2:] == ["rename", "undo"]
    every = run("sessions", "--all").output
    assert "rename, undone" in every
    assert "batch.npz n_novel 2" in every


def test_the_history_names_category_0(run, animals):
    run("categories", "rename", 0, "tom")
    assert "rename category 0, name tom" in words(run("sessions", "--all"))


def test_settings_are_shown_and_changed(run, run_json, animals):
    assert run_json("config")["sample"] == 200
    assert run("config", "model.n_components").stdout == "6\n"
    assert run("config", "model.svi_steps").stdout == "null\n"
    assert "sample is now: 50" in run("config", "sample", 50).output
    assert "names is now: 'number'" in run("config", "names", "number").output
    assert run_json("config", "reject", "0.1")["reject"] == 0.1
    assert run_json("config", "reject", "null")["reject"] is None
    run("config", "embedder_options.device", "cpu")
    run("config", "embedder_options.batch_size", 8)
    assert run_json("config")["embedder_options"] == {"device": "cpu", "batch_size": 8}
    commits = len(run_json("sessions", "--all")["commands"])
    assert "is unchanged" in run("config", "sample", 50).output
    assert len(run_json("sessions", "--all")["commands"]) == commits


def test_a_workspace_goes_into_one_file_and_back(run, run_json, animals, place):
    assert "Exported 3 commands to ../a.zip" in words(run("export", "../a.zip"))
    run("categories", "drop", 4)
    assert "exists already" in run("export", "../a.zip", code=2).output
    shown = words(run("import", "../a.zip", "../again"))
    assert "5 (3 labelled, 2 found)" in shown
    first = (place / "a.zip").read_bytes()
    run("export", "../a.zip", "--force")
    assert (place / "a.zip").read_bytes() != first
    run("import", "../a.zip", "../third")
    assert run_json("status", "-w", "../third")["categories"] == 4


def test_verify_finds_a_file_that_was_changed(run, run_json, animals):
    assert run_json("verify")["files"] > 5
    assert "are as written" in words(run("verify"))
    damaged = next(animals.rglob("*.parquet"))
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"x")
    assert damaged.name in "".join(run("verify", code=2).output.split())


def test_a_report_is_written_where_asked(run, run_json, animals, place):
    shown = words(run("report", "-o", "../page.html", "--title", "My animals", "--no-items"))
    assert "Wrote ../page.html: 5 categories, 2 sessions" in shown
    assert "My animals" in (place / "page.html").read_text()
    assert run_json("report")["path"] == str(animals / "report.html")
    assert run_json("verify")["files"] > 5


def test_a_report_is_opened_if_asked(run, animals, monkeypatch):
    opened = []
    monkeypatch.setattr("typer.launch", opened.append)
    run("report", "--open")
    assert opened == [str(animals / "report.html")]


def test_json_is_one_document_without_numbers_that_json_lacks(run, animals, place):
    np.savez("one.npz", x=np.random.default_rng(0).normal(size=(6, 6)), y=["only"] * 6)
    run("init", "../single", "--set", "model.n_components=2")
    run("learn", "one.npz", "-w", "../single")
    text = run("explain", "one.npz", "-w", "../single", "--json").stdout
    told = json.loads(text, parse_constant=lambda name: pytest.fail(name))
    assert told["log_odds"] is None
    assert "no other category" in words(run("explain", "one.npz", "-w", "../single"))


@pytest.mark.parametrize(
    "command",
    [
        ("status",),
        ("sessions",),
        ("sessions", "--all"),
        ("categories",),
        ("categories", "show", "3"),
        ("config",),
        ("config", "sample"),
        ("predict", "../probe.npz"),
        ("explain", "../probe.npz", "--row", "3"),
        ("verify",),
        ("export", "../x.zip"),
        ("report",),
        ("undo",),
        ("categories", "rename", "3", "hen"),
        ("categories", "merge", "3", "4"),
        ("categories", "split", "3", "../batch.npz"),
        ("categories", "drop", "3"),
        ("learn", "../labelled.npz", "--again"),
        ("discover", "../batch.npz", "--again"),
        ("init", "../other"),
    ],
    ids=" ".join,
)
def test_every_command_prints_json(run, animals, command):
    result = run(*command, "--json")
    json.loads(result.stdout)
    assert result.stderr == ""


def test_output_to_a_pipe_has_no_escapes_and_is_100_columns_wide(run, animals):
    for command in (("categories",), ("sessions",), ("predict", "../probe.npz"), ("categories", "show", "3")):
        output = run(*command).output
        assert "\x1b" not in output
        assert max(map(len, output.splitlines())) == 100


def test_interrupted_work_leaves_the_workspace_as_it_was(run, animals, tree, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("vbcgcd.workspace.sessions.named_by_terms", interrupted)
    monkeypatch.setattr("vbcgcd.model.CategoryDiscoverer.discover", interrupted)
    before = tree(animals)
    assert "Interrupted" in run("discover", "../batch.npz", "--again", code=130).output
    assert tree(animals) == before


def test_a_crash_is_not_taken_for_wrong_input(run, animals, monkeypatch):
    def crash(*args, **kwargs):
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr("vbcgcd.workspace.Workspace.verify", crash)
    with pytest.raises(RuntimeError, match="a fault of ours"):
        run("verify")


def test_a_terminal_that_knows_only_ascii_gets_escapes(animals):
    Workspace.open(animals).rename(3, "Hühner – 鶏")
    runner = CliRunner(charset="ascii")
    assert b"H\\xfchner" in runner.invoke(app, ["categories"]).stdout_bytes
    told = json.loads(runner.invoke(app, ["categories", "--json"]).stdout_bytes)
    assert told["categories"][3]["name"] == "Hühner – 鶏"


def test_stdout_of_json_is_utf8_where_the_stream_is(run, animals):
    run("categories", "rename", 3, "鶏")
    assert "鶏" in run("categories", "--json").stdout


def test_every_setting_is_shown_with_its_meaning(run, animals):
    from vbcgcd.cli.show.sessions import MEANINGS
    from vbcgcd.workspace.config import DEFAULTS

    assert set(MEANINGS) == set(DEFAULTS)
    assert "refuses nothing" in run("config").output
