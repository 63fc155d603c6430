"""The user's own files: whether a session has used them, and the texts and pictures of its items again."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import math
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.errors import InputError
from vbcgcd.record import plain
from vbcgcd.workspace.batch import Maker, items_of_path, storable
from vbcgcd.workspace.log.commits import Commit
from vbcgcd.workspace.log.files import EXCERPTS, Assignments, Excerpts
from vbcgcd.workspace.snapshot import History, Snapshot, once_per_snapshot
from vbcgcd.workspace.trust import trust_of
from vbcgcd.workspace.values import ItemContent, ItemInfo, SourceInfo

if TYPE_CHECKING:
    from vbcgcd.items import Items

Array = NDArray[Any]
#: Letters of an excerpt, and pixels of a thumbnail's longer side.
LETTERS, PIXELS = 160, 144
#: Options of ``vbcgcd.items.read_items`` among the parameters of a command.
COLUMNS = ("kind", "text", "image", "label", "embedding", "id", "split", "format")

__all__ = [
    "COLUMNS",
    "NO_SOURCE",
    "Source",
    "changed_since",
    "content_digest",
    "excerpt",
    "excerpts_of",
    "find_session",
    "full_texts",
    "has_changed",
    "item_contents",
    "item_texts",
    "list_sources",
    "most_typical",
    "new_source",
    "read_as_before",
    "same_columns",
    "source_here",
    "source_of",
    "stored_excerpts",
    "thumbnail",
]


@dataclass(frozen=True)
class Source:
    """The user's own file or folder.

    Parameters
    ----------
    path : str
        Absolute path; empty if the items came from memory.
    digest : str
        BLAKE2b of the content of a file; empty for a folder.
    read : float
        When it was read, in seconds since 1970. Whatever was written later was not learned from.
    """

    path: str = ""
    digest: str = ""
    read: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """For the summary of a commit; empty if there is nothing to find again."""
        if not self.path:
            return {}
        return {"source_path": self.path, "source_digest": self.digest, "source_read": self.read}

    @classmethod
    def from_json(cls, summary: Mapping[str, Any]) -> Source:
        """From the summary of a commit; early ones do not name their source."""
        path, mark, read = (summary.get(f"source_{part}") for part in ("path", "digest", "read"))
        if not isinstance(path, str) or not isinstance(mark, str) or not isinstance(read, int | float):
            return NO_SOURCE
        return cls(path, mark, float(read))


NO_SOURCE = Source()


def source_of(data: Any) -> Source:
    """Path and digest of data. Call it before reading, so that a later content is never taken for it."""
    if not isinstance(data, str | os.PathLike):
        return NO_SOURCE
    path, now = Path(os.path.abspath(data)), time.time()
    try:
        str(path).encode("utf-8")
        mark = "" if path.is_dir() else content_digest(path)
    except (OSError, UnicodeError):
        return NO_SOURCE
    return Source(str(path), mark, now)


def new_source(
    history: History, command: str, data: Any, columns: Mapping[str, Any], *, again: bool
) -> Source:
    """Path and digest of data that no session in effect has used yet.

    Parameters
    ----------
    history : History
    command : {"learn", "discover"}
        Sessions of the other command do not matter.
    data : path, Items or array
    columns : dict
        Options of ``vbcgcd.items.read_items``: another ``split`` of a file is other data.
    again : bool
        Whether data may be used once more.

    Raises
    ------
    InputError
        A session has used the same data.
    """
    source = source_of(data)
    split = plain(columns.get("split"))
    sessions = (c for c in history.in_effect() if c.command == command and c.parameters.get("split") == split)
    earlier = None if again or not source.path else find_session(source, sessions)
    if earlier is not None:
        since = "" if source.digest else " and has not changed since"
        used = str(earlier.summary["source_path"])
        copy = f"has the same content as {_told_apart(used, source.path)}, which "
        raise InputError(
            f"{Path(source.path).name} {'' if used == source.path else copy}was already used in session "
            f"{earlier.changes['session']} ({command}, {earlier.time[:16].replace('T', ' ')}){since}; "
            "set the option 'again' to use it once more.",
            option="again",
        )
    return source


def _told_apart(path: str, other: str) -> str:
    """The name of a file; its path where another has the same name."""
    return path if Path(path).name == Path(other).name else Path(path).name


def find_session(source: Source, sessions: Iterable[Commit]) -> Commit | None:
    """The session that used the same content: the same file, or a folder that has not changed since.

    Parameters
    ----------
    source : Source
    sessions : iterable of Commit
        Those to search.
    """
    for session in sessions:
        earlier = Source.from_json(session.summary)
        if not earlier.path or earlier.digest != source.digest:
            continue
        if source.digest or (earlier.path == source.path and _newest(source.path) <= earlier.read):
            return session
    return None


def content_digest(path: Path) -> str:
    """BLAKE2b of the content of a file, read piece by piece."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def _newest(folder: str) -> float:
    """When a picture or table below a folder was last written, or something was added or removed."""
    from vbcgcd.items.arrow import dataset_files
    from vbcgcd.items.folders import list_pictures

    try:
        files = [*(os.path.join(folder, name) for name in list_pictures(folder)), *dataset_files(folder)]
        places = {folder, *files, *map(os.path.dirname, files)}
        return max(os.stat(place).st_mtime for place in places)
    except OSError:  # what cannot be read is not known to be the same
        return math.inf


