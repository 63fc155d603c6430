"""The judge of novel categories: its weights, fitted anew, and how they do on a dataset that was left out.

VBCGCD_DATA=... python benchmarks/judge.py --seeds 2
VBCGCD_DATA=... python benchmarks/judge.py --separator --data esc50 stackoverflow clinc    # another witness

Candidates are all categories that a session weighs on its way to its answer. A candidate is right if its
largest class is a novel one and no other candidate holds more rows of it. Earlier sessions have taught what
they should have, so that mistakes do not pile up; in every other session of one stream, classes of earlier
ones come back. The weights in `vbcgcd.discovery.worth` are those of two seeds, rounded; two that keep even
categories whole (size and late, both "even") were raised by hand, and so was that of the share of rows that
others would take, to the 1 that it has in theory.

With ``--separator`` the judge is also asked with one more witness: how well a linear separator, without each
row in turn, tells a candidate from the nearest other one.

Reliability is judged on whole streams, where mistakes do pile up: a category that was kept is right if it
hits a class.
"""

from __future__ import annotations

import argparse
import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
import scipy
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score

from common import table
from streams import datasets
from vbcgcd import CategoryDiscoverer
from vbcgcd.discovery.count import COUNTERS, CountProblem
from vbcgcd.discovery.knowledge import Knowledge, learn_more
from vbcgcd.discovery.mixture import Mixture, MixtureState
from vbcgcd.discovery.rows import SessionRows
from vbcgcd.discovery.strategies import hard_labels
from vbcgcd.discovery.worth import SMALLEST_SIZE, UNEVEN_LABELLED, Evidence, Stream, clearness
from vbcgcd.study import Dataset
from vbcgcd.study.scoring import outcome_of
from vbcgcd.study.streams.run import Judge
from vbcgcd.study.streams.shapes import STREAMS, StreamShape, make_stream

MIXED = ("mixed",) * 5
SHAPES = (
    STREAMS["uneven"],
    StreamShape("even", MIXED, labels=(30, 30), sizes=(30, 30)),
    StreamShape("large", MIXED, labels=(400, 400), sizes=(400, 400), used_share=0.8, known_share=0.3),
    StreamShape("few labels", MIXED, labels=(5, 5), sizes=(5, 100)),
    StreamShape("small", MIXED, labels=(20, 60), sizes=(8, 30), known_share=0.7),
    StreamShape(
        "returning", ("mixed", *("returning",) * 4), labels=(10, 100), sizes=(5, 200), used_share=0.5
    ),
)


