"""A workspace with very many categories: seconds of each command, bytes of a session, memory of opening.

    VBCGCD_DATA=... python benchmarks/workspace_scale.py      100, 1,000 and 10,000 categories
    VBCGCD_DATA=... python benchmarks/workspace_scale.py --categories 100,3000 --covariance full

Each command is a process of its own, the start of Python included: the faster of two. The base session is
computed for the first categories alone and then given the posteriors of all: the workspace is measured.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from common import console, table
from synthetic import World
from vbcgcd.bayes.posterior import posterior_from_parts
from vbcgcd.bayes.statistics import iter_label_statistics
from vbcgcd.workspace import Workspace, commands
from vbcgcd.workspace.log.commits import Draft
from vbcgcd.workspace.log.files import MODEL, TABLE, Assignments
from vbcgcd.workspace.queries.sources import new_source
from vbcgcd.workspace.snapshot import Category

ROWS_EACH, FIRST, NOVEL = 20, 100, 5
#: Commands by their names in the table; those that write are run once.
READING = {
    "version": ["--version"],
    "status": ["status"],
    "categories": ["categories"],
    "categories --json": ["categories", "--json"],
    "show one": ["categories", "show", "7"],
    "predict one row": ["predict", "ROW"],
    "predict 1000 rows": ["predict", "ROWS"],
    "report": ["report", "-o", "REPORT"],
}
#: Runs the command line and says what memory it took; a child's usage counts what it was forked from.
SHIM = """
import re, sys
from vbcgcd.cli import app
try:
    app()
finally:
    status = open("/proc/self/status").read()
    open(sys.argv[0], "w").write(re.search(r"VmHWM:\\s+(\\d+)", status)[1])