def item_contents(
    snapshot: Snapshot, items: Sequence[ItemInfo], *, sources: bool = True
) -> list[ItemContent]:
    """What can be shown of each item, in their order.

    A source that is missing, unreadable or changed gives references only. Each is read once.

    Parameters
    ----------
    snapshot : Snapshot
    items : sequence of ItemInfo
    sources : bool
        Whether to read the user's files; stored excerpts are always used.
    """
    return [_content(snapshot, item.commit, item.reference, sources) for item in items]


def item_texts(snapshot: Snapshot, items: Sequence[ItemInfo]) -> list[str]:
    """Text of each item, "" if it has none; no picture is opened."""
    return [
        _content(snapshot, item.commit, item.reference, True).text if _is_text(snapshot, item.commit) else ""
        for item in items
    ]


def full_texts(snapshot: Snapshot, number: int) -> Mapping[str, str]:
    """Whole texts of the items of a commit by reference, or stored excerpts where its source is not there."""
    commit = snapshot.history.commit(number)
    source = source_here(snapshot, commit)
    texts = {reference: part.text for reference, part in _from_excerpts(snapshot, commit).items()}
    if source.path and shown_kind(commit) == "text":
        values = _values(snapshot, commit, source)
        texts |= {reference: value for reference, value in values.items() if isinstance(value, str)}
    return texts


def excerpts_of(items: Items, table: Assignments, categories: Sequence[int], n: int) -> Excerpts:
    """Excerpts of the ``n`` most typical items of each category; none for vectors alone."""
    if not items.shown_kind or n == 0:
        return Excerpts({})
    excerpts: dict[int, list[Mapping[str, str]]] = {}
    for category in categories:
        parts = [_excerpt_of(items, table, row) for row in most_typical(table, category, n)]
        excerpts[category] = [part for part in parts if part is not None]
    return Excerpts(excerpts)


def stored_excerpts(snapshot: Snapshot) -> dict[int, list[Mapping[str, str]]]:
    """Excerpts that the commits in effect hold, by live or retired category."""
    excerpts: dict[int, list[Mapping[str, str]]] = {}
    for commit in snapshot.history.in_effect():
        stored = snapshot.decoration(commit, EXCERPTS) if EXCERPTS in commit.files else None
        if stored is not None:
            for category, parts in stored.by_category.items():
                excerpts.setdefault(snapshot.state.resolve(category), []).extend(parts)
    return excerpts


def most_typical(table: Assignments, category: int, n: int) -> Array:
    """Rows of the least novel items that surely belong to a category, int array (at most n,)."""
    rows = np.flatnonzero(table.category == category)
    order = np.lexsort((table.novelty[rows], -np.round(table.probability[rows], 2)))
    return np.asarray(rows[order[:n]])


def excerpt(text: str) -> str:
    """The beginning of a text, on one line."""
    text = " ".join(text.split()).encode("utf-8", "replace").decode("utf-8")
    return text if len(text) <= LETTERS else f"{text[: LETTERS - 1]}…"


def thumbnail(value: Any) -> str:
    """A picture as a small JPEG, in base64; raises `InputError` if it cannot be opened."""
    from vbcgcd.embed.pictures import open_picture

    picture = open_picture(value)
    picture.thumbnail((PIXELS, PIXELS))
    out = io.BytesIO()
    picture.save(out, format="JPEG", quality=80)
    return base64.b64encode(out.getvalue()).decode("ascii")


def _excerpt_of(items: Items, table: Assignments, row: int) -> Mapping[str, str] | None:
    assert items.shown is not None
    reference, value = table.name_of(row), items.shown[row]
    if items.shown_kind == "text":
        return {"reference": reference, "text": excerpt(str(value))}
    try:
        return {"reference": reference, "jpeg": thumbnail(value)}
    except InputError:
        return None


class _Cache:
    """Excerpts and values of the sources that were read for a snapshot, and what they gave."""

    def __init__(self) -> None:
        self.excerpts: dict[int, Mapping[str, ItemContent]] = {}
        self.sources: dict[str, Mapping[str, Any]] = {}
        self.contents: dict[tuple[int, str, bool], ItemContent] = {}


@once_per_snapshot
def _cache(snapshot: Snapshot) -> _Cache:
    return _Cache()


def _commit(snapshot: Snapshot, number: int) -> Commit | None:
    return snapshot.history.commit(number) if 0 < number <= snapshot.head.number else None


def _is_text(snapshot: Snapshot, number: int) -> bool:
    commit = _commit(snapshot, number)
    return commit is not None and shown_kind(commit) == "text"


