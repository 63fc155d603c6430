"""Discovery on real embeddings, plan b50t5, frozen scoring: accuracy, ablations, number of categories.

VBCGCD_DATA=... python benchmarks/discovery.py [main] [small] [unknown] [count] [ablation]
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from rich.progress import Progress

from common import console, load, table
from vbcgcd import CategoryDiscoverer
from vbcgcd.study import Dataset
from vbcgcd.study.plans import Plan, random_plan
from vbcgcd.study.runner import run_plan, upper_bound

#: Class orders; the number can be changed with VBCGCD_SEEDS.
SEEDS = tuple(range(int(os.environ.get("VBCGCD_SEEDS", "3"))))
PLANS: dict[str, dict[str, Any]] = {
    "CLINC150": {"n_labelled": 75, "n_sessions": 5, "n_novel": 15, "known_rows": 6},
    "CIFAR-100": {"n_labelled": 50, "n_sessions": 5, "n_novel": 10, "known_rows": 25},
}
if os.environ.get("VBCGCD_DATASET"):
    PLANS = {name: plan for name, plan in PLANS.items() if name == os.environ["VBCGCD_DATASET"]}
#: The same data with 25 rows per class, half of a session's rows known: what small collections look like.
SMALL = {"rows_per_class": 25, "known_rows": 5}
COLUMNS = ("dataset", "variant", "All", "Old", "New", "M_f", "M_d", "upper", "share", "sd", "s/session")

ABLATIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "start: k-means, then em": {"cluster": "kmeans", "relabel": "em"},
    "start: k-means, then reassign": {"cluster": "kmeans", "relabel": "reassign"},
    "relabel: none": {"relabel": "none"},
    "relabel: filter": {"relabel": "filter"},
    "relabel: reassign": {"relabel": "reassign"},
    "relabel: em": {"relabel": "em"},
    "alignment: R = 0": {"alignment": 0.0},
    "no whitening": {"whiten": False},
    "prior strength: evidence": {"prior_strength": "evidence"},
    "D = 128": {"n_components": 128},
    "D = 128, SVI": {"n_components": 128, "inference": "svi"},
}


def dataset(name: str) -> Dataset:
    return Dataset(*load(name))


def plan_of(name: str, data: Dataset, seed: int, **changes: Any) -> Plan:
    return random_plan(data.train_y, **{**PLANS[name], **changes}, seed=seed)


def measure(
    name: str,
    variant: str,
    make: Callable[[], Any],
    *,
    number_known: bool = True,
    changes: dict[str, Any] | None = None,
) -> tuple[tuple[str, ...], list[list[int]]]:
    """One row of the table (means over seeds) and the number of categories discovered in each session."""
    data = dataset(name)
    results, bounds = [], []
    for seed in SEEDS:
        plan = plan_of(name, data, seed, **(changes or {}))
        results.append(run_plan(make(), data, plan, number_known=number_known))
        bounds.append(upper_bound(make, data, plan).final.all)
    share = [r.final.all / u for r, u in zip(results, bounds, strict=True)]

    def percent(values: list[float]) -> str:
        return f"{100 * np.mean(values):.2f}"

    row = (
        name,
        variant,
        percent([r.final.all for r in results]),
        percent([r.final.old for r in results]),
        percent([r.final.new for r in results]),
        percent([r.forgetting for r in results]),
        percent([r.discovery for r in results]),
        percent(bounds),
        f"{np.mean(share):.3f}",
        f"{np.std(share):.3f}",
        f"{np.mean([np.mean([s.seconds for s in r.sessions]) for r in results]):.1f}",
    )
    return row, [[s.n_discovered for s in r.sessions] for r in results]


def show(title: str, jobs: list[tuple[str, str, Callable[[], Any], dict[str, Any]]]) -> None:
    rows, counts = [], []
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task(title, total=len(jobs))
        for name, variant, make, options in jobs:
            row, numbers = measure(name, variant, make, **options)
            rows.append(row)
            progress.console.print("  ".join(row), style="dim")
            counts.append((name, variant, numbers))
            progress.advance(task)
    table(f"{title} (frozen scoring, mean of {len(SEEDS)} class orders)", COLUMNS, rows)
    if any(not options.get("number_known", True) for *_, options in jobs):
        table(
            "Novel categories discovered in each session",
            ("dataset", "estimator", *(f"order {s}" for s in SEEDS)),
            [(n, v, *(" ".join(map(str, k)) for k in numbers)) for n, v, numbers in counts],
        )


def main_table() -> None:
    show("Plan b50t5, defaults", [(n, "default", CategoryDiscoverer, {}) for n in PLANS])


def small_table() -> None:
    jobs = [(n, "25 rows per class", CategoryDiscoverer, {"changes": SMALL}) for n in PLANS]
    show("Few rows, many of them known", jobs)


def ablation_table() -> None:
    jobs = [
        (n, label, lambda o=options: CategoryDiscoverer(count="evidence", **o), {})
        for n in PLANS
        for label, options in ABLATIONS.items()
    ]
    show("Ablations", jobs)


def unknown_table() -> None:
    show("Number never known", [(n, "rehearsal", CategoryDiscoverer, {"number_known": False}) for n in PLANS])


def count_table() -> None:
    jobs = [
        (n, count, lambda c=count: CategoryDiscoverer(count=c), {"number_known": False})
        for n in PLANS
        for count in ("rehearsal", "evidence", "merge", "silhouette")
    ]
    show("Four estimators of the number", jobs)


if __name__ == "__main__":
    tables = {
        "main": main_table,
        "small": small_table,
        "ablation": ablation_table,
        "unknown": unknown_table,
        "count": count_table,
    }
    for name in sys.argv[1:] or ["main", "small", "unknown"]:
        tables[name]()
