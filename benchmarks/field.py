"""The main table: every method of the study on every dataset, in development and in fresh class orders.

VBCGCD_DATA=... python benchmarks/field.py run --out field               # all of it, for hours; it resumes
VBCGCD_DATA=... python benchmarks/field.py run --out field --methods ours,lda --only clinc150 --seeds 0 10
python benchmarks/field.py table --out field                             # Markdown, from finished runs
python benchmarks/field.py short --out field                             # All and New alone
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from common import console, data_folder
from vbcgcd.study import load_dataset, run_study
from vbcgcd.study.experiments import EXPERIMENTS
from vbcgcd.study.methods import expand_methods
from vbcgcd.study.records import Results, RunRecord
from vbcgcd.study.table_parts import Groups, ResultTable, mean, mean_sd
from vbcgcd.study.tables import make_tables

#: Class orders that were looked at while constants were chosen, and others.
DEVELOPMENT, FRESH = (0, 1, 2), (10, 11, 12)
DATASETS = {
    "stackoverflow20-minilm": "StackOverflow, 20 tags of questions (MiniLM)",
    "esc50-yamnet": "ESC-50, sounds (YAMNet)",
    "clinc150-minilm": "CLINC150, intents (MiniLM)",
    "cifar100-efficientnet-lite0": "CIFAR-100, pictures (EfficientNet-Lite0)",
}
#: What would take hours otherwise; the tables say so.
SETTINGS = {
    "vb-released": ("", {"n_components": 128}),
    "metagcd-frozen": ("cifar100", {"n_pseudo_sessions": 4}),
}
#: Columns of the overview of which the smallest value is the best.
SMALL_IS_GOOD = ("M_f", "ECE", "seconds")


def run(out: Path, methods: Sequence[str], only: str, seeds: Sequence[int]) -> None:
    """Run what is not finished yet."""
    for name in (name for name in DATASETS if only in name):
        data = load_dataset(data_folder() / f"{name}.npz")
        for method in methods:
            where, settings = SETTINGS.get(method, ("", {}))
            options = {method: settings} if where in name else {}
            for seed in seeds:
                console.print(f"{name}, {method}, seed {seed}")
                run_study("main", data, methods=method, options=options, seeds=1, first_seed=seed, output=out)


def groups(out: Path, data: str) -> Groups:
    """Finished runs on a dataset by method, ours first, then by All."""
    found: dict[str, dict[int, RunRecord]] = {}
    for record in Results(out).read().values():
        if record.data == data and record.plan.seed in (*DEVELOPMENT, *FRESH) and record.result is not None:
            settings = ", ".join(f"{k}={v}" for k, v in record.run.options.items())
            label = record.run.method + (f" ({settings})" if settings else "")
            found.setdefault(label, {})[record.plan.seed] = record
    runs = {label: [by_seed[s] for s in sorted(by_seed)] for label, by_seed in found.items()}
    return dict(sorted(runs.items(), key=lambda pair: (_rank(pair[0]), -_all(pair[1]))))


def _rank(label: str) -> int:
    return 0 if label == "ours" else 1 if label.startswith("ours") else 2


def _all(records: Sequence[RunRecord]) -> float:
    return sum(r.accuracies("frozen").final.all for r in records) / len(records)


def overview(runs: Groups, title: str) -> ResultTable:
    """The study's overview, All of development and fresh orders apart, the best of each column in bold."""
    experiment = EXPERIMENTS["main"]
    tables = make_tables(experiment, runs, data=title, paper=False)
    table = tables[experiment.tables.index("overview")]
    rows = []
    for row, records in zip(table.rows, runs.values(), strict=True):
        label = row[0].replace(" seeds]", " orders]")
        every = mean_sd([r.accuracies("frozen").final.all for r in records], 1)
        apart = [
            mean([r.accuracies("frozen").final.all for r in records if r.plan.seed in seeds], 1)
            for seeds in (DEVELOPMENT, FRESH)
        ]
        rows.append((label, every, *apart, *row[2:]))
    columns = ("method", "All", "0-2", "10-12", *table.columns[2:])
    return ResultTable(title, columns, tuple(_bold(rows, columns)), table.notes)


def _bold(rows: list[tuple[str, ...]], columns: Sequence[str]) -> list[tuple[str, ...]]:
    best = {}
    for j, name in enumerate(columns[1:], start=1):
        values = {row[j]: float(row[j].split(" ")[0]) for row in rows if row[j] != "–"}
        pick = min if name in SMALL_IS_GOOD else max
        best[j] = pick(values.values()) if values else None
    return [(row[0], *(_marked(cell, best[j]) for j, cell in enumerate(row[1:], start=1))) for row in rows]


def _marked(cell: str, best: float | None) -> str:
    return f"**{cell}**" if cell != "–" and float(cell.split(" ")[0]) == best else cell


def short(out: Path) -> ResultTable:
    """All and New of every method on every dataset, for who wants no more."""
    every = {name: groups(out, name) for name in DATASETS}
    labels = list(dict.fromkeys(_method(label) for runs in every.values() for label in runs))
    rows = []
    for label in labels:
        cells = []
        for runs in every.values():
            records = next((runs[k] for k in runs if _method(k) == label), [])
            finals = [r.accuracies("frozen").final for r in records]
            cells += [mean([f.all for f in finals], 1), mean([f.new for f in finals], 1)]
        rows.append((label, *cells))
    rows.sort(key=lambda row: -sum(float(cell) for cell in row[1::2] if cell != "–"))
    columns = tuple(f"{title.split(',')[0]}: {k}" for title in DATASETS.values() for k in ("All", "New"))
    return ResultTable("All and New", ("method", *columns), tuple(_bold(rows, ("method", *columns))))


def _method(label: str) -> str:
    return label if label.startswith("ours") else label.split(" (")[0]


def main() -> None:
    """Parse and act."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("action", choices=("run", "table", "short"))
    parser.add_argument("--out", type=Path, default=Path("field"))
    parser.add_argument("--methods", default=",".join(expand_methods("all,tools")))
    parser.add_argument("--only", default="", help="part of a dataset's name")
    parser.add_argument("--seeds", type=int, nargs="*", default=[*DEVELOPMENT, *FRESH])
    options = parser.parse_args()
    if options.action == "run":
        run(options.out, options.methods.split(","), options.only, options.seeds)
    elif options.action == "short":
        print(short(options.out).markdown())
    else:
        for name, title in DATASETS.items():
            if runs := groups(options.out, name):
                print(overview(runs, title).markdown(), end="\n\n")


if __name__ == "__main__":
    main()
