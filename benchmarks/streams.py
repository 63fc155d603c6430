"""Realistic streams on real embeddings: what is found, missed and invented, the number never told.

VBCGCD_DATA=... python benchmarks/streams.py --seeds 3          # the plans stream and stream-even
VBCGCD_DATA=... python benchmarks/streams.py --uneven           # one fixed uneven stream per seed
VBCGCD_DATA=... python benchmarks/streams.py --known-only 20    # batches in which there is nothing to find
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from common import console, data_folder, table
from vbcgcd import CategoryDiscoverer
from vbcgcd.study import Dataset, load_dataset
from vbcgcd.study.records import PlanResult
from vbcgcd.study.runner import upper_bound
from vbcgcd.study.streams.run import run_stream
from vbcgcd.study.streams.scoring import SIZE_BINS, StreamSession, hit_rates
from vbcgcd.study.streams.shapes import StreamShape, make_stream

#: Part of a file's name -> part of the name of the file that its junk comes from.
JUNK = {"clinc": "stackoverflow", "stackoverflow": "clinc", "cifar": "esc50", "esc50": "cifar"}
#: Labels of each category in batches of known rows.
KNOWN_LABELS = (5, 30)
Make = Callable[[], Any]


class Measured(NamedTuple):
    """A run and the final All of its supervised bound."""

    result: PlanResult
    bound: float

    @property
    def sessions(self) -> tuple[StreamSession, ...]:
        """The judged sessions."""
        assert self.result.stream is not None
        return self.result.stream.sessions


def datasets(names: Sequence[str]) -> dict[str, Dataset]:
    """All embeddings in the folder, or those whose file has one of the names in its own."""
    files = [f for f in sorted(data_folder().glob("*.npz")) if any(name in f.name for name in names or [""])]
    loaded = {}
    for file in files:
        with np.load(file) as arrays:
            if "train_x" in arrays and arrays["train_x"].ndim == 2:
                loaded[file.stem] = load_dataset(file)
    return loaded


def junk_of(name: str) -> Dataset | None:
    """The dataset that junk for this one comes from, where it is there."""
    wanted = next((other for part, other in JUNK.items() if part in name), None)
    files = [] if wanted is None else sorted(Path(data_folder()).glob(f"*{wanted}*.npz"))
    for file in files:
        with np.load(file) as arrays:
            if arrays["train_x"].ndim == 2:
                return load_dataset(file)
    return None


def measure(
    data: Dataset, shape: str | StreamShape, seed: int, *, junk: Dataset | None = None, make: Make
) -> Measured:
    """Run one stream, and its supervised bound."""
    plan = make_stream(data.train_y, shape, seed=seed, junk_y=None if junk is None else junk.train_y)
    result = run_stream(make(), data, plan, junk=junk)
    return Measured(result, upper_bound(make, data, plan).final.all)


def known_batches(data: Dataset, n_batches: int, make: Make) -> Iterator[tuple[int, StreamSession]]:
    """Labels of each category and the judged session, for batches of known rows alone."""
    for seed in range(n_batches):
        n_labels = KNOWN_LABELS[seed % 2]
        shape = StreamShape("known-only", ("known",), labels=(n_labels, n_labels), sizes=(1, 1))
        result = run_stream(make(), data, make_stream(data.train_y, shape, seed=seed))
        assert result.stream is not None
        yield n_labels, result.stream.sessions[0]


# ---------------------------------------------------------------------------------------------- figures


def ratio(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f}" if whole else "–"


def of_missed(sessions: Sequence[StreamSession], measure: str) -> tuple[int, int]:
    """Missed rows that a measure counts, and all of them."""
    judged = [s for s in sessions if getattr(s, measure) is not None]
    return sum(getattr(s, measure) for s in judged), sum(s.missed_rows for s in judged)


def mean(values: Sequence[float]) -> float:
    present = [v for v in values if not np.isnan(v)]
    return float(np.mean(present)) if present else float("nan")


def fair(run: Measured) -> list[StreamSession]:
    """Sessions in which the number can be judged: ten rows of each novel class, ten labels of each known."""
    assert run.result.stream is not None
    few = run.result.stream.fewest_labels < 10
    return [] if few else [s for s in run.sessions if min(s.sizes, default=10) >= 10]


def bars(runs: Sequence[Measured]) -> list[tuple[str, str, str]]:
    """(measure, value, bar) over runs."""
    sessions = [s for run in runs for s in run.sessions]
    judged = [s for run in runs for s in fair(run)]
    rates = dict(zip(SIZE_BINS, hit_rates(sessions), strict=True))
    quiet = [s.invented == 0 for s in sessions if s.kind == "known"]
    seconds = [e.seconds for run in runs for e in run.result.sessions]
    streams = [run.result.stream for run in runs if run.result.stream is not None]
    return [
        ("number off, %", f"{ratio(sum(s.off for s in judged), len(judged))} of {len(judged)}", ""),
        ("hit, 5-9 rows, %", ratio(*rates[5, 9]), ""),
        ("hit, 10-20 rows, %", ratio(*rates[10, 20]), "60"),
        ("hit, 21-40 rows, %", ratio(*rates[21, 40]), "90"),
        ("hit, more rows, %", ratio(*rates[41, None]), ""),
        ("known only: nothing invented, %", f"{ratio(sum(quiet), len(quiet))} of {len(quiet)}", "95"),
        ("missed rows noticed, %", ratio(*of_missed(sessions, "noticed_rows")), "60"),
        ("missed rows doubted, %", ratio(*of_missed(sessions, "doubted_rows")), ""),
        ("ECE", f"{mean([s.calibration_error for s in streams]):.3f}", "0.05"),
        ("B-cubed F1, %", f"{100 * mean([s.b_cubed for s in sessions]):.1f}", ""),
        ("All, %", f"{100 * mean([run.result.final.all for run in runs]):.1f}", ""),
        ("All, mean over classes, %", f"{100 * mean([s.macro for s in streams]):.1f}", ""),
        ("share of supervision", f"{mean([run.result.final.all / run.bound for run in runs]):.3f}", ""),
        ("seconds of a session, mean", f"{mean(seconds):.2f}", ""),
        ("seconds of a session, worst", f"{max(seconds):.2f}", ""),
    ]


def show_sessions(name: str, seed: int, run: Measured) -> None:
    """One line for each session."""
    rows = []
    for t, (s, e) in enumerate(zip(run.sessions, run.result.sessions, strict=True), start=1):
        counts = (s.true, s.found, s.hit, s.true - s.hit, s.split, s.merged, s.invented)
        score = (f"{100 * s.b_cubed:.1f}", "off" if s.off else "", f"{e.seconds:.1f}")
        rows.append((f"{t} {s.kind}", e.stream.rows, *counts, *score))
    columns = ("session", "rows", "true", "found", "hit", "missed", "split", "merged", "invented")
    title = f"{name}, seed {seed}: All {100 * run.result.final.all:.1f}, bound {100 * run.bound:.1f}"
    table(title, (*columns, "B3", "number", "s"), rows)


# ---------------------------------------------------------------------------------------------- sections


def streams(
    shapes: Sequence[str], seeds: range, loaded: dict[str, Dataset], make: Make, detail: bool, junk: bool
) -> None:
    """Streams of these shapes on each dataset, a table for each and one for all."""
    total: list[Measured] = []
    for name, data in loaded.items():
        source = junk_of(name) if junk else None
        runs = []
        for shape in shapes:
            for seed in seeds:
                runs.append(measure(data, shape, seed, junk=source, make=make))
                if detail:
                    show_sessions(f"{name}, {shape}", seed, runs[-1])
        elsewhere = f", junk from {source.name}" if source is not None else ""
        table(
            f"{name}, {' and '.join(shapes)}, {len(seeds)} seeds{elsewhere}", ("", "value", "bar"), bars(runs)
        )
        total += runs
    if len(loaded) > 1:
        table(f"All {len(loaded)} datasets", ("", "value", "bar"), bars(total))


def known_only(n_batches: int, loaded: dict[str, Dataset], make: Make) -> None:
    """Batches of known rows alone: how many categories are invented."""
    rows = []
    for name, data in loaded.items():
        sessions = list(known_batches(data, n_batches, make))
        for n_labels in KNOWN_LABELS:
            found = [s.found for labels, s in sessions if labels == n_labels]
            quiet = sum(number == 0 for number in found)
            rows.append(
                (f"{name}, {n_labels} labels", len(found), sum(found), ratio(quiet, len(found)), "95")
            )
    columns = ("known rows alone", "batches", "invented", "without any, %", "bar")
    table("There is nothing to find", columns, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--first-seed", type=int, default=0, help="for class orders that nobody looked at")
    parser.add_argument("--data", nargs="*", default=[], help="parts of file names; by default all files")
    parser.add_argument("--shapes", nargs="*", default=["stream", "stream-even"])
    parser.add_argument("--uneven", action="store_true", help="the fixed uneven stream instead")
    parser.add_argument("--known-only", type=int, metavar="N", help="N batches of known rows instead")
    parser.add_argument("--sessions", action="store_true", help="show each session too")
    parser.add_argument("--count", help="estimate of the number; the estimator's own by default")
    options = parser.parse_args()
    loaded = datasets(options.data)
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    chosen = {} if options.count is None else {"count": options.count}

    def make() -> CategoryDiscoverer:
        return CategoryDiscoverer(**chosen)

    if options.known_only:
        known_only(options.known_only, loaded, make)
    elif options.uneven:
        streams(["uneven"], seeds, loaded, make, options.sessions, junk=False)
    else:
        streams(options.shapes, seeds, loaded, make, options.sessions, junk=True)
    console.print(
        "noticed: flagged as novel, or left unassigned; doubted: or less probable than not. "
        "Definitions: docs/study.md.",
        style="dim",
    )


if __name__ == "__main__":
    main()
