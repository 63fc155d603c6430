import subprocess
import sys
from pathlib import Path

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
    assert "--folder" in run("demo", "--help").output


def test_without_arguments_help_is_shown(run):
    assert "demo" in run().output


def test_unknown_commands_are_refused(run):
    result = run("nothing-like-it")
    assert result.exit_code == 2
    assert "nothing-like-it" in result.output


def test_the_demo_is_told_its_folder_and_seed(run, tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr(
        "vbcgcd.demo.run_demo", lambda console, folder, *, seed: calls.append((folder, seed)) or folder
    )
    assert run("demo").exit_code == 0
    assert run("demo", "--folder", "digits", "--seed", "3").exit_code == 0
    assert calls == [(Path("vbcgcd-demo"), 0), (Path("digits"), 3)]


def test_the_module_is_the_command_line():
    process = subprocess.run(
        [sys.executable, "-m", "vbcgcd", "--version"], capture_output=True, text=True, check=True
    )
    assert process.stdout == f"vbcgcd {vbcgcd.__version__}\n"
    assert process.stderr == ""
