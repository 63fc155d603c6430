"""What commands return."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from vbcgcd.items import Failure
from vbcgcd.record import plain

__all__ = [
    "CategoryResult",
    "ConfigResult",
    "ExportResult",
    "ItemChange",
    "ItemsResult",
    "RepairResult",
    "ReportResult",
    "Result",
    "UndoResult",
]


@dataclass(frozen=True)
class Result:
    """Base of all values that commands and queries return."""

    def as_json(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {f.name: plain(getattr(self, f.name)) for f in fields(self)}


@dataclass(frozen=True)
class CategoryResult(Result):
    """Outcome of ``rename``, ``merge``, ``split`` and ``drop``.

    Parameters
    ----------
    commit : int
    command : str
    categories : dict of id -> name
        Categories that are new or renamed.
    retired : dict of id -> name
        Categories that are no longer live.
    counts : dict of id -> int
        Items in each part of a split.
    failures : tuple of Failure
        Items for a split that could not be embedded.
    missing : int
        Items of a split category that could not be read any more: they stay with it.
    shared : float
        Number of items, by weight, whose teaching the parts of a split share, since they were not there.
    judged : bool
        Whether the number of parts was judged.

    Examples
    --------
    >>> renamed = CategoryResult(4, "rename", {2: "virginica"})
    >>> renamed.categories
    {2: 'virginica'}
    """

    commit: int
    command: str
    categories: Mapping[int, str] = field(default_factory=dict)
    retired: Mapping[int, str] = field(default_factory=dict)
    counts: Mapping[int, int] = field(default_factory=dict)
    failures: tuple[Failure, ...] = ()
    missing: int = 0
    shared: float = 0.0
    judged: bool = False


@dataclass(frozen=True)
class ItemChange(Result):
    """What a correction made of one item.

    Parameters
    ----------
    reference, source : str
    session : int
    before, after : int or None
        Its category; None if it is unassigned.
    state : str
        As in `ItemInfo`, after the correction.

    Examples
    --------
    >>> ItemChange("17", "monday.csv", 1, before=75, after=81, state="moved").after
    81
    """

    reference: str
    source: str
    session: int
    before: int | None
    after: int | None
    state: str


@dataclass(frozen=True)
class ItemsResult(Result):
    """Outcome of ``move_items``, ``confirm_items``, ``reject_items`` and ``unlabel_items``.

    Parameters
    ----------
    commit : int
    command : {"move", "confirm", "reject", "unlabel"}
    items : tuple of ItemChange
    unchanged : int
        Items that were as asked already.
    weights : dict of id -> (float, float)
        Items that categories have learned from, before and after, where that changed.
    names : dict of id -> str
        Names of the categories that the result mentions.
    created : int or None
        The category that a move has created.
    emptied : tuple of int
        Categories that no item teaches any more.

    Examples
    --------
    >>> change = ItemChange("17", "monday.csv", 1, before=75, after=81, state="moved")
    >>> done = ItemsResult(4, "move", (change,), weights={75: (30.0, 29.0), 81: (12.0, 13.0)})
    >>> done.weights[81]
    (12.0, 13.0)
    """

    commit: int
    command: str
    items: tuple[ItemChange, ...]
    unchanged: int = 0
    weights: Mapping[int, tuple[float, float]] = field(default_factory=dict)
    names: Mapping[int, str] = field(default_factory=dict)
    created: int | None = None
    emptied: tuple[int, ...] = ()


@dataclass(frozen=True)
class UndoResult(Result):
    """Outcome of ``undo`` and ``redo``: the command that was taken back, or brought back.

    Parameters
    ----------
    commit : int
    command : {"undo", "redo"}
    of_commit : int
    of_command : str

    Examples
    --------
    >>> undone = UndoResult(5, "undo", 4, "rename")
    >>> f"{undone.of_command} (commit {undone.of_commit}) was taken back"
    'rename (commit 4) was taken back'
    """

    commit: int
    command: str
    of_commit: int
    of_command: str


@dataclass(frozen=True)
class ConfigResult(Result):
    """Outcome of ``configure``: all settings.

    Examples
    --------
    >>> changed = ConfigResult(6, {"reject": 0.05, "excerpts": 0})
    >>> changed.config["reject"]
    0.05
    """

    commit: int
    config: Mapping[str, Any]


@dataclass(frozen=True)
class ExportResult(Result):
    """Outcome of ``export``.

    Examples
    --------
    >>> ExportResult("/data/flowers.zip", 6, 17408).as_json()
    {'path': '/data/flowers.zip', 'commits': 6, 'bytes': 17408}
    """

    path: str
    commits: int
    bytes: int


@dataclass(frozen=True)
class RepairResult(Result):
    """Outcome of ``repair``: the last whole commit, and what became of the others.

    Parameters
    ----------
    path : str
    commit : int
        The commit in effect now.
    before : int or None
        The commit that HEAD named; None if HEAD could not be read.
    returned : tuple of int
        Commits that are in effect again.
    set_aside : tuple of str
        What was moved out of the way, as it is called in the folder ``set-aside``.
    lost : tuple of str
        Files that only reports show, and that are missing or damaged.
    rewritten : tuple of str
        Files that were made anew: HEAD, workspace.json.

    Examples
    --------
    >>> RepairResult("/data/flowers", 6, 7, (), ("000007-20260131T120000-0a1b2c",), (), ("HEAD",)).changed
    True
    >>> RepairResult("/data/flowers", 6, 6).changed
    False
    """

    path: str
    commit: int
    before: int | None
    returned: tuple[int, ...] = ()
    set_aside: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    rewritten: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether there was anything to repair."""
        return bool(self.returned or self.set_aside or self.rewritten)


@dataclass(frozen=True)
class ReportResult(Result):
    """Outcome of ``report``: where it is, its size, and how much it covers.

    Examples
    --------
    >>> written = ReportResult("/data/report.html", 52000, 3, 2)
    >>> f"{written.categories} categories from {written.sessions} sessions"
    '3 categories from 2 sessions'
    """

    path: str
    bytes: int
    categories: int
    sessions: int
