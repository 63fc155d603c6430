"""Sessions from folders of Parquet shards: from a snapshot and an engine to the draft of a commit.

Rows stay where they are. What a workspace keeps of each item, its reference and its scores, comes back, and a
bounded sample of reduced embeddings.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.discovery.geometry import is_flagged
from vbcgcd.discovery.knowledge import Knowledge, Scores
from vbcgcd.discovery.options import Options
from vbcgcd.discovery.traces import traces_of
from vbcgcd.errors import InputError
from vbcgcd.record import SessionRecord, plain
from vbcgcd.workspace.batch import UNKNOWN, EmbedderMark, storable
from vbcgcd.workspace.commands.naming import label_names, unique_name
from vbcgcd.workspace.commands.sessions import _rows, _scores_of, _segment, session_draft
from vbcgcd.workspace.commands.typos import check_typos
from vbcgcd.workspace.log.commits import Content, Draft
from vbcgcd.workspace.log.files import (
    MODEL,
    SAMPLE,
    TABLE,
    TRACES,
    UNASSIGNED,
    Assignments,
    BaseModel,
    Sample,
    SessionTraces,
)
from vbcgcd.workspace.queries.sources import Source
from vbcgcd.workspace.snapshot import Category, Snapshot

if TYPE_CHECKING:
    from vbcgcd.engine import Engine
    from vbcgcd.shards import ShardedData
    from vbcgcd.shards.learning import LabelledShards
    from vbcgcd.shards.scoring import ScoredRows

Array = NDArray[Any]
Progress = Callable[[str, int, int], None]

#: Rows from which is told where the categories lay.
TRACE_ROWS = 20_000
#: Rows whose probabilities are ranked together.
RANKED_ROWS = 65_536

__all__ = ["discover_shards_draft", "learn_shards_draft"]


@dataclass(frozen=True)
class _Labels:
    """Labels of shards as categories: those that are known, then new ones."""

    codes: Mapping[Any, int]
    sizes: Array
    ids: Sequence[int]
    novel: Sequence[Category]
    n_known: int

    @classmethod
    def of(cls, snapshot: Snapshot, found: LabelledShards, *, new_labels: bool) -> _Labels:
        history, state = snapshot.history, snapshot.state
        by_label = label_names(list(found.labels), [category.name for category in state.live])
        place = {category.name: row for row, category in enumerate(state.live)}
        unseen = [name for name in dict.fromkeys(by_label) if name not in place]
        if not new_labels:
            check_typos(unseen, [category.name for category in state.live])
        place |= {name: len(place) + i for i, name in enumerate(unseen)}
        new_ids = [history.next_id + i for i in range(len(unseen))]
        codes = {label: place[name] for label, name in zip(found.labels, by_label, strict=True)}
        sizes = np.bincount(list(codes.values()), found.counts, minlength=len(place)).astype(np.int64)
        session = history.next_session
        novel = [Category(i, name, "label", session) for i, name in zip(new_ids, unseen, strict=True)]
        return cls(codes, sizes, [*state.ids, *new_ids], novel, len(state.ids))

    def by_category(self) -> list[list[Any]]:
        """The labels of each category."""
        names: list[list[Any]] = [[] for _ in self.ids]
        for label, code in self.codes.items():
            names[code].append(label)
        return names


def learn_shards_draft(
    snapshot: Snapshot,
    engine: Engine,
    data: ShardedData,
    source: Source,
    *,
    update_known: bool,
    new_labels: bool,
    progress: Progress,
) -> Draft:
    """A labelled session from shards; see `vbcgcd.workspace.commands.learn_draft`.

    Parameters
    ----------
    snapshot : Snapshot
    engine : Engine
    data : ShardedData
    source : Source
        Where the items came from.
    update_known : bool
        Let known categories learn from their items.
    new_labels : bool
        Accept labels that look like mistyped names of categories.
    progress : callable
        Called with the name of a step, the rows that are done and all of them.
    """
    from vbcgcd.shards.learning import count_labels
    from vbcgcd.shards.scoring import score_shards

    start, state = time.perf_counter(), snapshot.state
    found = count_labels(engine, data)
    labels = _Labels.of(snapshot, found, new_labels=new_labels)
    changes: dict[str, Any] = {
        "session": snapshot.history.next_session,
        "categories": [category.as_json() for category in labels.novel],
        "posteriors": [category.id for category in labels.novel],
    }
    if state.model is None:
        knowledge, files = _base(snapshot, engine, data, labels, progress)
        changes |= {"model": True, "embedder": _mark(data).as_json()}
    else:
        knowledge, files = _more(snapshot, engine, data, labels, update_known, changes, progress)
    scored = score_shards(
        engine,
        data,
        knowledge,
        labels.codes,
        sample_rows=max(TRACE_ROWS, state.config["sample"] or 0),
        progress=lambda finished, total: progress("scoring", finished, total),
    )
    table = _table(scored, labels.ids)
    record = SessionRecord(
        session=changes["session"],
        command="learn",
        novel={category.id: category.name for category in labels.novel},
        unlabelled=found.unlabelled,
        prior=plain(asdict(knowledge.prior)) if state.model is None else {},
        seconds=round(time.perf_counter() - start, 3),
        table_=_rows(table, [*state.live, *labels.novel]),
        **_facts(data, source, table, scored),
    )
    files |= _files(snapshot, scored, table, knowledge, labels.ids)
    return Draft("learn", changes=changes, record=record, files=files)


def _base(
    snapshot: Snapshot, engine: Engine, data: ShardedData, labels: _Labels, progress: Progress
) -> tuple[Knowledge, dict[str, Content]]:
    from vbcgcd.shards import learn_shards

    options = Options(**snapshot.state.config["model"])
    knowledge = learn_shards(engine, data, labels.codes, labels.sizes, options, progress=progress)
    return knowledge, {MODEL: BaseModel(knowledge, tuple(labels.ids), options, data.width)}


def _more(
    snapshot: Snapshot,
    engine: Engine,
    data: ShardedData,
    labels: _Labels,
    update_known: bool,
    changes: dict[str, Any],
    progress: Progress,
) -> tuple[Knowledge, dict[str, Content]]:
    """What later labels teach; ``changes`` gets the categories that they touch."""
    from vbcgcd.discovery.gathered import learn_more_gathered
    from vbcgcd.shards.statistics import in_panels

    before, live = snapshot.knowledge, snapshot.state.live
    done = [0]

    def added(rows: int) -> None:
        done[0] += rows
        progress("statistics", min(done[0], data.rows), data.rows)

    gather = in_panels(engine, data, labels.by_category(), before.reducer, added)
    codes = np.unique(list(labels.codes.values()))
    knowledge = learn_more_gathered(before, codes, gather, update_known=update_known)
    known = codes[codes < labels.n_known].tolist()
    rows = [*(known if update_known else []), *range(labels.n_known, len(labels.ids))]
    sure = [replace(live[row], reliability=1.0) for row in known if live[row].reliability < 1]
    changes["posteriors"] = [labels.ids[row] for row in rows]
    changes["categories"] = [category.as_json() for category in (*sure, *labels.novel)]
    return knowledge, _segment(knowledge, rows, labels.ids)


def _mark(data: ShardedData) -> EmbedderMark:
    name, fingerprint = data.made_by or (UNKNOWN, UNKNOWN)
    return EmbedderMark(name, "embedding", fingerprint, data.width)


def _table(scored: ScoredRows, ids: Sequence[int]) -> Assignments:
    if len(set(scored.references)) < len(scored.references):
        raise InputError(
            "The ids of the shards are not unique; choose another column, or one that does not exist in the "
            "data to use row numbers.",
            option="id",
        )
    known, scores = np.array([*ids, -1]), scored.scores
    return Assignments(
        [storable(reference) for reference in scored.references],
        known[scores.best],
        scores.probability,
        known[scores.second],
        scores.second_probability,
        scores.novelty,
    )


def _facts(data: ShardedData, source: Source, table: Assignments, scored: ScoredRows) -> dict[str, Any]:
    assigned = table.category != UNASSIGNED
    categories, counts = np.unique(table.category[assigned], return_counts=True)
    sure = scored.scores.probability[assigned]
    return {
        "rows": len(table.category),
        "counts": dict(zip(categories.tolist(), counts.tolist(), strict=True)),
        "mean_probability": float(np.mean(sure)) if len(sure) else None,
        "flagged": float(np.mean(is_flagged(scored.scores.novelty))),
        "source": storable(str(data.folder)),
        "kind": "embedding",
        "columns": plain(dict(data.columns.report)),
        **source.as_json(),
    }


def _files(
    snapshot: Snapshot, scored: ScoredRows, table: Assignments, knowledge: Knowledge, ids: Sequence[int]
) -> dict[str, Content]:
    """Assignments, coarse positions of some items, and where the items of each category lay."""
    files: dict[str, Content] = {TABLE: table}
    wanted = snapshot.state.config["sample"]
    if wanted:
        rng = np.random.default_rng([0, snapshot.head.number])
        some = np.sort(rng.permutation(len(scored.sampled))[:wanted])
        files[SAMPLE] = Sample.of(scored.sampled[some], scored.reduced[some])
    best, geometry = scored.scores.best[scored.sampled], knowledge.novelty.geometry
    traces = traces_of(scored.reduced, best, knowledge.posterior.mean, geometry)
    files[TRACES] = SessionTraces.of(traces, ids)
    return files


def discover_shards_draft(
    snapshot: Snapshot,
    engine: Engine,
    data: ShardedData,
    source: Source,
    n_novel: int | None,
    progress: Callable[[str], None],
) -> Draft:
    """An unlabelled session from shards; see `vbcgcd.workspace.commands.discover_draft`.

    Novel categories are called by their numbers: the texts of the items are not read.

    Parameters
    ----------
    snapshot : Snapshot
    engine : Engine
    data : ShardedData
    source : Source
        Where the items came from.
    n_novel : int or None
        Number of novel categories; None estimates it.
    progress : callable
        Called with the name of each step as it begins.
    """
    from vbcgcd.discovery.large.scheduling import computing_on
    from vbcgcd.discovery.session import run_session
    from vbcgcd.shards.rows import ShardRows
    from vbcgcd.shards.scoring import ScoredRows, references_of

    start, history, state = time.perf_counter(), snapshot.history, snapshot.state
    before, session = snapshot.knowledge.for_workers(), history.next_session
    options = snapshot.base.options
    rows = ShardRows(data, engine)
    with computing_on(engine):
        knowledge, outcome = run_session(
            rows,
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
    some = np.sort(np.random.default_rng([0, session]).permutation(len(rows))[:TRACE_ROWS])
    reduced = knowledge.reduced(rows.take(some))
    scored = ScoredRows(references_of(engine, data), _scores(outcome, ids), some, reduced)
    table = _table(scored, ids)
    names = [unique_name(f"novel-{i}", [category.name for category in state.live]) for i in new_ids]
    novel = [
        Category(i, name, "number", session, reliability=float(reliability))
        for i, name, reliability in zip(new_ids, names, knowledge.reliabilities[n_known:], strict=True)
    ]
    facts = _facts(data, source, table, scored)
    record = replace(
        outcome,
        novel={category.id: category.name for category in novel},
        unassigned=int(np.sum(table.category == UNASSIGNED)),
        grown={int(category): int(since) for category, since in outcome.grown.items()},
        returned={int(category): int(rows) for category, rows in outcome.returned.items()},
        seconds=round(time.perf_counter() - start, 3),
        table_=_rows(table, [*state.live, *novel]),
        **facts,
    )
    draft = session_draft(before, knowledge, outcome, record, novel, ids)
    return replace(draft, files={**draft.files, **_files(snapshot, scored, table, knowledge, ids)})


def _scores(outcome: SessionRecord, ids: Sequence[int]) -> Scores:
    """Scores of the rows of a session, some at a time: ranking them takes several times their memory."""
    parts = []
    for start in range(0, len(outcome.labels_), RANKED_ROWS):
        part = slice(start, start + RANKED_ROWS)
        some = replace(
            outcome,
            labels_=outcome.labels_[part],
            probabilities_=outcome.probabilities_[part],
            novelty_=outcome.novelty_[part],
        )
        parts.append(vars(_scores_of(some, ids)))
    return Scores(**{name: np.concatenate([each[name] for each in parts]) for name in parts[0]})
