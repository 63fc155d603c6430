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
from vbcgcd.demo.digits import DAYS, NAMES, digit_plan
from vbcgcd.demo.folder import MARKER, prepared_folder, write_pictures
from vbcgcd.demo.judge import Judge
from vbcgcd.embed.pixels import PixelEmbedder
from vbcgcd.errors import InputError
from vbcgcd.items import read_items
from vbcgcd.workspace import Workspace

DIGITS = load_digits()
X, Y = DIGITS.images, DIGITS.target
FOLDERS = ["labelled", *DAYS, "held-out"]

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
    given, discover = [], Workspace.discover

    def watched(self, *args, **kwargs):
        given.append((args, kwargs))
        return discover(self, *args, **kwargs)

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        patch.setattr(Workspace, "discover", watched)
        report = run_demo(Console(file=out, width=100), Path("demo"))
    assert report == Path("demo/report.html")
    # Nothing but the folder of a day is given to a session: no number, no labels.
    assert given == [((Path("demo/pictures", day),), {}) for day in DAYS]
    return home / "demo", out.getvalue()


@pytest.mark.parametrize("seed", [0, 1])
def test_the_plan_covers_what_it_says(seed):
    plan = digit_plan(Y, seed=seed)
    assert np.bincount(Y[plan.held_out]).tolist() == [50] * 10
    assert np.unique(Y[plan.labelled]).tolist() == [0, 1, 2, 3, 4]
    known = [0, 1, 2, 3, 4]
    for day, novel in DAYS.items():
        counts = np.bincount(Y[plan.days[day]], minlength=10)
        assert set(np.flatnonzero(counts)) == {*known, *novel}
        assert all(counts[digit] == 15 for digit in known)
        assert all(counts[digit] == (digit == Y).sum() - 95 for digit in novel)
        known += novel
    assert known == list(range(10))


@pytest.mark.parametrize("seed", [0, 1])
def test_no_picture_is_in_two_folders(seed):
    plan = digit_plan(Y, seed=seed)
    rows = np.concatenate([plan.labelled, *plan.days.values(), plan.held_out])
    assert len(np.unique(rows)) == len(rows)


