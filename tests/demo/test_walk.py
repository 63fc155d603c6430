import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console
from sklearn.datasets import load_digits
from typer.testing import CliRunner

from vbcgcd.cli import app
from vbcgcd.demo import run_demo
from vbcgcd.demo.pictures import DAYS, MARKER, NAMES, digit_plan, write_pictures
from vbcgcd.embed.pixels import PixelEmbedder
from vbcgcd.errors import InputError
from vbcgcd.words import file_size
from vbcgcd.workspace import Workspace

DIGITS = load_digits()
X, Y = DIGITS.images, DIGITS.target

ELSEWHERE = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("torch", "transformers", "matplotlib"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Absent())
from pathlib import Path
from rich.console import Console
from vbcgcd.demo import run_demo
run_demo(Console(width=100), Path("demo"))
"""


@pytest.fixture(scope="module")
def walked(tmp_path_factory):
    """The demo, run in the folder ``demo`` of a new one: that folder, and what was printed."""
    home, out = tmp_path_factory.mktemp("walk"), io.StringIO()
    calls, discover = [], Workspace.discover

    def watched(self, *args, **kwargs):
        calls.append((args, kwargs))
        return discover(self, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        patch.setattr(Workspace, "discover", watched)
        report = run_demo(Console(file=out, width=100), Path("demo"))
    assert report == Path("demo/report.html")
    # A session gets nothing but the folder of a day: no number, no labels.
    assert calls == [((Path("demo/pictures", day),), {}) for day in DAYS]
    return home / "demo", out.getvalue()


def test_the_walk_ends_in_accuracies_that_are_right(walked):
    folder, text = walked
    workspace = Workspace.open(folder / "digits", cache=False)
    truth = write_pictures(folder.parent / "again", X, Y, digit_plan(Y))["held-out"]
    answers = workspace.predict(folder / "pictures" / "held-out")
    digits = np.array([truth[reference] for reference in answers.references])
    # In this walk every discovered category has the name of its digit, so that equal names are right answers.
    correct = np.array(answers.name) == digits
    values = [
        100 * correct.mean(),
        100 * correct[digits != "nine"].mean(),
        100 * correct[digits == "nine"].mean(),
    ]
    line = next(line for line in text.splitlines() if "3 (wednesday)" in line)
    assert re.findall(r"\d+\.\d", line) == [f"{value:.1f}" for value in values]
    lines = [line for line in text.splitlines() if re.search(r"│ [1-3] \(", line)]
    assert [re.findall(r"\d of \d", line) for line in lines] == [["2 of 2"], ["2 of 2"], ["1 of 1"]]
    assert all(80 < float(value) <= 100 for line in lines for value in re.findall(r"\d+\.\d", line))


def test_the_walk_leaves_a_whole_workspace_and_its_report(walked):
    folder, text = walked
    assert sorted(path.name for path in folder.iterdir()) == [MARKER, "digits", "pictures", "report.html"]
    workspace = Workspace.open(folder / "digits")
    assert workspace.verify() > 10
    assert sorted(info.name for info in workspace.categories()) == sorted(NAMES)
    assert [s.command for s in workspace.sessions()] == ["learn", "discover", "discover", "discover"]
    assert [s.estimated for s in workspace.sessions()] == [None, True, True, True]
    commands = [(c.command, c.undone) for c in workspace.history()]
    assert ("merge", True) in commands
    assert all(len(view.excerpts) == 5 for view in workspace.overview().categories)
    assert workspace.embedder["fingerprint"] == PixelEmbedder(size=8, grey=True).fingerprint
    assert "the same as before, bit for bit" in " ".join(text.split())
    report = (folder / "report.html").read_text()
    assert all(name in report for name in NAMES)
    assert file_size((folder / "report.html").stat().st_size) in text


def test_it_fits_a_page_of_100_columns_and_says_what_it_does(walked):
    _, text = walked
    assert max(map(len, text.splitlines())) <= 100
    for words in (
        "Nobody tells the workspace",
        "it knows which digit",
        "demo/report.html",
        "vbcgcd serve",
        "The demo took",
    ):
        assert words in " ".join(text.split())


def test_no_torch_no_matplotlib_and_the_same_text_again(walked, tmp_path):
    _, text = walked
    environment = {**os.environ, "VBCGCD_CACHE": str(tmp_path / "cache")}
    process = subprocess.run(
        [sys.executable, "-c", ELSEWHERE],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=environment,
    )
    assert process.returncode == 0, process.stderr
    assert _timeless(process.stdout) == _timeless(text)
    assert not (tmp_path / "cache").exists()


def _timeless(text):
    """Lines without times, sizes and the folder, which may wrap."""
    text = re.sub(r"took [\d.]+ s|\([\d.]+ s\)|\d+ kB|Created the workspace\s+\S+", "", text)
    return [line.rstrip() for line in text.splitlines()]


def commands(text):
    return [shlex.split(line[2:]) for line in text.splitlines() if line.startswith("$ ")]


def test_every_command_is_shown(walked):
    typed = [" ".join(words[1:3]) for words in commands(walked[1]) if words[0] == "vbcgcd"]
    days = [f"discover ../pictures/{day}" for day in DAYS]
    for wanted in ("init digits", "learn ../pictures/labelled", *days, "report -o", "categories undo"):
        assert wanted in typed
    assert sum(one == "categories rename" for one in typed) == 5


def test_the_commands_as_typed_make_the_same_workspace(walked, tmp_path, monkeypatch):
    folder, text = walked
    shutil.copytree(folder / "pictures", tmp_path / "demo" / "pictures")
    monkeypatch.setenv("VBCGCD_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("VBCGCD_WORKSPACE", raising=False)
    monkeypatch.chdir(tmp_path)
    for program, *words in commands(text):
        if program == "cd":
            monkeypatch.chdir(words[0])
            continue
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, (words, result.output)
    one, other = (Workspace.open(f / "digits", cache=False) for f in (folder, tmp_path / "demo"))
    held_out = folder / "pictures" / "held-out"
    assert list(one.predict(held_out).rows()) == list(other.predict(held_out).rows())
    assert [c.command for c in one.history()] == [c.command for c in other.history()]
    assert one.config() == other.config()
    assert (tmp_path / "demo" / "report.html").stat().st_size > 10_000


def test_the_demo_prints_what_the_commands_print(walked, monkeypatch):
    folder, text = walked
    monkeypatch.chdir(folder / "digits")
    monkeypatch.delenv("VBCGCD_WORKSPACE", raising=False)
    page = CliRunner().invoke(app, ["predict", "../pictures/held-out"]).output
    first = [line.split() for line in page.splitlines() if line.startswith("00")][:5]
    # The demo is narrower than a file, so it leaves out the second choice.
    narrow = [[*line[:4], line[-1]] for line in first]
    assert [line.split() for line in text.splitlines() if line.startswith("  00")] == narrow
    assert page.splitlines()[-1] in " ".join(text.split())


def test_a_bad_seed_changes_nothing(tmp_path):
    with pytest.raises(InputError) as error:
        run_demo(Console(file=io.StringIO()), tmp_path / "demo", seed=-1)
    assert error.value.option == "seed"
    assert not (tmp_path / "demo").exists()
