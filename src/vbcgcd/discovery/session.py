"""One unlabelled session, step by step: novelty, count, cluster, relabel, leftovers, posterior (aligned),
assign.

Pure: what is known and the rows go in, what is known after it and a record come out. The posteriors that were
known before are only read.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vbcgcd.bayes import (
    AlignmentRule,
    Posterior,
    Schedule,
    Statistics,
    align,
    log_evidence,
    penalised,
    run_svi,
    statistics_by_responsibility,
    volume_ratio,
)
from vbcgcd.bayes.threads import one_thread
from vbcgcd.discovery.balance import balance
from vbcgcd.discovery.count import COUNTERS, CountProblem, given
from vbcgcd.discovery.distinct import Returned
from vbcgcd.discovery.geometry import is_flagged
from vbcgcd.discovery.knowledge import Knowledge, gather
from vbcgcd.discovery.leftovers import tend, with_past
from vbcgcd.discovery.lessons import lessons_of
from vbcgcd.discovery.options import Options
from vbcgcd.discovery.rows import Discovery, SessionRows
from vbcgcd.discovery.strategies import (
    RELABELLERS,
    Start,
    fewer_clusters_allowed,
    hard_labels,
    is_novel,
    start_of,
)
from vbcgcd.errors import InputError
from vbcgcd.labels import with_unassigned
from vbcgcd.record import SessionRecord
from vbcgcd.validation import check_finite

Array = NDArray[Any]

#: With ``update_known``, rows of at least this probability teach their known category.
SURE_KNOWN = 0.95
#: Fewer known categories, or rows for half of them, are too few to judge by.
FEW_CATEGORIES, FEW_ROWS = 4, 8
#: A novel category that fewer rows than this teach, by weight, is not created.
LEAST_WEIGHT = 1e-6

#: Where SVI is to stop early its steps are small, as the paper's are: a large one may step over the place.
SMALL_STEPS = Schedule(delay=100.0)

__all__ = ["NovelFit", "fit_novel", "run_session"]


@one_thread()
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
    try:
        reduced = knowledge.reduced(rows[order])
    except InputError:
        knowledge.reduced(rows)  # counts the rows as the caller does
        raise
    here = SessionRows(
        reduced,
        knowledge,
        weight,
        progress,
        fit=lambda teaching: fit_novel(reduced, teaching, knowledge, options, rng).posterior,
    )
    with here.step("novelty") as details:
        novelty = knowledge.novelty_of(here.rows)
        flagged = details["flagged"] = float(np.mean(is_flagged(novelty)))
    discovery = _discover(here, options, novelty, n_novel, rng)
    leftovers = None
    if options.unassigned and options.cluster == "mixture":
        with here.step("leftovers") as details:
            leftovers = tend(here, discovery, session, rng, grow=n_novel is None)
            discovery = leftovers.discovery
            details["seedlings"] = 0 if leftovers.seedlings is None else len(leftovers.seedlings)
    with here.step("posterior") as details:
        fit = fit_novel(here.rows, here.weighted(discovery.teaching), knowledge, options, rng)
        if leftovers is not None and fit.posterior is not None:
            fit = fit._replace(posterior=with_past(fit.posterior, leftovers, knowledge))
        details.update(fit.details)
    with here.step("assign"):
        probabilities = _probabilities(here, discovery)
        labels = labels_of(discovery.responsibility.shape[1])
        best = _best(probabilities, discovery)
        unassigned = np.zeros(len(rows), dtype=bool)
        if leftovers is not None:
            nowhere = leftovers.strangeness
            probabilities *= (1 - nowhere)[:, None].astype(np.float32)
            probabilities[:, : len(knowledge.posterior)] *= knowledge.reliabilities.astype(np.float32)
            known_row = best < len(knowledge.posterior)
            unassigned = known_row & is_flagged(novelty) & (nowhere > gather(probabilities, best))
            unassigned |= leftovers.waiting
        assignments = labels[best]
    check_finite("The probability of a category", probabilities)
    sure_known = np.full(len(rows), -1)
    if options.update_known:
        sure_known = _sure_known(np.where(unassigned[:, None], 0.0, probabilities), len(knowledge.posterior))
    evidence = 0.0 if fit.posterior is None else float(log_evidence(knowledge.prior, fit.posterior).sum())
    back = np.argsort(order)
    novel = labels[len(knowledge.posterior) :].tolist()
    present, counts = np.unique(assignments[~unassigned], return_counts=True)
    sure = gather(probabilities, best)[~unassigned]
    seedlings = None if leftovers is None else leftovers.seedlings
    lessons = None
    if fit.weight is not None and here.weight is None:
        lessons = lessons_of(fit.weight, sure_known, len(knowledge.posterior), leftovers, back)
    record = SessionRecord(
        session=session,
        command="discover",
        rows=len(rows),
        novel={label: str(label) for label in novel},
        counts=dict(zip(present.tolist(), counts.tolist(), strict=True)),
        seconds=sum(step.seconds for step in here.steps),
        mean_probability=float(np.mean(sure)) if len(sure) else None,
        flagged=flagged,
        estimated=n_novel is None,
        unassigned=int(unassigned.sum()),
        seedlings=() if seedlings is None else seedlings.sizes,
        grown={novel[k]: s for k, s in (leftovers.grown.items() if leftovers is not None else ())},
        returned=_returned(discovery, labels, ~unassigned),
        warnings=few_labels(knowledge) if n_novel is None else (),
        novel_share=discovery.share,
        evidence=evidence,
        ratio_before=tuple(fit.ratio_before.tolist()),
        ratio_after=tuple(fit.ratio_after.tolist()),
        count=discovery.curve,
        steps=tuple(here.steps),
        labels_=with_unassigned(assignments, unassigned, labels)[back],
        probabilities_=probabilities[back],
        novelty_=novelty[back],
        lessons_=lessons,
        classes_=labels,
    )
    knowledge = knowledge.absorbed(here.rows, sure_known, here.weight)
    if leftovers is not None:
        knowledge = replace(knowledge, seedlings=seedlings)
    reliability = None if leftovers is None else leftovers.reliability
    head = knowledge.head
    if head is not None:  # of a seedling that becomes a category, it learns this session's rows alone
        head = head.extended(here.rows, here.weighted(discovery.teaching))
    return knowledge.extended(fit.posterior, reliability, head), record


def _discover(
    here: SessionRows, options: Options, novelty: Array, n_novel: int | None, rng: np.random.Generator
) -> Discovery:
    """Count where the number is not known, cluster, and decide row by row."""
    known = here.knowledge
    problem = CountProblem(here.rows, novelty, lambda: here.mixture, lambda: here.known_density, known, rng)
    curve, solution, returned, n_given = None, None, None, n_novel is not None
    if n_novel is None:
        with here.step("count") as details, fewer_clusters_allowed():
            curve, solution, returned = COUNTERS[options.count](problem)
            n_novel = details["n_novel"] = curve.chosen
    with here.step("cluster") as details:
        n_clusters = min(n_novel, len(here.rows))
        calibrated = known.novelty.geometry.within is not None  # models of release 0.1.0 are not
        by_worth = calibrated and (n_given or options.count == "rehearsal")
        if options.cluster == "mixture" and n_clusters and by_worth:
            if solution is None:
                solution = given(problem, n_clusters)
            start = Start(solution.responsibility.astype(np.float64), solution.share)
        else:
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
    if returned is None:
        returned = Returned.none(len(here.rows))
    return Discovery(responsibility, teaching, share, curve, returned.of(~is_novel(responsibility)))


def _returned(discovery: Discovery, labels: Array, assigned: Array) -> dict[Any, int]:
    """Assigned rows that came back as a group to each category that was found before."""
    category = discovery.returned.of(assigned).category
    places, counts = np.unique(category[category >= 0], return_counts=True)
    return dict(zip(labels[places].tolist(), counts.tolist(), strict=True))


def few_labels(knowledge: Knowledge) -> tuple[str, ...]:
    """What the labelled rows are too few to judge, in words."""
    counts, n_categories = knowledge.counts, len(knowledge.posterior)
    if n_categories < FEW_CATEGORIES:
        return (
            f"Only {n_categories} {'category is' if n_categories == 1 else 'categories are'} known, too few "
            "to tell how far apart categories are: check the number of novel ones.",
        )
    typical = float(np.median(counts))
    if typical < FEW_ROWS:
        return (
            f"Half of the known categories have learned from at most {typical:g} rows, too few to tell well "
            "what is novel: check the novel categories, or label more rows.",
        )
    return ()


def _preferred(responsibility: Array) -> Array:
    """Whether each novel category is the most probable answer for at least one row."""
    labels = hard_labels(responsibility)
    return np.bincount(labels[labels >= 0], minlength=responsibility.shape[1]) > 0


def _probabilities(here: SessionRows, discovery: Discovery) -> Array:
    """Probability of each known and each novel category for each row, float32 array (N, K)."""
    known = np.exp(here.knowledge.log_probabilities(here.rows, here.known_density))
    back = np.flatnonzero(discovery.returned.category >= 0)
    if len(back):
        belongs = discovery.returned.probability[back]
        known[back] *= (1 - belongs)[:, None]
        known[back, discovery.returned.category[back]] += belongs
    rest = np.clip(1 - discovery.responsibility.sum(axis=1, keepdims=True), 0, 1)
    return np.hstack([known * rest, discovery.responsibility]).astype(np.float32)


def _best(probabilities: Array, discovery: Discovery) -> Array:
    """Position of each row's category: the best novel one of a novel row, else the best known one."""
    n_known = probabilities.shape[1] - discovery.responsibility.shape[1]
    novel = hard_labels(discovery.responsibility)
    return np.where(novel >= 0, n_known + novel, probabilities[:, :n_known].argmax(axis=1))


