"""Items of earlier sessions once more: read again from the user's own files, which must not have changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vbcgcd.errors import InputError, MissingFileError
from vbcgcd.items.frames import is_frame
from vbcgcd.workspace.batch import Embedding, Maker, load_items, storable
from vbcgcd.workspace.log.commits import Commit
from vbcgcd.workspace.log.files import SAMPLE, TABLE
from vbcgcd.workspace.queries.sources import (
    COLUMNS,
    Source,
    changed_since,
    has_changed,
    read_as_before,
    same_columns,
    source_here,
    source_of,
)
from vbcgcd.workspace.snapshot import Snapshot
from vbcgcd.workspace.values import ItemInfo

if TYPE_CHECKING:
    from vbcgcd.items import Items

Array = NDArray[Any]
#: Items of a session whose positions are compared with those of data that is passed once more; embeddings
#: that are made again differ by rounding, by less than this share of the largest value.
COMPARED, SAME = 20, 1e-2

__all__ = ["Reread", "items_again", "read_again", "vectors_again"]


class Reread(NamedTuple):
    """Items that were read again.

    Attributes
    ----------
    places : list of int
        Which of the items that were asked for.
    vectors : array (M, D)
        Their reduced embeddings.
    values : list
        Their texts, pictures or vectors.
    problems : list of InputError
        Why the others were not.
    """

    places: list[int]
    vectors: Array
    values: list[Any]
    problems: list[InputError]


def vectors_again(
    snapshot: Snapshot, embedding: Embedding, items: Sequence[ItemInfo], data: Any = None
) -> Array:
    """Reduced embeddings of items, from the cache or embedded again, array (M, D).

    Parameters
    ----------
    snapshot : Snapshot
    embedding : Embedding
    items : sequence of ItemInfo
    data : path, Items or array, optional
        The items of a session that did not come from a file, as they were then; or its file, where that is
        elsewhere now.

    Raises
    ------
    InputError
        The source of an item has changed, or cannot be read any more.
    """
    found = read_again(snapshot, embedding, items, data)
    if found.problems:
        raise found.problems[0]
    return found.vectors


def read_again(
    snapshot: Snapshot, embedding: Embedding, items: Sequence[ItemInfo], data: Any = None
) -> Reread:
    """As many of the items as there still are; the parameters are those of `vectors_again`."""
    by_commit: dict[int, list[int]] = {}
    for place, item in enumerate(items):
        by_commit.setdefault(item.commit, []).append(place)
    found: dict[int, tuple[Array, Any]] = {}
    problems: list[InputError] = []
    for number, places in sorted(by_commit.items()):
        commit, place_of = snapshot.history.commit(number), {items[i].reference: i for i in places}
        try:
            for reference, *parts in _of_commit(snapshot, embedding, commit, place_of, data, problems):
                found[place_of[reference]] = tuple(parts)
        except InputError as error:
            problems.append(error)
    mean = snapshot.knowledge.posterior.mean
    vectors = np.array([found[i][0] for i in sorted(found)], dtype=mean.dtype).reshape(-1, mean.shape[1])
    return Reread(sorted(found), vectors, [found[i][1] for i in sorted(found)], problems)


def _of_commit(
    snapshot: Snapshot,
    embedding: Embedding,
    commit: Commit,
    references: Iterable[str],
    data: Any,
    problems: list[InputError],
) -> list[tuple[str, Array, Any]]:
    """Reference, reduced embedding and value of each item that is there; why others are not is added."""
    every, maker = items_again(snapshot, commit, data)
    wanted = set(references)
    sample = {} if Source.from_json(commit.summary).path else _sample(snapshot, commit)
    rows = sorted({*_rows(every, commit, wanted, problems), *_rows(every, commit, set(sample), [])})
    if not rows:
        return []
    batch = embedding.embed(every.take(rows), maker)
    reduced = snapshot.knowledge.reduced(batch.vectors)
    found = list(zip(batch.references, reduced, batch.items.values, strict=True))
    _check_positions(commit, sample, found)
    for reference, reason in ((storable(failure.reference), failure.reason) for failure in batch.failures):
        if reference in wanted:
            problems.append(InputError(f"Item {reference!r} of {every.source} {reason}."))
    return [item for item in found if item[0] in wanted]


def _rows(every: Items, commit: Commit, wanted: set[str], problems: list[InputError]) -> list[int]:
    """Rows of a source with these references, as far as they are still what they were."""
    rows: list[int] = []
    names, read = Counter(map(storable, every.references)), Source.from_json(commit.summary).read
    for row, name in enumerate(map(storable, every.references)):
        if name not in wanted:
            continue
        value = every.values[row]
        if names[name] > 1:
            problems.append(InputError(f"{names[name]} items of {every.source} are called {name!r}."))
        elif isinstance(value, Path) and changed_since(value, read):
            state = "has changed since it was learned from" if value.exists() else "is not there any more"
            problems.append(InputError(f"The picture {name!r} of {every.source} {state}; restore it."))
        else:
            rows.append(row)
    for name in sorted(name for name in wanted if not names[name]):
        problems.append(
            InputError(f"Item {name!r} is no longer in {every.source}; restore it, or leave it out.")
        )
    return rows


def _sample(snapshot: Snapshot, commit: Commit) -> dict[str, Array]:
    """Where a few items of a commit were, by reference."""
    sample = snapshot.decoration(commit, SAMPLE) if SAMPLE in commit.files else None
    if sample is None:
        return {}
    table = snapshot.content(commit, TABLE)
    rows = zip(sample.rows[:COMPARED].tolist(), sample.sketch[:COMPARED], strict=True)
    return {table.name_of(row): position for row, position in rows}


def _check_positions(commit: Commit, sample: Mapping[str, Array], found: Any) -> None:
    """Raise unless items that were passed once more lie where those of the session did."""
    for name, reduced, _ in found:
        position = sample.get(name)
        if position is None:
            continue
        if np.abs(reduced[: len(position)] - position).max() > SAME * max(np.abs(position).max(), 1.0):
            raise InputError(
                f"data holds other items than those of {_name(commit)}; pass the same items in "
                "the same order.",
                option="data",
            )


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
    elsewhere = source_of(data)
    if named.digest and elsewhere.digest == named.digest:
        return read_as_before(Path(elsewhere.path), commit)
    source = source_here(snapshot, commit)
    if not source.path:
        raise InputError(
            f"{named.path} is not opened, because this workspace was imported; say where the file is here "
            f"with 'vbcgcd relocate {named.path} HERE'.",
        )
    path = Path(source.path)
    if not path.exists():
        raise MissingFileError(
            f"There is no {path} any more, from which {_name(commit)} learned; put it back, or "
            f"say where it is with 'vbcgcd relocate {named.path} HERE'."
        )
    changed = InputError(
        f"{path} has changed since {_name(commit)} used it, so its items cannot be told for sure; "
        "put back the file as it was."
    )
    if has_changed(source):
        raise changed
    items, maker = read_as_before(path, commit)
    if not same_columns(items, commit):
        raise changed
    return items, maker


def _from_memory(commit: Commit, data: Any) -> tuple[Items, Maker]:
    if data is None:
        raise InputError(
            f"The items of {_name(commit)} did not come from a file, so they cannot be embedded "
            "again; pass them once more with the option 'data'.",
            option="data",
        )
    columns = {name: commit.parameters.get(name) for name in COLUMNS} if is_frame(data) else {}
    items, maker = load_items(data, columns)
    summary = commit.summary
    rows = summary["rows"] + summary.get("n_failures", 0) + summary.get("unlabelled", 0)
    if len(items) != rows or items.kind != summary["kind"]:
        raise InputError(
            f"data holds {len(items)} {items.kind}s, but {_name(commit)} had {rows} "
            f"{summary['kind']}s; pass the same items in the same order.",
            option="data",
        )
    return items, maker


def _name(commit: Commit) -> str:
    """A session by its number; splits of release 0.1 assigned items too."""
    session = commit.changes.get("session")
    return f"the split of commit {commit.number}" if session is None else f"session {session}"
