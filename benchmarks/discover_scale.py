"""Seconds, memory and categories found of one session, against its rows and against the known categories.

VBCGCD_DATA=... python benchmarks/discover_scale.py [picture.png]    # 10^3 to 10^5 rows, 10^2 to 10^4 known
VBCGCD_DATA=... python benchmarks/discover_scale.py --million        # 10^6 rows, 10^4 known, 200 novel
VBCGCD_DATA=... python benchmarks/discover_scale.py --point ROWS KNOWN NOVEL SHARE
VBCGCD_DATA=... python benchmarks/discover_scale.py --agreement      # by samples and at once, on real rows

The categories are synthetic, with the geometry of CLINC150 (benchmarks/synthetic.py); SHARE of the rows
belong to novel ones, whose means lie as far from known ones as those of real neighbours do. Rows are written
to an .npy file, and `discover` gets its path. Each point runs in a process of its own, whose peak memory is
reported: of the session, with the model loaded.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from scipy.optimize import linear_sum_assignment

from common import console, data_folder, table
from synthetic import FILES, World
from vbcgcd import CategoryDiscoverer

#: Labelled rows of each known category.
ROWS_EACH = 20
#: Points: rows, known categories, novel ones, and their share of the rows.
BY_ROWS = [(n, 1000, 20, 0.2) for n in (1000, 10_000, 100_000, 1_000_000)]
BY_KNOWN = [(100_000, k, 20, 0.2) for k in (100, 1000, 10_000)]
MILLION = (1_000_000, 10_000, 200, 0.2)
COVARIANCE = "lowrank"
#: Real data: labelled categories, and share of their rows that are labelled.
REAL = {"CLINC150": 75, "CIFAR-100": 50, "StackOverflow": 10, "ESC-50": 25}
LABELLED_SHARE = 0.3


def matched(labels: np.ndarray, codes: np.ndarray, novel: list[Any], n_known: int) -> dict[str, Any]:
    """Accuracy in percent with the best matching of novel categories, and how many were hit.

    A category is hit if the one matched with it holds most of its rows, and hardly any others.
    """
    true, own = np.unique(codes[codes >= n_known]), np.isin(labels, novel)
    place = {label: i for i, label in enumerate(novel)}
    counts = np.zeros((max(len(novel), 1), max(len(true), 1)), int)
    inside = own & (codes >= n_known)
    rows = np.array([place[label] for label in labels[inside]], dtype=int)
    np.add.at(counts, (rows, np.searchsorted(true, codes[inside])), 1)
    i, j = linear_sum_assignment(-counts)
    sizes = np.array([(codes == c).sum() for c in true] or [1])
    found = np.array([(labels == label).sum() for label in novel] or [1])
    right = counts[i, j].sum() + (labels[codes < n_known] == codes[codes < n_known]).sum()
    hits = (counts[i, j] > 0.5 * sizes[j]) & (counts[i, j] > 0.5 * found[i])
    return {
        "All": round(100 * float(right) / len(codes), 2),
        "found": len(novel),
        "true": len(true),
        "hits": int(hits.sum()),
    }


def measure(rows: int, known: int, novel: int, share: float) -> dict[str, Any]:
    """One point: the model and the rows are made here, and the session runs in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        say(f"{rows:,} rows, {known:,} known and {novel:,} novel categories: drawing")
        world = World.like("CLINC150", known + novel, apart=novel)
        labels = np.repeat(np.arange(known), ROWS_EACH)
        start = time.perf_counter()
        model = CategoryDiscoverer(covariance=COVARIANCE).fit(world.rows(labels, 1), labels)
        fit = time.perf_counter() - start
        model.save(f"{folder}/model.safetensors")
        del model
        rng = np.random.default_rng(5)
        is_novel = rng.random(rows) < share
        codes = np.where(is_novel, rng.integers(known, known + novel, rows), rng.integers(0, known, rows))
        world.write(f"{folder}/rows.npy", codes, 2)
        np.save(f"{folder}/codes.npy", codes)
        del world
        say(f"fitted in {fit:.0f} s; discovering")
        out = subprocess.run(
            [sys.executable, __file__, "--session", folder], stdout=subprocess.PIPE, text=True, check=True
        )
        result = json.loads(out.stdout.splitlines()[-1])
    return {"rows": rows, "known": known, "novel": novel, "share": share, "fit": round(fit, 1), **result}


def session(folder: Path) -> None:
    """The session of one point, in a process of its own."""
    model = CategoryDiscoverer.load(folder / "model.safetensors")
    codes, n_known = np.load(folder / "codes.npy"), len(model.classes_)
    start, last = time.perf_counter(), ["", time.perf_counter()]

    def progress(name: str) -> None:
        if last[0]:
            say(f"    {last[0]:14s} {time.perf_counter() - last[1]:8.1f} s, peak {peak():.2f} GB")
        last[:] = [name, time.perf_counter()]

    record = model.discover(folder / "rows.npy", progress=progress)
    progress("")
    seconds = time.perf_counter() - start
    result = matched(record.labels_, codes, list(record.novel), n_known)
    print(json.dumps({"seconds": round(seconds, 1), "peak GB": round(peak(), 2), **result}))


