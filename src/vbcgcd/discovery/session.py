"""One unlabelled session, step by step: novelty, count, cluster, relabel, leftovers, posterior (aligned),
assign.

Pure: what is known and the rows go in, what is known after it and a record come out. The posteriors that were
known before are only read.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.bayes.threads import one_thread
from vbcgcd.blocks import ArrayBlocks, RowBlocks, in_blocks
from vbcgcd.discovery.geometry import is_flagged
from vbcgcd.discovery.knowledge import Knowledge, gather
from vbcgcd.discovery.large.session import MANY_ROWS, can_sample, check_can_sample, run_large_session
from vbcgcd.discovery.leftovers import tend, with_past
from vbcgcd.discovery.lessons import lessons_of
from vbcgcd.discovery.options import Options
from vbcgcd.discovery.recording import Assignment, session_record
from vbcgcd.discovery.rows import Discovery, SessionRows
from vbcgcd.discovery.steps import SURE_KNOWN, NovelFit, discover_among, few_labels, fit_novel
from vbcgcd.discovery.strategies import hard_labels
from vbcgcd.errors import InputError
from vbcgcd.labels import with_unassigned
from vbcgcd.record import SessionRecord
from vbcgcd.validation import check_finite

Array = NDArray[Any]

__all__ = ["NovelFit", "few_labels", "fit_novel", "run_session"]


@one_thread()
def run_session(
    rows: Array | RowBlocks,
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
    rows : array (N, d) or RowBlocks
        Embeddings, in any order: the outcome does not depend on it. A source is read block by block, and more
        than `MANY_ROWS` rows are searched by samples; see `vbcgcd.discovery.large`.
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
    many = len(rows) > MANY_ROWS
    if many and (can_sample(knowledge, options) or not isinstance(rows, np.ndarray)):
        check_can_sample(knowledge, options, len(rows))
        return run_large_session(
            ArrayBlocks(rows) if isinstance(rows, np.ndarray) else rows,
            knowledge,
            options,
            labels_of=labels_of,
            session=session,
            n_novel=n_novel,
            weight=weight,
            rng=rng,
            progress=progress,
        )
    if not isinstance(rows, np.ndarray):
        rows = np.concatenate([part for _, part in in_blocks(rows, MANY_ROWS)])
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
    discovery = discover_among(here, options, novelty, n_novel, rng)
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
    check_finite("The probability of a category", probabilities)
    sure_known = np.full(len(rows), -1)
    if options.update_known:
        sure_known = _sure_known(np.where(unassigned[:, None], 0.0, probabilities), len(knowledge.posterior))
    back, lessons = np.argsort(order), None
    if fit.weight is not None and here.weight is None:
        lessons = lessons_of(fit.weight, sure_known, len(knowledge.posterior), leftovers, back)
    record = session_record(
        Assignment(best, gather(probabilities, best), unassigned, discovery.returned),
        labels,
        knowledge,
        fit,
        leftovers,
        session=session,
        flagged=flagged,
        estimated=n_novel is None,
        novel_share=discovery.share,
        count=discovery.curve,
        steps=tuple(here.steps),
        labels=with_unassigned(labels[best], unassigned, labels)[back],
        probabilities=probabilities[back],
        novelty=novelty[back],
        lessons=lessons,
    )
    knowledge = knowledge.absorbed(here.rows, sure_known, here.weight)
    if leftovers is not None:
        knowledge = replace(knowledge, seedlings=leftovers.seedlings)
    reliability = None if leftovers is None else leftovers.reliability
    head = knowledge.head
    if head is not None:  # of a seedling that becomes a category, it learns this session's rows alone
        head = head.extended(here.rows, here.weighted(discovery.teaching))
    return knowledge.extended(fit.posterior, reliability, head), record


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