def shapes_of(n_classes: int) -> tuple[StreamShape, ...]:
    """The shapes above, and streams with one and two novel classes in a session."""
    one = StreamShape("one", ("mixed",) * (n_classes // 2), labels=(30, 60), sizes=(20, 100))
    two = StreamShape("two", ("mixed",) * (n_classes // 4), labels=(10, 100), sizes=(10, 100))
    return (*SHAPES, one, two)


#: Sessions of each stream that are looked at.
EVERY = 2
#: Candidates of fewer rows are not judged.
FEWEST_ROWS = 3
COLUMNS = (
    "worth",
    "taken x log chance",
    "size, even",
    "size, uneven",
    "late",
    "late, even",
    "found before",
    "labelled",
    "nearness",
)
#: The witness of ``--separator``, and the ridge of its regression as a share of the mean squared length.
WITNESS, RIDGE = "separated", 0.1
#: Streams on which reliability is judged.
STREAM_NAMES = ("uneven", "stream", "stream-even")


@dataclass(frozen=True, eq=False)
class Recording(Stream):
    """A stream that keeps all evidence that was asked for."""

    seen: list[tuple[Evidence, MixtureState]] = field(default_factory=list)

    def evidence(self, cool: Mixture, state: MixtureState, late: Any, **options: Any) -> Evidence:
        """As the stream itself."""
        found = super().evidence(cool, state, late, **options)
        self.seen.append((found, state))
        return found


class Observed(CountProblem):
    """A count whose evidence is kept."""

    @functools.cached_property
    def stream(self) -> Recording:
        """The stream that keeps it."""
        stream = self.knowledge.stream(self.mixture, self.rng)
        return Recording(stream.mixture, stream.novelty, stream.margin, stream.rng, stream.known)


class Candidates(NamedTuple):
    """What the judge weighs (M, 9), whether each is right, and its weight.

    A further witness is the last column where it was asked for. Sessions count alike.
    """

    evidence: np.ndarray
    right: np.ndarray
    weight: np.ndarray


def sessions(data: Dataset, shape: StreamShape, seed: int) -> Iterator[tuple[Knowledge, Any, Any]]:
    """What is known before a session, its rows, and their classes (those of known ones come first)."""
    plan = make_stream(data.train_y, shape, seed=seed)
    model = CategoryDiscoverer().fit(data.train_x[plan.base_rows], data.train_y[plan.base_rows])
    knowledge, known = model.knowledge_, model.classes_.tolist()
    for t, session in enumerate(plan.sessions):
        rows, truth = data.train_x[session.rows], data.train_y[session.rows].tolist()
        names = known + sorted(set(truth) - set(known))
        codes = np.array([names.index(c) for c in truth])
        if t % EVERY == 0:
            yield knowledge, rows, codes
        novel = codes >= len(known)
        knowledge, known = learn_more(knowledge, knowledge.reduced(rows[novel]), codes[novel]), names


def candidates(knowledge: Knowledge, rows: Any, codes: Any, *, separator: bool = False) -> Candidates | None:
    """All that one session weighs."""
    here = SessionRows(knowledge.reduced(rows), knowledge, None, lambda name: None)
    problem = Observed(
        here.rows,
        knowledge.novelty_of(here.rows),
        lambda: here.mixture,
        lambda: here.known_density,
        knowledge,
        np.random.default_rng(0),
    )
    COUNTERS["rehearsal"](problem)
    weighed, right = [], []
    for evidence, state in problem.stream.seen:
        labels = hard_labels(state.responsibility)
        counts = np.zeros((len(evidence.worth), codes.max() + 1))
        np.add.at(counts, (labels[labels >= 0], codes[labels >= 0]), 1)
        largest = counts.argmax(axis=1)
        first = counts.argmax(axis=0)[largest] == np.arange(len(largest))
        judged = counts.sum(axis=1) >= FEWEST_ROWS
        uneven = min(evidence.spread / UNEVEN_LABELLED, 1.0)
        size = np.maximum(evidence.size, SMALLEST_SIZE)
        late = evidence.late * evidence.even
        taken = evidence.taken * np.log(evidence.chance)
        near = (evidence.log_apart, evidence.log_labelled, evidence.log_nearness)
        columns = (evidence.worth, taken, size * (1 - uneven), size * uneven, evidence.late, late, *near)
        if separator:
            columns = (*columns, separation(here.rows, labels, len(evidence.worth)))
        weighed.append(np.column_stack(columns)[judged])
        right.append((first & (largest >= len(knowledge.posterior)))[judged])
    if not weighed or not sum(map(len, weighed)):
        return None
    evidence, right = np.concatenate(weighed), np.concatenate(right)
    return Candidates(evidence, right, np.full(len(right), 1 / np.sqrt(len(right))))


def separation(rows: np.ndarray, labels: np.ndarray, number: int) -> np.ndarray:
    """Mean left-out score of a candidate's rows, 1 for its own side and -1 for the nearest other's (K,)."""
    members = [np.flatnonzero(labels == k) for k in range(number)]
    present = [k for k in range(number) if len(members[k])]
    means = np.stack([rows[members[k]].mean(axis=0) for k in present]) if present else np.empty((0, 1))
    gaps = ((means[:, None] - means[None]) ** 2).sum(axis=2)
    np.fill_diagonal(gaps, np.inf)
    found = np.ones(number)
    for i, k in enumerate(present if len(present) > 1 else []):
        found[k] = _left_out_margin(rows[members[k]], rows[members[present[int(gaps[i].argmin())]]])
    return found


def _left_out_margin(own: np.ndarray, other: np.ndarray) -> float:
    """Mean score of ``own`` in a ridge regression of sides of equal weight, each row left out in turn."""
    z = np.concatenate([own, other]).astype(np.float64)
    z /= np.linalg.norm(z, axis=1, keepdims=True)
    side = np.repeat([1.0, -1.0], [len(own), len(other)])
    root = np.sqrt(np.where(side > 0, 0.5 / len(own), 0.5 / len(other)))
    z = np.column_stack([z, np.ones(len(z))]) * root[:, None]
    kernel = z @ z.T + RIDGE * np.trace(z @ z.T) / len(z) * np.eye(len(z))
    inverse = scipy.linalg.cho_solve(scipy.linalg.cho_factor(kernel), np.eye(len(z)))
    left_out = root * side - (inverse @ (root * side)) / np.diag(inverse)
    return float(np.mean((left_out / root)[: len(own)]))


def kept(data: Dataset, shape: str, seed: int) -> Candidates | None:
    """Log odds and clearness of the categories that a stream keeps, and whether each hits a class."""
    plan = make_stream(data.train_y, shape, seed=seed)
    weighed: list[np.ndarray] = []
    own = Evidence.reliability

    def recorded(self: Evidence, responsibility: Any) -> Any:
        weighed.append(np.column_stack([self.log_odds, clearness(responsibility)]))
        return own(self, responsibility)

    with patch.object(Evidence, "reliability", recorded):
        classes = np.unique(data.train_y)
        model = CategoryDiscoverer().fit(data.train_x[plan.base_rows], data.train_y[plan.base_rows])
        judge = Judge(plan.labelled, np.searchsorted(classes, plan.labelled))
        right = list[bool]()
        for session in plan.sessions:
            record = model.discover(data.train_x[session.rows])
            truth = np.searchsorted(classes, data.train_y[session.rows])
            judge.judge(session.kind, outcome_of(record, model.classes_), truth)
            right += [label in judge.stands_for for label in record.novel]
    if not right:
        return None
    return Candidates(np.concatenate(weighed), np.array(right), np.full(len(right), 1 / len(right)))


def fitted(parts: list[Candidates]) -> LogisticRegression:
    """The judge that fits these datasets best; each counts by the root of its weight."""
    weight = np.concatenate([part.weight / np.sqrt(part.weight.sum()) for part in parts])
    model = LogisticRegression()
    model.fit(
        np.concatenate([part.evidence for part in parts]),
        np.concatenate([part.right for part in parts]),
        weight * len(weight) / weight.sum(),
    )
    return model


def left_out(found: dict[str, Candidates], title: str, columns: tuple[str, ...]) -> None:
    """How a regression fitted to the other datasets does on each, and the weights fitted to all."""
    rows = []
    for name, own in found.items():
        model = fitted([part for other, part in found.items() if other != name])
        probability = model.predict_proba(own.evidence)[:, 1]
        scores = (roc_auc_score(own.right, probability), log_loss(own.right, probability))
        shares = (f"{own.right.mean():.2f}", f"{probability.mean():.2f}")
        rows.append((name, len(own.right), *shares, *(f"{s:.3f}" for s in scores)))
    table(f"{title}, fitted to the other datasets", ("", "number", "right", "said", "AUC", "loss"), rows)
    model = fitted(list(found.values()))
    weights = [f"{w:.2f}" for w in (model.intercept_[0], *model.coef_[0])]
    table(f"{title}: weights, all datasets", ("", "common", *columns), [("", *weights)])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--data", nargs="*", default=[], help="parts of file names; by default all files")
    parser.add_argument("--separator", action="store_true", help="candidates alone, with a further witness")
    options = parser.parse_args()
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    weighed: dict[str, Candidates] = {}
    kept_ones: dict[str, Candidates] = {}
    for name, data in datasets(options.data).items():
        shapes = shapes_of(len(np.unique(data.train_y)))
        runs = (session for shape in shapes for seed in seeds for session in sessions(data, shape, seed))
        weighed[name] = together(candidates(*session, separator=options.separator) for session in runs)
        if options.separator:
            continue
        kept_ones[name] = together(kept(data, shape, seed) for shape in STREAM_NAMES for seed in seeds)
    usual = {name: part._replace(evidence=part.evidence[:, : len(COLUMNS)]) for name, part in weighed.items()}
    left_out(usual, "A judge of candidates", COLUMNS)
    if options.separator:
        left_out(weighed, "With the separator", (*COLUMNS, WITNESS))
        alone = {name: part._replace(evidence=part.evidence[:, -1:]) for name, part in weighed.items()}
        left_out(alone, "The separator alone", (WITNESS,))
        return
    left_out(kept_ones, "Reliability", ("judge", "clearness"))


def together(parts: Iterable[Candidates | None]) -> Candidates:
    present = [part for part in parts if part is not None]
    return Candidates(*(np.concatenate(column) for column in zip(*present, strict=True)))


if __name__ == "__main__":
    main()
