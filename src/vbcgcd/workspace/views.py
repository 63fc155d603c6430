"""What queries return: categories, sessions, items and all of them together for a report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vbcgcd.workspace.results import Result

__all__ = [
    "CategoryInfo",
    "CategoryView",
    "Changes",
    "CommandInfo",
    "ItemInfo",
    "MapItem",
    "Overview",
    "SessionInfo",
]


@dataclass(frozen=True)
class CategoryInfo(Result):
    """A category.

    Parameters
    ----------
    id : int
    name : str
    named_by : {"label", "user", "terms", "likeness", "number"}
    status : {"live", "merged", "split", "dropped"}
    birth : int
        Session in which it was learned.
    size : int
        Items assigned to it so far.
    taught : float
        Items behind its posterior.
    spread : float or None
        Standard deviation of its own items in the reduced space, root mean square over the dimensions;
        the space is scaled so that labelled categories are usually near 1. None where it cannot be
        measured, as for a single item.
    log_volume : float
        Log-determinant of its covariance, which is drawn towards what categories have in common.
    nearest : int or None
        The live category with the nearest mean.
    nearest_name : str
    nearest_distance : float or None
        Between the means, in the reduced space.
    samples : tuple of str
        References of typical items.
    sample_texts : tuple of str
        Their texts, "" where they are not known; empty unless asked for.
    sample_sources : tuple of str
        Where each of them came from: references of different sources may be the same.
    into, parents : tuple of int
        What it became, and what it was made from.
    """

    id: int
    name: str
    named_by: str
    status: str
    birth: int
    size: int
    taught: float | None = None
    spread: float | None = None
    log_volume: float | None = None
    nearest: int | None = None
    nearest_name: str = ""
    nearest_distance: float | None = None
    samples: tuple[str, ...] = ()
    sample_texts: tuple[str, ...] = ()
    sample_sources: tuple[str, ...] = ()
    into: tuple[int, ...] = ()
    parents: tuple[int, ...] = ()


@dataclass(frozen=True)
class SessionInfo(Result):
    """A labelled or unlabelled session.

    Parameters
    ----------
    commit, session : int
    command : {"learn", "discover"}
    time : str
        UTC, ISO 8601.
    source : str
    rows : int
    known_rows, novel_rows : int
        Items of categories known before, and of those of this session.
    novel : dict of id -> name
        Categories of this session, as they were named then.
    counts : dict of id -> int
        Items in each category, as it was then.
    estimated : bool or None
        Whether the number of novel categories was estimated; None for labelled sessions.
    unfamiliar : float
        Share of items with a novelty above 0.95 before the session (labelled sessions: after it).
    mean_probability : float
    failures : int
        Items that could not be embedded.
    seconds : float
    undone : bool
    summary : dict
        All that the session told: steps, the curve of the count, covariance volumes before and after.
    live_labelled, live_found : int
        Live categories after it: born in labelled sessions, and in unlabelled ones.
    """

    commit: int
    session: int
    command: str
    time: str
    source: str
    rows: int
    known_rows: int
    novel_rows: int
    novel: Mapping[int, str]
    counts: Mapping[int, int]
    estimated: bool | None
    unfamiliar: float
    mean_probability: float
    failures: int
    seconds: float
    undone: bool
    summary: Mapping[str, Any]
    live_labelled: int = 0
    live_found: int = 0


@dataclass(frozen=True)
class CommandInfo(Result):
    """A commit: what was done, when and with what."""

    commit: int
    command: str
    time: str
    parameters: Mapping[str, Any]
    undone: bool


@dataclass(frozen=True)
class ItemInfo(Result):
    """An item as it was assigned in its session; ``commit`` is the one that assigned it.

    Where that is a split, the session is the last one before it. A second choice that was merged is told as
    what it became, and as None where that is the item's own category.
    """

    reference: str
    source: str
    session: int
    probability: float
    novelty: float
    second: int | None
    second_probability: float
    commit: int = 0


@dataclass(frozen=True)
class CategoryView(Result):
    """A category with its items: what a page about it shows.

    Parameters
    ----------
    info : CategoryInfo
    x, y : float
        Position of its mean on the map.
    by_session : dict of session -> int
        Items of each session.
    typical, doubtful : tuple of ItemInfo
        The surest and least novel items; those where the next category is nearly as probable.
    excerpts : tuple of dict
        ``{"reference", "text"}`` or ``{"reference", "jpeg"}`` (base64), where they are kept.
    """

    info: CategoryInfo
    x: float
    y: float
    by_session: Mapping[int, int]
    typical: tuple[ItemInfo, ...]
    doubtful: tuple[ItemInfo, ...]
    excerpts: tuple[Mapping[str, str], ...]


@dataclass(frozen=True)
class MapItem(Result):
    """An item on the map."""

    reference: str
    category: int
    session: int
    x: float
    y: float


@dataclass(frozen=True)
class Changes(Result):
    """What is different from the state before the last session.

    Parameters
    ----------
    session : int or None
        The last session; None before the first.
    novel : dict of id -> name
        Categories that are new.
    retired : dict of id -> name
    renamed : dict of id -> (str, str)
        Names before and now.
    grown : dict of id -> int
        Items that live categories gained.
    commands : tuple of CommandInfo
        The last session and what was done after it, without what was undone.
    """

    session: int | None
    novel: Mapping[int, str]
    retired: Mapping[int, str]
    renamed: Mapping[int, tuple[str, str]]
    grown: Mapping[int, int]
    commands: tuple[CommandInfo, ...]


@dataclass(frozen=True)
class Overview(Result):
    """All that a report needs.

    Parameters
    ----------
    path, created, release : str
        Where the workspace is, when and by which release of vbcgcd it was made.
    embedder : dict or None
        Name, kind, fingerprint and dimension.
    config : dict
    commit : int
        The last one.
    items : int
        Assigned in sessions so far; those that a category was split by are items of a session already.
    bytes : int
        Of all commits on disk, undone ones included.
    sessions : tuple of SessionInfo
        In effect, first to last.
    categories : tuple of CategoryView
        The live ones, by rising id.
    retired : tuple of CategoryInfo
    map : tuple of MapItem
        A sample of the items of live categories.
    changes : Changes
    """

    path: str
    created: str
    release: str
    embedder: Mapping[str, Any] | None
    config: Mapping[str, Any]
    commit: int
    items: int
    bytes: int
    sessions: tuple[SessionInfo, ...]
    categories: tuple[CategoryView, ...]
    retired: tuple[CategoryInfo, ...]
    map: tuple[MapItem, ...]
    changes: Changes
