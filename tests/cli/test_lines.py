"""``vbcgcd predict --stdin``: a line in, a line out."""

import json
import os
import signal
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from vbcgcd.cli import app
from vbcgcd.cli.lines import answer_lines
from vbcgcd.workspace import Workspace


@pytest.fixture
def ask(letters):
    def call(*arguments, lines, code=0):
        result = CliRunner().invoke(app, ["predict", "-w", str(letters), *arguments], input=lines)
        assert result.exit_code == code, result.output
        return result

    return call


def test_each_line_is_answered_by_one_line(ask):
    answers = ask("--stdin", lines="card card card\nweather weather weather\n").stdout.splitlines()
    assert [line.split("\t")[1] for line in answers] == ["card", "weather"]
    number, _, probability, novelty = answers[0].split("\t")
    assert number.isdigit()
    assert 0.5 < float(probability) <= 1
    assert 0 <= float(novelty) <= 1


def test_a_dash_and_json(ask):
    [row] = map(json.loads, ask("-", "--json", lines="card card").stdout.splitlines())
    assert (row["line"], row["name"]) == (1, "card")
    assert set(row) >= {"category", "probability", "second", "novelty"}


def test_an_error_does_not_end_it(ask):
    answers = ask("--stdin", lines=b"card\n\n  \n\xff card\ncard\n").stdout.splitlines()
    assert [line.split("\t")[0] == "error" for line in answers] == [False, True, True, False, False]
    rows = [json.loads(line) for line in ask("-", "--json", lines="\ncard\n").stdout.splitlines()]
    assert rows[0] == {"schema_version": 1, "line": 1, "error": "The line is empty."}
    assert rows[1]["name"] == "card"


def test_no_lines_are_no_answers(ask):
    assert ask("--stdin", lines="").stdout == ""


def test_an_item_that_cannot_be_embedded_is_named(letters, monkeypatch):
    workspace = Workspace.open(letters, cache=False)

    def fail(self, items):
        raise RuntimeError("too hot")

    workspace.warm_up()
    [embedder] = workspace._loaded.values()
    monkeypatch.setattr(type(embedder), "embed", fail)
    assert list(answer_lines(workspace, [b"card"])) == [
        "error\tline 1 could not be embedded: the embedder failed: too hot."
    ]


def test_the_embedder_is_loaded_once(letters, monkeypatch):
    loads = []
    from vbcgcd.workspace import batch

    real = batch.make_embedder

    def make(name, *, kind, **options):
        loads.append(kind)
        return real(name, kind=kind, **options)

    monkeypatch.setattr(batch, "make_embedder", make)
    workspace = Workspace.open(letters, cache=False)
    workspace.warm_up()
    assert len(list(answer_lines(workspace, [b"card", b"weather", b"card"]))) == 3
    assert loads == ["text"]


def test_vectors_are_lists_of_numbers(animals):
    workspace = Workspace.open(animals)
    workspace.warm_up()
    width = workspace.embedder["dimension"]
    vector = json.dumps([0.5] * width).encode()
    answers = list(answer_lines(workspace, [vector, b"[1, 2", b'["a"]', b"[1.5]", b"{}"]))
    assert [line.startswith("error\t") for line in answers] == [False, True, True, True, True]
    assert "JSON list of numbers" in answers[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--stdin", "more.csv"), "DATA cannot be used with --stdin"),
        (("--stdin", "-o", "answers.csv"), "--output cannot be used with --stdin"),
        (("-", "--text", "body"), "--text cannot be used with --stdin"),
        (("--stdin", "--reject", "7"), "reject must be"),
        ((), "pass --stdin"),
    ],
)
def test_what_has_no_meaning_for_lines_is_refused_at_once(ask, arguments, message):
    assert message in ask(*arguments, lines="card\n", code=2).stderr


def test_an_empty_workspace_is_refused_at_once(run, tmp_path):
    run("init", tmp_path / "new")
    result = CliRunner().invoke(app, ["predict", "--stdin", "-w", str(tmp_path / "new")], input="card\n")
    assert result.exit_code == 2
    assert "empty" in result.stderr


def test_answers_come_before_the_next_line_and_an_interruption_is_a_normal_end(animals):
    width = Workspace.open(animals).embedder["dimension"]
    program = "from vbcgcd.cli import app; app(['predict', '--stdin'])"
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=animals,
        env={**os.environ, "PYTHONUNBUFFERED": ""},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        for _ in range(2):
            process.stdin.write(json.dumps([0.5] * width) + "\n")
            process.stdin.flush()
            assert process.stdout.readline().count("\t") == 3
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, out, errors) == (0, "", "")


@pytest.mark.parametrize(
    "arguments", [("predict", "--stdin"), ("predict", "-"), ("discover", "-", "--format", "csv")]
)
def test_closed_standard_input_is_one_error(animals, arguments):
    program = f"from vbcgcd.cli import app; app({list(arguments)!r})"
    shell = ["sh", "-c", 'exec "$0" "$@" <&-', sys.executable, "-c", program]
    result = subprocess.run(shell, cwd=animals, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.startswith("Error: Standard input is closed;")


def test_one_text_can_be_given_by_itself(run, letters):
    assert "card" in run("predict", "card card card").stdout
    [row] = json.loads(run("predict", "weather weather weather", "--json").stdout)["predictions"]
    assert (row["reference"], row["name"]) == ("this text", "weather")
    assert "no file or folder" in run("predict", "missing.csv", code=2).stderr


def test_h_is_help(run):
    assert run("predict", "-h").stdout == run("predict", "--help").stdout
