"""Estimator fuzz: extreme magnitudes, shapes, types, labels and weights, in any order of calls.

Every call either answers or raises one clear error of ours. An answer is a number, a probability is one, rows
sum to at most one, what cannot be judged is refused, and a model that was saved and loaded answers alike.

python benchmarks/torture/estimator.py [cases] [seed]
"""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from vbcgcd import CategoryDiscoverer, VbcgcdError

Array = Any
Rng = np.random.Generator

#: Powers of ten that rows, columns and weights are multiplied with.
EXPONENTS = (-320, -300, -150, -46, -38, -20, -12, -6, 0, 0, 0, 0, 6, 12, 18, 19, 20, 38, 150, 290, 308)
#: An answer of the record may exceed 1 by its rounding in single precision.
ROUNDING = 1e-4
#: The longest error: one line that a person reads.
LONGEST = 400

OPTIONS: dict[str, tuple[Any, ...]] = {
    "covariance": ("full", "diagonal"),
    "whiten": (True, True, False),
    "normalise": ("auto", "auto", True, False),
    "standardise": (False, False, True),
    "whiten_shrinkage": ("auto", "auto", 0.0, 1.0),
    "prior_strength": ("auto", "auto", "evidence", "weakest", 40.0, 1e9),
    "prior_variance": ("auto", "auto", 1.0, 1e-12, 1e12),
    "mean_precision_prior": (0.01, 1e-12, 1e6),
    "inference": ("exact", "exact", "exact", "svi"),
    "cluster": ("mixture", "mixture", "kmeans", "gmm", "hdbscan"),
    "relabel": ("confident", "none", "filter", "reassign", "em"),
    "count": ("rehearsal", "rehearsal", "evidence", "merge", "silhouette"),
    "geometry": ("auto", "auto", "direction", "distance"),
    "alignment": (None, None, 0.0, -5.0, 1e6),
    "unassigned": (True, True, False),
    "update_known": (False, True),
    "predictive": ("plugin", "student"),
    "metric": ("mahalanobis", "mahalanobis", "euclidean"),
    "log_determinant": (True, True, False),
    "dtype": ("float32", "float32", "float64"),
    "n_components": (384, 384, None, 1, 3),
}


def pick(rng: Rng, values: tuple[Any, ...]) -> Any:
    return values[int(rng.integers(len(values)))]


def power(rng: Rng, exponent: int) -> float:
    return float(rng.uniform(0.5, 1.5) * 10.0**exponent)


def draw_rows(rng: Rng, n_rows: int, dim: int, codes: Array) -> Array:
    """Rows about the centres of their categories: constant, duplicated, far out or of mixed magnitudes."""
    centres = pick(rng, (0.0, 1.0, 6.0, 1e6)) * rng.normal(size=(codes.max() + 1, dim))
    rows = centres[codes] + pick(rng, (1.0, 1.0, 1.0, 0.0, 1e-9)) * rng.normal(size=(n_rows, dim))
    with np.errstate(over="ignore"):
        rows = rows * power(rng, pick(rng, EXPONENTS))
        if rng.random() < 0.2:
            rows = rows * 10.0 ** rng.choice(EXPONENTS, dim)
        if rng.random() < 0.1:
            rows = rows * 10.0 ** rng.choice(EXPONENTS, (n_rows, 1))
        if rng.random() < 0.15:
            rows[:, rng.integers(dim)] = pick(rng, (0.0, -1.0, 1e12, 1e-310, 1e300))
        if rng.random() < 0.15:
            rows = rows + pick(rng, (1e3, 1e8, -1e15, 1e20, 1e300))
        if rng.random() < 0.1:
            rows[rng.integers(n_rows), rng.integers(dim)] = power(rng, pick(rng, EXPONENTS))
    if rng.random() < 0.1:
        rows[rng.integers(n_rows)] = rows[0]
    if rng.random() < 0.85:
        rows = np.clip(rows, -1.7e308, 1.7e308)
    if rng.random() < 0.03:
        rows[rng.integers(n_rows), rng.integers(dim)] = pick(rng, (np.nan, np.inf, -np.inf))
    return as_given(rng, rows)


def as_given(rng: Rng, rows: Array) -> Array:
    """Rows in a type that somebody may bring."""
    kind = pick(rng, ("float64", "float64", "float32", "float16", "int", "bool", "object", "list", "fortran"))
    with np.errstate(all="ignore"):
        if kind in ("float32", "float16"):
            most = float(np.finfo(kind).max) if rng.random() < 0.9 else np.inf
            return np.clip(rows, -most, most).astype(kind)
        if kind == "int":
            return np.clip(np.nan_to_num(rows), -9e18, 9e18).astype(pick(rng, ("int64", "int32", "uint8")))
        if kind == "bool":
            return rows > 0
    if kind == "object":
        return rows.astype(object)
    if kind == "list":
        return rows.tolist()
    return np.asfortranarray(rows) if kind == "fortran" else rows


