"""Seconds of one session against its rows and against the known categories, and a plot of both.

VBCGCD_DATA=... python benchmarks/scaling.py [picture.png]
"""

from __future__ import annotations

import sys
import time

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from rich.progress import track

from common import console, load, table
from vbcgcd import CategoryDiscoverer

N_NOVEL = 10


def seconds(n_known: int, rows_each: int, *, given: bool) -> tuple[int, float]:
    x, y, *_ = load("CIFAR-100")
    order = np.random.default_rng(0).permutation(100)
    per_class = {c: np.flatnonzero(y == c) for c in order}
    base = np.concatenate([per_class[c][:400] for c in order[:n_known]])
    known = [per_class[c][400 : 400 + max(rows_each // 16, 1)] for c in order[:n_known]]
    novel = [per_class[c][:rows_each] for c in order[n_known : n_known + N_NOVEL]]
    rows = np.concatenate([*known, *novel])
    model = CategoryDiscoverer().fit(x[base], y[base])
    start = time.perf_counter()
    model.discover(x[rows], n_novel=N_NOVEL if given else None)
    return len(rows), time.perf_counter() - start


def main() -> None:
    by_rows = [
        seconds(50, n, given=g) for g in (True, False) for n in track((50, 100, 200, 400), console=console)
    ]
    by_categories = [
        (k, *(seconds(k, 400, given=g)[1] for g in (True, False)))
        for k in track((10, 30, 50, 70, 90), console=console)
    ]
    half = len(by_rows) // 2
    table(
        "Seconds of one session, CIFAR-100, D = 384, 10 novel categories",
        ("", "size", "number given", "number estimated"),
        [
            *(
                ("rows", n, f"{a:.1f}", f"{b:.1f}")
                for (n, a), (_, b) in zip(by_rows[:half], by_rows[half:], strict=True)
            ),
            *(("known categories", k, f"{a:.1f}", f"{b:.1f}") for k, a, b in by_categories),
        ],
    )
    figure = Figure(figsize=(9, 3.2), facecolor="white")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    for part, label in ((by_rows[:half], "number given"), (by_rows[half:], "number estimated")):
        left.plot(*zip(*part, strict=True), "o-", label=label)
    for column, label in ((1, "number given"), (2, "number estimated")):
        right.plot([r[0] for r in by_categories], [r[column] for r in by_categories], "o-", label=label)
    left.set_xlabel("rows of the session (50 known categories)")
    right.set_xlabel("known categories (400 rows per novel one)")
    for axes in (left, right):
        axes.set_ylim(0)
        axes.set_xlim(0)
        axes.set_ylabel("seconds")
        axes.grid(alpha=0.3)
        axes.legend(frameon=False)
    figure.tight_layout()
    path = sys.argv[1] if len(sys.argv) > 1 else "scaling.png"
    figure.savefig(path, dpi=110)
    console.print(f"plot: {path}")


if __name__ == "__main__":
    main()
