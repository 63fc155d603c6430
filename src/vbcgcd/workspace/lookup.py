"""The text or picture of an item again: from stored excerpts, or from the user's own unchanged file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vbcgcd.errors import InputError
from vbcgcd.items import Items
from vbcgcd.workspace.commits import Commit
from vbcgcd.workspace.data import from_path, storable
from vbcgcd.workspace.excerpts import EXCERPTS, cut, thumbnail
from vbcgcd.workspace.origin import Origin, file_mark
from vbcgcd.workspace.results import Result, plain
from vbcgcd.workspace.state import History
from vbcgcd.workspace.store import Store
from vbcgcd.workspace.views import ItemInfo

#: Options of ``vbcgcd.items.read_items`` among the parameters of a command.
COLUMNS = ("kind", "text", "image", "label", "embedding", "id", "split")

__all__ = ["Lookup", "Shown"]


@dataclass(frozen=True)
class Shown(Result):
    """What can be shown of an item: its text, cut, or a small JPEG in base64, where it can still be found."""

    reference: str
    text: str = ""
    jpeg: str = ""


class Lookup:
    """Finds items again. Each source is read once, when one of its items is asked for.

    A source that is gone, unreadable or no longer as it was gives references only.

    Parameters
    ----------
    store : Store
    history : History
    sources : bool, default=True
        Whether to look into the user's files; stored excerpts are always used.
    """

    def __init__(self, store: Store, history: History, *, sources: bool = True) -> None:
        self.store, self.commits, self.sources = store, history.commits, sources
        self._excerpts: dict[int, Mapping[str, Shown]] = {}
        self._read: dict[str, Mapping[str, Any]] = {}
        self._shown: dict[tuple[int, str], Shown] = {}

    def shown(self, items: Sequence[ItemInfo]) -> list[Shown]:
        """What can be shown of each item, in their order."""
        return [self._item(item.commit, item.reference) for item in items]

    def texts(self, items: Sequence[ItemInfo]) -> list[str]:
        """Text of each item, "" where it has none; no picture is opened."""
        return [
            self._item(item.commit, item.reference).text if self._is_text(item.commit) else ""
            for item in items
        ]

    def _is_text(self, number: int) -> bool:
        commit = self.commits.get(number)
        return commit is not None and commit.summary.get("kind") == "text"

    def _item(self, number: int, reference: str) -> Shown:
        key = (number, reference)
        if key not in self._shown:
            commit = self.commits.get(number)
            found = None
            if commit is not None:
                found = self._kept(commit).get(reference) or self._from_source(commit, reference)
            self._shown[key] = found or Shown(reference)
        return self._shown[key]

    def _kept(self, commit: Commit) -> Mapping[str, Shown]:
        if commit.number not in self._excerpts:
            parts: Mapping[str, Any] = {}
            if EXCERPTS in commit.files:
                parts = json.loads(self.store.file(commit, EXCERPTS).read_bytes())
            self._excerpts[commit.number] = {
                part["reference"]: Shown(part["reference"], part.get("text", ""), part.get("jpeg", ""))
                for kept in parts.values()
                for part in kept
            }
        return self._excerpts[commit.number]

    def _from_source(self, commit: Commit, reference: str) -> Shown | None:
        origin = Origin.from_json(commit.summary)
        if not self.sources or not origin.path or commit.summary.get("kind") not in ("text", "image"):
            return None
        value = self._values(commit, origin).get(reference)
        if isinstance(value, str):
            return Shown(reference, text=cut(value))
        if value is None or (isinstance(value, Path) and _touched(value, origin.read)):
            return None
        try:
            return Shown(reference, jpeg=thumbnail(value))
        except (InputError, ImportError):
            return None

    def _values(self, commit: Commit, origin: Origin) -> Mapping[str, Any]:
        """Values by reference of the source of a commit; none if it is not what the commit was made from."""
        columns = {name: commit.parameters[name] for name in COLUMNS if name in commit.parameters}
        key = json.dumps([origin.path, origin.digest, columns], sort_keys=True)
        if key not in self._read:
            try:
                items = _reread(origin, columns)
            except Exception:  # a file that changed may fail in any way; the reference is still there to show
                items = None
            self._read[key] = {} if items is None or not _same(items, commit) else _by_reference(items)
        return self._read[key]


def _reread(origin: Origin, columns: Mapping[str, Any]) -> Items | None:
    path = Path(origin.path)
    if path.is_dir() if not origin.digest else path.is_file() and file_mark(path) == origin.digest:
        return from_path(path, dict(columns))[0]
    return None


def _same(items: Items, commit: Commit) -> bool:
    """Whether the columns are taken as they were then."""
    taken = {"kind": items.kind, "columns": plain(dict(items.columns))}
    return taken == {name: commit.summary.get(name) for name in taken}


def _by_reference(items: Items) -> dict[str, Any]:
    return dict(zip(map(storable, items.references), items.values, strict=True))


def _touched(picture: Path, since: float) -> bool:
    """Whether a picture is gone or was written after it was learned from: folders have no digest."""
    try:
        return picture.stat().st_mtime > since
    except OSError:
        return True
