"""What everyday commands cost from cold: seconds of CPU and on the clock, and who is imported.

    python benchmarks/everyday.py                            this code
    python benchmarks/everyday.py --against ../before/src    and other code, with ratios

The workspace has 150 categories of made-up tickets, embedded by the offline default; every command runs in a
new process on compiled modules, and the best of several runs counts. The other code makes its own workspace.
``--rates`` also measures sentences per second on one thread, by torch and by NumPy.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import numpy as np

from common import console, table

CATEGORIES, EACH, REPEATS = 150, 30, 5
#: Start of the entry point as a shell calls it, which decides whether completion works.
PROGRAM = "import sys; from vbcgcd.cli import app; app(prog_name='vbcgcd')"
SYLLABLES = ("ba", "co", "du", "fi", "ga", "lo", "mi", "ne", "po", "ru", "sa", "ti", "vo", "wu", "xe", "zo")
FILLERS = (
    "please",
    "can",
    "you",
    "help",
    "me",
    "with",
    "my",
    "the",
    "order",
    "account",
    "today",
    "what",
    "is",
)
#: What a shell sets to complete the name of a category.
COMPLETION = {"_VBCGCD_COMPLETE": "complete_bash", "COMP_WORDS": "vbcgcd categories show ", "COMP_CWORD": "3"}
_FRESH = count(1)


@dataclass(frozen=True)
class Cost:
    """Seconds of all processors, and on the clock."""

    cpu: float
    wall: float


class Code:
    """One version of the program with a workspace of its own."""

    def __init__(self, source: Path, place: Path) -> None:
        self.place, self.workspace = place, place / "tickets"
        self.environment = {
            **{key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"},
            "PYTHONPATH": str(source),
            "PYTHONPYCACHEPREFIX": str(place / "compiled"),
            "VBCGCD_CACHE": str(place / "cache"),
            "VBCGCD_WORKSPACE": str(self.workspace),
            "OMP_NUM_THREADS": "1",
            "NO_COLOR": "1",
        }

    def run(self, *words: str, flags: tuple[str, ...] = (), **more: str) -> subprocess.CompletedProcess[str]:
        """One command in a new process, which has to succeed."""
        return subprocess.run(
            [sys.executable, *flags, "-c", PROGRAM, *words],
            env={**self.environment, **more},
            cwd=self.place,
            capture_output=True,
            text=True,
            check=True,
        )

    def prepare(self) -> None:
        """A workspace that has learned, and predictions whose vectors are cached."""
        write(self.place / "labelled.csv", tickets(np.random.default_rng(0), EACH), labelled=True)
        write(self.place / "known.csv", tickets(np.random.default_rng(1), 2))
        self.run("init", str(self.workspace))
        self.run("learn", "labelled.csv")
        self.run("predict", "known.csv")

    def new_text(self) -> str:
        """A table with one text that was never embedded."""
        name = f"new-{next(_FRESH)}.csv"
        rows = [(f"my parcel number {os.getpid()} {name} has not arrived", "")]
        write(self.place / name, rows)
        return name


def tickets(rng: np.random.Generator, each: int) -> list[tuple[str, str]]:
    """Texts with their labels: words of a category's own among common ones."""
    names = np.random.default_rng(7)
    rows = []
    for number in range(CATEGORIES):
        own = ["".join(names.choice(SYLLABLES, 3)) for _ in range(3)]
        for _ in range(each):
            words = [*rng.choice(own, 3), *rng.choice(FILLERS, 5)]
            rows.append((" ".join(rng.permutation(words)), f"{own[0]} {number}"))
    return rows


def write(path: Path, rows: list[tuple[str, str]], *, labelled: bool = False) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        out = csv.writer(file)
        out.writerow(["text", "label"] if labelled else ["text"])
        out.writerows(rows if labelled else [row[:1] for row in rows])


def cost(action: Callable[[], object]) -> Cost:
    """The best of several runs, after one that compiles and warms the disk."""
    action()
    best = Cost(np.inf, np.inf)
    for _ in range(REPEATS):
        before, start = os.times(), time.perf_counter()
        action()
        wall, after = time.perf_counter() - start, os.times()
        cpu = after.children_user + after.children_system - before.children_user - before.children_system
        best = Cost(min(best.cpu, cpu), min(best.wall, wall))
    return best