def draw_labels(rng: Rng, codes: Array) -> Array:
    kind = pick(rng, ("int", "int", "text", "text", "float", "bool", "uint8", "huge", "negative", "bad"))
    if kind == "text":
        return np.array([f"category {c}" for c in codes])
    if kind == "float":
        return codes.astype(np.float64)
    if kind == "bool":
        return codes % 2 == 0
    if kind == "uint8":
        return (codes + 250).astype(np.uint8)
    if kind == "huge":
        return codes + (2**62)
    if kind == "negative":
        return codes - 1
    if kind == "bad":
        bad = [None, codes + 0.5, codes * 1e300, [None] * len(codes), codes[:-1], np.full(len(codes), np.nan)]
        return pick(rng, (*bad, [(int(c), 1) for c in codes], codes.astype(str), codes.astype(object)))
    return codes


def draw_weight(rng: Rng, n_rows: int) -> Array:
    if rng.random() < 0.6:
        return None
    weight = rng.uniform(0.01, 2.0, n_rows)
    with np.errstate(over="ignore"):
        if rng.random() < 0.4:
            weight = weight * power(rng, pick(rng, (-300, -9, -6, -6, -3, -3, 3, 3, 6, 6, 8, 8, 9, 300)))
        if rng.random() < 0.2:
            weight[rng.integers(n_rows)] = pick(rng, (0.0, 1e-300, 1e300, np.nan, np.inf, -1.0, 1e-9, 1e9))
    if rng.random() < 0.1:
        weight[:] = 0.0
    return weight


class Failure(AssertionError):
    """An answer that must not be given."""


def check(condition: Any, what: str) -> None:
    if not condition:
        raise Failure(what)


def check_answers(model: CategoryDiscoverer, rows: Array, rng: Rng) -> None:
    n_rows, n_categories = len(rows), len(model.classes_)
    probability, novelty = model.predict_proba(rows), model.novelty(rows)
    check(probability.shape == (n_rows, n_categories), "shape of probabilities")
    check(np.isfinite(probability).all(), "NaN in probabilities")
    check(probability.min() >= 0 and probability.max() <= 1, "probability outside [0, 1]")
    check(np.allclose(probability.sum(axis=1), 1, rtol=1e-9), "probabilities do not sum to 1")
    check(np.isfinite(novelty).all(), "NaN in novelty")
    check(novelty.min() >= 0 and novelty.max() <= 1, "novelty outside [0, 1]")
    check(not np.isnan(model.score_samples(rows)).any(), "NaN in densities")
    check(np.isfinite(model.score_samples(rows)).all(), "infinite density")
    labels = model.predict(rows)
    check(np.isin(labels, model.classes_).all(), "unknown label")
    rate = float(rng.uniform(0.01, 0.5))
    refused = model.predict(rows, reject=rate, reject_label=-17) == -17
    check((refused == (novelty > 1 - rate)).all(), "refusal does not follow from novelty")


def check_record(record: Any, model: CategoryDiscoverer, n_rows: int) -> None:
    probability = record.probabilities_
    check(probability.shape == (n_rows, len(model.classes_)), "shape of the record")
    check(np.isfinite(probability).all(), "NaN in the record's probabilities")
    check(probability.min() >= 0 and probability.max() <= 1, "the record's probability outside [0, 1]")
    check((probability.sum(axis=1) <= 1 + ROUNDING).all(), "the record's probabilities sum to over 1")
    check(np.isfinite(record.novelty_).all(), "NaN in the record's novelty")
    check(np.isfinite([record.evidence, record.novel_share]).all(), "NaN in the record")


def check_model(model: CategoryDiscoverer) -> None:
    posterior = model.posterior_
    for name in ("mean", "kappa", "nu", "factor"):
        check(np.isfinite(getattr(posterior, name)).all(), f"NaN in the posterior's {name}")
    known = model.knowledge_
    numbers = [known.temperature, known.margin, known.size_spread, known.novelty.geometry.sharpness]
    check(np.isfinite(numbers).all() and np.isfinite(known.novelty.quantiles).all(), "NaN in the calibration")


