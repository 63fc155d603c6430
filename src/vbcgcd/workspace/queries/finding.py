"""Finding items among all that sessions assigned: by reference, by source and reference, by conditions."""

from __future__ import annotations

import difflib
import math
import re
import warnings
from collections.abc import Callable, Sequence
from pathlib import PurePath
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vbcgcd.checks import check_number
from vbcgcd.errors import InputError, WorkspaceWarning
from vbcgcd.workspace.log.files import UNASSIGNED
from vbcgcd.workspace.log.lessons import STATES
from vbcgcd.workspace.queries.categories import find_category
from vbcgcd.workspace.queries.items import item_columns, item_info, session_of_commit
from vbcgcd.workspace.queries.sources import full_texts
from vbcgcd.workspace.snapshot import Snapshot, once_per_snapshot
from vbcgcd.workspace.values import ItemInfo

Array = NDArray[Any]
#: An item: its reference, ``source:reference``, or what `list_items` returned.
ItemKeyLike = str | ItemInfo
#: Fields of a condition, and how each may be compared.
FIELDS = {
    "category": ("=",),
    "state": ("=",),
    "session": ("=", "<", ">", "<=", ">="),
    "source": ("=",),
    "text": ("~",),
    "reference": ("=", "~"),
    "probability": ("<", ">", "<=", ">="),
    "novelty": ("<", ">", "<=", ">="),
    "margin": ("<", ">", "<=", ">="),
}
_CONDITION = re.compile(r"\s*([a-z]+)\s*(<=|>=|=|<|>|~)\s*(.*?)\s*", re.DOTALL)
_COMPARE: dict[str, Callable[[Any, Any], Any]] = {
    "=": lambda a, b: a == b,
    "<": lambda a, b: a < b,
    ">": lambda a, b: a > b,
    "<=": lambda a, b: a <= b,
    ">=": lambda a, b: a >= b,
}

__all__ = ["FIELDS", "ItemKeyLike", "find_items", "list_items"]


class Condition(NamedTuple):
    """A field, a comparison and a value, such as ``probability<0.5``."""

    field: str
    sign: str
    value: str

    @classmethod
    def of(cls, text: Any) -> Condition:
        """From text, or one clear error."""
        match = _CONDITION.fullmatch(text) if isinstance(text, str) else None
        if match is None or match[1] not in FIELDS or match[2] not in FIELDS[match[1]] or not match[3]:
            signs = ", ".join(f"{name}{sign[0]}..." for name, sign in FIELDS.items())
            unknown = [match[1]] if match is not None and match[1] not in FIELDS else []
            close = [name for word in unknown for name in difflib.get_close_matches(word, FIELDS, n=1)]
            meant = f" Did you mean {close[0]!r}?" if close else ""
            raise InputError(
                f"A condition is one of {signs}, such as 'probability<0.5' or 'text~card'; got {text!r}."
                f"{meant}",
                option="where",
            )
        return cls(*match.groups())

    def number(self) -> float:
        """The value as a number."""
        try:
            number = float(self.value)
        except ValueError:
            number = math.nan
        if math.isnan(number):  # which nothing is less or greater than
            raise InputError(f"{self.field} must be a number, got {self.value!r}.", option="where")
        return number


def list_items(snapshot: Snapshot, *where: str, n: int | None = None) -> tuple[ItemInfo, ...]:
    """All items that meet every condition, in the order of their sessions; without conditions, all.

    Parameters
    ----------
    snapshot : Snapshot
    *where : str
        ``category=lost card`` (a name, an id, or none for unassigned items), ``probability<0.5``,
        ``novelty>0.9``, ``margin<0.1``, ``text~card`` (the text contains it, in any case), ``session=3``,
        ``state=guessed``, ``source=monday.csv``, ``reference=17``.
    n : int, optional
        At most so many; all by default.
    """
    if n is not None:
        check_number("n", n, low=0, whole=True)
    rows = _matching(snapshot, [Condition.of(text) for text in where])
    return tuple(item_info(snapshot, int(row)) for row in rows[:n])


def find_items(snapshot: Snapshot, keys: Any) -> list[ItemInfo]:
    """The items that keys name, each once.

    Parameters
    ----------
    snapshot : Snapshot
    keys : ItemInfo or str, or a sequence of them
        References; ``source:reference`` where several sources have the same, and ``reference@session`` where
        several sessions used the same source.

    Raises
    ------
    InputError
        There is no such item, or several.
    """
    several = list(keys) if isinstance(keys, list | tuple) else [keys]
    rows = dict.fromkeys(_row(snapshot, key) for key in several)
    return [item_info(snapshot, row) for row in rows]


def _row(snapshot: Snapshot, key: Any) -> int:
    if isinstance(key, ItemInfo):
        return _known_row(snapshot, key)
    if not isinstance(key, str):
        raise InputError(f"Give an item by its reference, or as a list of items returns it; got {key!r}.")
    rows = _named(snapshot, key)
    if len(rows) > 1:
        rows = _live(snapshot, rows)
    if not len(rows):
        raise InputError(f"There is no item {key!r}. {_examples(snapshot)}")
    if len(rows) > 1:
        infos = [item_info(snapshot, int(row)) for row in rows[:3]]
        names = " or ".join(repr(f"{PurePath(i.source).name}:{i.reference}@{i.session}") for i in infos)
        raise InputError(f"{len(rows)} items are called {key!r}; write {names}.")
    return int(rows[0])


