"""A year of weekly batches in one workspace: time of each session, growth on disk, time to open and predict.

    python benchmarks/year.py --weeks 52 --rows 500

Synthetic Gaussian categories: some are labelled, and every fourth week a new one appears and stays.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from vbcgcd.workspace import Workspace

#: A new category appears every so many weeks.
EVERY = 4


@dataclass(frozen=True)
class Week:
    """One session: seconds, bytes that the folder grew, live categories after it and how many were new."""

    week: int
    seconds: float
    grown: int
    categories: int
    novel: int


class Stream:
    """Labelled rows, and weekly batches in which a new category appears now and then."""

    def __init__(self, *, dim: int = 32, labelled: int = 8, weeks: int = 52, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.means = self.rng.normal(size=(labelled + weeks // EVERY + 1, dim)) * 3
        self.labelled = labelled

    def rows_of(self, categories: np.ndarray) -> np.ndarray:
        """One row of each category, float32."""
        noise = self.rng.normal(size=(len(categories), self.means.shape[1]))
        return (self.means[categories] + noise).astype(np.float32)

    def base(self, per_category: int = 60) -> tuple[np.ndarray, np.ndarray]:
        """Labelled rows and their labels."""
        labels = np.repeat(np.arange(self.labelled), per_category)
        return self.rows_of(labels), labels

    def batch(self, week: int, rows: int) -> np.ndarray:
        """The rows of a week; a new category makes up a fifth of its first one."""
        known = self.labelled + week // EVERY
        categories = self.rng.integers(0, known, rows)
        if week % EVERY == EVERY - 1:
            categories[: rows // 5] = known
        return self.rows_of(categories)


def size_of(path: Path) -> int:
    """Bytes of all files in a folder."""
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def run(path: Path, *, weeks: int, rows: int, **settings: Any) -> tuple[Workspace, Stream, list[Week]]:
    """Live through the weeks."""
    stream = Stream(weeks=weeks)
    workspace = Workspace.init(path, **settings)
    workspace.learn(*stream.base())
    told: list[Week] = []
    for week in range(weeks):
        batch, before = stream.batch(week, rows), size_of(path)
        start = time.perf_counter()
        found = workspace.discover(batch)
        seconds = time.perf_counter() - start
        live = len(workspace.categories(n_samples=0))
        told.append(Week(week + 1, seconds, size_of(path) - before, live, len(found.categories)))
    return workspace, stream, told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--weeks", type=int, default=52)
    parser.add_argument("--rows", type=int, default=500)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "year"
        _, stream, told = run(path, weeks=options.weeks, rows=options.rows)
        print("week  seconds    grown  categories  novel")
        for week in told:
            print(
                f"{week.week:4d}  {week.seconds:7.2f}  {week.grown / 1024:5.0f} kB  {week.categories:10d}  "
                f"{week.novel:5d}"
            )
        start = time.perf_counter()
        workspace = Workspace.open(path)
        workspace.predict(stream.batch(0, 100))
        opened = time.perf_counter() - start
        start = time.perf_counter()
        overview = workspace.overview()
        looked = time.perf_counter() - start
        print(
            f"{overview.bytes / 2**20:.1f} MB for {overview.items} items and {len(overview.categories)} "
            f"categories; open and predict 100 rows {opened:.2f} s, overview {looked:.2f} s"
        )


if __name__ == "__main__":
    main()
