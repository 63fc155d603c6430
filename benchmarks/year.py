"""A year of weekly batches in one workspace: time of each session, growth on disk, time to open and predict.

    python benchmarks/year.py --weeks 52 --rows 500
    python benchmarks/year.py --data clinc150-minilm.npz

Synthetic Gaussian categories: some are labelled, and every fourth week a new one appears and stays. With real
embeddings (arrays train_x, train_y) half of the categories are labelled and the others appear one or two a
week, with 60 rows of each in its first week; the rows that are left come back over the later weeks.
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
    true: int


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

    def new(self, week: int) -> int:
        """How many categories appear in a week."""
        return int(week % EVERY == EVERY - 1)

    def batch(self, week: int, rows: int) -> np.ndarray:
        """The rows of a week; a new category makes up a fifth of its first one."""
        known = self.labelled + week // EVERY
        categories = self.rng.integers(0, known, rows)
        if week % EVERY == EVERY - 1:
            categories[: rows // 5] = known
        return self.rows_of(categories)


class Recorded:
    """The same from real embeddings; no row comes twice."""

    def __init__(self, file: str, *, weeks: int = 52, first: int = 60, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        with np.load(file) as arrays:
            self.x, self.y = arrays["train_x"].astype(np.float32), arrays["train_y"]
        order = rng.permutation(np.unique(self.y))
        self.half, self.weeks = order[: len(order) // 2], weeks
        self.arriving = np.array_split(order[len(order) // 2 :], weeks)
        rows = {c: rng.permutation(np.flatnonzero(self.y == c)) for c in order.tolist()}
        self.start = {c: part[:first] for c, part in rows.items()}
        self.later: list[list[int]] = [[] for _ in range(weeks)]
        birth = {c: week for week, part in enumerate(self.arriving) for c in part.tolist()}
        for c, part in rows.items():
            for week, row in zip(
                rng.integers(birth.get(c, -1) + 1, weeks + 1, len(part)), part[first:], strict=False
            ):
                if week < weeks:  # those of the week after the last never come
                    self.later[week].append(int(row))

    def base(self) -> tuple[np.ndarray, np.ndarray]:
        """Labelled rows and their labels."""
        rows = np.concatenate([self.start[c] for c in self.half.tolist()])
        return self.x[rows], self.y[rows]

    def new(self, week: int) -> int:
        """How many categories appear in a week."""
        return len(self.arriving[week])

    def batch(self, week: int, rows: int) -> np.ndarray:
        """The rows of a week; their number is that of the data."""
        fresh = [self.start[c] for c in self.arriving[week].tolist()]
        return self.x[np.concatenate([*fresh, np.array(self.later[week], dtype=int)])]


def size_of(path: Path) -> int:
    """Bytes of all files in a folder."""
    return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())


def run(
    path: Path, *, weeks: int, rows: int, stream: Stream | Recorded | None = None, **settings: Any
) -> tuple[Workspace, Stream | Recorded, list[Week]]:
    """Live through the weeks."""
    stream = stream or Stream(weeks=weeks)
    workspace = Workspace.init(path, **settings)
    workspace.learn(*stream.base())
    told: list[Week] = []
    for week in range(weeks):
        batch, before = stream.batch(week, rows), size_of(path)
        start = time.perf_counter()
        record = workspace.discover(batch)
        seconds = time.perf_counter() - start
        live = len(workspace.categories(n_samples=0))
        grown, novel = size_of(path) - before, record.n_novel
        told.append(Week(week + 1, seconds, grown, live, novel, stream.new(week)))
    return workspace, stream, told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--weeks", type=int, default=52)
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--data", help="real embeddings (.npz)")
    options = parser.parse_args()
    stream = Recorded(options.data, weeks=options.weeks) if options.data else None
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "year"
        _, stream, told = run(path, weeks=options.weeks, rows=options.rows, stream=stream)
        print("week  seconds    grown  categories  novel  true")
        for week in told:
            print(
                f"{week.week:4d}  {week.seconds:7.2f}  {week.grown / 1024:5.0f} kB  {week.categories:10d}  "
                f"{week.novel:5d}  {week.true:4d}"
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