def test_pictures_show_what_the_truth_says_and_their_names_do_not_tell(tmp_path):
    plan = digit_plan(Y)
    truth = write_pictures(tmp_path, X, Y, plan)
    assert sorted(truth) == sorted(path.name for path in tmp_path.iterdir()) == sorted(FOLDERS)
    for name in FOLDERS:
        items = read_items(tmp_path / name)
        assert sorted(items.references) == sorted(truth[name])
        pixels = PixelEmbedder(size=8, grey=True).embed(items.values[:40])
        gaps = ((pixels[:, None] - (1 - X.reshape(len(X), 64) / 16)) ** 2).sum(axis=2)
        nearest = [NAMES[digit] for digit in Y[gaps.argmin(axis=1)]]
        assert nearest == [truth[name][reference] for reference in items.references[:40]]
        if name == "labelled":
            assert items.labels.tolist() == [truth[name][reference] for reference in items.references]
        else:
            assert items.labels is None
            assert all(re.fullmatch(r"\d{3}\.png", reference) for reference in items.references)
    for day, novel in DAYS.items():  # new digits are spread over the numbers
        new = [truth[day][name] in [NAMES[digit] for digit in novel] for name in sorted(truth[day])]
        assert 0.3 < np.mean(new[: len(new) // 2]) / np.mean(new) < 1.7


def test_the_walk_ends_in_accuracies_that_are_right(walked):
    folder, text = walked
    workspace = Workspace.open(folder / "digits", cache=False)
    truth = write_pictures(folder.parent / "again", X, Y, digit_plan(Y))["held-out"]
    answers = workspace.predict(folder / "pictures" / "held-out")
    shown = np.array([truth[reference] for reference in answers.references])
    # In this walk every found category has the name of its digit, so that equal names are right answers.
    correct = np.array(answers.name) == shown
    values = [
        100 * correct.mean(),
        100 * correct[shown != "nine"].mean(),
        100 * correct[shown == "nine"].mean(),
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
    assert "are as before, to the last bit" in " ".join(text.split())
    report = (folder / "report.html").read_text()
    assert all(name in report for name in NAMES)
    assert f"{(folder / 'report.html').stat().st_size / 1024:.0f} kB" in text


def test_it_fits_a_page_of_100_columns_and_says_what_it_does(walked):
    _, text = walked
    assert max(map(len, text.splitlines())) <= 100
    for words in ("Nobody says what is new", "it knows which digit", "demo/report.html", "All of this took"):
        assert words in " ".join(text.split())


def test_no_torch_no_matplotlib_and_the_same_text_again(walked, tmp_path):
    _, text = walked
    environment = {**os.environ, "VBCGCD_CACHE": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    assert [_timeless(line) for line in done.stdout.splitlines()] == [
        _timeless(line) for line in text.splitlines()
    ]
    assert not (tmp_path / "cache").exists()


def _timeless(line):
    return re.sub(r"took [\d.]+ s|\d+ kB", "", line.rstrip())


class Quick(Exception):
    """Raised in place of the walk."""


@pytest.fixture
def prepared_only(monkeypatch):
    """The demo stops where it would write pictures."""

    def stop(*args):
        raise Quick

    monkeypatch.setattr("vbcgcd.demo.walk.write_pictures", stop)


def contents(path):
    return {str(p.relative_to(path)): p.read_bytes() if p.is_file() else None for p in path.rglob("*")}


@pytest.mark.usefixtures("prepared_only")
class TestFolder:
    def run(self, folder, **options):
        run_demo(Console(file=io.StringIO()), folder, **options)

    def test_made_anew_where_the_demo_made_it(self, tmp_path):
        for _ in range(2):
            with pytest.raises(Quick):
                self.run(tmp_path / "a" / "demo")
            (tmp_path / "a" / "demo" / "digits" / "commits").mkdir(parents=True)
            (tmp_path / "a" / "demo" / "report.html").write_text("old")
            (tmp_path / "a" / "demo" / "mine.txt").write_text("mine")
        prepared_folder(tmp_path / "a" / "demo")
        assert sorted(contents(tmp_path / "a" / "demo")) == [MARKER, "mine.txt"]

    def test_an_empty_folder_will_do(self, tmp_path):
        with pytest.raises(Quick):
            self.run(tmp_path)
        assert list(contents(tmp_path)) == [MARKER]

    @pytest.mark.parametrize("names", [["a.txt"], ["pictures/a.png"], [MARKER], ["digits/HEAD", MARKER]])
    def test_others_are_left_alone(self, tmp_path, names):
        for name in names:
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text("not of the demo")
        before = contents(tmp_path)
        with pytest.raises(InputError, match="holds files that are not of the demo"):
            self.run(tmp_path)
        assert contents(tmp_path) == before

    def test_a_file_is_no_folder(self, tmp_path):
        (tmp_path / "demo").write_text("text")
        with pytest.raises(InputError, match="is no folder"):
            self.run(tmp_path / "demo")
        with pytest.raises(InputError, match=r"cannot write in .*Not a directory"):
            self.run(tmp_path / "demo" / "below")
        assert (tmp_path / "demo").read_text() == "text"

    def test_links_are_removed_and_not_followed(self, tmp_path):
        (tmp_path / "photos").mkdir()
        (tmp_path / "photos" / "a.png").write_bytes(b"mine")
        demo = prepared_folder(tmp_path / "demo")
        (demo / "pictures").symlink_to(tmp_path / "photos")
        prepared_folder(demo)
        assert not (demo / "pictures").exists()
        assert (tmp_path / "photos" / "a.png").read_bytes() == b"mine"

    def test_a_bad_seed_changes_nothing(self, tmp_path):
        with pytest.raises(InputError, match="seed must be a whole number"):
            self.run(tmp_path / "demo", seed=-1)
        assert not (tmp_path / "demo").exists()


class Answering:
    """A workspace that answers as it is told."""

    def __init__(self, answers):
        self.answers = answers

    def predict(self, folder):
        ids = self.answers[folder.name]
        names = [f"{i}.png" for i in range(len(ids))]
        return type("Answers", (), {"category": np.array(ids), "references": names})


def test_the_judge_matches_once_and_counts_by_hand():
    truth = {
        "labelled": {"a/0.png": "a"},
        "monday": dict(zip([f"{i}.png" for i in range(5)], "abbcc", strict=True)),
        "held-out": dict(zip([f"{i}.png" for i in range(6)], "aabbcd", strict=True)),
    }
    # Category 7 is b, 8 is c by the pictures of monday; 9 is one too many and right for nobody.
    workspace = Answering({"monday": [0, 7, 7, 8, 9], "held-out": [0, 7, 7, 9, 8, 8]})
    judge = Judge(workspace, Path("x"), truth, {0: "a"})
    assert judge.base().score.all == 0.5
    assert judge.shown_by("monday", [7, 8, 9]) == {7: "b", 8: "c", 9: "c"}
    judged = judge.session(1, "monday", ["b", "c"], {7: "b", 8: "c", 9: "c (2)"})
    assert (judged.found, judged.novel, judged.pictures) == (3, 2, 5)
    assert judged.score.all == 3 / 5
    assert (judged.score.old, judged.score.new) == (1 / 2, 2 / 3)


def commands(text):
    return [shlex.split(line[2:]) for line in text.splitlines() if line.startswith("$ ")]


def test_every_command_is_shown(walked):
    said = [" ".join(words[1:3]) for words in commands(walked[1]) if words[0] == "vbcgcd"]
    days = [f"discover ../pictures/{day}" for day in DAYS]
    for wanted in ("init digits", "learn ../pictures/labelled", *days, "report -o", "categories undo"):
        assert wanted in said
    assert sum(one == "categories rename" for one in said) == 5


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
        done = CliRunner().invoke(app, words)
        assert done.exit_code == 0, (words, done.output)
    one, other = (Workspace.open(f / "digits", cache=False) for f in (folder, tmp_path / "demo"))
    held_out = folder / "pictures" / "held-out"
    assert list(one.predict(held_out).rows()) == list(other.predict(held_out).rows())
    assert [c.command for c in one.history()] == [c.command for c in other.history()]
    assert one.config() == other.config()
    assert (tmp_path / "demo" / "report.html").stat().st_size > 10_000
