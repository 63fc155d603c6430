"""Quiet, log and wait: before or after the command, and from the environment."""

import json
import os
import shlex
import threading
import time

import jsonschema
import pytest

from vbcgcd.cli.common import ExitCode
from vbcgcd.cli.schemas import schema_of_command
from vbcgcd.workspace import Workspace
from vbcgcd.workspace.log.commits import LOCK
from vbcgcd.workspace.log.lock import WriteLock


def events(path):
    """The events of a log, each checked against its schema."""
    schema = schema_of_command("log")
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for line in lines:
        jsonschema.validate(line, schema)
    return lines


@pytest.mark.usefixtures("animals")
class TestQuiet:
    @pytest.mark.parametrize(
        "line",
        ["--quiet status", "status --quiet", "status -q", "-q categories", "categories -q", "sessions -q"],
    )
    def test_nothing_is_printed(self, run, line):
        result = run(*shlex.split(line))
        assert (result.stdout, result.stderr) == ("", "")

    def test_before_the_last_of_several_words(self, run, run_json):
        assert run("categories", "-q", "rename", 3, "hen").output == ""
        assert run_json("categories", "show", "hen")["info"]["id"] == 3

    def test_it_does_not_last(self, run):
        run("--quiet", "status")
        assert run("status").stdout

    def test_errors_and_json_are_printed(self, run, run_json):
        assert "absent" in run("-q", "learn", "absent.csv", code=2).stderr
        assert run_json("-q", "status")["categories"] == 5

    def test_by_the_environment(self, run, monkeypatch):
        monkeypatch.setenv("VBCGCD_QUIET", "1")
        assert run("status").output == ""


@pytest.mark.usefixtures("animals")
class TestLog:
    def test_a_command_from_start_to_result(self, run, place):
        log = place / "log.jsonl"
        run("discover", "../batch.npz", "--again", "--n-novel", 1, "--log", log)
        start, *steps, result = events(log)
        assert (start["event"], start["command"]) == ("start", "discover")
        assert start["arguments"] == {"data": "../batch.npz", "again": True, "n_novel": 1}
        assert {step["event"] for step in steps} == {"step"}
        assert len(steps) > 2
        assert (result["event"], result["exit_code"], result["result"]["rows"]) == ("result", 0, 100)
        assert {line["run"] for line in (start, *steps, result)} == {start["run"]}

    @pytest.mark.parametrize(
        ("line", "code", "kind"),
        [
            ("learn absent.csv", 2, "MissingFileError"),
            ("redo", 7, "NothingToDo"),
            ("discover ../batch.npz --n-novel 99 --again", 2, "InputError"),
        ],
    )
    def test_errors(self, run, place, line, code, kind):
        log = place / "log.jsonl"
        run("--log", log, *shlex.split(line), code=code)
        last = events(log)[-1]
        assert (last["event"], last["exit_code"], last["kind"]) == ("error", code, kind)
        assert last["message"]
        assert last["option"] == ("n_novel" if "99" in line else None)

    def test_an_error_of_ours_is_logged_and_still_raised(self, run, place, monkeypatch):
        def trouble(*arguments, **options):
            raise RuntimeError("ours")

        monkeypatch.setattr(Workspace, "verify", trouble)
        with pytest.raises(RuntimeError, match="ours"):
            run("verify", "--log", place / "log.jsonl")
        assert events(place / "log.jsonl")[-1]["exit_code"] == 1

    def test_ctrl_c(self, run, place, monkeypatch):
        def stop(*arguments, **options):
            raise KeyboardInterrupt

        monkeypatch.setattr(Workspace, "verify", stop)
        run("verify", "--log", place / "log.jsonl", code=130)
        assert events(place / "log.jsonl")[-1]["exit_code"] == 130

    def test_warnings(self, run, place):
        from vbcgcd.cli.common import note
        from vbcgcd.cli.scripting import Manner, following, set_manner

        set_manner(Manner(path=place / "log.jsonl"))
        try:
            with following("x", {}, lambda error: 1):
                note("2 of 9 items could not be embedded")
                note("Saved.", style="green")
        finally:
            set_manner(Manner())
        _, warning, _ = events(place / "log.jsonl")
        assert (warning["event"], warning["message"]) == ("warning", "2 of 9 items could not be embedded")

    def test_several_commands_share_a_file(self, run, place, monkeypatch):
        monkeypatch.setenv("VBCGCD_LOG", str(place / "log.jsonl"))
        run("status")
        run("sessions")
        run("categories", "rename", 3, "hen")
        lines = events(place / "log.jsonl")
        assert [line["command"] for line in lines if line["event"] == "start"] == [
            "status",
            "sessions",
            "categories rename",
        ]
        assert len({line["run"] for line in lines}) == 3

    def test_long_lists_are_counted(self, run, place):
        run("predict", "../probe.npz", "--log", place / "log.jsonl")
        assert events(place / "log.jsonl")[-1]["result"]["predictions"] == 40

    @pytest.mark.parametrize("content", ["text,label\na,b\n", "{}\n", "[1]\n", "\n"])
    def test_a_file_that_is_no_log_is_left_alone(self, run, place, content):
        (place / "data.csv").write_text(content)
        before = Workspace(place / "animals").last_commit
        for line in (["undo", "--log", place / "data.csv"], ["--log", place / "data.csv", "undo"]):
            assert run(*line, code=2).stderr.startswith("Error in --log: ")
        assert (place / "data.csv").read_text() == content
        assert Workspace(place / "animals").last_commit == before

    def test_what_is_no_file_is_refused(self, run, place):
        os.mkfifo(place / "pipe")
        holder = os.open(place / "pipe", os.O_RDWR | os.O_NONBLOCK)  # so that opening it would not wait
        os.write(holder, b"\n")
        try:
            for path in (place, place / "pipe", "/dev/null"):
                assert "is not a file" in run("status", "--log", path, code=2).stderr
        finally:
            os.close(holder)

    def test_a_log_that_cannot_be_written(self, run, place):
        assert "--log" in run("status", "--log", place / "absent" / "log.jsonl", code=2).stderr