"""
WRITING = {
    "session": ["discover", "BATCH"],
    "rename": ["categories", "rename", "7", "seven"],
    "undo": ["undo"],
}


@dataclass(frozen=True)
class Timing:
    """Wall and processor seconds, peak memory in MB, and bytes that the command added to the workspace."""

    seconds: float
    processor: float
    memory: float
    written: int = 0


def build(folder: Path, world: World, n_categories: int, model: dict[str, Any]) -> None:
    """A workspace whose base session has so many categories."""
    workspace = Workspace.init(folder, names="number", model=model)
    codes = np.repeat(np.arange(n_categories), ROWS_EACH)
    rows = world.rows(codes, seed=1)
    labels = np.array([f"category {code:05d}" for code in codes])
    few = codes < FIRST
    with workspace._writing("learn") as now:
        source = new_source(now.history, "learn", rows[few], {}, again=False)
        batch = workspace._batch(now, rows[few], {}, labels=labels[few])
        draft = commands.learn_draft(now, batch, source, update_known=False)
        workspace._record(_widened(draft, rows, codes), {})


def _widened(draft: Draft, rows: np.ndarray, codes: np.ndarray) -> Draft:
    """A base session of all categories, from one of the first."""
    base: Any = draft.files[MODEL]
    ids = tuple(range(int(codes.max()) + 1))
    reduced = base.knowledge.reduced(rows)
    prior = base.knowledge.prior
    parts = iter_label_statistics(reduced, codes, len(ids), structure=prior.structure)
    posterior = posterior_from_parts(prior, parts, len(ids), dtype=np.float32)
    knowledge = replace(base.knowledge, posterior=posterior)
    sure, none = np.ones(len(rows)), np.zeros(len(rows))
    second = np.where(codes == 0, 1, codes - 1)
    items = Assignments([f"row {row}" for row in range(len(rows))], codes, sure, second, none, none)
    categories = [Category(i, f"category {i:05d}", "label", 0) for i in ids]
    assert draft.record is not None
    counts, names = dict.fromkeys(ids, ROWS_EACH), {c.id: c.name for c in categories}
    return replace(
        draft,
        changes={**draft.changes, "categories": [c.as_json() for c in categories], "posteriors": list(ids)},
        record=replace(draft.record, novel=names, rows=len(rows), counts=counts),
        files={**draft.files, MODEL: replace(base, knowledge=knowledge, ids=ids), TABLE: items},
    )


def run(folder: Path, arguments: list[str]) -> Timing:
    """Run a command of the command line in a workspace."""
    before = _bytes(folder)
    start, used = time.perf_counter(), _processor()
    memory = folder.parent / "memory"
    code = f"import sys; sys.argv[0] = {str(memory)!r}\n{SHIM}"
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments], cwd=folder, capture_output=True, text=True
    )
    seconds = time.perf_counter() - start
    if done.returncode:
        console.print(done.stdout[-3000:], done.stderr[-3000:])
        raise SystemExit(f"{' '.join(arguments)} failed.")
    return Timing(seconds, _processor() - used, int(memory.read_text()) / 1024, _bytes(folder) - before)


def _processor() -> float:
    """Processor seconds of all commands so far."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def measure(folder: Path, world: World, n_categories: int, only: set[str]) -> dict[str, Timing]:
    """Timings of all commands by name."""
    outside = folder.parent
    rng = np.random.default_rng(2)
    known = rng.integers(0, n_categories, 1000)
    novel = np.repeat(np.arange(n_categories, n_categories + NOVEL), 100)
    batch = np.concatenate([rng.integers(0, n_categories, 5000 - len(novel)), novel])
    for name, codes in (("ROW", known[:1]), ("ROWS", known), ("BATCH", batch)):
        np.save(outside / f"{name}.npy", world.rows(codes, seed=3))
    places = {name: str(outside / f"{name}.npy") for name in ("ROW", "ROWS", "BATCH")}
    places["REPORT"] = str(outside / "report.html")
    timings = {}
    for name, words in {**READING, **WRITING}.items():
        if only and name not in only:
            continue
        arguments = [places.get(word, word) for word in words]
        tries = [run(folder, arguments) for _ in range(2 if name in READING else 1)]
        timings[name] = min(tries, key=lambda timing: timing.seconds)
        console.print(f"{n_categories:,}: {name} {timings[name]}")
    return timings


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--categories", default="100,1000,10000")
    parser.add_argument("--covariance", default="diagonal")
    parser.add_argument("--only", default="", help="Names of commands, separated by commas.")
    parser.add_argument(
        "--keep", type=Path, help="A folder for the workspaces, which are used again if they are there."
    )
    options = parser.parse_args()
    sizes = [int(size) for size in options.categories.split(",")]
    only = {name for name in options.only.split(",") if name}
    results = {}
    for size in sizes:
        root = (
            Path(tempfile.mkdtemp(dir=options.keep))
            if options.keep is None
            else options.keep / f"{options.covariance}-{size}"
        )
        root.mkdir(parents=True, exist_ok=True)
        world = World.like("CLINC150", size + NOVEL)
        if not (root / "workspace").exists():
            build(root / "workspace", world, size, {"covariance": options.covariance})
        results[size] = measure(root / "workspace", world, size, only)
        if options.keep is None:
            shutil.rmtree(root)
    _tables(results, options.covariance)


def _tables(results: dict[int, dict[str, Timing]], covariance: str) -> None:
    sizes = list(results)
    times = [f"x at {size:,}" for size in sizes[1:]]
    columns = ("command", *(f"{size:,}" for size in sizes), *times)
    for measured, title in (("seconds", "Seconds"), ("processor", "Processor seconds")):
        lines = []
        for name in results[sizes[0]]:
            values = [getattr(results[size][name], measured) for size in sizes]
            ratios = [f"{value / values[0]:.1f}" for value in values[1:]]
            lines.append([name, *(f"{value:.2f}" for value in values), *ratios])
        table(f"{title}, {covariance} covariances, by number of categories", columns, lines)
    lines = []
    for name in results[sizes[0]]:
        timings = [results[size][name] for size in sizes]
        lines.append(
            [name, *(f"{t.memory:.0f}" for t in timings), *(f"{t.written / 1e6:.2f}" for t in timings)]
        )
    columns = ("command", *(f"MB at {size:,}" for size in sizes), *(f"written at {size:,}" for size in sizes))
    table("Peak memory, and MB added to the workspace", columns, lines)


if __name__ == "__main__":
    main()
