"""Few labels beside large novel categories: ways to compare known and novel ones, on the same sessions.

VBCGCD_DATA=... python benchmarks/few_labels.py --data stackoverflow20 --plan textoir25 textoir50 textoir75
VBCGCD_DATA=... python benchmarks/few_labels.py --plan b50t5 uneven --seeds 0 1 2

The novel categories are found once for each stream, the number given; the ways differ in the posteriors that
are made of them at the end.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

import vbcgcd.discovery.session as session_module
from common import console, table
from streams import datasets
from vbcgcd import CategoryDiscoverer
from vbcgcd.bayes import Classifier, Posterior, Prior, Statistics, align, posterior_of, recover_statistics
from vbcgcd.bayes.statistics import statistics_by_responsibility
from vbcgcd.discovery.balance import balance
from vbcgcd.discovery.knowledge import Knowledge
from vbcgcd.discovery.reduce import fit_reducer
from vbcgcd.study import Dataset
from vbcgcd.study.named import PLAN_NAMES, named_plan
from vbcgcd.study.plans import Plan
from vbcgcd.study.scoring import FrozenMatch, joint_correct, outcome_of

#: One in so many labelled rows is left out to see how much more rows vary outside of the projection's own.
FOLDS = 5


class Stream(NamedTuple):
    """What a stream has left: the base session, novel categories, and the shares that the default takes."""

    base: Knowledge
    known: Statistics
    novel: Statistics
    balanced: np.ndarray
    inflation: float


Way = Callable[[Stream], tuple[Posterior, Classifier]]


def of_novel(stream: Stream, statistics: Statistics) -> tuple[Posterior, Classifier]:
    base = stream.base
    return Posterior.concatenate([base.posterior, base.posterior_of(statistics)]), base.classifier


def at_most(rows: float) -> Way:
    """So many times the median of the known categories' rows."""

    def way(stream: Stream) -> tuple[Posterior, Classifier]:
        most = rows * np.median(stream.known.count)
        return of_novel(stream, stream.novel * np.minimum(1, most / stream.novel.count))

    return way


def student(stream: Stream) -> tuple[Posterior, Classifier]:
    posterior, classifier = of_novel(stream, stream.novel)
    return posterior, replace(classifier, predictive="student")


def aligned(stream: Stream) -> tuple[Posterior, Classifier]:
    volumes = stream.base.posterior.log_det_covariance
    return of_novel(stream, align(stream.base.prior, stream.novel, volumes).statistics)


def deflated(stream: Stream) -> tuple[Posterior, Classifier]:
    novel = stream.novel
    return of_novel(stream, replace(novel, scatter=novel.scatter / stream.inflation))


def stronger(times: float) -> Way:
    def way(stream: Stream) -> tuple[Posterior, Classifier]:
        prior: Prior = stream.base.prior
        prior = replace(prior, nu=prior.block + 1 + times * (prior.nu - prior.block - 1))
        parts = [posterior_of(prior, part, dtype=np.float32) for part in (stream.known, stream.novel)]
        return Posterior.concatenate(parts), stream.base.classifier

    return way


WAYS: dict[str, Way] = {
    "as it is": lambda stream: of_novel(stream, stream.novel),
    "R = 0": aligned,
    "Student-t": student,
    "deflated": deflated,
    "prior x 4": stronger(4),
    "2 t rows": at_most(2),
    "t rows": at_most(1),
    "default": lambda stream: of_novel(stream, stream.novel * stream.balanced),
}


def inflation(rows: np.ndarray, labels: np.ndarray, knowledge: Knowledge) -> float:
    """Variance within categories of labelled rows that the projection has not seen, over that of its own."""
    reducer, codes = knowledge.reducer, np.unique(labels, return_inverse=True)[1]
    order = np.random.default_rng(0).permutation(len(codes))
    order = order[np.argsort(codes[order], kind="stable")]
    held_out = np.zeros(len(codes), dtype=bool)
    held_out[order[::FOLDS]] = True
    own = np.unique(codes[~held_out], return_inverse=True)[1]
    fitted = fit_reducer(rows[~held_out], own, normalise=reducer.unit, shrinkage=reducer.shrinkage)
    inside, outside = fitted.transform(rows[~held_out]), fitted.transform(rows[held_out])
    variances = []
    for k in np.unique(codes[held_out]):
        members = inside[codes[~held_out] == k]
        if (n := len(members)) > 1:
            mean = members.mean(axis=0)
            within = ((members - mean) ** 2).sum(axis=0).mean() / (n - 1)
            beyond = ((outside[codes[held_out] == k] - mean) ** 2).mean() / (1 + 1 / n)
            variances.append((n * within, n * beyond))
    within, beyond = np.sum(variances, axis=0)
    return float(beyond / within)


def measure(data: Dataset, plan: Plan) -> dict[str, tuple[float, float]]:
    """All and ACC of each way at the end of a stream."""
    found: list[tuple[Statistics, np.ndarray]] = []
    ours = session_module.fit_novel

    def noted(rows: Any, weight: Any, knowledge: Any, *rest: Any) -> Any:
        statistics = statistics_by_responsibility(rows, weight, structure=knowledge.prior.structure)
        found.append((statistics, balance(rows, weight, statistics, knowledge)))
        return ours(rows, weight, knowledge, *rest)

    rows, labels = data.train_x[plan.base_rows], data.train_y[plan.base_rows]
    model = CategoryDiscoverer(alignment=None).fit(rows, labels)
    base, match = model.knowledge_, FrozenMatch(plan.labelled)
    session_module.fit_novel = noted
    try:
        for session in plan.sessions:
            record = model.discover(data.train_x[session.rows], n_novel=len(session.novel))
            outcome = outcome_of(record, model.classes_)
            match.add(outcome.novel, outcome.labels_, data.train_y[session.rows], session.novel)
    finally:
        session_module.fit_novel = ours
    stream = Stream(
        base,
        recover_statistics(base.prior, base.posterior),
        Statistics.concatenate([statistics for statistics, _ in found]),
        np.concatenate([shares for _, shares in found]),
        inflation(rows, labels, base),
    )
    seen = np.isin(data.test_y, plan.known_before(len(plan.sessions)))
    reduced, truth = base.reduced(data.test_x[seen]), data.test_y[seen]
    scores = {}
    for name, way in WAYS.items():
        posterior, classifier = way(stream)
        answers = model.classes_[classifier.predict(reduced, posterior)]
        right = match.correct(answers, truth)
        scores[name] = (float(right.mean()), float(joint_correct(answers, truth).mean()))
    return scores


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seeds", type=int, nargs="*", default=[0])
    parser.add_argument("--data", nargs="*", default=[], help="parts of file names; by default all files")
    parser.add_argument("--plan", nargs="*", choices=PLAN_NAMES, default=["textoir50"])
    options = parser.parse_args()
    console.width = 130
    rows = []
    for name, data in datasets(options.data).items():
        for plan_name in options.plan:
            runs = [
                measure(data, named_plan(plan_name, data.train_y, dataset=data.name, seed=seed))
                for seed in options.seeds
            ]
            for which, label in enumerate(("All", "ACC")):
                cells = [f"{100 * np.mean([run[way][which] for run in runs]):.2f}" for way in WAYS]
                rows.append((f"{name.partition('-')[0]}, {plan_name}, {label}", *cells))
                console.print("  ".join(rows[-1]), style="dim")
    table(f"Number given, seeds {' '.join(map(str, options.seeds))}", ("", *WAYS), rows)


if __name__ == "__main__":
    main()