def one_case(rng: Rng, counts: Counter[str], folder: Path) -> None:
    """One model: a base session and a few calls in any order."""
    n_rows, dim = int(rng.integers(2, 61)), int(rng.integers(1, 13))
    n_categories = int(rng.integers(1, min(n_rows, 8) + 1))
    chosen = rng.permutation(list(OPTIONS))[: int(rng.integers(0, 5))]
    options = {name: pick(rng, OPTIONS[name]) for name in chosen}
    model = CategoryDiscoverer(svi_steps=5, **options)
    codes = rng.integers(n_categories, size=n_rows)
    rows, labels = draw_rows(rng, n_rows, dim, codes), draw_labels(rng, codes)
    first = attempt(counts, "fit", lambda: model.fit(rows, labels))
    if first is None:
        return
    check_model(model)
    for _ in range(int(rng.integers(1, 4))):
        n = int(rng.integers(2, 41))
        fresh = draw_rows(rng, n, dim if rng.random() > 0.02 else dim + 1, rng.integers(n_categories, size=n))
        batch = fresh if rng.random() < 0.3 else moved(rng, take(rows, rng.integers(n_rows, size=n)))
        action = pick(rng, ("answers", "answers", "discover", "discover", "partial_fit", "save"))
        if action == "answers":
            attempt(counts, action, lambda batch=batch: check_answers(model, batch, rng))
        elif action == "discover":
            number, weight = pick(rng, (None, None, None, 1, 1, n // 4, n // 2, 0, n)), draw_weight(rng, n)
            before = len(model.classes_)
            record = attempt(
                counts,
                action,
                lambda batch=batch, number=number, weight=weight: model.discover(
                    batch, n_novel=number, sample_weight=weight
                ),
            )
            check(record is not None or len(model.classes_) == before, "a failed session changed the model")
            if record is not None:
                check_record(record, model, n)
        elif action == "partial_fit":
            given = take(labels, rng.integers(len(np.atleast_1d(np.asarray(labels))), size=n))
            attempt(counts, action, lambda batch=batch, given=given: model.partial_fit(batch, given))
        else:
            attempt(counts, action, lambda batch=batch: check_saved(model, batch, folder))
        check_model(model)


def moved(rng: Rng, rows: Array) -> Array:
    """Rows as they are, or farther out, or all about another place."""
    if not isinstance(rows, np.ndarray) or rows.dtype.kind != "f" or rng.random() < 0.3:
        return rows
    with np.errstate(over="ignore", invalid="ignore"):
        reach = 10.0 ** rng.uniform(-3, 13) * max(float(np.std(rows, dtype=np.float64)), 1e-300)
        way = rng.normal(size=(pick(rng, (1, len(rows))), rows.shape[1]))
        return np.nan_to_num(rows + reach * way).astype(rows.dtype)


def take(values: Array, chosen: Array) -> Array:
    return [values[i] for i in chosen] if isinstance(values, list) else values[chosen]


def check_saved(model: CategoryDiscoverer, rows: Array, folder: Path) -> None:
    path = folder / "model.safetensors"
    model.save(path)
    other = CategoryDiscoverer.load(path)
    check((other.predict_proba(rows) == model.predict_proba(rows)).all(), "another answer after loading")
    check((other.novelty(rows) == model.novelty(rows)).all(), "another novelty after loading")


def attempt(counts: Counter[str], name: str, call: Callable[[], Any]) -> Any:
    """The result of a call, or None where it raises a clear error of ours."""
    counts["calls"] += 1
    try:
        result = call()
    except VbcgcdError as error:
        message = str(error)
        check("\n" not in message.strip() or "feature names" in message, f"{name}: error of several lines")
        check(0 < len(message) <= LONGEST, f"{name}: error of {len(message)} characters")
        counts[f"{name}: refused"] += 1
        return None
    counts[f"{name}: answered"] += 1
    return True if result is None else result


def fuzz(rng: Rng, n: int, *, report: Callable[[int, BaseException], None] | None = None) -> Counter[str]:
    """Run so many cases.

    Parameters
    ----------
    rng : Generator
    n : int
    report : callable, optional
        Called with the seed of each case that fails, and its error.

    Returns
    -------
    Counter
        ``cases``, ``calls``, calls by name and outcome, and ``failures``: answers that are wrong, raw errors
        and warnings.
    """
    counts: Counter[str] = Counter(cases=0, calls=0, failures=0)
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(n):
            seed = int(rng.integers(2**31))
            counts["cases"] += 1
            try:
                one_case(np.random.default_rng(seed), counts, Path(folder))
            except Exception as error:  # whatever it is, it counts
                counts["failures"] += 1
                kind = str(error) if isinstance(error, Failure) else type(error).__name__
                counts[f"failure: {kind}"] += 1
                if report is not None:
                    report(seed, error)
    return counts


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 6000
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    start = time.perf_counter()
    counts = fuzz(
        np.random.default_rng(seed), n, report=lambda seed, error: print(f"seed {seed}: {error!r}"[:300])
    )
    for name, number in sorted(counts.items()):
        print(f"{number:8d}  {name}")
    print(f"{time.perf_counter() - start:.0f} s")
    sys.exit(bool(counts["failures"]))


if __name__ == "__main__":
    main()
