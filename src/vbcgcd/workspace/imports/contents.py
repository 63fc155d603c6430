"""The files of an imported workspace: whether each holds what a commit can have written."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.discovery.sound import check_knowledge, check_posterior
from vbcgcd.errors import InputError, reason_of
from vbcgcd.workspace.imports.shapes import list_of, mapping_of, record, text
from vbcgcd.workspace.log.blocks import Blocks
from vbcgcd.workspace.log.commits import SESSIONS, Commit
from vbcgcd.workspace.log.files import (
    BLOCKS,
    CORRECTIONS,
    EXCERPTS,
    LESSONS,
    MODEL,
    SAMPLE,
    SEEDLINGS,
    SEGMENT,
    SKETCH,
    TABLE,
    TRACES,
    UNASSIGNED,
    Assignments,
    read_content,
)
from vbcgcd.workspace.log.parquet import check_pyarrow
from vbcgcd.workspace.snapshot import Snapshot, State

Array = NDArray[Any]

#: A table of items may not unpack to more bytes than this for each of its own, nor have more rows.
UNPACKED_BYTES, SMALLEST_TABLE, ROWS_PER_BYTE = 100, 2**20, 4
#: Columns of a table of items.
COLUMNS = {
    "reference": "string",
    "category": "int64",
    "probability": "float",
    "second": "int64",
    "second_probability": "float",
    "novelty": "float",
}
#: Bytes of the largest thumbnail in base64, and letters of the longest excerpt and reference.
LARGEST_THUMBNAIL, LONGEST_EXCERPT, LONGEST_REFERENCE = 2**17, 1000, 10_000
_JPEG = b"\xff\xd8\xff"

__all__ = ["check_contents"]


def check_contents(snapshot: Snapshot) -> None:
    """Raise `InputError` unless every file holds what its commit can have written."""
    checks: dict[str, Callable[[Snapshot, Commit], None]] = {
        BLOCKS: _check_blocks,
        MODEL: _check_model,
        SEGMENT: _check_segment,
        SEEDLINGS: _check_seedlings,
        TABLE: _check_table,
        SAMPLE: _check_sample,
        EXCERPTS: _check_excerpts,
        LESSONS: _check_lessons,
        CORRECTIONS: _check_corrections,
        TRACES: _check_traces,
    }
    for commit in snapshot.history.commits:
        for name in sorted(commit.files, key=list(checks).index):  # models first: the others are like them
            try:
                checks[name](snapshot, commit)
            except Exception as error:
                if isinstance(error, MemoryError) or getattr(error, "errno", None) is not None:
                    raise  # the machine, not the file
                raise InputError(f"{name} of commit {commit.number}: {reason_of(error, 400)}") from None


def _read(snapshot: Snapshot, commit: Commit, name: str) -> Any:
    """What a file holds; it is not kept, so that an import takes the memory of one file."""
    return read_content(snapshot.store.file(commit, name))


def _base(snapshot: Snapshot, commit: Commit) -> Any:
    """The base model that was in effect at a commit."""
    number = snapshot.history.states[commit.number].model
    if number is None:
        raise InputError("there is no model before it")
    return snapshot.content(snapshot.history.commit(number), MODEL)


def _check_blocks(snapshot: Snapshot, commit: Commit) -> None:
    """Digests of parts that are not those of the file would stop the owner later."""
    for name in Blocks.read(snapshot.store.file(commit, BLOCKS)).digests:
        if name not in commit.files:
            raise InputError(f"it has digests of {name}, which is not there")
        _, check = snapshot.store.opened(commit, name)
        assert check is not None
        check(0, commit.files[name].bytes)


def _check_model(snapshot: Snapshot, commit: Commit) -> None:
    base = snapshot.content(commit, MODEL)
    check_knowledge(base.knowledge)
    if list(base.ids) != list(commit.changes["posteriors"]) or len(base.ids) != len(base.knowledge.posterior):
        raise InputError("its categories are not those of the record")
    width = commit.changes["embedder"]["dimension"]
    if not base.n_features == base.knowledge.reducer.n_inputs == width:
        raise InputError(f"its embeddings do not have {width} dimensions")


def _check_segment(snapshot: Snapshot, commit: Commit) -> None:
    segment, base = _read(snapshot, commit, SEGMENT), _base(snapshot, commit)
    check_posterior(segment.posterior, like=base.knowledge.posterior)
    if list(segment.ids) != list(commit.changes["posteriors"]) or len(segment.ids) != len(segment.posterior):
        raise InputError("its categories are not those of the record")
    if segment.posterior.mean.dtype != base.knowledge.posterior.mean.dtype:
        raise InputError("its numbers are of another type than those of the model")


def _check_seedlings(snapshot: Snapshot, commit: Commit) -> None:
    seedlings, base = _read(snapshot, commit, SEEDLINGS).seedlings, _base(snapshot, commit)
    check_posterior(seedlings.posterior, like=base.knowledge.posterior)
    n = len(seedlings.posterior)
    parts = (seedlings.rows, seedlings.worth, seedlings.since)
    if n != commit.changes["seedlings"] or any(part.shape != (n,) for part in parts):
        raise InputError("its groups are not those of the record")
    if not all(np.isfinite(part).all() for part in parts) or (seedlings.rows < 0).any():
        raise InputError("its groups have sizes that are not numbers")
    if seedlings.since.dtype.kind not in "iu" or not _within(seedlings.since, 0, commit.changes["session"]):
        raise InputError("its groups began in sessions that were not")


def _within(values: Array, low: float, high: float) -> bool:
    """Whether all values are in [low, high]; NaN is not."""
    return bool(((values >= low) & (values <= high)).all())


def _check_table(snapshot: Snapshot, commit: Commit) -> None:
    path = snapshot.store.file(commit, TABLE)
    _check_parquet(path, commit.summary["rows"])
    table: Assignments = _read(snapshot, commit, TABLE)
    state: State = snapshot.history.states[commit.number]
    known = np.array([*state.categories, UNASSIGNED])
    if not np.isin(table.category, known).all() or not np.isin(table.second, known).all():
        raise InputError("it has items of unknown categories")
    for name in ("probability", "second_probability", "novelty"):
        if not _within(getattr(table, name), -0.001, 1.001):
            raise InputError(f"its column {name!r} is not between 0 and 1")
    ids, counts = np.unique(table.category[table.category != UNASSIGNED], return_counts=True)
    stored = {int(i): n for i, n in commit.summary["counts"].items() if n}
    if stored != dict(zip(ids.tolist(), counts.tolist(), strict=True)):
        raise InputError("its items are not those that the record counts")
    if table.reference.null_count:
        raise InputError("it has items without a reference")


def _check_parquet(path: Path, rows: int) -> None:
    """Look at what a table says about itself before it is unpacked."""
    parquet, size = check_pyarrow("pyarrow.parquet"), path.stat().st_size
    about, schema = parquet.read_metadata(path), parquet.read_schema(path)
    if {name: str(schema.field(name).type) for name in schema.names} != COLUMNS or len(schema) != len(
        COLUMNS
    ):
        raise InputError(f"it has the columns {', '.join(schema.names)[:80]}")
    unpacked = sum(about.row_group(i).total_byte_size for i in range(about.num_row_groups))
    if about.num_rows != rows or rows > ROWS_PER_BYTE * size:
        raise InputError(f"it has {about.num_rows} rows, the record says {rows}")
    if unpacked > max(UNPACKED_BYTES * size, SMALLEST_TABLE):
        raise InputError(f"its {size} bytes would unpack to {unpacked}")


def _check_sample(snapshot: Snapshot, commit: Commit) -> None:
    sample, rows = _read(snapshot, commit, SAMPLE), commit.summary.get("rows", 0)
    if sample.rows.ndim != 1 or sample.rows.dtype.kind not in "iu" or not _within(sample.rows, 0, rows - 1):
        raise InputError("its rows are not rows of the items")
    width = min(SKETCH, _base(snapshot, commit).knowledge.posterior.dim)
    if sample.sketch.shape != (len(sample.rows), width) or sample.sketch.dtype.kind != "f":
        raise InputError(f"its positions have the shape {sample.sketch.shape}")
    if not np.isfinite(sample.sketch).all():
        raise InputError("its positions are not finite")


def _check_excerpts(snapshot: Snapshot, commit: Commit) -> None:
    values = json.loads(snapshot.store.file(commit, EXCERPTS).read_bytes())
    part = record(
        {"reference": text(LONGEST_REFERENCE), "text": text(LONGEST_EXCERPT), "jpeg": _jpeg},
        required=("reference",),
        closed=True,
    )
    mapping_of(text(16, shortest=1), list_of(part, 10_000))("its excerpts", values)
    known = snapshot.history.states[commit.number].categories
    if not all(key.isascii() and key.isdigit() and int(key) in known for key in values):
        raise InputError("it has excerpts of unknown categories")


def _check_lessons(snapshot: Snapshot, commit: Commit) -> None:
    lessons, rows = _read(snapshot, commit, LESSONS), commit.summary.get("rows", 0)
    known = np.array([*snapshot.history.states[commit.number].categories, UNASSIGNED])
    beds = commit.changes.get("seedlings", 0)
    if not _within(lessons.row, 0, rows - 1) or (np.diff(lessons.row) < 0).any():
        raise InputError("its rows are not rows of the items")
    if not np.isin(lessons.category, known).all() or not _within(lessons.seedling, -1, beds - 1):
        raise InputError("it has lessons for unknown categories")
    if not np.isfinite(lessons.weight).all() or (lessons.weight < 0).any():
        raise InputError("its weights are not numbers above 0")


def _check_corrections(snapshot: Snapshot, commit: Commit) -> None:
    state, base = snapshot.history.states[commit.number], _base(snapshot, commit)
    for item in _read(snapshot, commit, CORRECTIONS).items:
        number, row = item.key
        source = snapshot.history.commit(number) if 0 < number < commit.number else None
        if source is None or TABLE not in source.files or not 0 <= row < source.summary["rows"]:
            raise InputError("it corrects items that are not there")
        if number not in state.trail or item.category not in {*state.categories, UNASSIGNED}:
            raise InputError("it corrects items of undone sessions, or into unknown categories")
        taught = {**item.before, **item.after}
        if not all(c in state.categories or c == UNASSIGNED for c, _ in taught):
            raise InputError("it has lessons for unknown categories")
        if not all(np.isfinite(w) and w >= 0 for part in (item.before, item.after) for w in part.values()):
            raise InputError("its weights are not numbers from 0 on")
        vector = item.vector
        if vector is not None and (
            vector.shape != (base.knowledge.posterior.dim,) or not np.isfinite(vector).all()
        ):
            raise InputError("its embeddings are not like those of the model")


def _check_traces(snapshot: Snapshot, commit: Commit) -> None:
    traces, state = _read(snapshot, commit, TRACES), snapshot.history.states[commit.number]
    parts = [getattr(traces, each.name) for each in fields(traces)]
    if commit.command not in SESSIONS or any(part.shape != traces.category.shape for part in parts):
        raise InputError("its numbers are not one for each category")
    if any(part.dtype.kind not in kinds for part, kinds in zip(parts, ("iu", "iu", *"ffff"), strict=True)):
        raise InputError("its numbers are of another type")
    counts = {int(i): n for i, n in commit.summary["counts"].items() if n}
    if dict(zip(traces.category.tolist(), traces.count.tolist(), strict=True)) != counts:
        raise InputError("its items are not those that the record counts")
    if not set(traces.category.tolist()) <= set(state.categories) or (np.diff(traces.category) <= 0).any():
        raise InputError("it has numbers of unknown categories")
    if not np.isfinite(traces.shift).all() or any(np.isinf(part).any() for part in parts[2:]):
        raise InputError("its numbers are not finite")
    if (traces.shift < 0).any() or (traces.spread < 0).any() or not _within_or_nan(traces.smaller, 0, 0.5):
        raise InputError("its numbers are not variances and shares")


def _within_or_nan(values: Array, low: float, high: float) -> bool:
    return _within(values[~np.isnan(values)], low, high)


def _jpeg(where: str, value: Any) -> None:
    text(LARGEST_THUMBNAIL)(where, value)
    if not base64.b64decode(value, validate=True).startswith(_JPEG):
        raise InputError(f"{where} is not a picture")