def everyday(code: Code) -> Iterator[tuple[str, Cost]]:
    """Each everyday command and what it costs."""
    commands: dict[str, Callable[[], object]] = {
        "--help": lambda: code.run("--help"),
        "status": lambda: code.run("status"),
        "sessions": lambda: code.run("sessions"),
        "config": lambda: code.run("config"),
        "categories": lambda: code.run("categories"),
        "completion of names": lambda: code.run(**COMPLETION),
        "predict, 300 cached texts": lambda: code.run("predict", "known.csv"),
        "predict, one new text": lambda: code.run("predict", code.new_text()),
    }
    for name, action in commands.items():
        yield name, cost(action)


def offenders(code: Code, *words: str, most: int = 8, **more: str) -> list[tuple[str, float]]:
    """Libraries with the longest import of their own, in seconds."""
    seconds: Counter[str] = Counter()
    for line in code.run(*words, flags=("-X", "importtime"), **more).stderr.splitlines():
        if match := re.match(r"import time:\s+(\d+) \|\s+\d+ \|\s+(\w+)", line):
            seconds[match[2]] += int(match[1])
    return [(name, micro / 1e6) for name, micro in seconds.most_common(most)]


def line_rate(code: Code, lines: int = 100) -> str:
    """Milliseconds for a line of ``predict --stdin`` once it is warm."""
    process = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "predict", "--stdin"],
        env=code.environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    seconds = []
    for number in range(lines):
        start = time.perf_counter()
        process.stdin.write(f"my parcel number {number} has not arrived\n")
        process.stdin.flush()
        if not process.stdout.readline():
            return "no --stdin"
        seconds.append(time.perf_counter() - start)
    process.communicate()
    return f"{1e3 * float(np.median(seconds[10:])):.1f} ms (median of {lines - 10} lines)"


def rates(rounds: int = 3) -> None:
    """Sentences per second of CPU on one thread: torch, and NumPy with its ratio to torch."""
    import torch

    from vbcgcd.embed import embedder, texts

    torch.set_num_threads(1)
    ours = embedder(kind="text")
    theirs = texts._torch_embedder(ours.folder, name="torch", device="cpu")  # type: ignore[attr-defined]
    short = [text for text, _ in tickets(np.random.default_rng(0), 10)]
    longer = [" ".join(short[i : i + 12]) for i in range(0, len(short), 6)]
    rows = []
    for name, batch in {"8 words": short, "96 words": longer}.items():
        both = []
        for model in (theirs, ours):
            model.embed(batch[:64])
            seconds = []
            for _ in range(rounds):
                start = time.process_time()
                model.embed(batch)
                seconds.append(time.process_time() - start)
            both.append(len(batch) / min(seconds))
        apart = float(np.abs(theirs.embed(batch[:200]) - ours.embed(batch[:200])).max())
        rows.append((name, f"{both[0]:.0f}", f"{both[1]:.0f}", f"{both[1] / both[0]:.2f}", f"{apart:.0e}"))
    columns = ["texts of", "torch /s", "NumPy /s", "ratio", "largest difference"]
    table("Sentences embedded per second of CPU, one thread", columns, rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--against", type=Path, help="folder with other code: the one that holds vbcgcd/")
    parser.add_argument("--rates", action="store_true", help="also sentences per second (needs torch)")
    options = parser.parse_args()
    here = Path(__file__).parents[1] / "src"
    with tempfile.TemporaryDirectory() as place:
        sources = [here] if options.against is None else [here, options.against.absolute()]
        codes = []
        for number, source in enumerate(sources):
            (Path(place) / str(number)).mkdir()
            codes.append(Code(source, Path(place) / str(number)))
            codes[-1].prepare()
        costs = [dict(everyday(code)) for code in codes]
        columns, rows = ["command", "CPU s", "wall s"], []
        for name, now in costs[0].items():
            row = [name, f"{now.cpu:.2f}", f"{now.wall:.2f}"]
            if len(costs) > 1:
                before = costs[1][name]
                row += [f"{before.cpu:.2f}", f"{before.wall:.2f}", f"{before.cpu / now.cpu:.1f}"]
            rows.append(row)
        if len(costs) > 1:
            columns += ["before: CPU s", "wall s", "ratio of CPU"]
        table(f"Everyday commands from cold, {CATEGORIES} categories, best of {REPEATS}", columns, rows)
        for what, words, more in (
            ("status", ["status"], {}),
            ("categories", ["categories"], {}),
            ("completion", [], COMPLETION),
        ):
            listed = ", ".join(f"{name} {s:.3f}" for name, s in offenders(codes[0], *words, **more))
            console.print(f"Largest imports of {what}, seconds: {listed}")
        console.print(f"predict --stdin, a new text: {line_rate(codes[0])}")
    if options.rates:
        rates()


if __name__ == "__main__":
    main()
