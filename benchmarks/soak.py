"""Thousands of sessions in one workspace: reads, sessions and memory must not grow with their number.

    python benchmarks/soak.py                     2,000 sessions
    python benchmarks/soak.py --sessions 300

The sessions are tiny (thirty rows of four dimensions), so that what is measured is the store. "open +
categories" is the time that a new process spends in the library, the best of three processes; memory is that
of the process that wrote all sessions.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vbcgcd.workspace import Workspace

#: A new category appears every so many sessions.
EVERY = 100
OPTIONS: dict[str, Any] = {
    "names": "number",
    "sample": 20,
    "model": {"count": "evidence", "n_components": 4, "unassigned": False},
}
MARKS = (100, 500, 1000, 2000)
ASK = """
import json, sys, time
import numpy, pyarrow.parquet, sklearn, scipy.linalg, jinja2  # what the library needs is loaded, once
from vbcgcd.workspace import Workspace
start = time.perf_counter()
workspace = Workspace.open(sys.argv[1])
opened = time.perf_counter()
categories = workspace.categories()
asked = time.perf_counter()
workspace.report(sys.argv[2])
print(json.dumps([opened - start, asked - opened, time.perf_counter() - asked, len(categories)]))
"""


@dataclass(frozen=True)
class Mark:
    """What was measured after some sessions: seconds, megabytes, live categories."""

    sessions: int
    opening: float
    categories: float
    session: float
    slowest: float
    report: float
    memory: float
    disk: float
    live: int


class Days:
    """Rows around means that are far apart; every hundredth day brings a new one."""

    def __init__(self, *, dim: int = 4, labelled: int = 4, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.means = 30 * self.rng.normal(size=(labelled + 400, dim))
        self.labelled = labelled

    def rows_of(self, categories: np.ndarray) -> np.ndarray:
        """One row of each category."""
        return self.means[categories] + self.rng.normal(size=(len(categories), self.means.shape[1]))

    def base(self) -> tuple[np.ndarray, np.ndarray]:
        """Labelled rows and their labels."""
        labels = np.repeat(np.arange(self.labelled), 12)
        return self.rows_of(labels), labels

    def day(self, number: int, rows: int) -> tuple[np.ndarray, int]:
        """The rows of a day, and how many of its categories are new."""
        known, new = self.labelled + (number - 1) // EVERY, int(number % EVERY == 0)
        categories = self.rng.integers(0, known, rows)
        categories[: new * rows // 3] = known
        return self.rows_of(categories), new


def resident() -> float:
    """Memory of this process in megabytes."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGESIZE") / 1e6
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3


def measure(workspace: Workspace, number: int, seconds: list[float]) -> Mark:
    """Ask new processes, and take the best of three: other programs only make them slower."""
    memory, page = resident(), workspace.path.parent / "report.html"
    command = [sys.executable, "-c", ASK, str(workspace.path), str(page)]
    asked = [json.loads(subprocess.run(command, capture_output=True, check=True).stdout) for _ in range(3)]
    opening, categories, report, live = np.min(asked, axis=0)
    disk = sum(file.stat().st_size for file in workspace.path.rglob("*") if file.is_file()) / 1e6
    last = seconds[-100:]
    session, slowest = float(np.median(last)), float(max(last))
    return Mark(number, opening, categories, session, slowest, report, memory, disk, int(live))


def run(path: Path, sessions: int, *, rows: int = 30, marks: tuple[int, ...] = MARKS) -> list[Mark]:
    """Live through the sessions in one process; what was measured at each mark and at the end."""
    days, found = Days(), []
    workspace = Workspace.init(path, **OPTIONS)
    workspace.learn(*days.base())
    seconds = []
    for number in range(1, sessions + 1):
        batch, new = days.day(number, rows)
        start = time.perf_counter()
        workspace.discover(batch, n_novel=new or None)
        seconds.append(time.perf_counter() - start)
        if number in marks or number == sessions:
            found.append(measure(workspace, number, seconds))
            print(line(found[-1]), flush=True)
    return found


def line(mark: Mark) -> str:
    """One line of the table."""
    both = mark.opening + mark.categories
    return (
        f"{mark.sessions:8d} {mark.opening:8.3f} {mark.categories:11.3f} {both:6.3f} "
        f"{1000 * mark.session:8.1f} {1000 * mark.slowest:8.1f} {mark.report:8.2f} {mark.memory:8.0f} "
        f"{mark.disk:6.1f} {mark.live:5d}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sessions", type=int, default=2000)
    parser.add_argument("--rows", type=int, default=30)
    options = parser.parse_args()
    print("sessions     open  categories    sum  session  slowest   report   memory   disk  live")
    print("                s           s      s       ms       ms        s       MB     MB")
    with tempfile.TemporaryDirectory() as folder:
        run(Path(folder) / "soak", options.sessions, rows=options.rows)


if __name__ == "__main__":
    main()
