"""A folder as a user would have it, made from a labelled dataset, and the commands of a workspace on it.

    python benchmarks/walkthrough.py tickets.csv --into tickets            only the folder
    python benchmarks/walkthrough.py tickets.csv --into tickets --run      and the real commands, timed

Half of the categories are labelled (``labelled.csv``). The others come in five batches without labels
(``batch-1.csv`` to ``batch-5.csv``), mixed with rows of those known by then. ``held-out.csv`` is never
learned, and ``truth/`` holds the answers, which no command gets to see. Pictures are folders of PNG files of
the same names. Without a dataset it is ``clinc150.csv`` in the folder named by VBCGCD_DATA.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import shlex
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from common import console, data_folder, table
from vbcgcd.errors import VbcgcdError
from vbcgcd.items import Items
from vbcgcd.study.datasets.load import load_items
from vbcgcd.study.scoring import FrozenMatch, SessionScore, discovery, forgetting, score_session

DEFAULT, BATCHES = "clinc150.csv", 5


@dataclass(frozen=True)
class Plan:
    """Names of the labelled categories and of those new in each batch, and the items of every file."""

    labelled: list[str]
    novel: list[list[str]]
    files: dict[str, Items]


class Pool:
    """Items of each category in a random order, dealt out once."""

    def __init__(self, items: Items, names: Sequence[str], rng: np.random.Generator) -> None:
        codes = np.asarray(items.labels)
        self.items, self.names = items, names
        self.left = {name: rng.permutation(np.flatnonzero(codes == c)) for c, name in enumerate(names)}

    def deal(self, n: int, categories: Iterable[str]) -> list[int]:
        """``n`` rows of each category, fewer where no more are left."""
        dealt: list[int] = []
        for name in categories:
            rows, self.left[name] = self.left[name][:n], self.left[name][n:]
            dealt += rows.tolist()
        return dealt


def planned(data: Path, *, rows: int, categories: int | None, seed: int) -> Plan:
    """Deal a dataset: ``rows`` of each category to learn or to be found, a seventh of it in later batches."""
    loaded = load_items(data)
    rng = np.random.default_rng(seed)
    names = rng.permutation(np.array(loaded.class_names))[:categories].tolist()
    labelled, rest = names[: len(names) // 2], names[len(names) // 2 :]
    novel = [part.tolist() for part in np.array_split(np.array(rest), BATCHES)]
    pool, test = (Pool(part, loaded.class_names, rng) for part in (loaded.train, loaded.test))
    again = max(1, rows // 7)
    files = {"labelled": pool.items.take(rng.permutation(pool.deal(rows, labelled)))}
    known = list(labelled)
    for number, new in enumerate(novel, start=1):
        mixed = pool.deal(again, known) + pool.deal(rows, new)
        files[f"batch-{number}"] = pool.items.take(rng.permutation(mixed))
        known += new
    files["held-out"] = test.items.take(rng.permutation(test.deal(rows // 3, names)))
    named = {name: _named(items, loaded.class_names) for name, items in files.items()}
    return Plan(labelled, novel, named)


def _named(items: Items, names: Sequence[str]) -> Items:
    labels = np.array(names)[np.asarray(items.labels)]
    return Items(items.kind, items.values, items.references, items.source, labels)


def labels_of(items: Items) -> list[str]:
    """The labels as text."""
    return [str(label) for label in np.asarray(items.labels)]


def write_folder(folder: Path, plan: Plan) -> None:
    """The files, and the truth of those without labels."""
    (folder / "truth").mkdir(parents=True)
    write = write_table if plan.files["labelled"].kind == "text" else write_pictures
    for name, items in plan.files.items():
        ids = write(folder, name, items)
        if name != "labelled":
            _write_csv(
                folder / "truth" / f"{name}.csv", ("id", "label"), zip(ids, labels_of(items), strict=True)
            )


def write_table(folder: Path, name: str, items: Items) -> list[str]:
    """A table of texts; only the labelled one has labels."""
    ids = [f"{name}-{row:04d}" for row in range(len(items))]
    if name == "labelled":
        rows: Any = zip(ids, items.values, labels_of(items), strict=True)
        _write_csv(folder / f"{name}.csv", ("id", "text", "label"), rows)
    else:
        _write_csv(folder / f"{name}.csv", ("id", "text"), zip(ids, items.values, strict=True))
    return ids


def write_pictures(folder: Path, name: str, items: Items) -> list[str]:
    """A folder of PNG files; only the labelled ones lie in folders of their labels."""
    from vbcgcd.embed.pictures import open_picture

    labels = [f"{label}/" if name == "labelled" else "" for label in labels_of(items)]
    ids = [f"{label}{row:04d}.png" for row, label in enumerate(labels)]
    for file, picture in zip(ids, items.values, strict=True):
        path = folder / name / file
        path.parent.mkdir(parents=True, exist_ok=True)
        open_picture(picture).save(path)
    return ids


def _write_csv(path: Path, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(rows)


def _read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


class Commands:
    """Runs commands in the folder, each in its own process with an empty cache at first, and keeps time."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.seconds = folder, list[tuple[str, float]]()
        self.environment = {
            **os.environ,
            "VBCGCD_CACHE": str((folder / "cache").absolute()),
            "COLUMNS": "100",
        }

    def __call__(self, *words: str) -> None:
        """Echo the command, let it print, note its time."""
        console.print(f"\n$ {shlex.join(('vbcgcd', *words))}", markup=False, highlight=False, soft_wrap=True)
        start = time.perf_counter()
        self._run(words, None)
        self.seconds.append((shlex.join(words)[:70], time.perf_counter() - start))

    def silent(self, *words: str) -> str:
        """What a command prints, unseen and untimed."""
        return self._run(words, subprocess.PIPE)

    def _run(self, words: Sequence[str], out: int | None) -> str:
        sys.stdout.flush()
        command = [sys.executable, "-m", "vbcgcd", *words]
        done = subprocess.run(
            command, cwd=self.folder, env=self.environment, stdout=out, text=True, check=False
        )
        if done.returncode:
            sys.exit(f"{shlex.join(('vbcgcd', *words))} ended with exit code {done.returncode}.")
        return done.stdout or ""