def _sure_known(probabilities: Array, n_known: int) -> Array:
    """The known category that each row surely belongs to, int array (N,); -1 for none."""
    best = probabilities.argmax(axis=1)
    sure = (best < n_known) & (probabilities.max(axis=1) >= SURE_KNOWN)
    return np.where(sure, best, -1)


def _canonical_order(rows: Array, weight: Array | None) -> Array:
    """An order of the rows that does not depend on the order in which they came."""
    keys = rows if weight is None else np.column_stack([rows, weight])
    few = keys[:, :: max(keys.shape[1] // 8, 1)]
    order = np.lexsort(few.T)
    tied = (few[order][1:] == few[order][:-1]).all(axis=1).any()
    return np.lexsort(keys.T) if tied else order


class NovelFit(NamedTuple):
    """Posteriors of the novel categories, None where there are none, and R before and after alignment.

    ``weight`` is what each row counts for in their statistics, array (N, K); None after SVI or a penalty.
    """

    posterior: Posterior | None
    ratio_before: Array
    ratio_after: Array
    details: Mapping[str, Any]
    weight: Array | None


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
        Its details hold the trace of each category (SVI), or the fraction ``tau`` of its statistics that
        counts (alignment).
    """
    if weight.shape[1] == 0:
        return NovelFit(None, np.empty(0), np.empty(0), {}, weight)
    known = knowledge.posterior.log_det_covariance
    statistics = statistics_by_responsibility(rows, weight, structure=knowledge.prior.structure)
    before = volume_ratio(knowledge.posterior_of(statistics).log_det_covariance, known)
    details: dict[str, Any] = {}
    counted: Array | None = weight
    if options.inference == "svi":
        statistics, details["trace"] = _svi(rows, weight, knowledge, options, rng)
        counted = None
    elif options.target is not None and options.alignment_penalty is None:
        aligned = align(knowledge.prior, statistics, known, target=options.target)
        statistics, details["tau"] = aligned.statistics, aligned.tau
        counted = weight * aligned.tau
    if options.alignment == "rows":
        tau = balance(rows, weight, statistics, knowledge)
        if (tau < 1).any():
            statistics, details["tau"] = statistics * tau, tau
            counted = None if counted is None else counted * tau
    posterior = knowledge.posterior_of(statistics)
    if options.target is not None and options.alignment_penalty is not None:
        posterior = penalised(posterior, known, weight=options.alignment_penalty, target=options.target)
        counted = None  # no weights of the rows give this posterior
    return NovelFit(posterior, before, volume_ratio(posterior.log_det_covariance, known), details, counted)


def _svi(
    rows: Array, weight: Array, knowledge: Knowledge, options: Options, rng: np.random.Generator
) -> tuple[Statistics, list[Any]]:
    """Effective statistics after SVI, stopped early where alignment asks for it, and the traces."""
    parts, traces = [], []
    for k in range(weight.shape[1]):
        members = np.flatnonzero(weight[:, k])
        rule = None
        if options.target is not None:
            rule = AlignmentRule(knowledge.posterior.log_det_covariance, target=options.target)
        result = run_svi(
            knowledge.prior,
            rows[members].astype(np.float64),
            weight=weight[members, k],
            max_steps=options.svi_steps,
            schedule=None if rule is None else SMALL_STEPS,
            alignment=rule,
            random_state=rng,
        )
        parts.append(result.statistics)
        traces.append(result.trace)
    return Statistics.concatenate(parts), traces
