"""The walk: each command of a workspace is printed as it would be typed, done, and answered in short."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.console import Console
from sklearn.datasets import load_digits

from vbcgcd.demo import show
from vbcgcd.demo.digits import DAYS, LABELLED, NAMES, digit_plan
from vbcgcd.demo.folder import PICTURES, REPORT, WORKSPACE, prepared_folder, write_pictures
from vbcgcd.demo.judge import Judge, Judged
from vbcgcd.embed import embedder
from vbcgcd.validation import check_number
from vbcgcd.workspace import Workspace
from vbcgcd.workspace.assignments import check_pyarrow
from vbcgcd.workspace.naming import unique_name
from vbcgcd.workspace.results import Discovered, Predictions

Array = NDArray[Any]
OPTIONS: dict[str, Any] = {"size": 8, "grey": True}
EXCERPTS, SHOWN = 5, 5
TITLE = "Handwritten digits"

__all__ = ["run_demo"]


def run_demo(console: Console, folder: Path, *, seed: int = 0) -> Path:
    """Walk through a workspace: five digits are labelled, the other five are found on three days.

    Parameters
    ----------
    console : Console
    folder : Path
        Where pictures, workspace and report are written. A folder that the demo made before is made anew;
        any other that is not empty is refused.
    seed : int
        Deals the pictures to the folders.

    Returns
    -------
    Path
        The report.
    """
    start = time.perf_counter()
    check_number("seed", seed, low=0, whole=True)
    check_pyarrow()
    embedder("pixels", kind="image", **OPTIONS)
    folder = prepared_folder(Path(folder))
    digits = load_digits()
    plan = digit_plan(digits.target, seed=seed)
    truth = write_pictures(folder / PICTURES, digits.images, digits.target, plan)
    walk = _Walk(console, folder, truth)
    walk.introduce()
    walk.learn()
    for day in DAYS:
        walk.discover(day)
    walk.merge_and_undo()
    walk.predict()
    report = walk.report()
    show.accuracy_table(console, walk.judged)
    show.say(
        console,
        f"The report: {report}\n"
        f"Go on yourself: cd {folder / WORKSPACE}, then {_tool()} categories, or {_tool()} explain "
        "../pictures/held-out/001.png.\n"
        f"All of this took {time.perf_counter() - start:.1f} s.",
    )
    return report


def _tool() -> str:
    """The program, with its folder where that is not on the path."""
    return "vbcgcd" if shutil.which("vbcgcd") else str(Path(sys.executable).with_name("vbcgcd"))


class _Walk:
    """The commands, one method each."""

    def __init__(self, console: Console, folder: Path, truth: dict[str, dict[str, str]]) -> None:
        self.console, self.folder, self.truth = console, folder, truth
        self.pictures = folder / PICTURES
        self.judged: list[Judged] = []

    def introduce(self) -> None:
        """What lies there."""
        labelled = ", ".join(NAMES[digit] for digit in LABELLED)
        said = {
            "labelled": f"of {labelled}, each in the folder of its name",
            **dict.fromkeys(DAYS, "without labels: digits known by then, and new ones"),
            "held-out": "that are never learned, to see how well it goes",
        }
        total = sum(map(len, self.truth.values()))
        show.say(
            self.console,
            f"{total:,} pictures of handwritten digits from scikit-learn are in {self.pictures}. Nobody "
            "says what is new on a day, nor how many new digits there are.\n",
        )
        rows = [(f"{name}/", str(len(self.truth[name])), text) for name, text in said.items()]
        show.table(self.console, ("folder", "pictures", ""), rows, words=("folder", ""))

    def learn(self) -> None:
        """``init`` and the base session."""
        self._typed("cd", str(self.folder))
        options = f"embedder_options={json.dumps(OPTIONS)}"
        settings = ("--with", "pixels", "--excerpts", str(EXCERPTS), "--set", options)
        self._typed("vbcgcd", "init", WORKSPACE, *settings, first=False)
        self.workspace = Workspace.init(
            self.folder / WORKSPACE,
            embedder="pixels",
            embedder_options=OPTIONS,
            excerpts=EXCERPTS,
            cache=False,
        )
        self._told(
            f"An empty workspace. It compares pictures by their pixels, {OPTIONS['size']} by "
            f"{OPTIONS['size']} and grey, and will keep {EXCERPTS} thumbnails of each category."
        )
        self._typed("cd", WORKSPACE)
        self._typed("vbcgcd", "learn", f"../{PICTURES}/labelled", first=False)
        with self.console.status("learning ..."):
            learned = self.workspace.learn(self.pictures / "labelled")
        self._told(f"{learned.rows} pictures, {len(learned.categories)} categories: {_listed(learned)}.")
        self.judge = Judge(self.workspace, self.pictures, self.truth, learned.categories)
        self.judged.append(self.judge.base())

    def discover(self, day: str) -> None:
        """One day without labels; then its new categories get names."""
        self._typed("vbcgcd", "discover", f"../{PICTURES}/{day}")
        with self.console.status("discovering ..."):
            found = self.workspace.discover(self.pictures / day)
        many = "category" if len(found.categories) == 1 else "categories"
        self._told(
            f"{found.rows} pictures: {found.known_rows} of known categories, {found.novel_rows} of "
            f"{len(found.categories)} new {many}."
        )
        self._show_found(found)
        if not self.judged[1:]:
            show.say(
                self.console,
                "Now somebody looks at the pictures of a new category and names it. Here the demo does it "
                "itself: it knows which digit most of them show.",
            )
        named = self._rename(day, found)
        novel = [NAMES[digit] for digit in DAYS[day]]
        self.judged.append(self.judge.session(len(self.judged), day, novel, named))

    def _show_found(self, found: Discovered) -> None:
        infos = {info.id: info for info in self.workspace.categories(n_samples=3)}
        rows = [
            (str(i), name, str(found.counts.get(i, 0)), ", ".join(infos[i].samples))
            for i, name in found.categories.items()
        ]
        columns = ("id", "automatic name", "pictures", "most typical")
        show.table(self.console, columns, rows, words=("automatic name", "most typical"))

    def _rename(self, day: str, found: Discovered) -> dict[int, str]:
        """The names of the found categories after the user has looked at them."""
        seen = self.judge.shown_by(day, list(found.categories))
        named = dict(found.categories)
        for i, digit in seen.items():
            live = [info.name for info in self.workspace.categories(n_samples=0)]
            named[i] = unique_name(digit, live)
            self._typed("vbcgcd", "categories", "rename", str(i), named[i], first=i == min(seen))
            self.workspace.rename(i, named[i])
            self._told(f"Category {i}, {found.categories[i]!r}, is called {named[i]!r} now.")
        return named

    def merge_and_undo(self) -> None:
        """A change of mind: what was learned is the same after it, to the last bit."""
        infos = self.workspace.categories(n_samples=0)
        last = infos[-1]
        nearest = infos[0].id if last.nearest is None else last.nearest
        before = self.workspace.predict(self.pictures / "held-out")
        show.say(
            self.console,
            f"Is {last.name!r} a category of its own, or is it {last.nearest_name!r}, the nearest one, in "
            "another hand? Try it, and take it back.",
        )
        self._typed("vbcgcd", "categories", "merge", str(nearest), str(last.id))
        merged = self.workspace.merge([nearest, last.id])
        (new, name), *_ = merged.categories.items()
        retired = " and ".join(map(str, merged.retired))
        left = len(self.workspace.categories(n_samples=0))
        self._told(
            f"Categories {retired} are now one, category {new}, {name!r}; there are {left} categories."
        )
        self._typed("vbcgcd", "categories", "undo", first=False)
        self.workspace.undo()
        left = len(self.workspace.categories(n_samples=0))
        after = self.workspace.predict(self.pictures / "held-out")
        same = "as before, to the last bit" if _same(before, after) else "not as before"
        self._told(
            f"The merge is taken back; there are {left} categories, and the answers for the {len(after)} "
            f"held-out pictures are {same}."
        )

    def predict(self) -> None:
        """Held-out pictures."""
        self._typed("vbcgcd", "predict", f"../{PICTURES}/held-out")
        answers = self.workspace.predict(self.pictures / "held-out")
        rows = [
            (
                row["reference"],
                row["name"],
                f"{row['probability']:.3f}",
                f"{row['novelty']:.2f}",
                f"{row['second_name']} ({row['second_probability']:.3f})",
            )
            for row in list(answers.rows())[:SHOWN]
        ]
        columns = ("picture", "category", "probability", "novelty", "second choice")
        show.table(self.console, columns, rows, words=("picture", "category", "second choice"))
        sure = float((answers.probability > 0.95).mean())
        self._told(
            f"... and {len(answers) - SHOWN} more; {sure:.0%} of them with a probability above 0.95. Novelty "
            "near 1: like nothing that is known."
        )

    def report(self) -> Path:
        """One page of everything."""
        path = self.folder / REPORT
        self._typed("vbcgcd", "report", "-o", f"../{REPORT}", "--title", TITLE)
        with self.console.status("writing the report ..."):
            done = self.workspace.report(path, title=TITLE)
        self._told(
            f"One page with {done.sessions} sessions and {done.categories} categories, "
            f"{done.bytes / 1024:.0f} kB; open it in a browser."
        )
        return path

    def _typed(self, *words: str, first: bool = True) -> None:
        show.command(self.console, shlex.join(words), first=first)

    def _told(self, text: str) -> None:
        show.answer(self.console, text)


def _listed(result: Any) -> str:
    return ", ".join(f"{name} ({result.counts[i]})" for i, name in result.categories.items())


def _same(one: Predictions, other: Predictions) -> bool:
    return all(
        np.array_equal(getattr(one, name), getattr(other, name))
        for name in ("references", "category", "probability", "novelty", "second", "second_probability")
    )
