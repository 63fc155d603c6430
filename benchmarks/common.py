"""What the benchmarks share: the real embeddings, timing, and a table."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

FILES = {"CIFAR-100": "cifar100-efficientnet-lite0.npz", "CLINC150": "clinc150-minilm.npz"}
LABELLED = {"CIFAR-100": 50, "CLINC150": 75}
console = Console(width=110)


def data_folder() -> Path:
    """The folder named by VBCGCD_DATA, or a plain message and the end."""
    folder = os.environ.get("VBCGCD_DATA")
    if not folder or not Path(folder).is_dir():
        console.print(
            "Set VBCGCD_DATA to a folder with "
            + " and ".join(FILES.values())
            + " (arrays train_x, train_y, test_x, test_y); nothing was measured."
        )
        sys.exit(0)
    return Path(folder)


def load(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Rows and labels of train and test, float32."""
    with np.load(data_folder() / FILES[name]) as d:
        return (
            d["train_x"].astype(np.float32),
            d["train_y"].astype(int),
            d["test_x"].astype(np.float32),
            d["test_y"].astype(int),
        )


def fastest(action: Callable[[], Any], repeats: int = 5) -> float:
    """Seconds of the fastest of several runs, after one that is not counted."""
    action()
    best = np.inf
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        best = min(best, time.perf_counter() - start)
    return best


def table(title: str, columns: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """Print a table; the first column is text, the others are numbers."""
    out = Table(title=title, title_justify="left")
    for i, column in enumerate(columns):
        out.add_column(column, justify="left" if i == 0 else "right")
    for row in rows:
        out.add_row(*map(str, row))
    console.print(out)
