"""Predict with many categories: agreement of the short-list with all densities, and how much faster it is.

All is measured on one thread, in turns in the same run. Real rows first, then categories like those of
CLINC150 (see synthetic.py). 10,000 categories take 4 GB.

VBCGCD_DATA=... python benchmarks/predict_scale.py [most categories] [--plot FILE]
VBCGCD_DATA=... python benchmarks/predict_scale.py --agreement [--seeds 0 1 2] [--datasets ESC-50]

With --agreement nothing but the agreement is measured, and on other draws: each seed labels half of the
categories, and half of their rows or twenty of each.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from threadpoolctl import threadpool_limits

from common import console, data_folder, table
from synthetic import FILES, World
from vbcgcd import CategoryDiscoverer
from vbcgcd.bayes import top_categories

ROWS_EACH, SIZES = 20, (150, 300, 1000, 3000, 10_000)
#: Rows of known categories to predict, and those of them for which all densities are computed.
TEST_ROWS, EXACT_ROWS = 10_000, 1000


def seconds(action: Callable[[], Any], repeats: int = 3) -> float:
    """Processor seconds of the fastest run: other programs on the machine count little."""
    best = np.inf
    for _ in range(repeats):
        start = time.process_time()
        action()
        best = min(best, time.process_time() - start)
    return best


def real_rows(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    with np.load(data_folder() / FILES[name]) as file:
        return (
            file["train_x"].astype(np.float32),
            file["train_y"].astype(int),
            file["test_x"].astype(np.float32),
        )


def real_labels(name: str) -> np.ndarray:
    """Categories of the test rows."""
    with np.load(data_folder() / FILES[name]) as file:
        return file["test_y"].astype(int)


def compared(model: CategoryDiscoverer, test: np.ndarray, size: int) -> tuple[np.ndarray, np.ndarray]:
    """Whether a list of so many gives each row the category of all densities, and whether that is proven."""
    knowledge = model.knowledge_
    reduced, rule = knowledge.reduced(test), replace(knowledge.classifier, shortlist=size)
    exact = replace(rule, shortlist=None).predict(reduced, knowledge.posterior)
    proven = top_categories(reduced, knowledge.posterior, rule, 1, certify=True).certain
    return rule.predict(reduced, knowledge.posterior) == exact, proven


def twenty_each(labels: np.ndarray, order: np.ndarray) -> np.ndarray:
    """The first rows of each category in this order."""
    return np.concatenate([order[labels[order] == c][:ROWS_EACH] for c in np.unique(labels[order])])


def agreement() -> None:
    """On all four datasets, with all labelled rows and with twenty of each category."""
    lines = []
    for name in FILES:
        rows, labels, test = real_rows(name)
        few = twenty_each(labels, np.random.default_rng(0).permutation(len(rows)))
        for words, chosen in (("all", slice(None)), (str(ROWS_EACH), few)):
            model = CategoryDiscoverer(count="evidence").fit(rows[chosen], labels[chosen])
            for size in (48, 16) if len(model.classes_) < 48 else (48,):
                same, proven = compared(model, test, size)
                lines.append((name, words, len(model.classes_), size, *percent(same), *percent(proven, 1)))
    table(
        "Rows with the same category by short-list and by all densities",
        ("dataset", "rows of each", "categories", "short-list", "the same, %", "proven, %"),
        lines,
    )


def percent(values: np.ndarray, digits: int = 2) -> tuple[str]:
    return (f"{100 * np.mean(values):.{digits}f}",)


def usual_list(n_categories: int) -> int:
    """The list of 48, or a shorter one that leaves something out."""
    return 48 if n_categories > 48 else 16 if n_categories > 16 else n_categories // 2


def agreement_over(seeds: list[int], datasets: list[str]) -> None:
    """With half of the categories labelled, drawn anew by each seed, as their rows are."""
    lines = []
    for name in datasets:
        rows, labels, test = real_rows(name)
        truth = real_labels(name)
        for seed in seeds:
            rng = np.random.default_rng([seed, 1])
            categories = rng.permutation(np.unique(labels))
            known = categories[: len(categories) // 2]
            order = rng.permutation(np.flatnonzero(np.isin(labels, known)))
            drawn = {"half": order[: len(order) // 2], str(ROWS_EACH): twenty_each(labels, order)}
            familiar = np.isin(truth, known)
            for words, chosen in drawn.items():
                model = CategoryDiscoverer(count="evidence").fit(rows[chosen], labels[chosen])
                size = usual_list(len(model.classes_))
                same, proven = compared(model, test, size)
                shares = (*percent(same[familiar]), *percent(same[~familiar]), *percent(proven, 1))
                lines.append((name, seed, words, len(model.classes_), size, *shares))
    table(
        "Rows with the same category by short-list and by all densities, half of the categories labelled",
        ("dataset", "seed", "rows", "categories", "list", "labelled, %", "others, %", "proven, %"),
        lines,
    )


def against_qda() -> None:
    """The whole of `predict`, with reduction, on 50, 100 and 150 real categories of 384 dimensions."""
    lines = []
    for name, n_categories in (("CIFAR-100", 50), ("CIFAR-100", 100), ("CLINC150", 150)):
        rows, labels, test = real_rows(name)
        known = labels < n_categories
        usual, model = (
            CategoryDiscoverer(count="evidence", shortlist=size).fit(rows[known], labels[known])
            for size in ("auto", 48)
        )
        knowledge = model.knowledge_
        # QDA needs more rows than dimensions; noise with the covariance of the model takes the place of few.
        reduced = knowledge.reduced(test)
        extra = np.random.default_rng(0).normal(size=(n_categories * 400, reduced.shape[1]))
        qda = QuadraticDiscriminantAnalysis(reg_param=0.1)
        qda.fit(extra.astype(np.float32), np.repeat(np.arange(n_categories), 400))
        exact = replace(knowledge.classifier, shortlist=None)
        model.predict(test[:100])
        default, ours, theirs, all_of_them = (
            seconds(action)
            for action in (
                lambda m=usual, t=test: m.predict(t),
                lambda m=model, t=test: m.predict(t),
                lambda q=qda, r=reduced: q.predict(r),
                lambda e=exact, k=knowledge, r=reduced: e.log_density(r, k.posterior),
            )
        )
        lines.append(
            (
                f"{name}, {n_categories}",
                f"{len(test) / default:,.0f}",
                f"{len(test) / ours:,.0f}",
                f"{len(test) / theirs:,.0f}",
                f"{theirs / default:.1f}",
                f"{theirs / ours:.1f}",
                f"{all_of_them / ours:.1f}",
            )
        )
    table(
        "Rows a second on one thread, D = 384; `predict` reduces embeddings first, QDA has them reduced",
        ("categories", "predict", "list of 48", "QDA", "times QDA's", "list", "times all densities'"),
        lines,
    )


@dataclass(frozen=True)
class Measured:
    """Of one number of categories: seconds of `fit`, seconds for each row, and what agrees."""

    n_categories: int
    fit: float
    exact: float
    short: float
    one: float
    same: float
    right: float


def synthetic(n_categories: int) -> Measured:
    world = World.like("CLINC150", n_categories)
    codes = np.repeat(np.arange(n_categories), ROWS_EACH)
    rows = world.rows(codes, 1)
    start = time.perf_counter()
    model = CategoryDiscoverer().fit(rows, codes)
    fit = time.perf_counter() - start
    del rows
    truth = np.random.default_rng(0).integers(0, n_categories, TEST_ROWS)
    knowledge = model.knowledge_
    test, rule = knowledge.reduced(world.rows(truth, 2)), knowledge.classifier
    exact = replace(rule, shortlist=None)
    rule.predict(test[:1], knowledge.posterior)
    short = seconds(lambda: rule.predict(test, knowledge.posterior), 2) / len(test)
    one = seconds(lambda: rule.predict(test[:1], knowledge.posterior), 5)
    answer = rule.predict(test, knowledge.posterior)
    density: list[np.ndarray] = []
    some = test[:EXACT_ROWS]
    dense = seconds(lambda: density.append(exact.log_density(some, knowledge.posterior)), 1) / len(some)
    same = float(np.mean(density[0].argmax(axis=1) == answer[: len(some)]))
    return Measured(n_categories, fit, dense, short, one, same, float(np.mean(answer == truth)))


def plot(results: list[Measured], path: Path) -> None:
    import matplotlib.pyplot as plt

    sizes = [r.n_categories for r in results]
    figure, axes = plt.subplots(figsize=(6.4, 4))
    axes.loglog(
        sizes, [1 / r.exact for r in results], "o-", color="#888888", label="density under all categories"
    )
    axes.loglog(sizes, [1 / r.short for r in results], "o-", color="#1f6fb4", label="predict")
    for r in results:
        place = (r.n_categories, 1 / r.short)
        words = f"{r.exact / r.short:.0f}x" if r.exact > 9.5 * r.short else f"{r.exact / r.short:.1f}x"
        axes.annotate(words, place, textcoords="offset points", xytext=(0, 7), ha="center")
    axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
    axes.minorticks_off()
    axes.set_xlabel("known categories")
    axes.set_ylabel("rows a second, one thread")
    axes.set_ylim(top=3 / results[0].short)
    axes.legend(frameon=False)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.tight_layout()
    figure.savefig(path, dpi=150)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("most", nargs="?", type=int, default=SIZES[-1])
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--agreement", action="store_true", help="measure nothing else, on draws by --seeds")
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--datasets", nargs="+", choices=FILES, default=list(FILES))
    options = parser.parse_args()
    if options.agreement:
        with threadpool_limits(1):
            agreement_over(options.seeds, options.datasets)
        return
    with threadpool_limits(1):
        agreement()
        against_qda()
        results = [synthetic(size) for size in SIZES if size <= options.most]
    table(
        f"Categories like those of CLINC150, {ROWS_EACH} rows each, D = 384; one thread",
        ("categories", "fit s", "all, rows/s", "short, rows/s", "times", "one row ms", "same, %", "right, %"),
        [
            (
                f"{r.n_categories:,}",
                f"{r.fit:.0f}",
                f"{1 / r.exact:,.0f}",
                f"{1 / r.short:,.0f}",
                f"{r.exact / r.short:.1f}",
                f"{1000 * r.one:.1f}",
                f"{100 * r.same:.1f}",
                f"{100 * r.right:.1f}",
            )
            for r in results
        ],
    )
    if options.plot:
        plot(results, options.plot)
        console.print(f"Plot: {options.plot}")


if __name__ == "__main__":
    main()
