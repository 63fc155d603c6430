"""Rows one by one: the uneven stream through `observe`, against `discover` on its batches.

VBCGCD_DATA=... python benchmarks/observe.py --seeds 0 1 2
VBCGCD_DATA=... python benchmarks/observe.py --river   # River's clusterers on the same streams

`observe` answers when a row arrives, before it has seen those that follow; "asked again" are the answers of
`predict` to the same rows at the end of each session. All is that of the model at the end, on test rows.
"""

from __future__ import annotations

import argparse
import time
from types import SimpleNamespace
from typing import Any

import numpy as np

from common import console, table
from streams import datasets
from vbcgcd import CategoryDiscoverer
from vbcgcd.study import Dataset
from vbcgcd.study.methods import METHODS
from vbcgcd.study.records import PlanResult
from vbcgcd.study.runner import make_method
from vbcgcd.study.streams.run import run_stream
from vbcgcd.study.streams.shapes import make_stream

#: The answer for a row without a category.
NOWHERE = -1


class RowByRow:
    """The estimator, given the rows of a session one by one."""

    def __init__(self, *, ask_again: bool = False) -> None:
        self.model, self.ask_again = CategoryDiscoverer(), ask_again
        self.seconds: list[float] = []
        self.outcomes: list[str] = []

    @property
    def classes_(self) -> np.ndarray:
        """Labels of the categories."""
        return self.model.classes_

    def fit(self, rows: np.ndarray, labels: np.ndarray) -> RowByRow:
        """Learn the labelled rows."""
        self.model.fit(rows, labels)
        return self

    def discover(self, rows: np.ndarray, n_novel: int | None = None) -> Any:
        """Observe one row after another."""
        n_before, seen = len(self.model.classes_), []
        for row in rows:
            start = time.perf_counter()
            seen.append(self.model.observe(row))
            self.seconds.append(time.perf_counter() - start)
        self.outcomes += [each.outcome for each in seen]
        if self.ask_again:
            probability = self.model.predict_proba(rows) * self.model.knowledge_.reliabilities
            return SimpleNamespace(
                labels_=self.model.classes_[probability.argmax(axis=1)],
                novel=self.model.classes_[n_before:].tolist(),
                novelty_=self.model.novelty(rows),
                probability_=probability.max(axis=1),
            )
        return SimpleNamespace(
            labels_=np.array([NOWHERE if each.label is None else each.label for each in seen]),
            novel=self.model.classes_[n_before:].tolist(),
            novelty_=np.array([each.novelty for each in seen]),
            probability_=np.array([each.probability for each in seen]),
        )

    def predict(self, rows: np.ndarray) -> np.ndarray:
        """Most probable categories."""
        return self.model.predict(rows)


def row(name: str, results: list[PlanResult], seconds: list[float], n_rows: int) -> tuple[str, ...]:
    sessions = [s for result in results for s in result.stream.sessions]  # type: ignore[union-attr]
    total = {
        field: sum(getattr(s, field) for s in sessions) for field in ("hit", "split", "merged", "invented")
    }
    return (
        name,
        f"{100 * np.mean([r.final.all for r in results]):.1f}",
        f"{100 * np.mean([s.b_cubed for s in sessions]):.1f}",
        f"{np.mean([r.stream.calibration_error for r in results]):.3f}",  # type: ignore[union-attr]
        f"{total['hit']} of {sum(s.true for s in sessions)}",
        f"{sum(s.found for s in sessions)}",
        f"{total['split']} {total['merged']} {total['invented']}",
        f"{sum(seconds):.1f}",
        f"{n_rows / sum(seconds):.0f}",
        f"{1000 * np.median(seconds):.1f} {1000 * np.quantile(seconds, 0.99):.1f}",
    )


COLUMNS = (
    "",
    "All",
    "B3",
    "ECE",
    "hits",
    "found",
    "split merged invented",
    "s",
    "rows/s",
    "ms: median, 99 %",
)


def compare(name: str, data: Dataset, seeds: list[int], shape: str) -> list[tuple[str, ...]]:
    single, again, batch = list[PlanResult](), list[PlanResult](), list[PlanResult]()
    one_by_one, batches, n_rows = list[float](), list[float](), 0
    for seed in seeds:
        plan = make_stream(data.train_y, shape, seed=seed)
        method = RowByRow()
        single.append(run_stream(method, data, plan))
        one_by_one += method.seconds
        again.append(run_stream(RowByRow(ask_again=True), data, plan))
        batch.append(run_stream(CategoryDiscoverer(), data, plan))
        batches += [session.seconds for session in batch[-1].sessions]
        n_rows += len(method.seconds)
        kinds = {kind: method.outcomes.count(kind) for kind in ("known", "found", "seedling", "unassigned")}
        console.print(name, seed, kinds, style="dim")
    return [
        row(f"{name}, observe", single, one_by_one, n_rows),
        row("  asked again", again, one_by_one, n_rows),
        row("  discover", batch, batches, n_rows),
    ]


def river(name: str, data: Dataset, seeds: list[int], shape: str) -> list[tuple[str, ...]]:
    """River's clusterers, which learn row by row too; sequential k-means has to be told the number."""
    rows = []
    for method in ("river-dbstream", "river-kmeans"):
        told, results = not METHODS[method].counts, list[PlanResult]()
        seconds, n_rows = list[float](), 0
        for seed in seeds:
            plan = make_stream(data.train_y, shape, seed=seed)
            results.append(run_stream(make_method(method), data, plan, number_known=told))
            seconds += [session.seconds for session in results[-1].sessions]
            n_rows += sum(len(session.rows) for session in plan.sessions)
        rows.append(row(f"{name}, {method}{', number told' * told}", results, seconds, n_rows))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--data", nargs="*", default=[], help="parts of file names; by default all files")
    parser.add_argument("--shape", default="uneven")
    parser.add_argument("--river", action="store_true", help="River's clusterers (extra rivals)")
    options = parser.parse_args()
    judge = river if options.river else compare
    rows = []
    for name, data in datasets(options.data).items():
        rows += judge(name.partition("-")[0], data, options.seeds, options.shape)
    console.width = 150
    table(f"Stream {options.shape}, seeds {' '.join(map(str, options.seeds))}", COLUMNS, rows)


if __name__ == "__main__":
    main()
