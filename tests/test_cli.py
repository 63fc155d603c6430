import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import vbcgcd
from vbcgcd.cli import app


@pytest.fixture
def run(monkeypatch, tmp_path):
    """Function (arguments) -> result, run in an empty folder on a wide terminal without colours."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("NO_COLOR", "1")
    return lambda *arguments: CliRunner().invoke(app, list(arguments))


def test_version(run):
    result = run("--version")
    assert result.exit_code == 0
    assert result.output == f"vbcgcd {vbcgcd.__version__}\n"


def test_help_lists_the_demo(run):
    result = run("--help")
    assert result.exit_code == 0
    assert "demo" in result.output
    assert "--version" in result.output
    assert "--picture" in run("demo", "--help").output


def test_without_arguments_help_is_shown(run):
    assert "demo" in run().output


def test_unknown_commands_are_refused(run):
    result = run("nothing-like-it")
    assert result.exit_code == 2
    assert "nothing-like-it" in result.output


def test_the_demo_writes_its_table_and_its_picture(run, tmp_path):
    pytest.importorskip("matplotlib")
    result = run("demo", "--picture", "found.png")
    assert result.exit_code == 0, result.output
    for text in ("All", "Old", "New", "0 (labelled)", "M_f", "M_d", "found.png"):
        assert text in result.output
    lines = [line for line in result.output.splitlines() if re.search(r"\d of [12]\b", line)]
    assert len(lines) == 3
    for line in lines:
        assert all(50 <= float(v) <= 100 for v in re.findall(r"\d+\.\d", line))
    assert [path.name for path in tmp_path.iterdir()] == ["found.png"]
    assert (tmp_path / "found.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


def test_without_matplotlib_the_demo_draws_nothing(run, tmp_path, monkeypatch):
    given = []
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr("vbcgcd.demo.run_demo", lambda console, picture: given.append(picture))
    assert run("demo").exit_code == 0
    assert given == [None]


def test_the_module_is_the_command_line():
    done = subprocess.run(
        [sys.executable, "-m", "vbcgcd", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"vbcgcd {vbcgcd.__version__}\n"
    assert done.stderr == ""
