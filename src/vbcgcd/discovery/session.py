"""One unlabelled session, step by step: novelty, count, cluster, relabel, posterior (aligned), assign.

Pure: what is known and the rows go in, what is known after it and a record come out. The posteriors that were
known before are only read.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vbcgcd.bayes import (
    AlignmentRule,
    Posterior,
    Statistics,
    align,
    log_evidence,
    run_svi,
    statistics_by_responsibility,
    volume_ratio,
)
from vbcgcd.discovery.count import COUNTERS, CountProblem
from vbcgcd.discovery.geometry import is_flagged
from vbcgcd.discovery.knowledge import Knowledge, gather, log_probabilities
from vbcgcd.discovery.mixture import Mixture
from vbcgcd.discovery.options import Options
from vbcgcd.discovery.strategies import RELABELLERS, Densities, hard_labels, is_novel, start_of
from vbcgcd.record import CountCurve, SessionRecord, Step

Array = NDArray[Any]

#: With ``update_known``, rows of at least this probability teach their known category.
SURE_KNOWN = 0.95
#: A novel category that fewer rows than this teach, by weight, is not created.
LEAST_WEIGHT = 1e-6

__all__ = ["NovelFit", "fit_novel", "run_session"]


@dataclass(frozen=True, eq=False)
class _Session:
    """The rows of one session with what several steps ask for."""

    rows: Array
    knowledge: Knowledge
    weight: Array | None
    progress: Callable[[str], None]
    steps: list[Step] = field(default_factory=list)

    @contextmanager
    def step(self, name: str) -> Iterator[dict[str, Any]]:
        """Announce and time a step; its details are gathered in the dict."""
        self.progress(name)
        details: dict[str, Any] = {}
        start = time.perf_counter()
        yield details
        self.steps.append(Step(name, time.perf_counter() - start, details))

    @functools.cached_property
    def known_density(self) -> Array:
        return self.knowledge.classifier.log_density(self.rows, self.knowledge.posterior)

    @functools.cached_property
    def mixture(self) -> Mixture:
        known = self.knowledge
        return Mixture.of(
            self.rows,
            known.posterior.mean,
            known.novelty.geometry,
            counts=known.counts,
            weight=self.weight,
            size_spread=known.size_spread,
        )

    @property
    def densities(self) -> Densities:
        return Densities(lambda: self.known_density, self._novel_density)

    def weighted(self, responsibility: Array) -> Array:
        return responsibility if self.weight is None else responsibility * self.weight[:, None]

    def _novel_density(self, responsibility: Array) -> Array:
        """Log-density under provisional novel posteriors fitted to ``responsibility``."""
        known = self.knowledge
        statistics = statistics_by_responsibility(
            self.rows, self.weighted(responsibility), structure=known.prior.structure
        )
        return known.classifier.log_density(self.rows, known.posterior_of(statistics))


def run_session(
    rows: Array,
    knowledge: Knowledge,
    options: Options,
    *,
    labels_of: Callable[[int], Array],
    session: int,
    n_novel: int | None = None,
    weight: Array | None = None,
    rng: np.random.Generator,
    progress: Callable[[str], None] = lambda name: None,
) -> tuple[Knowledge, SessionRecord]:
    """Find the novel categories among unlabelled rows.

    Parameters
    ----------
    rows : array (N, d)
        Embeddings, in any order: the outcome does not depend on it.
    knowledge : Knowledge
    options : Options
    labels_of : callable
        Gives the labels of the known categories followed by those of so many novel ones.
    session : int
        Number of this session, for the record.
    n_novel : int or None
        Number of novel categories; None estimates it, and may find none.
    weight : array (N,), optional
        Weight of each row.
    rng : Generator
    progress : callable
        Called with the name of each step as it begins.

    Returns
    -------
    Knowledge
        With the novel categories appended; with ``options.update_known`` the known ones have learned too.
    SessionRecord
    """
    order = _canonical_order(rows, weight)
    weight = None if weight is None else weight[order]
    here = _Session(knowledge.reduced(rows[order]), knowledge, weight, progress)
    with here.step("novelty") as details:
        novelty = knowledge.novelty_of(here.rows)
        flagged = details["flagged"] = float(np.mean(is_flagged(novelty)))
    discovery = _discover(here, options, novelty, n_novel, rng)
    with here.step("posterior") as details:
        fit = fit_novel(here.rows, here.weighted(discovery.teaching), knowledge, options, rng)
        details.update(fit.details)
    with here.step("assign"):
        probabilities = _probabilities(here, discovery.responsibility)
        labels = labels_of(discovery.responsibility.shape[1])
        best = _best(probabilities, discovery.responsibility)
        assignments = labels[best]
    evidence = 0.0 if fit.posterior is None else float(log_evidence(knowledge.prior, fit.posterior).sum())
    back = np.argsort(order)
    novel = labels[len(knowledge.posterior) :].tolist()
    present, counts = np.unique(assignments, return_counts=True)
    record = SessionRecord(
        session=session,
        command="discover",
        rows=len(rows),
        novel={label: str(label) for label in novel},
        counts=dict(zip(present.tolist(), counts.tolist(), strict=True)),
        seconds=sum(step.seconds for step in here.steps),
        mean_probability=float(np.mean(gather(probabilities, best))),
        flagged=flagged,
        estimated=n_novel is None,
        novel_share=discovery.share,
        evidence=evidence,
        ratio_before=tuple(fit.ratio_before.tolist()),
        ratio_after=tuple(fit.ratio_after.tolist()),
        count=discovery.curve,
        steps=tuple(here.steps),
        labels_=assignments[back],
        probabilities_=probabilities[back],
        novelty_=novelty[back],
    )
    if options.update_known:
        knowledge = _update_known(here, probabilities)
    return knowledge.extended(fit.posterior), record


class _Discovery(NamedTuple):
    """Responsibilities and teaching weights of the novel categories (N, K), their share, and the count."""

    responsibility: Array
    teaching: Array
    share: float
    curve: CountCurve | None


def _discover(
    here: _Session, options: Options, novelty: Array, n_novel: int | None, rng: np.random.Generator
) -> _Discovery:
    """Count where the number is not known, cluster, and decide row by row."""
    curve, solution = None, None
    if n_novel is None:
        with here.step("count") as details:
            problem = CountProblem(
                here.rows, novelty, here.mixture, lambda: here.known_density, here.knowledge, rng
            )
            curve, solution = COUNTERS[options.count](problem)
            n_novel = details["n_novel"] = curve.chosen
    with here.step("cluster") as details:
        n_clusters = min(n_novel, len(here.rows))
        start = start_of(options.cluster, here.rows, lambda: here.mixture, n_clusters, rng, solution)
        details["novel share"] = start.share
    with here.step("relabel") as details:
        responsibility = teaching = start.responsibility
        share = start.share
        if responsibility.shape[1]:
            responsibility, teaching, changed = RELABELLERS[options.relabel](responsibility, here.densities)
            share = None if changed else share
        alive = np.zeros(responsibility.shape[1] or 1, dtype=bool)
        while not alive.all():  # without some categories, others may lose their last row
            alive = (here.weighted(teaching).sum(axis=0) > LEAST_WEIGHT) & _preferred(responsibility)
            responsibility, teaching = responsibility[:, alive], teaching[:, alive]
        if share is None:
            mass = np.minimum(responsibility.sum(axis=1), 1.0)
            share = float(np.average(mass, weights=here.weight))
        details["novel rows"] = int(is_novel(responsibility).sum())
    return _Discovery(responsibility, teaching, share, curve)


def _preferred(responsibility: Array) -> Array:
    """Whether each novel category is the most probable answer for at least one row."""
    labels = hard_labels(responsibility)
    return np.bincount(labels[labels >= 0], minlength=responsibility.shape[1]) > 0


def _probabilities(here: _Session, responsibility: Array) -> Array:
    """Probability of each known and each novel category for each row, float32 array (N, K)."""
    known = log_probabilities(here.known_density, here.knowledge.temperature)
    rest = np.clip(1 - responsibility.sum(axis=1, keepdims=True), 0, 1)
    return np.hstack([np.exp(known) * rest, responsibility]).astype(np.float32)


def _best(probabilities: Array, responsibility: Array) -> Array:
    """Position of each row's category: the best novel one of a novel row, else the best known one."""
    n_known = probabilities.shape[1] - responsibility.shape[1]
    novel = hard_labels(responsibility)
    return np.where(novel >= 0, n_known + novel, probabilities[:, :n_known].argmax(axis=1))


