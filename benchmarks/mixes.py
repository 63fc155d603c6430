"""Hard mixes on real embeddings: share of known rows, rows per novel category, imbalance, one or none novel.

VBCGCD_DATA=... python benchmarks/mixes.py
"""

from __future__ import annotations

import copy
from typing import Any, NamedTuple

import numpy as np
from rich.progress import track
from scipy.optimize import linear_sum_assignment

from common import console, load, table
from vbcgcd import CategoryDiscoverer

LABELLED = {"CLINC150": 75, "CIFAR-100": 50}
SEED = 0


class Mix(NamedTuple):
    """Sizes of the novel categories, and rows of known categories in all."""

    name: str
    sizes: tuple[int, ...]
    known: int


def mixes(n_novel: int, most: int, pool: int) -> list[Mix]:
    each = min(most, 90)
    shares = []
    for s in (0.01, 0.1, 0.5, 0.8, 0.95):
        rows = min(each, int(pool * (1 - s) / s / n_novel))  # known rows are not repeated
        known = round(rows * n_novel * s / (1 - s))
        shares.append(Mix(f"{100 * s:.0f} % known, {rows} rows per novel", (rows,) * n_novel, known))
    sizes = [Mix(f"{n} rows per novel category", (n,) * n_novel, 400) for n in (5, 10, 25, 50, most)]
    uneven = tuple(np.geomspace(10, most, n_novel).round().astype(int).tolist())
    return [
        *shares,
        *sizes,
        Mix(f"uneven, 10 to {most} rows", uneven, 400),
        Mix("one novel category", (each,), 400),
        Mix("no novel category", (), 1000),
        Mix("only novel rows", (each,) * n_novel, 0),
    ]


def session(data: Any, mix: Mix, n_labelled: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Labelled rows, rows of the session, and the novel classes. Known rows were never labelled."""
    _, y, *_ = data
    rng = np.random.default_rng(SEED)
    order = rng.permutation(y.max() + 1)
    used, held = {}, []
    for c in order:
        members = rng.permutation(np.flatnonzero(y == c))
        cut = len(members) * 4 // 5
        used[c] = members[:cut]
        if c in order[:n_labelled]:
            held.append(members[cut:])
    known = rng.permutation(np.concatenate(held))
    known = known[: mix.known]
    novel = order[n_labelled : n_labelled + len(mix.sizes)]
    rows = np.concatenate([known, *(used[c][:n] for c, n in zip(novel, mix.sizes, strict=True))])
    base = np.concatenate([used[c] for c in order[:n_labelled]])
    return base, rows, novel, order


def main() -> None:
    rows = []
    for name, n_labelled in LABELLED.items():
        data = load(name)
        x, y, *_ = data
        fitted = None
        for mix in track(
            mixes(10, 400 if name == "CIFAR-100" else 96, 1800), name, console=console, transient=True
        ):
            base, chosen, novel, _ = session(data, mix, n_labelled)
            fitted = fitted or CategoryDiscoverer().fit(x[base], y[base])
            cells: list[str] = []
            for given in (len(mix.sizes), None):
                report = copy.deepcopy(fitted).discover(x[chosen], n_novel=given)
                cells += [str(report.n_novel), *scores(report, y[chosen], novel)]
                seconds = f"{report.seconds:.1f}"
            rows.append((name, mix.name, str(len(chosen)), *cells[1:3], *cells[3:], seconds))
            console.print("  ".join(rows[-1]), style="dim")
    table(
        "Accuracy in % on the rows of one session, novel (Hungarian) and known; number given, then estimated",
        ("dataset", "mix", "rows", "novel", "known", "found", "novel", "known", "s"),
        rows,
    )


def scores(report: Any, truth: np.ndarray, novel: np.ndarray) -> tuple[str, str]:
    is_novel = np.isin(truth, novel)
    known = "" if is_novel.all() else f"{100 * np.mean(report.labels_[~is_novel] == truth[~is_novel]):.1f}"
    if not is_novel.any():
        return "", known
    counts = np.array([[np.sum((report.labels_ == a) & (truth == c)) for c in novel] for a in report.novel])
    if len(counts) == 0:
        return "0.0", known
    i, j = linear_sum_assignment(-counts)
    return f"{100 * counts[i, j].sum() / is_novel.sum():.1f}", known


if __name__ == "__main__":
    main()
