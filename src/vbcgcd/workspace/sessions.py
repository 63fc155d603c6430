"""Labelled and unlabelled sessions: from a batch to what a commit stores. Nothing is written here."""

from __future__ import annotations

import numbers
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.bayes import statistics_by_label
from vbcgcd.discovery.knowledge import Knowledge
from vbcgcd.discovery.novelty import UNFAMILIAR
from vbcgcd.discovery.report import SessionReport
from vbcgcd.errors import InputError
from vbcgcd.items import Items
from vbcgcd.model import CategoryDiscoverer
from vbcgcd.workspace.assignments import SAMPLE, TABLE, Assignments, write_assignments, write_sample
from vbcgcd.workspace.commits import Draft
from vbcgcd.workspace.data import Batch, storable
from vbcgcd.workspace.durable import to_json, write_synced
from vbcgcd.workspace.excerpts import EXCERPTS, excerpts_of
from vbcgcd.workspace.naming import distinctive_terms, label_name, likeness, unique_name
from vbcgcd.workspace.posteriors import MODEL, SEGMENT, write_segment
from vbcgcd.workspace.predictions import scored, top_two
from vbcgcd.workspace.results import plain
from vbcgcd.workspace.state import Category, History, NamedBy, State

Array = NDArray[Any]
Writer = Callable[[Path], None]
#: Failures that a record names; the others are counted.
NAMED_FAILURES = 100

__all__ = [
    "assigned_to",
    "batch_files",
    "batch_summary",
    "check_labelled",
    "check_n_novel",
    "discover_draft",
    "learn_base_draft",
    "learn_more_draft",
    "named_by_terms",
]


def check_labelled(items: Items) -> None:
    """Raise where no item has a label."""
    if not items.labelled.any():
        raise InputError(
            f"{items.source} has no labels; say with label= which column holds them, or give labels."
        )