@pytest.mark.usefixtures("animals")
class TestWait:
    def test_without_it_a_busy_workspace_is_an_error_at_once(self, run, animals):
        with WriteLock(animals / LOCK, "test"):
            run("undo", code=ExitCode.BUSY)
            run("undo", "--wait", 0.1, code=ExitCode.BUSY)

    @pytest.mark.parametrize("line", ["--wait 20 undo", "undo --wait 20", "--wait 0 undo --wait 20"])
    def test_it_waits_for_the_other_writer(self, run, animals, line):
        held = threading.Event()

        def other():
            with WriteLock(animals / LOCK, "test"):
                held.set()
                time.sleep(0.3)

        thread = threading.Thread(target=other)
        thread.start()
        held.wait()
        assert "Undid" in run(*shlex.split(line)).stdout
        thread.join()

    def test_the_environment_is_asked_last(self, run, monkeypatch, animals):
        asked = []
        before = Workspace.open
        monkeypatch.setattr(
            Workspace,
            "open",
            lambda path, lock_timeout=0.0: (
                asked.append(lock_timeout) or before(path, lock_timeout=lock_timeout)
            ),
        )
        monkeypatch.setenv("VBCGCD_WAIT", "5")
        for line in (
            "categories rename 3 a",
            "--wait 6 categories rename 3 b",
            "categories rename 3 c --wait 7",
        ):
            run(*shlex.split(line))
        assert asked == [5.0, 6.0, 7.0]

    @pytest.mark.parametrize("line", ["undo --wait inf", "--wait inf undo"])
    def test_for_ever_is_no_number_of_seconds(self, run, line):
        assert "--wait" in run(*shlex.split(line), code=2).stderr

    def test_what_only_looks_has_nothing_to_wait_for(self, run):
        assert "--wait" in run("status", "--wait", 1, code=2).stderr
