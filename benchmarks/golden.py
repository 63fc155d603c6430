"""Labels of fixed cases as digests: whether a change of the code changes any answer.

python benchmarks/golden.py                  print the digests of this code as JSON
python benchmarks/golden.py --write FILE     write them to a file
python benchmarks/golden.py --check FILE     compare with a file; the exit status is 1 if any differs

golden.json beside this script holds those expected; write it again when answers change on purpose. The cases
on real embeddings need VBCGCD_DATA and are left out without it. Set OMP_NUM_THREADS=1: two threads round
differently, and a row on a border may change sides. About two minutes.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from vbcgcd import CategoryDiscoverer

#: File, rows of each class, sessions, novel classes in a session, rows of each known class in a session.
REAL = {
    "CLINC150": ("clinc150-minilm.npz", 120, 5, 15, 6),
    "CIFAR-100": ("cifar100-efficientnet-lite0.npz", 100, 5, 10, 10),
}
SEEDS = (0, 1)
#: Options of the estimator, and the number of novel categories in each session (None: estimated).
DIGITS: dict[str, tuple[dict[str, Any], int | None]] = {
    "default": ({}, 2),
    "default, estimated": ({}, None),
    "evidence": ({"count": "evidence"}, None),
    "merge": ({"count": "merge"}, None),
    "silhouette": ({"count": "silhouette"}, None),
    "kmeans, reassign, alignment": ({"cluster": "kmeans", "relabel": "reassign", "alignment": 0.0}, 2),
    "gmm, filter": ({"cluster": "gmm", "relabel": "filter"}, 2),
    "hdbscan, none": ({"cluster": "hdbscan", "relabel": "none"}, 2),
    "em": ({"relabel": "em"}, 2),
    "diagonal": ({"covariance": "diagonal"}, 2),
    "diagonal, evidence, em": ({"covariance": "diagonal", "count": "evidence", "relabel": "em"}, None),
    "svi": ({"inference": "svi", "svi_steps": 60, "n_components": 12}, 2),
    "svi, diagonal": ({"inference": "svi", "svi_steps": 60, "covariance": "diagonal"}, 2),
    "student": ({"predictive": "student"}, 2),
    "euclidean, no determinant": ({"metric": "euclidean", "log_determinant": False}, 2),
    "not whitened, float64": ({"whiten": False, "dtype": "float64", "prior_strength": "weakest"}, 2),
    "unit length, shrunk": ({"normalise": True, "whiten_shrinkage": 0.3, "prior_strength": 80.0}, 2),
    "distance": ({"geometry": "distance"}, 2),
    "direction, strength by evidence": ({"geometry": "direction", "prior_strength": "evidence"}, 2),
    "update known": ({"update_known": True}, None),
    "few components": ({"n_components": 6, "mean_precision_prior": 0.1}, 2),
}


@dataclass(frozen=True)
class Stream:
    """Labelled rows, unlabelled batches, and rows to predict."""

    rows: np.ndarray
    labels: np.ndarray
    batches: tuple[np.ndarray, ...]
    probe: np.ndarray


def draw_stream(
    rows: np.ndarray,
    labels: np.ndarray,
    *,
    seed: int,
    per_class: int,
    n_sessions: int,
    n_novel: int,
    known_rows: int,
) -> Stream:
    """A stream in the manner of the plan b50t5: some classes labelled, the rest in sessions with known rows.

    A fifth of the rows of each class is the probe; the others teach, or come in sessions.
    """
    rng = np.random.default_rng(seed)
    order = rng.permutation(np.unique(labels))
    pools = {int(c): rng.permutation(np.flatnonzero(labels == c))[:per_class] for c in order}
    probe = np.concatenate([pool[: len(pool) // 5] for pool in pools.values()])
    pools = {c: pool[len(pool) // 5 :] for c, pool in pools.items()}
    known = [int(c) for c in order[: len(order) - n_sessions * n_novel]]
    late = [int(c) for c in order[len(known) :]]
    hold = known_rows * n_sessions
    base = np.concatenate([pools[c][hold:] for c in known])
    batches = []
    for session in range(n_sessions):
        novel = late[session * n_novel : (session + 1) * n_novel]
        part = slice(session * known_rows, (session + 1) * known_rows)
        held = [pools[c][part] for c in known]
        batches.append(rng.permutation(np.concatenate([*held, *(pools[c] for c in novel)])))
    return Stream(rows[base], labels[base], tuple(rows[batch] for batch in batches), rows[probe])


def digest(*values: Any) -> str:
    """SHA-256 of labels as text: the kind of their array does not matter."""
    lines = "\n".join(" ".join(map(str, np.asarray(value).tolist())) for value in values)
    return hashlib.sha256(lines.encode()).hexdigest()[:32]


def rounding() -> str:
    """Digest of fixed products and factors: equal labels need linear algebra that rounds equally."""
    a = np.random.default_rng(0).normal(size=(96, 64))
    single = a.astype(np.float32)
    parts = (a.T @ a, np.linalg.cholesky(a.T @ a), single.T @ single, single @ single.T)
    return hashlib.sha256(b"".join(part.tobytes() for part in parts)).hexdigest()[:32]


def run(stream: Stream, n_novel: int | None, **options: Any) -> dict[str, Any]:
    """Digests of the labels of every session and of the final predictions, and the numbers of novel ones."""
    model = CategoryDiscoverer(**options).fit(stream.rows, stream.labels)
    sessions, numbers = [], []
    for batch in stream.batches:
        record = model.discover(batch, n_novel=n_novel)
        sessions.append(digest(record.labels_))
        numbers.append(int(record.n_novel))
    final = digest(model.predict(stream.probe), model.predict(stream.probe, reject=0.05))
    return {"novel": numbers, "sessions": sessions, "predictions": final}


def digits_cases() -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    rows, labels = load_digits(return_X_y=True)
    stream = draw_stream(rows, labels, seed=0, per_class=120, n_sessions=2, n_novel=2, known_rows=15)
    for name, (options, n_novel) in DIGITS.items():
        yield f"digits: {name}", lambda o=options, n=n_novel: run(stream, n, **o)


def real_cases(folder: Path) -> Iterator[tuple[str, Callable[[], dict[str, Any]]]]:
    for name, (file, per_class, n_sessions, n_novel, known_rows) in REAL.items():
        with np.load(folder / file) as archive:
            rows, labels = archive["train_x"].astype(np.float32), archive["train_y"].astype(int)
        for seed in SEEDS:
            stream = draw_stream(
                rows,
                labels,
                seed=seed,
                per_class=per_class,
                n_sessions=n_sessions,
                n_novel=n_novel,
                known_rows=known_rows,
            )
            for number in (n_novel, None):
                words = "number given" if number else "number estimated"
                yield f"{name}, seed {seed}, {words}", lambda s=stream, n=number: run(s, n)


def measure(pattern: str) -> dict[str, Any]:
    """Digests by case, for the cases whose name contains the pattern."""
    cases = list(digits_cases())
    folder = os.environ.get("VBCGCD_DATA")
    if folder:
        cases += real_cases(Path(folder))
    else:
        print("VBCGCD_DATA is not set: the cases on real embeddings are left out.", file=sys.stderr)
    results: dict[str, Any] = {"rounding": rounding()}
    for name, case in cases:
        if pattern in name:
            start = time.perf_counter()
            results[name] = case()
            numbers = " ".join(map(str, results[name]["novel"]))
            print(f"{name}: {numbers} novel, {time.perf_counter() - start:.1f} s", file=sys.stderr)
    return results


def compare(results: dict[str, Any], expected: dict[str, Any]) -> int:
    """Print what differs; the number of cases that do."""
    results, expected = dict(results), dict(expected)
    if results.pop("rounding") != expected.pop("rounding"):
        print("This machine rounds differently: labels on a border may change sides.")
    different = [name for name in results if results[name] != expected.get(name)]
    for name in different:
        if name not in expected:
            print(f"NEW        {name}")
            continue
        parts = zip(results[name]["sessions"], expected[name]["sessions"], strict=False)
        first = next((i + 1 for i, (a, b) in enumerate(parts) if a != b), None)
        where = "the predictions" if first is None else f"session {first}"
        print(f"DIFFERENT  {name}: from {where} on")
    print(f"{len(results) - len(different)} of {len(results)} cases are the same.")
    return len(different)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", type=Path, help="file to write")
    parser.add_argument("--check", type=Path, help="file to compare with")
    parser.add_argument("--only", default="", help="part of the names of the cases to run")
    options = parser.parse_args()
    if os.environ.get("OMP_NUM_THREADS") != "1":
        print("Set OMP_NUM_THREADS=1, or labels may differ by rounding.", file=sys.stderr)
    results = measure(options.only)
    if options.write:
        options.write.write_text(json.dumps(results, indent=1) + "\n")
    if options.check:
        return int(compare(results, json.loads(options.check.read_text())) > 0)
    if not options.write:
        print(json.dumps(results, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
