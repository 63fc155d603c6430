"""The head beside the Gaussians alone: accuracy, calibration and cost, from one run of each stream.

VBCGCD_DATA=... python benchmarks/head.py --seeds 0 1 2 10 11 12          # plan b50t5, number given
VBCGCD_DATA=... python benchmarks/head.py --plan b10t9 textoir50          # other plans, number given
VBCGCD_DATA=... python benchmarks/head.py --head direction                # the other kind of head
VBCGCD_DATA=... python benchmarks/head.py --uneven                        # the fixed uneven stream
VBCGCD_DATA=... python benchmarks/head.py --features 500 1000 2000 3000   # how many features
VBCGCD_DATA=... python benchmarks/head.py --kind fourier identity         # other features
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from common import console, table
from streams import datasets
from vbcgcd import CategoryDiscoverer
from vbcgcd.bayes.ridge import RandomFeatures
from vbcgcd.discovery import head_choice
from vbcgcd.study import Dataset
from vbcgcd.study.named import PLAN_NAMES, named_plan
from vbcgcd.study.plans import Plan
from vbcgcd.study.scoring import FrozenMatch, outcome_of
from vbcgcd.study.streams.scoring import calibration_error

#: Spread of the frequencies of random Fourier features.
FREQUENCIES = 1.0


@dataclass(frozen=True)
class Fourier(RandomFeatures):
    """Random Fourier features of the direction of a row."""

    def __call__(self, rows: np.ndarray) -> np.ndarray:  # noqa: D102
        unit = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
        turn = np.random.RandomState(self.seed + 1).uniform(0, 2 * np.pi, self.size)
        scale = np.sqrt(2 / self.size)
        directions = self.directions.astype(rows.dtype) * rows.dtype.type(FREQUENCIES / scale)
        return (np.cos(unit @ directions + turn.astype(rows.dtype)) * scale).astype(rows.dtype)


class Identity(RandomFeatures):
    """The direction of a row itself, and a constant."""

    def __init__(self, seed: int, dim: int, size: int) -> None:
        super().__init__(seed, dim, dim + 1)

    def __call__(self, rows: np.ndarray) -> np.ndarray:  # noqa: D102
        unit = rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
        return np.hstack([unit, np.full((len(rows), 1), 0.1, dtype=rows.dtype)])


KINDS: dict[str, type[RandomFeatures]] = {"relu": RandomFeatures, "fourier": Fourier, "identity": Identity}


class Answers(NamedTuple):
    """Accuracy and calibration error on the test rows of all classes so far, and seconds to predict them."""

    accuracy: float
    error: float
    seconds: float


class Measured(NamedTuple):
    """A stream with the Gaussians alone and with the head, after `fit` and at the end, and its cost."""

    fitted: tuple[Answers, Answers]
    final: tuple[Answers, Answers]
    fit_seconds: float
    session_seconds: float
    nbytes: int
    settings: tuple[float, float]


def answers(model: Any, rows: np.ndarray, truth: np.ndarray, match: FrozenMatch) -> Answers:
    start = time.process_time()
    probability = model.predict_proba(rows)
    seconds = time.process_time() - start
    right = match.correct(model.classes_[probability.argmax(axis=1)], truth)
    return Answers(float(right.mean()), calibration_error(probability.max(axis=1), right), seconds)


def both(model: Any, *arguments: Any) -> tuple[Answers, Answers]:
    """Answers of the Gaussians alone, and of the model as it is."""
    knowledge, with_head = model.knowledge_, answers(model, *arguments)
    model.knowledge_ = replace(knowledge, head=None)
    alone = answers(model, *arguments)
    model.knowledge_ = knowledge
    return alone, with_head


def measure(data: Dataset, plan: Plan, *, number_known: bool, **options: Any) -> Measured:
    model = CategoryDiscoverer(**options)
    start = time.process_time()
    model.fit(data.train_x[plan.base_rows], data.train_y[plan.base_rows])
    fit_seconds = time.process_time() - start
    match = FrozenMatch(plan.labelled)

    def now(t: int) -> tuple[Answers, Answers]:
        seen = np.isin(data.test_y, plan.known_before(t))
        return both(model, data.test_x[seen], data.test_y[seen], match)

    fitted, start = now(0), time.process_time()
    for session in plan.sessions:
        rows, truth = data.train_x[session.rows], data.train_y[session.rows]
        record = model.discover(rows, n_novel=len(session.novel) if number_known else None)
        outcome = outcome_of(record, model.classes_)
        match.add(outcome.novel, outcome.labels_, truth, session.novel)
    session_seconds = (time.process_time() - start) / len(plan.sessions)
    head = model.knowledge_.head
    settings = (0.0, 0.0) if head is None else (head.weight, head.temperature)
    nbytes = 0 if head is None else head.nbytes
    return Measured(fitted, now(len(plan.sessions)), fit_seconds, session_seconds, nbytes, settings)


def gain(values: list[float]) -> str:
    """Mean of paired differences in points, with its 95 % interval."""
    points = 100 * np.array(values)
    if len(points) < 2:
        return f"{points.mean():+.2f}"
    reach = stats.t.ppf(0.975, len(points) - 1) * points.std(ddof=1) / np.sqrt(len(points))
    return f"{points.mean():+.2f} ± {reach:.2f}"


def row(name: str, runs: list[Measured]) -> tuple[str, ...]:
    def mean(of: Callable[[Measured], float]) -> float:
        return float(np.mean([of(run) for run in runs]))

    return (
        name,
        f"{100 * mean(lambda r: r.final[0].accuracy):.2f}",
        f"{100 * mean(lambda r: r.final[1].accuracy):.2f}",
        gain([r.final[1].accuracy - r.final[0].accuracy for r in runs]),
        f"{100 * min(r.final[1].accuracy - r.final[0].accuracy for r in runs):+.2f}",
        f"{mean(lambda r: r.final[0].error):.3f} {mean(lambda r: r.final[1].error):.3f}",
        f"{mean(lambda r: r.fitted[0].error):.3f} {mean(lambda r: r.fitted[1].error):.3f}",
        f"{mean(lambda r: r.fit_seconds):.1f} {mean(lambda r: r.session_seconds):.1f}",
        f"{mean(lambda r: r.final[0].seconds):.2f} {mean(lambda r: r.final[1].seconds):.2f}",
        f"{mean(lambda r: r.nbytes) / 1e6:.1f}",
    )


COLUMNS = ("", "All", "+ head", "gain", "least", "ECE", "after fit", "fit, session", "predict", "MB")
WIDTH = 150


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--data", nargs="*", default=[], help="parts of file names; by default all files")
    parser.add_argument("--features", type=int, nargs="*", default=[3000])
    parser.add_argument("--kind", nargs="*", choices=KINDS, default=["relu"])
    parser.add_argument("--head", choices=("ridge", "direction"), default="ridge")
    parser.add_argument("--plan", nargs="*", choices=PLAN_NAMES, default=["b50t5"], help="number given")
    parser.add_argument("--uneven", action="store_true", help="the fixed uneven stream, number not told")
    options = parser.parse_args()
    for plan in ["uneven"] if options.uneven else options.plan:
        measure_plan(plan, options)


def measure_plan(plan_name: str, options: argparse.Namespace) -> None:
    """Measure and print what the head gains in one plan."""
    rows = []
    for name, data in datasets(options.data).items():
        for kind in options.kind:
            head_choice.RandomFeatures = KINDS[kind]  # type: ignore[misc]
            for size in options.features:
                runs = []
                for seed in options.seeds:
                    plan = named_plan(plan_name, data.train_y, dataset=data.name, seed=seed)
                    chosen_head = {"head": options.head, "head_features": size}
                    runs.append(measure(data, plan, number_known=not options.uneven, **chosen_head))
                    chosen = " ".join(f"{value:.3g}" for value in runs[-1].settings)
                    label = options.head if options.head == "direction" else f"{size} {kind}"
                    console.print("  ".join(row(f"{name} {label}", runs[-1:])), chosen, style="dim")
                rows.append(row(f"{name.partition('-')[0]} {label}", runs))
    console.width = WIDTH
    number = "number not given" if options.uneven else "number given"
    table(f"Plan {plan_name}, {number}, seeds {' '.join(map(str, options.seeds))}", COLUMNS, rows)
    console.print("Pairs: without and with the head. CPU seconds; 'fit, session' are with it.", style="dim")


if __name__ == "__main__":
    main()
