"""Accuracy against the memory of a category: full, low-rank and diagonal covariances, also in half precision.

VBCGCD_DATA=... python benchmarks/memory_scale.py [--keep runs.jsonl] [--picture docs/scale-memory.png]
VBCGCD_DATA=... python benchmarks/memory_scale.py --direct --seeds 0    # each variant learns on its own
VBCGCD_DATA=... python benchmarks/memory_scale.py --categories 10000    # a model of that size, measured

Plan b50t5 (half of the classes labelled, five sessions), the number of novel classes given, over several
orders of the classes. Base is the accuracy on the labelled classes after `fit`, All that on every class after
the last session. Each is compared with full covariances on the same order.

With the default options clusters are found in the calibrated geometry, and the structure of covariances has
no part in which rows teach which category. So each order is learned once, with full covariances, and the same
statistics are then kept in each of the other ways. ``--direct`` learns anew with each and must find the same.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from common import console, data_folder, table
from synthetic import FILES, World
from vbcgcd import CategoryDiscoverer
from vbcgcd.bayes import Statistics, choose_strength, posterior_of, recover_statistics, structure_of
from vbcgcd.discovery.knowledge import Knowledge
from vbcgcd.discovery.options import Options
from vbcgcd.study import Dataset
from vbcgcd.study.datasets import load_dataset
from vbcgcd.study.named import named_plan
from vbcgcd.study.plans import Plan
from vbcgcd.study.scoring import FrozenMatch

#: Categories that the memory is projected to, and the megabytes that they should stay below.
MANY, TARGET_MB = 10_000, 600
#: What a model keeps of a category beside its posterior: reliability, birth, whether it came later, a label.
BESIDE = 8 + 8 + 1 + 8
ROWS_EACH, TEST_ROWS = 20, 2000


class Variant(NamedTuple):
    """A way to keep covariances."""

    name: str
    options: dict[str, Any]
    group: str


def low_rank(rank: int, *, half: bool = False) -> Variant:
    options = {"covariance": "lowrank", "covariance_rank": rank}
    if half:
        return Variant(f"low rank {rank}, half", {**options, "storage": "half"}, "low rank, half")
    return Variant(f"low rank {rank}", options, "low rank")


VARIANTS = (
    Variant("full", {}, "full"),
    Variant("full, half", {"storage": "half"}, "full, half"),
    *(low_rank(rank, half=half) for rank in (74, 36, 24, 16, 8, 4) for half in (False, True)),
    Variant("diagonal", {"covariance": "diagonal"}, "diagonal"),
)
#: Categories by which the base session chooses the strength of a diagonal prior.
STRENGTH_CATEGORIES = 32


class Walk(NamedTuple):
    """What a plan left: the model, its labelled categories come first, and which class each stands for."""

    model: CategoryDiscoverer
    n_labelled: int
    match: FrozenMatch

    def record(self, knowledge: Knowledge, data: Dataset, plan: Plan) -> dict[str, float]:
        """Bytes of a category and accuracies, in points, with these posteriors."""
        first = np.arange(self.n_labelled)
        base = replace(knowledge, posterior=knowledge.posterior.take(first), reliability=None, later=None)
        accuracies = []
        for known, classes in ((base, plan.labelled), (knowledge, plan.known_before(len(plan.sessions)))):
            seen = np.isin(data.test_y, classes)
            answers = self.model.classes_[known.predict(known.reduced(data.test_x[seen]))]
            accuracies.append(100 * float(self.match.correct(answers, data.test_y[seen]).mean()))
        nbytes = knowledge.posterior.nbytes / len(knowledge.posterior) + BESIDE
        return {"bytes": nbytes, "base": accuracies[0], "all": accuracies[1]}


def walk(options: dict[str, Any], data: Dataset, plan: Plan, seed: int) -> Walk:
    """Learn the labelled classes, and then session after session."""
    model = CategoryDiscoverer(random_state=seed, **options)
    model.fit(data.train_x[plan.base_rows], data.train_y[plan.base_rows])
    match = FrozenMatch(plan.labelled)
    for session in plan.sessions:
        found = model.discover(data.train_x[session.rows], n_novel=len(session.novel))
        novel = np.array(list(found.novel))
        match.add(novel, found.labels_, data.train_y[session.rows], session.novel)
    return Walk(model, len(plan.labelled), match)


def kept_as(walked: Walk, roots: list[np.ndarray], variant: Variant) -> Knowledge:
    """The knowledge with the same statistics in another structure."""
    known, structure = walked.model.knowledge_, Options(**variant.options).structure
    form, full = structure_of(structure, known.prior.dim), recover_statistics(known.prior, known.posterior)
    scatter = np.stack([form.scatter(root) for root in roots])
    statistics = Statistics(full.count, full.mean, scatter, structure)
    prior = replace(known.prior, structure=structure)
    if form.left_out_as is None:
        some = np.unique(np.linspace(0, walked.n_labelled - 1, STRENGTH_CATEGORIES).round().astype(int))
        prior = choose_strength(replace(prior, nu=0.0), statistics.take(some))
    posterior = posterior_of(prior, statistics, dtype=known.posterior.mean.dtype)
    return replace(known, prior=prior, posterior=posterior)


def roots_of(knowledge: Knowledge) -> list[np.ndarray]:
    """Rows whose sum of outer products is the scatter of each category."""
    statistics = recover_statistics(knowledge.prior, knowledge.posterior)
    roots = []
    for packed in statistics.scatter:
        values, vectors = np.linalg.eigh(statistics.form.square(packed))
        roots.append(np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T)
    return roots


def runs_of(dataset: str, seed: int, variants: list[Variant], *, direct: bool) -> Iterator[dict[str, Any]]:
    """One record for each variant."""
    data = load_dataset(data_folder() / FILES[dataset])
    plan = named_plan("b50t5", data.train_y, dataset=data.name, seed=seed)
    walked = None if direct else walk({}, data, plan, seed)
    roots = [] if walked is None else roots_of(walked.model.knowledge_)
    for variant in variants:
        own = walked or walk(variant.options, data, plan, seed)
        plain = direct or variant.name == "full"
        knowledge = own.model.knowledge_ if plain else kept_as(own, roots, variant)
        key = {"dataset": dataset, "variant": variant.name, "seed": seed, "direct": direct}
        yield {**key, **own.record(knowledge, data, plan)}


def all_runs(
    datasets: list[str], seeds: list[int], variants: list[Variant], keep: Path | None, *, direct: bool
) -> list[dict[str, Any]]:
    """All runs; those in the file are not run again."""
    done: dict[tuple[str, str, int], dict[str, Any]] = {}
    if keep is not None and keep.exists():
        lines = (json.loads(line) for line in keep.read_text().splitlines())
        done = {(r["dataset"], r["variant"], r["seed"]): r for r in lines if r["direct"] == direct}
    for seed in seeds:
        for dataset in datasets:
            missing = [v for v in variants if (dataset, v.name, seed) not in done]
            for record in runs_of(dataset, seed, missing, direct=direct) if missing else ():
                done[dataset, record["variant"], seed] = record
                if keep is not None:
                    with keep.open("a") as out:
                        out.write(json.dumps(record) + "\n")
    names = {variant.name for variant in variants}
    return [r for key, r in done.items() if key[0] in datasets and key[1] in names and key[2] in seeds]


class Point(NamedTuple):
    """One variant on one dataset: memory, accuracies, and what is lost against full covariances."""

    dataset: str
    variant: Variant
    kilobytes: float
    base: float
    all: float
    base_lost: float
    all_lost: float
    worst: float
    seeds: int


def points(runs: list[dict[str, Any]]) -> list[Point]:
    """Means over the class orders; what is lost is compared order by order."""
    by_key: dict[tuple[str, str], dict[int, dict[str, Any]]] = defaultdict(dict)
    for record in runs:
        by_key[record["dataset"], record["variant"]][record["seed"]] = record
    found = []
    for dataset in dict.fromkeys(r["dataset"] for r in runs):
        full = by_key[dataset, "full"]
        for variant in VARIANTS:
            own = {s: r for s, r in by_key[dataset, variant.name].items() if s in full}
            if not own:
                continue
            lost = {n: np.array([full[s][n] - own[s][n] for s in sorted(own)]) for n in ("base", "all")}
            base, everything = (np.mean([r[n] for r in own.values()]) for n in ("base", "all"))
            kilobytes = next(iter(own.values()))["bytes"] / 1000
            worst = max(lost["base"].max(), lost["all"].max())
            means = lost["base"].mean(), lost["all"].mean()
            found.append(Point(dataset, variant, kilobytes, base, everything, *means, worst, len(own)))
    return found


def show(found: list[Point]) -> None:
    for dataset in dict.fromkeys(p.dataset for p in found):
        own = sorted((p for p in found if p.dataset == dataset), key=lambda p: -p.kilobytes)
        table(
            f"{dataset}, plan b50t5, number given, {max(p.seeds for p in own)} class orders",
            ("covariance", "kB a category", f"MB at {MANY:,}", "Base", "lost", "All", "lost", "worst order"),
            [
                (
                    p.variant.name,
                    f"{p.kilobytes:.1f}",
                    f"{p.kilobytes * MANY / 1000:.0f}",
                    f"{p.base:.2f}",
                    f"{p.base_lost:+.2f}",
                    f"{p.all:.2f}",
                    f"{p.all_lost:+.2f}",
                    f"{p.worst:+.2f}",
                )
                for p in own
            ],
        )


COLOURS = {
    "full": "#333333",
    "full, half": "#999999",
    "low rank": "#1f77b4",
    "low rank, half": "#ff7f0e",
    "diagonal": "#d62728",
}


def draw(found: list[Point], path: str) -> None:
    """Accuracy lost against kilobytes of a category, one panel for each dataset."""
    datasets = list(dict.fromkeys(p.dataset for p in found))
    figure = Figure(figsize=(3.1 * len(datasets), 3.6), facecolor="white", layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, len(datasets), sharex=True, sharey=True, squeeze=False)[0]
    for axes, dataset in zip(panels, datasets, strict=True):
        axes.axvspan(1, TARGET_MB * 1000 / MANY, color="#2ca02c", alpha=0.08, lw=0)
        axes.axhline(0.5, color="#2ca02c", lw=1, ls="--")
        for group, colour in COLOURS.items():
            own = sorted(
                (p for p in found if p.dataset == dataset and p.variant.group == group),
                key=lambda p: p.kilobytes,
            )
            if own:
                x = [p.kilobytes for p in own]
                axes.plot(x, [p.all_lost for p in own], "o-", color=colour, label=group, ms=5)
                axes.plot(x, [p.base_lost for p in own], "o:", color=colour, mfc="white", ms=5)
        axes.set_xscale("log")
        axes.set_xticks([3, 10, 30, 60, 100, 300], ["3", "10", "30", "60", "100", "300"])
        axes.minorticks_off()
        axes.set_title(dataset, fontsize=10)
        axes.set_xlabel("kB a category")
        axes.grid(alpha=0.3)
    panels[0].set_ylabel("points lost against full\n(filled: All, hollow: Base)")
    panels[0].set_ylim(bottom=min(-0.6, *(p.all_lost for p in found), *(p.base_lost for p in found)) - 0.1)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False, fontsize=9)
    figure.savefig(path, dpi=110)
    console.print(f"Wrote {path}.")


def measured(n_categories: int) -> None:
    """One model of so many synthetic categories for each way to keep it, as it is in memory and on disk."""
    world = World.like("CLINC150", n_categories=n_categories, seed=0)
    codes = np.repeat(np.arange(n_categories), ROWS_EACH)
    rows, test = world.rows(codes, seed=1), np.random.default_rng(0).integers(n_categories, size=TEST_ROWS)
    lines = []
    for options in ({"covariance": "lowrank", "storage": "half"}, {"covariance": "lowrank"}):
        start = time.perf_counter()
        model = CategoryDiscoverer(**options).fit(rows, codes)
        seconds = time.perf_counter() - start
        accuracy = 100 * float(np.mean(model.predict(world.rows(test, seed=2)) == test))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "model.safetensors")
            model.save(path)
            size = os.path.getsize(path) / 1e6
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
        state = (model.posterior_.nbytes + BESIDE * n_categories) / 1e6
        name = ", ".join(map(str, options.values()))
        lines.append(
            (name, f"{state:.0f}", f"{size:.0f}", f"{peak:.0f}", f"{seconds:.0f}", f"{accuracy:.2f}")
        )
    table(
        f"{n_categories:,} synthetic categories like those of CLINC150, {ROWS_EACH} rows each "
        f"({rows.nbytes / 1e6:.0f} MB of rows)",
        ("covariance", "MB in memory", "MB on disk", "peak MB of the process", "fit, s", "accuracy"),
        lines,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", nargs="+", default=list(FILES), choices=list(FILES))
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--variants", nargs="+", choices=[v.name for v in VARIANTS])
    parser.add_argument("--direct", action="store_true", help="learn anew with each variant")
    parser.add_argument("--keep", type=Path, help="file of finished runs, which are not run again")
    parser.add_argument("--picture", help="where to draw accuracy lost against memory")
    parser.add_argument(
        "--categories", type=int, help="measure a synthetic model of so many categories instead"
    )
    chosen = parser.parse_args()
    if chosen.categories:
        measured(chosen.categories)
        return
    variants = [v for v in VARIANTS if not chosen.variants or v.name in chosen.variants]
    runs = all_runs(chosen.data, chosen.seeds, variants, chosen.keep, direct=chosen.direct)
    found = points(runs)
    show(found)
    if chosen.picture:
        draw(found, chosen.picture)


if __name__ == "__main__":
    main()