def _known_row(snapshot: Snapshot, item: ItemInfo) -> int:
    columns = item_columns(snapshot)
    first, last = np.searchsorted(columns.commit, [item.commit, item.commit + 1])
    row = int(first) + item.row
    if not first <= row < last or columns.reference(row) != item.reference:
        raise InputError(
            f"There is no item {item.reference!r} of commit {item.commit} in effect; list the items again."
        )
    return row


def _named(snapshot: Snapshot, key: str) -> Array:
    """Rows with this reference, or else ``source:reference``, either with ``@session`` or without."""
    by_reference, columns = _rows_by_reference(snapshot), item_columns(snapshot)
    if key in by_reference:
        return by_reference[key]
    base, at, session = key.rpartition("@")
    if at and session.isascii() and session.isdigit():
        sessions = session_of_commit(snapshot)
        rows = _named(snapshot, base)
        return np.array([r for r in rows if sessions[int(columns.commit[r])] == int(session)], dtype=np.int64)
    for place in (i for i, letter in enumerate(key) if letter == ":"):
        rows = by_reference.get(key[place + 1 :], np.empty(0, dtype=np.int64))
        of_source = [r for r in rows if _is_source(snapshot, int(columns.commit[r]), key[:place])]
        if of_source:
            return np.array(of_source)
    return np.empty(0, dtype=np.int64)


def _is_source(snapshot: Snapshot, commit: int, name: str) -> bool:
    """Whether the items of a commit came from a file of this name, or with a path that ends so."""
    source = str(snapshot.history.commit(commit).summary["source"])
    return source == name or PurePath(source).parts[-len(PurePath(name).parts) :] == PurePath(name).parts


def _live(snapshot: Snapshot, rows: Array) -> Array:
    """Without rows of retired categories: the items that a category was split by are listed twice."""
    categories = item_columns(snapshot).category[rows]
    live = np.isin(categories, [*snapshot.state.ids, UNASSIGNED])
    return rows[live] if live.any() else rows


@once_per_snapshot
def _rows_by_reference(snapshot: Snapshot) -> dict[str, Array]:
    rows: dict[str, list[int]] = {}
    for row, reference in enumerate(item_columns(snapshot).references()):
        rows.setdefault(reference, []).append(row)
    return {reference: np.array(places) for reference, places in rows.items()}


def _examples(snapshot: Snapshot) -> str:
    columns = item_columns(snapshot)
    if not len(columns.commit):
        return "No session has assigned any items yet."
    first, last = item_info(snapshot, 0), item_info(snapshot, len(columns.commit) - 1)
    return (
        f"Items are called {first.reference!r} ({PurePath(first.source).name}) to {last.reference!r} "
        f"({PurePath(last.source).name}); find them with 'vbcgcd items --where text~...'."
    )


def _matching(snapshot: Snapshot, conditions: Sequence[Condition]) -> Array:
    """Rows that meet all conditions; texts are looked up last, since files have to be read for them."""
    keep = np.ones(len(item_columns(snapshot).commit), dtype=bool)
    for condition in conditions:
        if condition.field not in ("text", "reference"):
            keep &= _column_mask(snapshot, condition)
    rows = np.flatnonzero(keep)
    for condition in conditions:
        if condition.field == "reference":
            rows = _with_reference(snapshot, condition, rows)
    for condition in conditions:
        if condition.field == "text":
            rows = _with_text(snapshot, condition.value.casefold(), rows)
    return rows


def _column_mask(snapshot: Snapshot, condition: Condition) -> Array:
    columns, compare = item_columns(snapshot), _COMPARE[condition.sign]
    if condition.field == "category":
        if condition.value.casefold() in ("none", "unassigned"):
            return columns.category == UNASSIGNED
        return columns.category == find_category(snapshot.state, condition.value, retired=True).id
    if condition.field == "state":
        if condition.value not in STATES:
            raise InputError(f"state is one of {', '.join(STATES)}; got {condition.value!r}.", option="where")
        return columns.state == STATES.index(condition.value)
    if condition.field in ("session", "source"):
        sessions = session_of_commit(snapshot)
        meets = (
            (lambda number: compare(sessions[number], condition.number()))
            if condition.field == "session"
            else (lambda number: _is_source(snapshot, number, condition.value))
        )
        return np.isin(columns.commit, [number for number in sessions if meets(number)])
    return np.asarray(compare(getattr(columns, condition.field), condition.number()))


def _with_reference(snapshot: Snapshot, condition: Condition, rows: Array) -> Array:
    if condition.sign == "=":
        named = _rows_by_reference(snapshot).get(condition.value, np.empty(0, dtype=np.int64))
        return np.intersect1d(rows, named)
    columns, part = item_columns(snapshot), condition.value.casefold()
    return np.array([r for r in rows if part in columns.reference(int(r)).casefold()], dtype=np.int64)


def _with_text(snapshot: Snapshot, part: str, rows: Array) -> Array:
    """Rows whose text contains a part; those whose text is not there any more are counted in a warning."""
    columns = item_columns(snapshot)
    found, unknown = list[int](), 0
    for number in np.unique(columns.commit[rows]).tolist():
        texts = full_texts(snapshot, number)
        for row in rows[columns.commit[rows] == number].tolist():
            text = texts.get(columns.reference(row))
            unknown += text is None
            if text is not None and part in text.casefold():
                found.append(row)
    if unknown:
        warnings.warn(
            f"The texts of {unknown} of {len(rows)} items are not there any more, or they are no texts; "
            "these were not searched.",
            WorkspaceWarning,
            stacklevel=2,
        )
    return np.array(found, dtype=np.int64)
