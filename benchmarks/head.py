"""The head beside the Gaussians alone: accuracy, calibration and cost, from one run of each stream.

VBCGCD_DATA=... python benchmarks/head.py --seeds 0 1 2 10 11 12          # plan b50t5, number given
VBCGCD_DATA=... python benchmarks/head.py --plan b10t9 textoir50          # other plans, number given
VBCGCD_DATA=... python benchmarks/head.py --head direction                # one kind of head only
VBCGCD_DATA=... python benchmarks/head.py --uneven                        # the fixed uneven stream
VBCGCD_DATA=... python benchmarks/head.py --features 500 1000 2000 3000   # how many features
VBCGCD_DATA=... python benchmarks/head.py --kind fourier identity         # other features
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
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
from vbcgcd.study.stability import ItemLog
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
    """Of the test rows of all classes so far: accuracy, calibration error, seconds, and which are right."""

    accuracy: float
    error: float
    seconds: float
    right: np.ndarray


class Measured(NamedTuple):
    """One reading of a stream: by the Gaussians alone, or with a head."""

    accuracy: float
    new: float
    forgotten: float
    error: float
    fitted_error: float
    kept: float
    fit_seconds: float
    predict_seconds: float
    nbytes: int
    settings: tuple[float, float]


def answers(model: Any, rows: np.ndarray, truth: np.ndarray, match: FrozenMatch) -> Answers:
    start = time.process_time()
    probability = model.predict_proba(rows)
    seconds = time.process_time() - start
    right = match.correct(model.classes_[probability.argmax(axis=1)], truth)
    return Answers(float(right.mean()), calibration_error(probability.max(axis=1), right), seconds, right)


class Stream:
    """A model on its way along a plan, with the Gaussians alone and with each kind of head.

    The search for novel categories is the Gaussians': one stream serves all readings. The regression learns
    from the sessions and travels with the model; the discriminant of directions follows from the posteriors.
    Sessions in which few rows hang between known and none may leave one more or less of them unassigned.
    """

    def __init__(self, data: Dataset, plan: Plan, kinds: Sequence[str], **options: Any) -> None:
        self.data, self.plan, self.kinds = data, plan, kinds
        self.model = CategoryDiscoverer(**options)
        self.match, self.logs = FrozenMatch(plan.labelled), {kind: ItemLog() for kind in ("alone", *kinds)}
        self.heads: dict[str, Any] = {"alone": None}
        self.seconds: dict[str, float] = {}

    def fit(self) -> None:
        """The base session, and the head of each kind."""
        rows, labels = self.data.train_x[self.plan.base_rows], self.data.train_y[self.plan.base_rows]
        start = time.process_time()
        self.model.fit(rows, labels)
        self.seconds["alone"] = time.process_time() - start
        knowledge, codes = self.model.knowledge_, np.searchsorted(self.model.classes_, labels)
        for kind in self.kinds:
            start = time.process_time()
            options = replace(self.model.options, head=kind)
            self.heads[kind] = head_choice.choose_head(
                rows.astype(np.float32), codes, knowledge.reducer, knowledge.prior, options
            )
            self.seconds[kind] = self.seconds["alone"] + time.process_time() - start
        self.read_by("ridge" if "ridge" in self.kinds else "alone")
        for kind, labels in self.predictions(rows).items():
            self.logs[kind].add(rows, labels, codes, set(self.model.classes_.tolist()))

    def read_by(self, kind: str) -> None:
        """Let the model answer with one of the heads."""
        self.model.knowledge_ = replace(self.model.knowledge_, head=self.heads[kind])

    def discover(self, number_known: bool) -> None:
        """All sessions."""
        data, classes = self.data, np.unique(self.data.train_y)
        for session in self.plan.sessions:
            rows, truth = data.train_x[session.rows], data.train_y[session.rows]
            known, before = self.model.classes_, self.predictions(rows)
            record = self.model.discover(rows, n_novel=len(session.novel) if number_known else None)
            outcome = outcome_of(record, self.model.classes_)
            self.match.add(outcome.novel, outcome.labels_, truth, session.novel)
            is_known, ids = np.isin(outcome.labels_, known), set(self.model.classes_.tolist())
            for kind, log in self.logs.items():  # which known category it is, each reading says for itself
                labels = np.where(is_known, before[kind], outcome.labels_)
                log.add(rows, labels, np.searchsorted(classes, truth), ids)

    def of_each(self, ask: Callable[[], Any]) -> dict[str, Any]:
        """What the model answers in each reading."""
        travelling, found = self.model.knowledge_, {}
        self.heads.update({"ridge": travelling.head} if "ridge" in self.kinds else {})
        for kind in self.heads:
            self.read_by(kind)
            found[kind] = ask()
        self.model.knowledge_ = travelling
        return found

    def predictions(self, rows: np.ndarray) -> dict[str, np.ndarray]:
        """The category of each row in each reading."""
        return self.of_each(lambda: self.model.predict(rows))

    def answers(self, t: int) -> dict[str, Answers]:
        """What each reading says of the test rows of the classes up to session t."""
        seen = np.isin(self.data.test_y, self.plan.known_before(t))
        return self.of_each(
            lambda: answers(self.model, self.data.test_x[seen], self.data.test_y[seen], self.match)
        )


def measure(
    data: Dataset, plan: Plan, kinds: Sequence[str], *, number_known: bool, **options: Any
) -> dict[str, Measured]:
    """The stream by the Gaussians alone and with each head."""
    stream = Stream(data, plan, kinds, **options)
    stream.fit()
    fitted = stream.answers(0)
    stream.discover(number_known)
    last = len(plan.sessions)
    final, truth = stream.answers(last), data.test_y[np.isin(data.test_y, plan.known_before(last))]
    novel, labelled = np.isin(truth, plan.sessions[-1].novel), np.isin(truth, plan.labelled)
    found = {}
    for kind, reading in final.items():
        stream.read_by(kind)
        head = stream.heads[kind]
        found[kind] = Measured(
            reading.accuracy,
            float(reading.right[novel].mean()),
            fitted[kind].accuracy - float(reading.right[labelled].mean()),
            reading.error,
            fitted[kind].error,
            stream.logs[kind].judge(stream.model.predict).share,
            stream.seconds[kind],
            reading.seconds,
            0 if head is None else head.nbytes,
            (0.0, 0.0) if head is None else (head.weight, head.temperature),
        )
    return found


def gain(values: list[float]) -> str:
    """Mean of paired differences in points, with its 95 % interval."""
    points = 100 * np.array(values)
    if len(points) < 2:
        return f"{points.mean():+.2f}"
    reach = stats.t.ppf(0.975, len(points) - 1) * points.std(ddof=1) / np.sqrt(len(points))
    return f"{points.mean():+.2f} ± {reach:.2f}"


def row(name: str, alone: list[Measured], runs: list[Measured]) -> tuple[str, ...]:
    def pair(field: str, digits: int, times: float = 1.0) -> str:
        means = (times * float(np.mean([getattr(run, field) for run in part])) for part in (alone, runs))
        return " ".join(f"{value:.{digits}f}" for value in means)

    gains = [run.accuracy - other.accuracy for run, other in zip(runs, alone, strict=True)]
    return (
        name,
        pair("accuracy", 2, 100),
        gain(gains),
        f"{100 * min(gains):+.2f}",
        pair("new", 1, 100),
        pair("forgotten", 1, 100),
        pair("error", 3),
        pair("fitted_error", 3),
        pair("kept", 1, 100),
        pair("fit_seconds", 1),
        pair("predict_seconds", 2),
        f"{np.mean([run.nbytes for run in runs]) / 1e6:.1f}",
    )


COLUMNS = (
    "", "All", "gain", "least", "New", "M_f", "ECE", "after fit", "ids kept", "fit s", "predict s", "MB",
)  # fmt: skip
WIDTH = 150


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--data", nargs="*", default=[], help="parts of file names; by default all files")
    parser.add_argument("--features", type=int, nargs="*", default=[3000])
    parser.add_argument("--kind", nargs="*", choices=KINDS, default=["relu"])
    parser.add_argument("--head", nargs="*", choices=("ridge", "direction"), default=["ridge", "direction"])
    parser.add_argument("--plan", nargs="*", choices=PLAN_NAMES, default=["b50t5"], help="number given")
    parser.add_argument("--uneven", action="store_true", help="the fixed uneven stream, number not told")
    options = parser.parse_args()
    for plan in ["uneven"] if options.uneven else options.plan:
        measure_plan(plan, options)


def measure_plan(plan_name: str, options: argparse.Namespace) -> None:
    """Measure and print what heads gain in one plan."""
    rows = []
    for name, data in datasets(options.data).items():
        for kind in options.kind:
            head_choice.RandomFeatures = KINDS[kind]  # type: ignore[misc]
            for size in options.features:
                runs: dict[str, list[Measured]] = {}
                for seed in options.seeds:
                    plan = named_plan(plan_name, data.train_y, dataset=data.name, seed=seed)
                    number_known = not options.uneven
                    one = measure(data, plan, options.head, number_known=number_known, head_features=size)
                    for head, reading in one.items():
                        runs.setdefault(head, []).append(reading)
                    for head in options.head:
                        label = f"{name.partition('-')[0]} {plan_name} {seed} {head}"
                        chosen = " ".join(f"{value:.3g}" for value in one[head].settings)
                        console.print(*row(label, [one["alone"]], [one[head]]), chosen, style="dim")
                for head in options.head:
                    label = head if head == "direction" else f"{head}, {size} {kind}"
                    rows.append(row(f"{name.partition('-')[0]} {label}", runs["alone"], runs[head]))
    console.width = WIDTH
    number = "number not given" if options.uneven else "number given"
    table(f"Plan {plan_name}, {number}, seeds {' '.join(map(str, options.seeds))}", COLUMNS, rows)
    console.print("Pairs: without and with the head. CPU seconds; sessions are the same.", style="dim")


if __name__ == "__main__":
    main()