def shown_kind(commit: Commit) -> str:
    """Whether the items of a commit can be shown as "text" or "image"; empty for vectors alone."""
    kind = str(commit.summary.get("kind", ""))
    columns = commit.summary.get("columns") or {}
    if kind != "embedding":
        return kind
    return next((name for name in ("text", "image") if name in columns), "")


def _content(snapshot: Snapshot, number: int, reference: str, sources: bool) -> ItemContent:
    contents, key = _cache(snapshot).contents, (number, reference, sources)
    if key not in contents:
        commit, content = _commit(snapshot, number), None
        if commit is not None:
            content = _from_excerpts(snapshot, commit).get(reference)
            if content is None and sources:
                content = _from_source(snapshot, commit, reference)
        contents[key] = content or ItemContent(reference)
    return contents[key]


def _from_excerpts(snapshot: Snapshot, commit: Commit) -> Mapping[str, ItemContent]:
    cache = _cache(snapshot).excerpts
    if commit.number not in cache:
        stored = snapshot.decoration(commit, EXCERPTS) if EXCERPTS in commit.files else None
        cache[commit.number] = {
            part["reference"]: ItemContent(part["reference"], part.get("text", ""), part.get("jpeg", ""))
            for parts in ({} if stored is None else stored.by_category).values()
            for part in parts
        }
    return cache[commit.number]


def _from_source(snapshot: Snapshot, commit: Commit, reference: str) -> ItemContent | None:
    source = source_here(snapshot, commit)
    if not source.path or not shown_kind(commit):
        return None
    value = _values(snapshot, commit, source).get(reference)
    if isinstance(value, str):
        return ItemContent(reference, text=excerpt(value))
    if value is None or (isinstance(value, Path) and changed_since(value, source.read)):
        return None
    try:
        return ItemContent(reference, jpeg=thumbnail(value))
    except (InputError, ImportError):
        return None


def source_here(snapshot: Snapshot, commit: Commit) -> Source:
    """The source of a commit at its place on this machine; none if it must not be opened."""
    source = Source.from_json(commit.summary)
    place = trust_of(snapshot).place_of(source.path, commit.number) if source.path else None
    return NO_SOURCE if place is None else replace(source, path=place)


def list_sources(snapshot: Snapshot) -> tuple[SourceInfo, ...]:
    """The user's files and folders that sessions name, in the order of their first use."""
    commits: dict[str, list[Commit]] = {}
    for commit in snapshot.history.in_effect():
        if path := Source.from_json(commit.summary).path:
            commits.setdefault(path, []).append(commit)
    trust = trust_of(snapshot)
    return tuple(
        SourceInfo(path, tuple(c.number for c in users), trust.place_of(path, users[-1].number))
        for path, users in commits.items()
    )


def _values(snapshot: Snapshot, commit: Commit, source: Source) -> Mapping[str, Any]:
    """What is shown by reference, from the source of a commit; none if that is not what it was made from."""
    how = [commit.parameters.get(name) for name in COLUMNS], commit.summary.get("columns")
    cache, key = _cache(snapshot).sources, json.dumps([source.path, source.digest, how], sort_keys=True)
    if key not in cache:
        try:
            items = _read_again(source, commit)
        except Exception:  # a file that changed may fail in any way; the reference can still be shown
            items = None
        cache[key] = {} if items is None or not same_columns(items, commit) else _by_reference(items)
    return cache[key]


def _read_again(source: Source, commit: Commit) -> Items | None:
    return None if has_changed(source) else read_as_before(Path(source.path), commit)[0]


def has_changed(source: Source) -> bool:
    """Whether a file is not what it was, a folder of tables was written to, or either is gone."""
    path = Path(source.path)
    if source.digest:
        return not path.is_file() or content_digest(path) != source.digest
    if not path.is_dir():
        return True
    from vbcgcd.items.arrow import dataset_files

    # Pictures are asked one by one.
    return any(changed_since(Path(file), source.read) for file in dataset_files(path))


def read_as_before(path: Path, commit: Commit) -> tuple[Items, Maker]:
    """The items at a path, by the columns that a commit read them by."""
    columns = {name: commit.parameters[name] for name in COLUMNS if name in commit.parameters}
    known = commit.summary.get("columns") or {}
    prefer = {"kind": commit.summary.get("kind"), **(known if isinstance(known, Mapping) else {})}
    return items_of_path(path, columns, prefer)


def same_columns(items: Items, commit: Commit) -> bool:
    """Whether the file is read now as it was read by the commit."""
    now, before = plain(dict(items.columns)), commit.summary.get("columns")
    if items.kind == "embedding" and isinstance(before, Mapping):
        # Earlier releases took no notice of texts or pictures beside vectors.
        now = {name: value for name, value in now.items() if name in before or name not in ("text", "image")}
    return items.kind == commit.summary.get("kind") and now == before


def _by_reference(items: Items) -> dict[str, Any]:
    values: Any = items.shown
    return {} if values is None else dict(zip(map(storable, items.references), values, strict=True))


def changed_since(picture: Path, time: float) -> bool:
    """Whether a picture is gone or was written after it was learned from: folders have no digest."""
    try:
        return picture.stat().st_mtime > time
    except OSError:
        return True