def run(folder: Path, plan: Plan, init: Sequence[str]) -> None:
    """The commands as a user types them, then how well they did."""
    vbcgcd = Commands(folder)
    data = {n: f"{n}.csv" if items.kind == "text" else n for n, items in plan.files.items()}
    here = ("--workspace", "workspace")
    (folder / "answers").mkdir()

    def answered(name: str, session: int) -> None:
        vbcgcd.silent("predict", data[name], "-o", f"answers/{name}-{session}.csv", *here)

    vbcgcd("init", "workspace", *init)
    vbcgcd("learn", data["labelled"], *here)
    answered("held-out", 0)
    for number in range(1, BATCHES + 1):
        vbcgcd("discover", data[f"batch-{number}"], *here)
        answered(f"batch-{number}", number)
        answered("held-out", number)
    vbcgcd("categories", *here)
    vbcgcd("predict", data["held-out"], "-o", "answers.csv", *here)
    vbcgcd("report", "-o", "report.html", *here)
    sessions = json.loads(vbcgcd.silent("sessions", "--json", *here))["sessions"]
    tell(folder, plan, sessions)
    table("Seconds of each command, with the start of Python", ("command", "seconds"), _times(vbcgcd))


def _times(vbcgcd: Commands) -> list[tuple[str, str]]:
    total = sum(seconds for _, seconds in vbcgcd.seconds)
    return [(name, f"{seconds:.1f}") for name, seconds in [*vbcgcd.seconds, ("all", total)]]


def answers(folder: Path, name: str, session: int) -> tuple[np.ndarray, np.ndarray]:
    """Category given to each item of a file after a session, and its true label."""
    truth = {row["id"]: row["label"] for row in _read_csv(folder / "truth" / f"{name}.csv")}
    rows = _read_csv(folder / "answers" / f"{name}-{session}.csv")
    return np.array([int(r["category"]) for r in rows]), np.array([truth[r["reference"]] for r in rows])


def tell(folder: Path, plan: Plan, sessions: list[dict[str, Any]]) -> None:
    """Frozen scoring on the held-out items: found categories are matched on the batch they were found in."""
    match = FrozenMatch(np.array([], dtype=int))
    match.of.update({int(key): name for key, name in sessions[0]["novel"].items()})
    known, labelled = np.array(plan.labelled), np.array(plan.labelled)
    scores: list[SessionScore] = []
    rows = []
    for number, new in enumerate([[], *plan.novel]):
        novel = np.array(new, dtype=labelled.dtype)
        if number:
            found = np.array([int(key) for key in sessions[number]["novel"]], dtype=int)
            match.add(found, *answers(folder, f"batch-{number}", number), novel)
        ids, truth = answers(folder, "held-out", number)
        seen = np.isin(truth, np.concatenate([known, novel]))
        score = score_session(match.correct(ids[seen], truth[seen]), truth[seen], labelled, known, novel)
        scores.append(score)
        known = np.concatenate([known, novel])
        told = f"{len(sessions[number]['novel'])} of {len(new)}" if number else ""
        values = (score.all, score.old, score.new) if number else (score.all,)
        shown = [f"{100 * value:.1f}" for value in values]
        rows.append((number, sessions[number]["rows"], told, *shown, *[""] * (3 - len(shown))))
    title = "Accuracy on the held-out items, % (frozen scoring)"
    table(title, ("session", "items", "found", "All", "Old", "New"), rows)
    console.print(
        f"Forgetting M_f {100 * forgetting(scores[0].all, scores[1:]):.1f} points, "
        f"discovery M_d {100 * discovery(scores[1:]):.1f} %.",
        highlight=False,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", nargs="?", type=Path, help="a labelled table of texts, or pictures")
    parser.add_argument("--into", type=Path, default=Path("walkthrough"), help="folder to make")
    parser.add_argument("--rows-per-category", type=int, default=30)
    parser.add_argument("--categories", type=int, help="take only so many, at random")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--run", action="store_true", help="run the commands of a workspace")
    parser.add_argument("--init", default="", help="options of 'vbcgcd init', in one string")
    options = parser.parse_args()
    if options.into.exists():
        parser.error(f"{options.into} exists already; choose another folder with --into.")
    if options.rows_per_category < 3 or (options.categories is not None and options.categories < 2 * BATCHES):
        parser.error(f"at least 3 rows of a category and {2 * BATCHES} categories are needed.")
    data = options.data or data_folder() / DEFAULT
    try:
        plan = planned(data, rows=options.rows_per_category, categories=options.categories, seed=options.seed)
    except VbcgcdError as error:
        sys.exit(f"Error: {error}")
    if plan.files["labelled"].kind == "embedding":
        parser.error(f"{data} holds embeddings; give texts or pictures.")
    write_folder(options.into, plan)
    sizes = ", ".join(f"{name} {len(items)}" for name, items in plan.files.items())
    console.print(f"{options.into}: {sizes}", markup=False, highlight=False)
    if options.run:
        run(options.into, plan, shlex.split(options.init))


if __name__ == "__main__":
    main()
