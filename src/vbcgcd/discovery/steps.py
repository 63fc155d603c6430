"""Steps of a session that are the same for few and for many rows: find, decide, fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vbcgcd.bayes import (
    AlignmentRule,
    Posterior,
    Schedule,
    Statistics,
    align,
    penalised,
    run_svi,
    statistics_by_responsibility,
    volume_ratio,
)
from vbcgcd.discovery.balance import balance
from vbcgcd.discovery.count import COUNTERS, CountProblem, given
from vbcgcd.discovery.distinct import Returned
from vbcgcd.discovery.knowledge import Knowledge
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

Array = NDArray[Any]

#: Fewer known categories, or rows for half of them, are too few to judge by.
FEW_CATEGORIES, FEW_ROWS = 4, 8
#: With ``update_known``, rows of at least this probability teach their known category.
SURE_KNOWN = 0.95
#: A novel category that fewer rows than this teach, by weight, is not created.
LEAST_WEIGHT = 1e-6

#: Where SVI is to stop early its steps are small, as the paper's are: a large one may step over the place.
SMALL_STEPS = Schedule(delay=100.0)

__all__ = [
    "SURE_KNOWN",
    "NovelFit",
    "back_among",
    "discover_among",
    "few_labels",
    "fit_novel",
    "fit_statistics",
]


def discover_among(
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


def back_among(returned: Returned, labels: Array, assigned: Array) -> dict[Any, int]:
    """Assigned rows that came back as a group to each category that was found before."""
    category = returned.of(assigned).category
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


class NovelFit(NamedTuple):
    """Posteriors of the novel categories, None where there are none, and R before and after alignment.

    ``weight`` is what each row counts for in their statistics, array (N, K), and ``shares`` how much of their
    statistics counts, array (K,); None after SVI or a penalty.
    """

    posterior: Posterior | None
    ratio_before: Array
    ratio_after: Array
    details: Mapping[str, Any]
    weight: Array | None
    shares: Array | None = None


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
    statistics = statistics_by_responsibility(
        rows, weight, structure=knowledge.prior.structure, device=knowledge.classifier.device
    )
    stochastic = None
    if options.inference == "svi":
        stochastic = _svi(rows, weight, knowledge, options, rng)
    fit = fit_statistics(statistics, rows, weight, knowledge, options, stochastic)
    return fit if fit.shares is None else fit._replace(weight=weight * fit.shares)


def fit_statistics(
    statistics: Statistics,
    rows: Array,
    weight: Array,
    knowledge: Knowledge,
    options: Options,
    stochastic: tuple[Statistics, list[Any]] | None = None,
) -> NovelFit:
    """Fit novel categories to their statistics.

    Parameters
    ----------
    statistics : Statistics
        Of all rows.
    rows : array (n, D)
        Reduced embeddings of all rows, or of some to judge by.
    weight : array (n, K)
        Weight with which these teach each category.
    knowledge : Knowledge
    options : Options
    stochastic : pair, optional
        Effective statistics and traces of SVI, which take the place of the others.
    """
    known = knowledge.posterior.log_det_covariance
    before = volume_ratio(knowledge.posterior_of(statistics).log_det_covariance, known)
    details: dict[str, Any] = {}
    shares: Array | None = np.ones(len(statistics))
    if stochastic is not None:
        statistics, details["trace"] = stochastic
        shares = None
    elif options.target is not None and options.alignment_penalty is None:
        aligned = align(knowledge.prior, statistics, known, target=options.target)
        statistics, details["tau"] = aligned.statistics, aligned.tau
        shares = np.asarray(aligned.tau)
    if options.alignment == "rows":
        tau = balance(rows, weight, statistics, knowledge)
        if (tau < 1).any():
            statistics, details["tau"] = statistics * tau, tau
            shares = None if shares is None else shares * tau
    posterior = knowledge.posterior_of(statistics)
    if options.target is not None and options.alignment_penalty is not None:
        posterior = penalised(posterior, known, weight=options.alignment_penalty, target=options.target)
        shares = None  # no weights of the rows give this posterior
    after = volume_ratio(posterior.log_det_covariance, known)
    return NovelFit(posterior, before, after, details, None, shares)


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
