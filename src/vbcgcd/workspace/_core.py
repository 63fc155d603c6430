"""Temporary stand-in for the core below model and workspace."""

import dataclasses, inspect, numbers
from dataclasses import asdict, dataclass
from typing import Any
import numpy as np
from vbcgcd.bayes import log_normalise, statistics_by_label
from vbcgcd.errors import InputError
from vbcgcd.model import CategoryDiscoverer
from vbcgcd.record import CountCurve, SessionRecord, Step
from vbcgcd.validation import check_number

CHUNK_ROWS = 4096
FLAGGED = 0.95


def _post(self):
    CategoryDiscoverer(**asdict(self)).check_options()


def _gen(self, *path):
    return np.random.default_rng(None if self.random_state is None else [self.random_state, *path])


Options = dataclasses.make_dataclass(
    "Options",
    [
        (n, Any, dataclasses.field(default=p.default))
        for n, p in inspect.signature(CategoryDiscoverer.__init__).parameters.items()
        if n != "self"
    ],
    frozen=True,
    namespace={"__post_init__": _post, "generator": _gen},
)


def learn_base(rows, codes, options):
    return CategoryDiscoverer(**asdict(options)).fit(rows, codes).knowledge_


def learn_more(knowledge, reduced, codes, *, update_known):
    n_known = len(knowledge.posterior)
    if update_known:
        knowledge = knowledge.absorbed(reduced, np.where(codes < n_known, codes, -1))
    n_new = max(int(codes.max()) + 1 - n_known, 0)
    if n_new:
        part = np.where(codes >= n_known, codes - n_known, -1)
        fresh = statistics_by_label(reduced, part, n_new, structure=knowledge.prior.structure)
        knowledge = knowledge.extended(knowledge.posterior_of(fresh))
    return knowledge


@dataclass(frozen=True, eq=False)
class Scores:
    best: Any
    probability: Any
    second: Any
    second_probability: Any
    novelty: Any


def top_two(probabilities, best=None):
    index = np.arange(len(probabilities))
    best = probabilities.argmax(axis=1) if best is None else best
    first = probabilities[index, best]
    if probabilities.shape[1] < 2:
        return best, first, np.full(len(best), -1), np.zeros(len(best))
    rest = probabilities.copy()
    rest[index, best] = -np.inf
    second = rest.argmax(axis=1)
    return best, first, second, rest[index, second]


def score(knowledge, vectors, own=None):
    parts = []
    for start in range(0, len(vectors), CHUNK_ROWS):
        reduced = knowledge.reduced(vectors[start : start + CHUNK_ROWS])
        density = knowledge.classifier.log_density(reduced, knowledge.posterior)
        probabilities = np.exp(log_normalise(knowledge.temperature * density))
        novelty = knowledge.novelty.score(reduced, knowledge.posterior.mean)
        chosen = None if own is None else own[start : start + CHUNK_ROWS]
        parts.append((*top_two(probabilities, chosen), novelty))
    return Scores(*(np.concatenate(column) for column in zip(*parts, strict=True)))


def refuse(novelty, rate):
    return np.zeros(len(novelty), dtype=bool) if rate is None else novelty > 1 - rate


def check_reject(reject):
    if reject is None or reject == 0:
        return None
    check_number("reject", reject, above=0, high=0.999, words=(None,))
    return float(reject)


def check_n_novel(n_novel, n_items):
    whole = isinstance(n_novel, numbers.Real) and not isinstance(n_novel, bool)
    if n_novel is None or (whole and 0 <= n_novel <= n_items // 2 and float(n_novel).is_integer()):
        return
    raise InputError(
        f"n_novel must be a whole number from 0 to {n_items // 2}, got {n_novel!r}: a category needs at "
        f"least two of the {n_items} items; use None to estimate it.",
        option="n_novel",
    )


def run_session(
    rows, knowledge, options, *, categories, novel_labels, session, n_novel=None, weight=None, rng, progress
):
    model = CategoryDiscoverer(**asdict(options))
    model.knowledge_ = knowledge
    model.n_features_in_ = rows.shape[1]
    model.classes_ = np.arange(len(categories))
    model.births_ = np.zeros(len(categories), dtype=int)
    model.n_sessions_, model.n_discovered_ = session - 1, 0
    report = model.discover(rows, n_novel=n_novel, progress=progress)
    novel = novel_labels(report.n_novel)
    ids = np.array([*categories, *novel])
    labels = ids[report.labels_]
    u, c = np.unique(labels, return_counts=True)
    curve = report.count
    return model.knowledge_, SessionRecord(
        session,
        "discover",
        len(rows),
        {i: str(i) for i in np.asarray(novel).tolist()},
        dict(zip(u.tolist(), c.tolist())),
        report.seconds,
        float(report.probabilities_[np.arange(len(rows)), report.labels_].mean()),
        float((report.novelty_ > FLAGGED).mean()),
        n_novel is None,
        report.novel_share,
        report.evidence,
        tuple(map(float, report.ratio_before)),
        tuple(map(float, report.ratio_after)),
        None
        if curve is None
        else CountCurve(
            curve.method,
            tuple(map(int, curve.candidates)),
            tuple(map(float, curve.scores)),
            int(curve.chosen),
        ),
        tuple(Step(*s) for s in report.steps),
        labels_=labels,
        probabilities_=report.probabilities_,
        novelty_=report.novelty_,
    )