def _update_known(here: _Session, probabilities: Array) -> Knowledge:
    """The knowledge after rows that surely belong to a known category have taught it."""
    best = probabilities.argmax(axis=1)
    sure = (best < len(here.knowledge.posterior)) & (probabilities.max(axis=1) >= SURE_KNOWN)
    return here.knowledge.absorbed(here.rows, np.where(sure, best, -1), here.weight)


def _canonical_order(rows: Array, weight: Array | None) -> Array:
    """An order of the rows that does not depend on the order in which they came."""
    keys = rows if weight is None else np.column_stack([rows, weight])
    few = keys[:, :: max(keys.shape[1] // 8, 1)]
    order = np.lexsort(few.T)
    tied = (few[order][1:] == few[order][:-1]).all(axis=1).any()
    return np.lexsort(keys.T) if tied else order


class NovelFit(NamedTuple):
    """Posteriors of the novel categories, None where there are none, and R before and after alignment."""

    posterior: Posterior | None
    ratio_before: Array
    ratio_after: Array
    details: Mapping[str, Any]


def fit_novel(
    rows: Array, weight: Array, knowledge: Knowledge, options: Options, rng: np.random.Generator
) -> NovelFit:
    """Fit the novel categories.

    Parameters
    ----------
    rows : array (N, D)
        Reduced embeddings.
    weight : array (N, K)
        Weight with which each row teaches each category.
    knowledge : Knowledge
    options : Options
    rng : Generator

    Returns
    -------
    NovelFit
        Its details hold the trace of each category (SVI) or the fraction ``tau`` of the path (alignment).
    """
    if weight.shape[1] == 0:
        return NovelFit(None, np.empty(0), np.empty(0), {})
    known = knowledge.posterior.log_det_covariance
    statistics = statistics_by_responsibility(rows, weight, structure=knowledge.prior.structure)
    before = volume_ratio(knowledge.posterior_of(statistics).log_det_covariance, known)
    details: dict[str, Any] = {}
    if options.inference == "svi":
        statistics, details["trace"] = _svi(rows, weight, knowledge, options, rng)
    elif options.alignment is not None:
        aligned = align(knowledge.prior, statistics, known, target=options.alignment)
        statistics, details["tau"] = aligned.statistics, aligned.tau
    posterior = knowledge.posterior_of(statistics)
    return NovelFit(posterior, before, volume_ratio(posterior.log_det_covariance, known), details)


def _svi(
    rows: Array, weight: Array, knowledge: Knowledge, options: Options, rng: np.random.Generator
) -> tuple[Statistics, list[Any]]:
    """Effective statistics after SVI, stopped early where alignment asks for it, and the traces."""
    parts, traces = [], []
    for k in range(weight.shape[1]):
        members = np.flatnonzero(weight[:, k])
        rule = None
        if options.alignment is not None:
            rule = AlignmentRule(knowledge.posterior.log_det_covariance, target=options.alignment)
        result = run_svi(
            knowledge.prior,
            rows[members].astype(np.float64),
            weight=weight[members, k],
            max_steps=options.svi_steps,
            alignment=rule,
            random_state=rng,
        )
        parts.append(result.statistics)
        traces.append(result.trace)
    return Statistics.concatenate(parts), traces
