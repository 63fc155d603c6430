import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from vbcgcd.cli import app
from vbcgcd.cli.common import ExitCode
from vbcgcd.workspace import Workspace


def words(result):
    """Output without line breaks."""
    return " ".join(result.output.split())


def test_the_status_says_what_is_known_and_what_to_do(run, run_json, animals):
    status = run_json("status")
    counts = [status[key] for key in ("categories", "labelled", "discovered", "items")]
    assert counts == [5, 3, 2, 190]
    assert status["last_session"]["session"] == 1
    assert status["next"][:2] == ["vbcgcd review", "vbcgcd discover DATA"]
    page = words(run("status"))
    assert "5 (3 labelled, 2 discovered)" in page
    assert f"Next: {' '.join(status['next'])}" in page


def test_undo_and_redo_take_back_any_command(run, run_json, animals):
    page = words(run("undo"))
    assert "Undid: discover" in page
    assert "n_novel=2" in page
    assert run_json("status")["categories"] == 3
    assert "Redid: discover" in words(run("redo"))
    assert run_json("status")["categories"] == 5
    run("undo")
    run("undo")
    assert "undo" in run("undo", code=7).stderr
    assert run_json("status")["next"] == ["vbcgcd learn LABELLED-DATA"]


def test_the_history_shows_sessions_or_all_commands(run, run_json, animals):
    run("categories", "rename", 3, "hen")
    run("undo")
    lines = run("sessions").output.splitlines()
    assert [line.split()[4] for line in lines[2:4]] == ["learn", "discover"]
    records = run_json("sessions")["sessions"]
    counts = [records[1][key] for key in ("rows", "known_rows", "novel_rows")]
    assert lines[3].split()[-6:-2] == [*map(str, counts), "2"]
    assert [record["rows"] for record in records] == [90, 100]
    assert [record["novel"] for record in records][1] == {"3": "novel-3", "4": "novel-4"}
    assert [c["command"] for c in run_json("sessions", "--all")["commands"]][-2:] == ["rename", "undo"]
    every = run("sessions", "--all").output
    assert "rename, undone" in every
    assert "batch.npz n_novel=2" in every


def test_the_history_names_category_0(run, animals):
    run("categories", "rename", 0, "tom")
    assert "rename category=0 name=tom" in words(run("sessions", "--all"))


def test_a_workspace_goes_into_one_file_and_back(run, run_json, animals, place):
    assert "Exported 3 commands to ../a.zip" in words(run("export", "../a.zip"))
    run("categories", "drop", 4)
    assert "--force" in run("export", "../a.zip", code=2).stderr
    assert "5 (3 labelled, 2 discovered)" in words(run("import", "../a.zip", "../again"))
    first = (place / "a.zip").read_bytes()
    run("export", "../a.zip", "--force")
    assert (place / "a.zip").read_bytes() != first
    run("import", "../a.zip", "../third")
    assert run_json("status", "-w", "../third")["categories"] == 4


def test_verify_finds_a_file_that_was_changed(run, run_json, animals):
    files = run_json("verify")["files"]
    assert files > 5
    assert f"{files} files verified" in words(run("verify"))
    damaged = next(animals.rglob("*.parquet"))
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"x")
    assert damaged.name in "".join(run("verify", code=ExitCode.DAMAGED).output.split())


def test_a_report_is_written_where_asked(run, run_json, animals, place):
    output = words(run("report", "-o", "../page.html", "--title", "My animals", "--no-items"))
    assert "Wrote ../page.html: 5 categories, 2 sessions" in output
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
    answer = json.loads(text, parse_constant=lambda name: pytest.fail(name))
    assert answer["log_odds"] is None
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
        ("categories", "split", "3", "--parts", "2"),
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


def test_output_to_a_pipe_has_no_escapes_and_nothing_is_wrapped_or_cut(run, animals):
    long = "a name that is longer than any column of a page used to be, and not cut in the middle of a word"
    run("categories", "rename", "3", long)
    for command in (("categories",), ("predict", "../probe.npz"), ("categories", "show", "3")):
        output = run(*command).output
        assert "\x1b" not in output
        assert "…" not in output.rpartition("Largest:")[0]
        assert long in output
    assert len(run("sessions").output.splitlines()[-1]) > 100


def test_a_crash_is_not_taken_for_wrong_input(run, animals, monkeypatch):
    def crash(*args, **kwargs):
        raise RuntimeError("a fault of ours")

    monkeypatch.setattr("vbcgcd.workspace.Workspace.verify", crash)
    with pytest.raises(RuntimeError):
        run("verify")


def test_a_terminal_that_knows_only_ascii_gets_escapes(animals):
    Workspace.open(animals).rename(3, "Hühner – 鶏")
    runner = CliRunner(charset="ascii")
    assert b"H\\xfchner" in runner.invoke(app, ["categories"]).stdout_bytes
    values = json.loads(runner.invoke(app, ["categories", "--json"]).stdout_bytes)
    assert values["categories"][3]["name"] == "Hühner – 鶏"


def test_stdout_of_json_is_utf8_where_the_stream_is(run, animals):
    run("categories", "rename", 3, "鶏")
    assert "鶏" in run("categories", "--json").stdout


def test_an_import_names_its_sources_and_opens_them_where_the_user_says(run, run_json, animals, place):
    run("export", "../animals.zip")
    assert "vbcgcd relocate" in run("import", "../animals.zip", "../copy").output
    sources = run_json("relocate", "-w", "../copy")["sources"]
    assert [Path(source["path"]).name for source in sources] == ["labelled.npz", "batch.npz"]
    assert {source["place"] for source in sources} == {None}
    assert "2 paths not opened" in words(run("relocate", "-w", "../copy"))
    old = str(Path(sources[0]["path"]).parent)
    moved = run_json("relocate", old, str(place), "-w", "../copy")["sources"]
    assert [source["place"] for source in moved] == [str(place / n) for n in ("labelled.npz", "batch.npz")]
    assert "not opened" not in words(run("relocate", "-w", "../copy"))
    assert "both" in run("relocate", old, "-w", "../copy", code=2).stderr
    assert "No session names" in run("relocate", "/elsewhere", str(place), "-w", "../copy", code=2).stderr


def test_an_import_of_ones_own_file_can_be_trusted(run, run_json, animals):
    run("export", "../animals.zip")
    assert "relocate" not in run("import", "../animals.zip", "../copy", "--trust").output
    assert all(source["place"] for source in run_json("relocate", "-w", "../copy")["sources"])


def test_a_workspace_without_files_says_so(run, place):
    run("init", "w")
    assert "No session names a file" in words(run("relocate", "-w", "w"))