def check_n_novel(n_novel: Any, n_items: int) -> None:
    """Raise unless so many novel categories can be asked of so many items; None estimates their number."""
    whole = isinstance(n_novel, numbers.Real) and not isinstance(n_novel, bool)
    if n_novel is None or (whole and 0 <= n_novel <= n_items // 2 and float(n_novel).is_integer()):
        return
    raise InputError(
        f"n_novel must be a whole number from 0 to {n_items // 2}, got {n_novel!r}: a category needs at "
        f"least two of the {n_items} items; use None to estimate it."
    )


def learn_base_draft(history: History, batch: Batch) -> Draft:
    """The base session: labels become categories, and the frozen projection is fitted."""
    start = time.perf_counter()
    batch, names, codes, unlabelled = _labelled(batch)
    ids = history.next_id + np.arange(len(names))
    model = CategoryDiscoverer(**history.state.config["model"]).fit(batch.vectors, ids[codes])
    session = history.next_session
    new = [Category(i, name, "label", session) for i, name in zip(ids.tolist(), names, strict=True)]
    assigned = assigned_to(batch, model.knowledge_, ids, codes)
    return Draft(
        "learn",
        changes={
            "session": session,
            "categories": [category.as_json() for category in new],
            "posteriors": ids.tolist(),
            "model": True,
            "embedder": batch.mark.as_json(),
        },
        summary={
            **batch_summary(batch, assigned, start),
            "unlabelled": unlabelled,
            "novel": ids.tolist(),
            "model": plain(asdict(model.prior_)),
        },
        files={MODEL: model.save} | batch_files(history, batch, assigned, model.knowledge_, ids.tolist()),
    )


def learn_more_draft(history: History, knowledge: Knowledge, batch: Batch, *, update_known: bool) -> Draft:
    """A later labelled session: unseen labels become categories; known ones learn only if asked to."""
    start = time.perf_counter()
    batch, names, codes, unlabelled = _labelled(batch)
    state = history.state
    place = {category.name: row for row, category in enumerate(state.live)}
    unseen = [name for name in names if name not in place]
    place |= {name: len(place) + i for i, name in enumerate(unseen)}
    codes = np.array([place[name] for name in names])[codes]
    n_known = len(state.where)
    session = history.next_session
    new_ids = (history.next_id + np.arange(len(unseen))).tolist()
    new = [Category(i, name, "label", session) for i, name in zip(new_ids, unseen, strict=True)]
    ids = [*state.where, *new_ids]
    reduced = knowledge.reduced(batch.vectors)
    touched = np.unique(codes[codes < n_known]) if update_known else np.empty(0, dtype=np.intp)
    if len(touched):
        knowledge = knowledge.absorbed(reduced, np.where(codes < n_known, codes, -1))
    if unseen:
        part = np.where(codes >= n_known, codes - n_known, -1)
        fresh = statistics_by_label(reduced, part, len(unseen), structure=knowledge.prior.structure)
        knowledge = knowledge.extended(knowledge.posterior_of(fresh))
    rows = [*touched.tolist(), *range(n_known, len(ids))]
    assigned = assigned_to(batch, knowledge, np.array(ids), codes)
    return Draft(
        "learn",
        changes={
            "session": session,
            "categories": [category.as_json() for category in new],
            "posteriors": [ids[row] for row in rows],
        },
        summary={**batch_summary(batch, assigned, start), "unlabelled": unlabelled, "novel": new_ids},
        files=segment_file(knowledge, rows, ids) | batch_files(history, batch, assigned, knowledge, new_ids),
    )


def discover_draft(
    history: History,
    model: CategoryDiscoverer,
    batch: Batch,
    n_novel: int | None,
    progress: Callable[[str], None],
) -> Draft:
    """An unlabelled session.

    Parameters
    ----------
    history : History
    model : CategoryDiscoverer
        Of the present state, labels being positions; it learns.
    batch : Batch
    n_novel : int or None
    progress : callable
        Told the name of each step.
    """
    start = time.perf_counter()
    state, before = history.state, model.posterior_.kappa
    report = model.discover(batch.vectors, n_novel=n_novel, progress=progress)
    new_ids = (history.next_id + np.arange(report.n_novel)).tolist()
    ids = np.array([*state.where, *new_ids, -1])
    best, first, second, next_best = top_two(report.probabilities_, report.labels_)
    assigned = Assignments(batch.references, ids[best], first, ids[second], next_best, report.novelty_)
    session = history.next_session
    new = _named(history, model.knowledge_, batch, assigned, new_ids, session)
    touched = np.flatnonzero(model.posterior_.kappa[: len(before)] != before).tolist()
    rows = [*touched, *range(len(before), len(model.posterior_))]
    return Draft(
        "discover",
        changes={
            "session": session,
            "categories": [category.as_json() for category in new],
            "posteriors": [int(ids[row]) for row in rows],
        },
        summary={**batch_summary(batch, assigned, start), "novel": new_ids, **_told(report)},
        files=segment_file(model.knowledge_, rows, ids.tolist())
        | batch_files(history, batch, assigned, model.knowledge_, new_ids),
    )


def segment_file(knowledge: Knowledge, rows: Sequence[int], ids: Sequence[int]) -> dict[str, Writer]:
    """The file with the posteriors of some rows; none where there are none."""
    if not rows:
        return {}
    part = knowledge.posterior.take(list(rows))
    return {SEGMENT: lambda path: write_segment(path, part, [int(ids[row]) for row in rows])}


def batch_files(
    history: History, batch: Batch, assigned: Assignments, knowledge: Knowledge, new_ids: Sequence[int]
) -> dict[str, Writer]:
    """Assignments, and what the settings ask for: coarse positions and excerpts."""
    files: dict[str, Writer] = {TABLE: lambda path: write_assignments(path, assigned)}
    config = history.state.config
    if config["sample"]:
        rng = np.random.default_rng([0, len(history.commits)])
        rows = np.sort(rng.permutation(len(batch))[: config["sample"]])
        reduced = knowledge.reduced(batch.vectors[rows])
        files[SAMPLE] = lambda path: write_sample(path, rows, reduced)
    kept = excerpts_of(batch.items, assigned, list(new_ids), config["excerpts"])
    if kept:
        files[EXCERPTS] = lambda path: write_synced(path, to_json(kept))
    return files


def batch_summary(batch: Batch, assigned: Assignments, start: float) -> dict[str, Any]:
    """What every session tells."""
    found, counts = np.unique(assigned.category, return_counts=True)
    return {
        "rows": len(batch),
        "source": storable(batch.items.source),
        **batch.origin.as_json(),
        "columns": plain(dict(batch.items.columns)),
        "kind": batch.items.kind,
        "counts": {str(i): int(n) for i, n in zip(found, counts, strict=True)},
        "mean_probability": float(np.mean(assigned.probability)),
        "unfamiliar": float(np.mean(assigned.novelty > UNFAMILIAR)),
        "failures": [plain(failure) for failure in batch.failures[:NAMED_FAILURES]],
        "n_failures": len(batch.failures),
        "seconds": round(time.perf_counter() - start, 3),
    }


def named_by_terms(batch: Batch, codes: Array, n_groups: int) -> list[str]:
    """A name from the texts of each group; empty where the items are no texts."""
    if batch.items.kind != "text":
        return [""] * n_groups
    return distinctive_terms([str(text) for text in batch.items.values], codes, n_groups)


def _labelled(batch: Batch) -> tuple[Batch, list[str], Array, int]:
    """The labelled items, names in the order of their labels, the place of each item's name (N,), and how
    many have no label.
    """
    check_labelled(batch.items)
    has_label = batch.items.labelled
    kept = batch.take(np.flatnonzero(has_label))
    labels: Any = kept.items.labels
    labels = np.array(labels.tolist()) if labels.dtype == object else labels
    found, codes = np.unique(labels, return_inverse=True)
    named = [label_name(label) for label in found.tolist()]
    names = list(dict.fromkeys(named))
    place = {name: row for row, name in enumerate(names)}
    return kept, names, np.array([place[name] for name in named])[codes], int((~has_label).sum())


def assigned_to(batch: Batch, knowledge: Knowledge, ids: Array, codes: Array) -> Assignments:
    """Items of given categories: ``codes`` (N,) are places in ``ids`` (K,), those of the knowledge."""
    scores = scored(knowledge, batch.vectors, codes)
    ids = np.append(ids, -1)
    return Assignments(
        batch.references,
        ids[codes],
        scores.probability,
        ids[scores.second],
        scores.second_probability,
        scores.novelty,
    )


def _named(
    history: History,
    knowledge: Knowledge,
    batch: Batch,
    assigned: Assignments,
    new_ids: Sequence[int],
    session: int,
) -> list[Category]:
    """The novel categories with the names that can be found for them."""
    state = history.state
    taken = [category.name for category in state.live]
    proposals: list[tuple[str, NamedBy]] = [("", "number")] * len(new_ids)
    if new_ids and state.config["names"] == "auto":
        if batch.items.kind == "text":
            groups, codes = np.unique(assigned.category, return_inverse=True)
            terms = named_by_terms(batch, codes, len(groups))
            place = np.searchsorted(groups, new_ids)
            proposals = [
                (terms[k] if groups[k] == i else "", "terms") for k, i in zip(place, new_ids, strict=True)
            ]
        elif batch.items.kind == "image":
            proposals = [(name, "likeness") for name in _likenesses(state, knowledge, len(new_ids))]
    new: list[Category] = []
    for i, (name, how) in zip(new_ids, proposals, strict=True):
        unique = unique_name(name or f"novel-{i}", [*taken, *(category.name for category in new)])
        new.append(Category(i, unique, how if name else "number", session))
    return new


def _likenesses(state: State, knowledge: Knowledge, n_novel: int) -> list[str]:
    """Names after the nearest categories that people have named, or after any where there are none."""
    geometry, means = knowledge.novelty.geometry, knowledge.posterior.mean
    similarity = geometry.similarity(geometry.prepared(means[-n_novel:]), means[: len(state.where)])
    spoken = [row for row, category in enumerate(state.live) if category.named_by in ("label", "user")]
    rows = spoken or list(range(len(state.where)))
    names = [state.live[row].name for row in rows]
    return [likeness(similarity[k, rows], names) for k in range(n_novel)]


def _told(report: SessionReport) -> Mapping[str, Any]:
    curve = report.count
    return dict(
        plain(
            {
                "estimated": report.estimated,
                "known_rows": report.n_known_rows,
                "novel_rows": report.n_novel_rows,
                "novel_share": report.novel_share,
                "evidence": report.evidence,
                "ratio_before": report.ratio_before,
                "ratio_after": report.ratio_after,
                "count": None if curve is None else curve._asdict(),
                "steps": [{"name": step.name, "seconds": round(step.seconds, 3)} for step in report.steps],
            }
        )
    )
