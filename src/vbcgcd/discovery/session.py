"""One unlabelled session, step by step: novelty, count, cluster, relabel, posterior (aligned), label.

Pure: it takes what is known and the rows, and returns what is new. The known posteriors are only read.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.bayes import (
    AlignmentRule,
    Posterior,
    Statistics,
    align,
    log_evidence,
    log_normalise,
    run_svi,
    statistics_by_responsibility,
    volume_ratio,
)
from vbcgcd.discovery.cluster import CLUSTERERS, Clusterer
from vbcgcd.discovery.count import COUNTERS, CountProblem
from vbcgcd.discovery.knowledge import Knowledge
from vbcgcd.discovery.mixture import Mixture, MixtureState
from vbcgcd.discovery.novelty import UNFAMILIAR
from vbcgcd.discovery.relabel import RELABELLERS, confident_rows, one_hot
from vbcgcd.discovery.report import CountCurve, Step

Array = NDArray[Any]

__all__ = ["Recipe", "SessionResult", "run_session"]


@dataclass(frozen=True)
class Recipe:
    """The exchangeable parts of a session. See `CategoryDiscoverer` for their meaning."""

    cluster: str | Clusterer = "mixture"
    relabel: str = "confident"
    count: str = "rehearsal"
    inference: str = "exact"
    alignment: float | None = None
    svi_steps: int = 300


@dataclass
class SessionResult:
    """What a session found. ``posterior`` is None where nothing is new."""

    posterior: Posterior | None
    responsibility: Array
    probabilities: Array
    novelty: Array
    novel_share: float
    evidence: float
    ratio_before: Array
    ratio_after: Array
    count: CountCurve | None
    steps: list[Step] = field(default_factory=list)


class _Session:
    """The rows of one session with what several steps ask for."""

    def __init__(
        self,
        rows: Array,
        knowledge: Knowledge,
        recipe: Recipe,
        weight: Array | None,
        rng: np.random.Generator,
    ) -> None:
        self.rows, self.knowledge, self.recipe, self.weight, self.rng = rows, knowledge, recipe, weight, rng
        self.steps: list[Step] = []

    @contextmanager
    def step(self, name: str) -> Iterator[dict[str, Any]]:
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
        return Mixture(
            self.rows,
            known.posterior.mean,
            known.novelty.geometry,
            weight=self.weight,
            size_spread=known.size_spread,
        )

    def weighted(self, responsibility: Array) -> Array:
        return responsibility if self.weight is None else responsibility * self.weight[:, None]

    def statistics(self, responsibility: Array) -> Statistics:
        structure = self.knowledge.prior.structure
        return statistics_by_responsibility(self.rows, self.weighted(responsibility), structure=structure)

    def novel_density(self, responsibility: Array) -> Array:
        """Log-density under provisional novel posteriors fitted to ``responsibility``."""
        posterior = self.knowledge.posterior_of(self.statistics(responsibility))
        return self.knowledge.classifier.log_density(self.rows, posterior)


def run_session(
    rows: Array,
    knowledge: Knowledge,
    recipe: Recipe,
    n_novel: int | None,
    *,
    weight: Array | None = None,
    rng: np.random.Generator,
    progress: Callable[[str], None] = lambda name: None,
) -> SessionResult:
    """Find the novel categories among the rows.

    Parameters
    ----------
    rows : array (N, D)
        Reduced embeddings.
    knowledge : Knowledge
    recipe : Recipe
    n_novel : int or None
        Their number; None estimates it, and may find none.
    weight : array (N,), optional
    rng : Generator
    progress : callable
        Told the name of each step as it begins.

    Returns
    -------
    SessionResult
    """
    session = _Session(rows, knowledge, recipe, weight, rng)
    progress("novelty")
    with session.step("novelty") as details:
        novelty = knowledge.novelty.score(rows, knowledge.posterior.mean)
        details[f"above {UNFAMILIAR}"] = float(np.mean(novelty > UNFAMILIAR))
    curve, solution = None, None
    if n_novel is None:
        progress("count")
        with session.step("count") as details:
            problem = CountProblem(
                rows, novelty, session.mixture, lambda: session.known_density, knowledge, rng
            )
            curve, solution = COUNTERS[recipe.count](problem)
            n_novel = curve.chosen
            details["n_novel"] = n_novel
    progress("cluster")
    with session.step("cluster") as details:
        responsibility, novel_share = _cluster(session, min(n_novel, len(rows)), solution)
        details["novel share"] = novel_share
    progress("relabel")
    with session.step("relabel") as details:
        relabel = RELABELLERS[recipe.relabel]
        if responsibility.shape[1]:
            responsibility = relabel(responsibility, lambda: session.known_density, session.novel_density)
        teaching = confident_rows(responsibility) if recipe.relabel == "confident" else responsibility
        alive = (session.weighted(teaching).sum(axis=0) > 1e-6) & _preferred(responsibility)
        responsibility, teaching = responsibility[:, alive], teaching[:, alive]
        mass = responsibility.sum(axis=1)
        if recipe.cluster != "mixture" or recipe.relabel not in ("confident", "none"):
            novel_share = float(np.average(np.minimum(mass, 1.0), weights=weight))
        details["rows judged novel"] = int((mass > 0.5).sum())
    progress("posterior")
    with session.step("posterior") as details:
        posterior, before, after = _fit(session, teaching, details)
    progress("label")
    with session.step("label"):
        probabilities = _probabilities(session, responsibility)
    evidence = 0.0 if posterior is None else float(log_evidence(knowledge.prior, posterior).sum())
    return SessionResult(
        posterior,
        responsibility,
        probabilities,
        novelty,
        novel_share,
        evidence,
        before,
        after,
        curve,
        session.steps,
    )


def _preferred(responsibility: Array) -> Array:
    """Whether each novel category is the most probable answer for at least one row."""
    if responsibility.shape[1] == 0:
        return np.zeros(0, dtype=bool)
    best = responsibility.argmax(axis=1)[responsibility.sum(axis=1) >= 0.5]
    return np.bincount(best, minlength=responsibility.shape[1]) > 0


def _cluster(session: _Session, n_novel: int, solution: MixtureState | None) -> tuple[Array, float]:
    """Responsibilities of the start, and the share of novel rows."""
    if n_novel == 0:
        return np.zeros((len(session.rows), 0)), 0.0
    kind = session.recipe.cluster
    if kind == "mixture":
        state = session.mixture.search(n_novel, session.rng, solution)
        return state.responsibility.astype(np.float64), state.share
    clusterer = CLUSTERERS[kind] if isinstance(kind, str) else kind
    labels = np.asarray(clusterer(session.rows, n_novel, session.rng))
    return one_hot(labels, max(int(labels.max()) + 1, 0)), float(np.mean(labels >= 0))


def _fit(
    session: _Session, teaching: Array, details: dict[str, Any]
) -> tuple[Posterior | None, Array, Array]:
    """Posteriors of the novel categories, and R before and after alignment."""
    known, recipe = session.knowledge, session.recipe
    if teaching.shape[1] == 0:
        return None, np.empty(0), np.empty(0)
    statistics = session.statistics(teaching)
    before = volume_ratio(
        known.posterior_of(statistics).log_det_covariance, known.posterior.log_det_covariance
    )
    if recipe.inference == "svi":
        statistics = _svi(session, teaching, details)
    elif recipe.alignment is not None:
        aligned = align(known.prior, statistics, known.posterior.log_det_covariance, target=recipe.alignment)
        statistics, details["tau"] = aligned.statistics, aligned.tau
    posterior = known.posterior_of(statistics)
    return posterior, before, volume_ratio(posterior.log_det_covariance, known.posterior.log_det_covariance)


def _svi(session: _Session, teaching: Array, details: dict[str, Any]) -> Statistics:
    known, parts, traces = session.knowledge, [], []
    weights = session.weighted(teaching)
    for k in range(teaching.shape[1]):
        members = np.flatnonzero(weights[:, k])
        rule = None
        if session.recipe.alignment is not None:
            rule = AlignmentRule(known.posterior.log_det_covariance, target=session.recipe.alignment)
        result = run_svi(
            known.prior,
            session.rows[members].astype(np.float64),
            weight=weights[members, k],
            max_steps=session.recipe.svi_steps,
            alignment=rule,
            random_state=session.rng,
        )
        parts.append(result.statistics)
        traces.append(result.trace)
    details["trace"] = traces
    return Statistics.concatenate(parts)


def _probabilities(session: _Session, responsibility: Array) -> Array:
    """Probability of each known and each novel category for each row, float32 array (N, K)."""
    known = log_normalise(session.knowledge.temperature * session.known_density)
    rest = np.clip(1 - responsibility.sum(axis=1, keepdims=True), 0, 1)
    return np.hstack([np.exp(known) * rest, responsibility]).astype(np.float32)
