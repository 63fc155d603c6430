"""Small matrices: all BLAS threads on each, against one on each and the categories side by side.

Both ways are timed in turns in the same run, on the machine as it is and with other programs on all
processors. On a busy machine the first way takes minutes for a hundred categories.

python benchmarks/threads.py [categories] [turns]
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

import numpy as np
from threadpoolctl import threadpool_limits

from common import console, table
from vbcgcd import CategoryDiscoverer

DIM, ROWS, TURNS = 384, 20, 2
#: Other programs for each processor of a busy machine.
BUSY = 1


@contextmanager
def all_threads_on_each() -> Iterator[None]:
    """As if nothing limited BLAS."""
    with (
        mock.patch("vbcgcd.bayes.threads._set_threads"),
        mock.patch("vbcgcd.bayes.threads._processors", return_value=1),
    ):
        yield


@contextmanager
def one_on_each() -> Iterator[None]:
    """As it is."""
    yield


def spin() -> None:
    while True:
        sum(range(10_000))


@contextmanager
def others(number: int) -> Iterator[None]:
    """Other programs that keep processors busy."""
    programs = [multiprocessing.Process(target=spin, daemon=True) for _ in range(number)]
    try:
        for program in programs:
            program.start()
        yield
    finally:
        for program in programs:
            program.terminate()
            program.join()


def seconds(n_categories: int) -> dict[str, float]:
    """Of each call."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(n_categories, DIM))
    labels = np.repeat(np.arange(n_categories), ROWS)
    rows = (centres[labels] + rng.normal(size=(len(labels), DIM))).astype(np.float32)
    model, times = CategoryDiscoverer(count="evidence"), {}
    for name, call in {
        "fit": lambda: model.fit(rows, labels),
        "predict": lambda: model.predict(rows[::10]),
        "predict_proba": lambda: model.predict_proba(rows[::10]),
        "partial_fit": lambda: model.partial_fit(rows[:1000], labels[:1000]),
    }.items():
        start = time.perf_counter()
        call()
        times[name] = time.perf_counter() - start
    return times


def main() -> None:
    n_categories = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    turns = int(sys.argv[2]) if len(sys.argv) > 2 else TURNS
    processors, lines = os.cpu_count() or 1, []
    for n_others in (0, BUSY * processors):
        best: dict[str, dict[str, float]] = {}
        with others(n_others), threadpool_limits(processors):
            for _ in range(turns):
                for way in (one_on_each, all_threads_on_each):
                    with way():
                        times = seconds(n_categories)
                    before = best.setdefault(way.__name__, times)
                    best[way.__name__] = {name: min(times[name], before[name]) for name in times}
        for name, ours in best["one_on_each"].items():
            shared = best["all_threads_on_each"][name]
            where = "as it is" if n_others == 0 else f"{n_others} busy programs"
            lines.append((where, name, f"{shared:.2f}", f"{ours:.2f}", f"{shared / ours:.1f}"))
        load = os.getloadavg()[0]
        console.print(f"load {load:.1f} on {processors} processors")
    table(
        f"{n_categories} categories of {ROWS} rows, D = {DIM}, best of {turns} turns",
        ("machine", "", "all threads on each s", "one on each s", "times faster"),
        lines,
    )


if __name__ == "__main__":
    main()
