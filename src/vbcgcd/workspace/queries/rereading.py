"""Items of earlier sessions once more: read again from the user's own files, which must not have changed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.errors import InputError, MissingFileError
from vbcgcd.workspace.batch import Batch, Embedding, Maker, items_of_path, load_items, storable
from vbcgcd.workspace.log.commits import Commit
from vbcgcd.workspace.queries.sources import (
    COLUMNS,
    Source,
    changed_since,
    content_digest,
    same_columns,
    source_here,
)
from vbcgcd.workspace.snapshot import Snapshot
from vbcgcd.workspace.values import ItemInfo

if TYPE_CHECKING:
    from vbcgcd.items import Items

Array = NDArray[Any]

__all__ = ["batch_again", "items_again", "vectors_again"]


def vectors_again(
    snapshot: Snapshot, embedding: Embedding, items: Sequence[ItemInfo], data: Any = None
) -> Array:
    """Reduced embeddings of items, from the cache or embedded again, array (M, D).

    Parameters
    ----------
    snapshot : Snapshot
    embedding : Embedding
    items : sequence of ItemInfo
    data : Items or array, optional
        The items of a session that did not come from a file, as they were then.

    Raises
    ------
    InputError
        The source of an item has changed, or cannot be read any more.
    """
    rows: Array | None = None
    for number in sorted({item.commit for item in items}):
        places = [place for place, item in enumerate(items) if item.commit == number]
        references = [items[place].reference for place in places]
        reduced = _of_commit(snapshot, embedding, snapshot.history.commit(number), references, data)
        if rows is None:
            rows = np.empty((len(items), reduced.shape[1]), dtype=reduced.dtype)
        rows[places] = reduced
    assert rows is not None
    return rows


def _of_commit(
    snapshot: Snapshot, embedding: Embedding, commit: Commit, references: Sequence[str], data: Any
) -> Array:
    return snapshot.knowledge.reduced(_batch(snapshot, embedding, commit, references, data).vectors)


def batch_again(snapshot: Snapshot, embedding: Embedding, item: ItemInfo) -> Batch:
    """One item with its embedding, from the cache or embedded again."""
    return _batch(snapshot, embedding, snapshot.history.commit(item.commit), [item.reference], None)


def _batch(
    snapshot: Snapshot, embedding: Embedding, commit: Commit, references: Sequence[str], data: Any
) -> Batch:
    every, maker = items_again(snapshot, commit, data)
    place = {storable(reference): row for row, reference in enumerate(every.references)}
    missing = next((reference for reference in references if reference not in place), None)
    if missing is not None:
        raise InputError(f"Item {missing!r} is no longer in {every.source}; restore it, or leave it out.")
    wanted = every.take([place[reference] for reference in references])
    read = Source.from_json(commit.summary).read
    for reference, value in zip(references, wanted.values, strict=True):
        if isinstance(value, Path) and changed_since(value, read):
            state = "has changed since it was learned from" if value.exists() else "is not there any more"
            raise InputError(f"The picture {reference!r} of {every.source} {state}; restore it.")
    batch = embedding.embed(wanted, maker)
    if batch.failures:
        failure = batch.failures[0]
        raise InputError(f"Item {failure.reference!r} of {every.source} {failure.reason}.")
    return batch


def items_again(snapshot: Snapshot, commit: Commit, data: Any = None) -> tuple[Items, Maker]:
    """All items of the source of a commit, as they were read then, and what made their vectors.

    Raises
    ------
    InputError
        The source has changed, cannot be read, or is not known.
    """
    named = Source.from_json(commit.summary)
    if not named.path:
        return _from_memory(commit, data)
    source = source_here(snapshot, commit)
    if not source.path:
        raise InputError(
            f"{named.path} is not opened, because this workspace was imported; say where the file is here "
            f"with 'vbcgcd relocate {named.path} HERE'.",
        )
    path = Path(source.path)
    if not path.exists():
        raise MissingFileError(
            f"There is no {path} any more, from which session {_session(commit)} learned; put it back, or "
            f"say where it is with 'vbcgcd relocate {named.path} HERE'."
        )
    changed = InputError(
        f"{path} has changed since session {_session(commit)} used it, so its items cannot be told for sure; "
        "put back the file as it was."
    )
    if path.is_dir() != (not source.digest) or (source.digest and content_digest(path) != source.digest):
        raise changed
    columns = {name: commit.parameters[name] for name in COLUMNS if name in commit.parameters}
    items, maker = items_of_path(path, columns)
    if not same_columns(items, commit):
        raise changed
    return items, maker


def _from_memory(commit: Commit, data: Any) -> tuple[Items, Maker]:
    if data is None:
        raise InputError(
            f"The items of session {_session(commit)} did not come from a file, so they cannot be embedded "
            "again; pass them once more with the option 'data'.",
            option="data",
        )
    items, maker = load_items(data, {})
    summary = commit.summary
    rows = summary["rows"] + summary.get("n_failures", 0) + summary.get("unlabelled", 0)
    if len(items) != rows or items.kind != summary["kind"]:
        raise InputError(
            f"data holds {len(items)} {items.kind}s, but session {_session(commit)} had {rows} "
            f"{summary['kind']}s; pass the same items in the same order.",
            option="data",
        )
    return items, maker


def _session(commit: Commit) -> Any:
    return commit.changes.get("session", f"of commit {commit.number}")