def peak() -> float:
    """Peak memory of this process in GB.

    The kernel's figure for resources includes the process that this one was forked from; the status does not.
    """
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    return float(status.read_text().split("VmHWM:")[1].split()[0]) / 1e6


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def agreement(names: list[str], seeds: range) -> None:
    """Sessions of real rows, searched by samples of a third of them and at once."""
    from vbcgcd.discovery import session as whole
    from vbcgcd.discovery.large import groups, rounds

    lines = []
    usual = whole.MANY_ROWS, rounds.SAMPLE_ROWS, groups.GROUP_ROWS
    for name in names:
        with np.load(data_folder() / FILES[name]) as file:
            x, y = file["train_x"].astype(np.float32), file["train_y"].astype(int)
        for seed in seeds:
            rng = np.random.default_rng(seed)
            codes = np.argsort(rng.permutation(y.max() + 1))[y]
            labelled = (codes < REAL[name]) & (rng.random(len(y)) < LABELLED_SHARE)
            cells = list[object]([f"{name}, {seed}", int((~labelled).sum())])
            for sampled in (False, True):
                whole.MANY_ROWS = 0 if sampled else 10**9
                if sampled:
                    rounds.SAMPLE_ROWS = min(usual[1], int((~labelled).sum()) // 3)
                    groups.GROUP_ROWS = min(usual[2], max(rounds.SAMPLE_ROWS // 4, 250))
                model = CategoryDiscoverer(covariance="diagonal").fit(x[labelled], codes[labelled])
                start = time.perf_counter()
                record = model.discover(x[~labelled])
                seconds = time.perf_counter() - start
                result = matched(record.labels_, codes[~labelled], list(record.novel), REAL[name])
                cells += [f"{result['All']:.1f}", result["found"], result["hits"], f"{seconds:.0f}"]
                true = result["true"]
            say(str([*cells, true]))
            lines.append([*cells, true])
    whole.MANY_ROWS, rounds.SAMPLE_ROWS, groups.GROUP_ROWS = usual
    head = (
        "dataset, seed",
        "rows",
        "All",
        "found",
        "hits",
        "s",
        "All, sampled",
        "found",
        "hits",
        "s",
        "true",
    )
    table("One session, searched at once and by samples of at most a third of its rows", head, lines)


def show(results: list[dict[str, Any]]) -> None:
    names = ("rows", "known", "novel", "fit", "seconds", "peak GB", "found", "hits", "All")
    table(
        "One session of rows in an .npy file, D = 384",
        names,
        [[f"{r[n]:,}" if isinstance(r[n], int) else r[n] for n in names] for r in results],
    )


def plot(results: list[dict[str, Any]], path: str) -> None:
    figure = Figure(figsize=(10, 3.4), facecolor="white")
    FigureCanvasAgg(figure)
    by_rows = [r for r in results if (r["rows"], r["known"], r["novel"], r["share"]) in BY_ROWS]
    by_known = [r for r in results if (r["rows"], r["known"], r["novel"], r["share"]) in BY_KNOWN]
    left, right = figure.subplots(1, 2)
    for axes, points, name, label in (
        (left, by_rows, "rows", "rows of the session (1,000 known categories)"),
        (right, by_known, "known", "known categories (100,000 rows)"),
    ):
        axes.loglog([r[name] for r in points], [r["seconds"] for r in points], "o-", color="C0")
        axes.set_xlabel(label)
        axes.set_ylabel("seconds", color="C0")
        axes.set_ylim(0.5, 500)
        axes.grid(alpha=0.3)
        memory = axes.twinx()
        memory.loglog([r[name] for r in points], [r["peak GB"] for r in points], "s--", color="C1")
        memory.set_ylabel("peak memory, GB", color="C1")
        memory.set_ylim(0.1, 10)
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    console.print(f"plot: {path}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("picture", nargs="?", default="scale-discover.png")
    parser.add_argument("--million", action="store_true")
    parser.add_argument("--agreement", nargs="*", choices=list(REAL))
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--most-rows", type=int, default=100_000, help="leave out larger points of the plot")
    parser.add_argument("--point", nargs=4, type=float, metavar=("ROWS", "KNOWN", "NOVEL", "SHARE"))
    parser.add_argument("--session", type=Path, help=argparse.SUPPRESS)
    args = parser.parse_args()
    data_folder()
    if args.session:
        session(args.session)
    elif args.agreement is not None:
        agreement(args.agreement or list(REAL), range(args.seeds))
    elif args.million or args.point:
        rows, known, novel, share = MILLION if args.million else args.point
        show([measure(int(rows), int(known), int(novel), share)])
    else:
        points = [p for p in dict.fromkeys([*BY_ROWS, *BY_KNOWN]) if p[0] <= args.most_rows]
        results = [measure(*point) for point in points]
        show(results)
        plot(results, args.picture)


if __name__ == "__main__":
    main()
