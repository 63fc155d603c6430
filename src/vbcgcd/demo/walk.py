"""The tour: each command is printed as you would type it, run, and its output shown."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.text import Text
from sklearn.datasets import load_digits

from vbcgcd.checks import check_number
from vbcgcd.demo.judge import Judge, Verdict, accuracy_table
from vbcgcd.demo.pictures import (
    DAYS,
    LABELLED,
    NAMES,
    PICTURES,
    REPORT,
    WORKSPACE,
    digit_plan,
    prepare_folder,
    write_pictures,
)
from vbcgcd.embed import embedder
from vbcgcd.record import SessionRecord
from vbcgcd.show import answers as show_answers
from vbcgcd.show import categories as show_categories
from vbcgcd.show import sessions as show_sessions
from vbcgcd.words import add_row, grid
from vbcgcd.workspace import Predictions, Workspace
from vbcgcd.workspace.commands.sessions import unique_name
from vbcgcd.workspace.log.parquet import check_pyarrow

OPTIONS: dict[str, Any] = {"size": 8, "grey": True}
EXCERPTS = 5
#: Predictions in the table.
FIRST = 5
TITLE = "Handwritten digits"

__all__ = ["run_demo"]


def run_demo(console: Console, folder: Path, *, seed: int = 0) -> Path:
    """Take a tour of a workspace: five digits are labelled, the other five are discovered on three days.

    Parameters
    ----------
    console : Console
        Where to print.
    folder : Path
        Where pictures, workspace and report are written. A folder of an earlier demo is cleared first; any
        other folder that is not empty is refused.
    seed : int
        Decides which pictures go into which folder.

    Returns
    -------
    Path
        The report.
    """
    start = time.perf_counter()
    check_number("seed", seed, low=0, whole=True)
    check_pyarrow()
    embedder("pixels", kind="image", **OPTIONS)
    folder = prepare_folder(Path(folder))
    digits = load_digits()
    plan = digit_plan(digits.target, seed=seed)
    truth = write_pictures(folder / PICTURES, digits.images, digits.target, plan)
    tour = _Tour(console, folder, truth)
    tour.introduce()
    tour.learn()
    for day in DAYS:
        tour.discover(day)
    tour.merge_and_undo()
    tour.predict()
    report = tour.report()
    console.print()
    console.print(accuracy_table(tour.verdicts))
    tour.say(
        f"The report is {report}.\n"
        f"To continue: cd {folder / WORKSPACE}, then {_program()} categories, or {_program()} explain "
        "../pictures/held-out/001.png.\n"
        f"To see and correct it in a browser: {_program()} serve, in the same folder.\n"
        f"The demo took {time.perf_counter() - start:.1f} s."
    )
    return report


def _program() -> str:
    """The program, with its folder unless that is on the path."""
    return "vbcgcd" if shutil.which("vbcgcd") else str(Path(sys.executable).with_name("vbcgcd"))


class _Tour:
    """The commands, one method each."""

    def __init__(self, console: Console, folder: Path, truth: dict[str, dict[str, str]]) -> None:
        self.console, self.folder, self.truth = console, folder, truth
        self.pictures = folder / PICTURES
        self.verdicts: list[Verdict] = []

    def say(self, text: str) -> None:
        """Print a paragraph between commands."""
        self.console.print()
        self.console.print(Text(text))

    def introduce(self) -> None:
        """The folders of pictures."""
        contents = {
            "labelled": f"{', '.join(NAMES[digit] for digit in LABELLED)}, each in a folder of its name",
            **dict.fromkeys(DAYS, "unlabelled: digits known by then, and novel ones"),
            "held-out": "never learned from; used to measure accuracy",
        }
        total = sum(map(len, self.truth.values()))
        self.say(
            f"{total:,} pictures of handwritten digits from scikit-learn are in {self.pictures}. Nobody "
            "tells the workspace which digits are novel on a day, or how many there are.\n"
        )
        table = grid("folder", ">pictures", "contents")
        for name, text in contents.items():
            add_row(table, f"{name}/", str(len(self.truth[name])), text)
        self._print(table)

    def learn(self) -> None:
        """``init`` and the base session."""
        self._type("cd", str(self.folder))
        options = f"embedder_options={json.dumps(OPTIONS)}"
        settings = ("--with", "pixels", "--excerpts", str(EXCERPTS), "--set", options)
        self._type("vbcgcd", "init", WORKSPACE, *settings, gap=False)
        self.workspace = Workspace.init(
            self.folder / WORKSPACE,
            embedder="pixels",
            embedder_options=OPTIONS,
            excerpts=EXCERPTS,
            cache=False,
        )
        self._print(show_sessions.creation(self.workspace.path))
        self._type("cd", WORKSPACE)
        self._type("vbcgcd", "learn", f"../{PICTURES}/labelled", gap=False)
        with self.console.status("learning ..."):
            record = self.workspace.learn(self.pictures / "labelled")
        self._print(show_sessions.session(record))
        self.judge = Judge(self.workspace, self.pictures, self.truth, record.novel)
        self.verdicts.append(self.judge.base())

    def discover(self, day: str) -> None:
        """One day without labels; then its novel categories are named."""
        self._type("vbcgcd", "discover", f"../{PICTURES}/{day}")
        with self.console.status("discovering ..."):
            record = self.workspace.discover(self.pictures / day)
        novel = self.workspace.categories(n_samples=3, items=True, only=record.novel) if record.novel else ()
        self._print(show_sessions.session(record, novel))
        if not self.verdicts[1:]:
            self.say(
                "Now somebody looks at the pictures of each novel category and names it. Here the demo does "
                "that itself: it knows which digit most of them show."
            )
        names = self._rename(day, record)
        digits = [NAMES[digit] for digit in DAYS[day]]
        self.verdicts.append(self.judge.session(len(self.verdicts), day, digits, names))

    def _rename(self, day: str, record: SessionRecord) -> dict[int, str]:
        """The names of the novel categories after somebody has looked at them."""
        majority = self.judge.majority(day, list(record.novel))
        names = dict(record.novel)
        for i, digit in majority.items():
            live = [info.name for info in self.workspace.categories(n_samples=0)]
            names[i] = unique_name(digit, live)
            self._type("vbcgcd", "categories", "rename", str(i), names[i], gap=i == min(majority))
            result = self.workspace.rename(i, names[i])
            self._print(show_categories.change(result, record.novel[i]))
        return names

    def merge_and_undo(self) -> None:
        """A change of mind: after undo every answer is the same, bit for bit."""
        infos = self.workspace.categories(n_samples=0)
        last = infos[-1]
        nearest = infos[0].id if last.nearest is None else last.nearest
        before = self.workspace.predict(self.pictures / "held-out")
        self.say(
            f"Is {last.name!r} a category of its own, or just {last.nearest_name!r}, the nearest one, in "
            "other handwriting? Merge them, then change your mind."
        )
        self._type("vbcgcd", "categories", "merge", str(nearest), str(last.id))
        self._print(show_categories.change(self.workspace.merge([nearest, last.id])))
        self._type("vbcgcd", "categories", "undo", gap=False)
        result = self.workspace.undo()
        info = next(info for info in self.workspace.history() if info.commit == result.of_commit)
        self._print(show_sessions.undo(result, show_sessions.command_line(info)))
        after = self.workspace.predict(self.pictures / "held-out")
        same = "the same as before, bit for bit" if _same(before, after) else "not the same as before"
        self.say(f"After undo the predictions for the {len(after)} held-out pictures are {same}.")

    def predict(self) -> None:
        """Held-out pictures."""
        self._type("vbcgcd", "predict", f"../{PICTURES}/held-out")
        answers = self.workspace.predict(self.pictures / "held-out")
        self._print(show_answers.predictions(answers, {}, first=FIRST))

    def report(self) -> Path:
        """One page about all of it."""
        path = self.folder / REPORT
        self._type("vbcgcd", "report", "-o", f"../{REPORT}", "--title", TITLE)
        with self.console.status("writing the report ..."):
            result = self.workspace.report(path, title=TITLE)
        self._print(show_sessions.report(result, f"../{REPORT}"))
        return path

    def _type(self, *words: str, gap: bool = True) -> None:
        """Print a command as you would type it, on one line so that it can be copied."""
        if gap:
            self.console.print()
        line = shlex.join(words)
        self.console.print(Text.assemble(("$ ", "dim"), (line, "bold")), soft_wrap=True)

    def _print(self, output: RenderableType) -> None:
        """Print the output of a command."""
        self.console.print(Padding(output, (0, 0, 0, 2), expand=False), markup=False, emoji=False)


def _same(one: Predictions, other: Predictions) -> bool:
    return all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("references", "category", "probability", "novelty", "second", "second_probability")
    )
