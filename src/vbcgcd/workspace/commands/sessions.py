"""Labelled and unlabelled sessions: from a snapshot and a batch to the draft of a commit."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.discovery.base import learn_base
from vbcgcd.discovery.geometry import is_flagged
from vbcgcd.discovery.knowledge import Knowledge, Scores, gather, learn_more, score, top_two
from vbcgcd.discovery.options import Options
from vbcgcd.discovery.seedlings import Seedlings
from vbcgcd.discovery.session import run_session
from vbcgcd.discovery.traces import traces_of
from vbcgcd.errors import InputError
from vbcgcd.items import Items
from vbcgcd.labels import NONE_OF_THESE
from vbcgcd.ranking import is_sparse, ranking
from vbcgcd.record import Lessons, SessionRecord, plain
from vbcgcd.workspace.batch import Batch, storable
from vbcgcd.workspace.commands.naming import label_names, unique_name
from vbcgcd.workspace.commands.novel_names import name_novel
from vbcgcd.workspace.commands.typos import check_typos
from vbcgcd.workspace.log.commits import Content, Draft
from vbcgcd.workspace.log.files import (
    EXCERPTS,
    LESSONS,
    MODEL,
    SAMPLE,
    SEEDLINGS,
    SEGMENT,
    TABLE,
    TRACES,
    UNASSIGNED,
    Assignments,
    BaseModel,
    Sample,
    SeedlingBed,
    Segment,
    SessionTraces,
)
from vbcgcd.workspace.log.lessons import SessionLessons
from vbcgcd.workspace.naming.vocabulary import Vocabulary
from vbcgcd.workspace.queries.sources import Source, excerpts_of
from vbcgcd.workspace.snapshot import Category, Snapshot, State

Array = NDArray[Any]

__all__ = [
    "assign",
    "batch_facts",
    "batch_files",
    "check_labelled",
    "discover_draft",
    "learn_draft",
    "session_draft",
    "unique_name",
]


def check_labelled(items: Items) -> None:
    """Raise if no item has a label."""
    if not items.labelled.any():
        raise InputError(
            f"{items.source} has no labels; name the column that holds them with the option 'label', or pass "
            "labels with an array.",
            option="label",
        )


def learn_draft(
    snapshot: Snapshot, batch: Batch, source: Source, *, update_known: bool, new_labels: bool = False
) -> Draft:
    """A labelled session.

    The first one is the base session: labels become categories, and the projection is fitted for good. In
    later ones, labels that are not names of live categories become categories.

    Parameters
    ----------
    snapshot : Snapshot
    batch : Batch
        Items without a label are left out.
    source : Source
        Where the items came from.
    update_known : bool
        Let known categories learn from their items.
    new_labels : bool
        Accept labels that look like mistyped names of categories.
    """
    start = time.perf_counter()
    n_items = len(batch)
    history, state = snapshot.history, snapshot.state
    batch, names, codes = _labelled(batch, state)
    place = {category.name: row for row, category in enumerate(state.live)}
    unseen = [name for name in names if name not in place]
    if not new_labels:
        check_typos(unseen, [category.name for category in state.live])
    place |= {name: len(place) + i for i, name in enumerate(unseen)}
    codes = np.array([place[name] for name in names])[codes]
    new_ids = [history.next_id + i for i in range(len(unseen))]
    ids, n_known = [*state.ids, *new_ids], len(state.ids)
    session = history.next_session
    novel = [Category(i, name, "label", session) for i, name in zip(new_ids, unseen, strict=True)]
    changes = {
        "session": session,
        "categories": [category.as_json() for category in novel],
        "posteriors": new_ids,
    }
    files: dict[str, Content]
    if state.model is None:
        options = Options(**state.config["model"])
        knowledge = learn_base(batch.vectors, codes, options)
        changes |= {"model": True, "embedder": batch.mark.as_json()}
        files = {MODEL: BaseModel(knowledge, tuple(ids), options, batch.vectors.shape[1])}
    else:
        before = snapshot.knowledge
        reduced = before.reduced(batch.vectors)
        knowledge = learn_more(before, reduced, codes, update_known=update_known)
        touched = np.unique(codes[codes < n_known]).tolist() if update_known else []
        rows = [*touched, *range(n_known, len(ids))]
        changes["posteriors"] = [ids[row] for row in rows]
        files = _segment(knowledge, rows, ids)
        taught = [state.live[row] for row in np.unique(codes[codes < n_known]).tolist()]
        sure = [replace(category, reliability=1.0) for category in taught if category.reliability < 1]
        changes["categories"] = [category.as_json() for category in (*sure, *novel)]
    scores = score(knowledge, batch.vectors, codes)
    table = assign(batch, scores, ids)
    record = SessionRecord(
        session=session,
        command="learn",
        novel={category.id: category.name for category in novel},
        unlabelled=n_items - len(batch),
        prior=plain(asdict(knowledge.prior)) if state.model is None else {},
        seconds=round(time.perf_counter() - start, 3),
        table_=_rows(table, [*state.live, *novel]),
        kept_=batch.items.kept,
        **batch_facts(batch, source, table, scores),
    )
    files |= batch_files(snapshot, batch, table, knowledge, new_ids)
    files |= _traces(batch, scores, knowledge, ids)
    return Draft("learn", changes=changes, record=record, files=files)


def discover_draft(
    snapshot: Snapshot,
    batch: Batch,
    source: Source,
    n_novel: int | None,
    progress: Callable[[str], None],
    vocabulary: Vocabulary | None = None,
) -> Draft:
    """An unlabelled session.

    Parameters
    ----------
    snapshot : Snapshot
    batch : Batch
    source : Source
        Where the items came from.
    n_novel : int or None
        Number of novel categories; None estimates it.
    progress : callable
        Called with the name of each step as it begins.
    vocabulary : Vocabulary, optional
        Words for pictures.
    """
    start = time.perf_counter()
    history, state, options = snapshot.history, snapshot.state, snapshot.base.options
    before, session = snapshot.knowledge, history.next_session
    knowledge, outcome = run_session(
        batch.vectors,
        before,
        options,
        labels_of=lambda n: np.array([*state.ids, *range(history.next_id, history.next_id + n)]),
        session=session,
        n_novel=n_novel,
        rng=options.generator(session),
        progress=progress,
    )
    new_ids = [int(category) for category in outcome.novel]
    ids, n_known = [*state.ids, *new_ids], len(state.ids)
    scores = _scores_of(outcome, ids)
    table = assign(batch, scores, ids)
    novel = [
        replace(category, reliability=float(reliability))
        for category, reliability in zip(
            name_novel(snapshot, knowledge, batch, table.category, new_ids, session, vocabulary),
            knowledge.reliabilities[n_known:],
            strict=True,
        )
    ]
    record = replace(
        outcome,
        novel={category.id: category.name for category in novel},
        unassigned=int(np.sum(table.category == UNASSIGNED)),
        grown={int(category): int(since) for category, since in outcome.grown.items()},
        returned={int(category): int(rows) for category, rows in outcome.returned.items()},
        seconds=round(time.perf_counter() - start, 3),
        table_=_rows(table, [*state.live, *novel]),
        kept_=batch.items.kept,
        **batch_facts(batch, source, table, scores),
    )
    draft = session_draft(before, knowledge, outcome, record, novel, ids)
    files = batch_files(snapshot, batch, table, knowledge, new_ids) | _traces(batch, scores, knowledge, ids)
    return replace(draft, files={**draft.files, **files})


def session_draft(
    before: Knowledge,
    knowledge: Knowledge,
    outcome: SessionRecord,
    record: SessionRecord,
    novel: Sequence[Category],
    ids: Sequence[int],
) -> Draft:
    """What an unlabelled session changes: posteriors, categories, seedlings and lessons, but not its items.

    Parameters
    ----------
    before, knowledge : Knowledge
        Before the session and after it.
    outcome : SessionRecord
        What the session did.
    record : SessionRecord
        The same in the words of the workspace.
    novel : sequence of Category
    ids : sequence of int
        Of all categories, in the order of the posteriors.
    """
    n_known = len(ids) - len(novel)
    touched = np.flatnonzero(knowledge.posterior.kappa[:n_known] != before.posterior.kappa).tolist()
    rows = [*touched, *range(n_known, len(ids))]
    changes: dict[str, Any] = {
        "session": record.session,
        "categories": [category.as_json() for category in novel],
        "posteriors": [ids[row] for row in rows],
    }
    files = _segment(knowledge, rows, ids)
    if not _same_seedlings(before.seedlings, knowledge.seedlings):
        changes["seedlings"] = 0 if knowledge.seedlings is None else len(knowledge.seedlings)
        if knowledge.seedlings:
            files[SEEDLINGS] = SeedlingBed(knowledge.seedlings)
    if outcome.lessons_ is not None and (changes["posteriors"] or "seedlings" in changes):
        files[LESSONS] = SessionLessons.of(outcome.lessons_, ids)
        if "seedlings" in changes:
            changes["lineage"] = _lineage(outcome.lessons_, ids)
    return Draft("discover", changes=changes, record=record, files=files)


def _lineage(lessons: Lessons, ids: Sequence[int]) -> dict[str, Any]:
    """What each seedling was before the session, and the seedlings that categories took over."""
    grown = {str(ids[position]): int(seedling) for position, seedling in lessons.grown.items()}
    return {"seedlings": lessons.lineage.tolist(), "grown": grown}


def assign(batch: Batch, scores: Scores, ids: Sequence[int]) -> Assignments:
    """Assign the items of a batch to the categories that the scores name by their places in ``ids``.

    Where the best place is -1, the item is left unassigned.
    """
    known = np.array([*ids, UNASSIGNED])
    return Assignments(
        batch.references,
        known[scores.best],
        scores.probability,
        known[scores.second],
        scores.second_probability,
        scores.novelty,
    )


def _rows(table: Assignments, categories: Sequence[Category]) -> dict[str, Any]:
    """The assignments as columns, with the names of the categories."""
    names = {category.id: category.name for category in categories}
    unassigned = table.category == UNASSIGNED
    return {
        "reference": list(table.reference),
        "category": table.category,
        "name": [NONE_OF_THESE if i == UNASSIGNED else names[i] for i in table.category.tolist()],
        "probability": table.probability,
        "unassigned": unassigned,
        "novelty": table.novelty,
        "second": table.second,
        "second_name": [names.get(i, "") for i in table.second.tolist()],
        "second_probability": table.second_probability,
    }


def batch_facts(batch: Batch, source: Source, table: Assignments, scores: Scores) -> dict[str, Any]:
    """What a commit says about a batch: fields of a `SessionRecord`."""
    assigned = table.category != UNASSIGNED
    categories, counts = np.unique(table.category[assigned], return_counts=True)
    return {
        "rows": len(batch),
        "counts": dict(zip(categories.tolist(), counts.tolist(), strict=True)),
        "mean_probability": float(np.mean(scores.probability[assigned])) if assigned.any() else None,
        "flagged": float(np.mean(is_flagged(scores.novelty))),
        "failures": batch.failures,
        "n_failures": len(batch.failures),
        "source": storable(batch.items.source),
        "kind": batch.items.kind,
        "columns": plain(dict(batch.items.columns)),
        **source.as_json(),
    }


def batch_files(
    snapshot: Snapshot, batch: Batch, table: Assignments, knowledge: Knowledge, new_ids: Sequence[int]
) -> dict[str, Content]:
    """Assignments, and what the settings ask for: coarse positions and excerpts."""
    files: dict[str, Content] = {TABLE: table}
    config = snapshot.state.config
    if config["sample"]:
        rng = np.random.default_rng([0, snapshot.head.number])
        rows = np.sort(rng.permutation(len(batch))[: config["sample"]])
        files[SAMPLE] = Sample.of(rows, knowledge.reduced(batch.vectors[rows]))
    excerpts = excerpts_of(batch.items, table, new_ids, config["excerpts"])
    if excerpts.by_category:
        files[EXCERPTS] = excerpts
    return files


def _segment(knowledge: Knowledge, rows: Sequence[int], ids: Sequence[int]) -> dict[str, Content]:
    """The posteriors of some rows as a file; none if there are no rows."""
    if not rows:
        return {}
    return {SEGMENT: Segment(knowledge.posterior.take(list(rows)), tuple(ids[row] for row in rows))}


def _traces(batch: Batch, scores: Scores, knowledge: Knowledge, ids: Sequence[int]) -> dict[str, Content]:
    """Where the items of each category lay, how wide and how divided: what a review compares later."""
    reduced, geometry = knowledge.reduced(batch.vectors), knowledge.novelty.geometry
    traces = traces_of(reduced, scores.best, knowledge.posterior.mean, geometry)
    return {TRACES: SessionTraces.of(traces, ids)}


def _scores_of(outcome: SessionRecord, ids: Sequence[int]) -> Scores:
    """Scores of the rows of a session: places in ``ids``.

    An unassigned row has the place -1 with the probability of none of them, and its best category as the
    second.
    """
    order = np.argsort(ids)
    own = order[np.searchsorted(np.array(ids)[order], outcome.labels_)]
    probability, none = outcome.probabilities_, outcome.labels_ == UNASSIGNED
    if is_sparse(probability):
        ranks = ranking(probability, np.where(none, -1, own))
        own_probability = np.where(none, np.clip(1 - ranks.total, 0, 1), ranks.own)
        best = np.where(none, -1, own)
        return Scores(best, own_probability, ranks.other, ranks.other_value, outcome.novelty_)
    best, second = top_two(probability, own)
    first = np.where(probability.max(axis=1) > 0, probability.argmax(axis=1), -1)
    best, second = np.where(none, -1, best), np.where(none, first, second)
    of_none = np.clip(1 - probability.sum(axis=1, dtype=np.float64), 0, 1)
    own_probability = np.where(none, of_none, gather(probability, best))
    return Scores(best, own_probability, second, gather(probability, second), outcome.novelty_)


def _same_seedlings(before: Seedlings | None, after: Seedlings | None) -> bool:
    """Whether a session left them as they were; an empty set is none."""
    if not before or not after:
        return not before and not after
    one, other = before.arrays(), after.arrays()
    return all(np.array_equal(one[name], other[name]) for name in one)


def _labelled(batch: Batch, state: State) -> tuple[Batch, list[str], Array]:
    """The labelled items, names in the order of their labels, and the place of each item's name (N,)."""
    check_labelled(batch.items)
    labelled = batch.take(np.flatnonzero(batch.items.labelled))
    labels: Any = labelled.items.labels
    labels = np.array(labels.tolist()) if labels.dtype == object else labels
    different, codes = np.unique(labels, return_inverse=True)
    by_label = label_names(different.tolist(), [category.name for category in state.live])
    names = list(dict.fromkeys(by_label))
    place = {name: row for row, name in enumerate(names)}
    return labelled, names, np.array([place[name] for name in by_label])[codes]
