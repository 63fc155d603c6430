"""What queries return: categories, items, changes, and all of them together for a report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from vbcgcd.record import SessionRecord
from vbcgcd.workspace.values.results import Result

__all__ = [
    "CategoryCount",
    "CategoryInfo",
    "CategoryView",
    "Changes",
    "CommandInfo",
    "ItemContent",
    "ItemInfo",
    "MapItem",
    "Overview",
    "SeedlingInfo",
    "SourceInfo",
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
        Items assigned to it; those of a merged category count for what it became.
    taught : float
        Items that its posterior was learned from.
    spread : float or None
        Standard deviation of its own items in the reduced space, root mean square over the dimensions;
        the space is scaled so that labelled categories are usually near 1. None if it cannot be
        measured, as for a single item.
    log_volume : float
        Log-determinant of its covariance, which the prior draws towards that of other categories.
    nearest : int or None
        The live category with the nearest mean.
    nearest_name : str
    nearest_distance : float or None
        Between the means, in the reduced space.
    samples : tuple of str
        References of typical items.
    sample_texts : tuple of str
        Their texts, "" if they cannot be found; empty unless asked for.
    sample_sources : tuple of str
        Source of each of them: references of different sources may be the same.
    into, parents : tuple of int
        What it became, and what it was made from.
    reliability : float
        Probability that it stands for a class of its own: 1 if somebody named it or labelled its items.
    labelled : int
        Items that people put there: labels of `learn`, and items that were moved or confirmed.

    Examples
    --------
    >>> info = CategoryInfo(2, "virginica", "user", "live", birth=1, size=50, samples=("27", "26"))
    >>> info.name, info.size, info.samples
    ('virginica', 50, ('27', '26'))
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
    reliability: float = 1.0
    labelled: int = 0


@dataclass(frozen=True)
class CategoryCount(Result):
    """Live categories after a session.

    Parameters
    ----------
    session : int
    labelled : int
        Categories born in labelled sessions.
    discovered : int
        Categories born in unlabelled sessions.

    Examples
    --------
    >>> count = CategoryCount(session=1, labelled=2, discovered=1)
    >>> count.labelled + count.discovered
    3
    """

    session: int
    labelled: int
    discovered: int


@dataclass(frozen=True)
class CommandInfo(Result):
    """A commit: what was done, when and with what.

    Examples
    --------
    >>> info = CommandInfo(3, "discover", "2026-01-31T12:00:00+00:00", {"n_novel": 1}, undone=False)
    >>> info.command, info.parameters
    ('discover', {'n_novel': 1})
    """

    commit: int
    command: str
    time: str
    parameters: Mapping[str, Any]
    undone: bool


@dataclass(frozen=True)
class ItemInfo(Result):
    """An item as its session, a split or a person assigned it.

    Parameters
    ----------
    reference, source : str
    session : int
        Of a split, the last session before it.
    probability : float
        Of its category; of an unassigned item, that it belongs to none of them.
    novelty : float
    second : int or None
        The next best category, and the best one of an unassigned item. If it was merged it is what it
        became, and None if that is the item's own.
    second_probability : float
    commit, row : int
        The commit that assigned the item, and its row there: together they name it for good.
    category : int or None
        None if it is unassigned.
    state : {"guessed", "labelled", "unassigned", "moved", "confirmed", "rejected"}
        How it came there: a session found it, a label of `learn` said so, it fits no category well enough, or
        a person moved it, confirmed it, or said that it is not of the category that was guessed.

    Examples
    --------
    >>> item = ItemInfo("a.jpg", "pictures", 1, 0.75, 0.5, second=0, second_probability=0.25, commit=3)
    >>> item.probability - item.second_probability
    0.5
    """

    reference: str
    source: str
    session: int
    probability: float
    novelty: float
    second: int | None
    second_probability: float
    commit: int = 0
    row: int = 0
    category: int | None = None
    state: str = "guessed"


@dataclass(frozen=True)
class SeedlingInfo(Result):
    """A group that is too small or too doubtful to be a category yet.

    Parameters
    ----------
    items : int
        How many it has so far.
    since : int
        Session in which it began.

    Examples
    --------
    >>> SeedlingInfo(items=5, since=2).as_json()
    {'items': 5, 'since': 2}
    """

    items: int
    since: int


@dataclass(frozen=True)
class ItemContent(Result):
    """What can be shown of an item.

    Parameters
    ----------
    reference : str
    text : str
        The beginning of its text; empty if it is not a text, or cannot be found any more.
    jpeg : str
        A small picture in base64; empty if it is not a picture, or cannot be found any more.

    Examples
    --------
    >>> ItemContent("17", text="Where is my card?").as_json()
    {'reference': '17', 'text': 'Where is my card?', 'jpeg': ''}
    """

    reference: str
    text: str = ""
    jpeg: str = ""


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
        ``{"reference", "text"}`` or ``{"reference", "jpeg"}`` (base64), if the workspace stores them.

    Examples
    --------
    >>> info = CategoryInfo(2, "virginica", "user", "live", birth=1, size=50)
    >>> view = CategoryView(info, 0.5, -1.0, {1: 50}, typical=(), doubtful=(), excerpts=())
    >>> view.info.name, view.by_session
    ('virginica', {1: 50})
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
    """An item on the map.

    Examples
    --------
    >>> item = MapItem("a.jpg", category=2, session=1, x=0.5, y=-1.0)
    >>> item.x, item.y
    (0.5, -1.0)
    """

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
    gains : dict of id -> int
        Items that live categories gained.
    commands : tuple of CommandInfo
        The last session and the commands after it, without those that were undone.

    Examples
    --------
    >>> changes = Changes(1, {2: "novel-2"}, {}, {}, {2: 50}, commands=())
    >>> for key, name in changes.novel.items():
    ...     print(f"{name}: {changes.gains[key]} items")
    novel-2: 50 items
    """

    session: int | None
    novel: Mapping[int, str]
    retired: Mapping[int, str]
    renamed: Mapping[int, tuple[str, str]]
    gains: Mapping[int, int]
    commands: tuple[CommandInfo, ...]


@dataclass(frozen=True)
class Overview(Result):
    """All that a report needs.

    Parameters
    ----------
    path, created, release : str
        Folder of the workspace, when it was created, and by which release of vbcgcd.
    embedder : dict or None
        Name, kind, fingerprint and dimension.
    config : dict
    commit : int
        Number of the last commit.
    items : int
        Items that sessions in effect have assigned, whatever became of their categories.
    bytes : int
        Size of all commits on disk, undone ones included.
    sessions : tuple of SessionRecord
        Those in effect, first to last.
    growth : tuple of CategoryCount
        Live categories after each of them.
    categories : tuple of CategoryView
        The live ones, by rising id.
    retired : tuple of CategoryInfo
    map : tuple of MapItem
        A sample of the items of live categories.
    changes : Changes
    unassigned : int
        Items of sessions in effect that fit no category well enough.
    unassigned_items : tuple of ItemInfo
        The most novel of them.
    seedlings : tuple of SeedlingInfo
        The largest first.
    left_out : int
        Live categories that are not among ``categories``, because only some were asked for.

    Examples
    --------
    >>> import tempfile
    >>> from vbcgcd.workspace import Workspace
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     workspace = Workspace.init(folder)
    ...     _ = workspace.learn([[0.0], [0.2], [5.0], [5.2]], ["low", "low", "high", "high"])
    ...     print(workspace.overview().growth)
    (CategoryCount(session=0, labelled=2, discovered=0),)
    """

    path: str
    created: str
    release: str
    embedder: Mapping[str, Any] | None
    config: Mapping[str, Any]
    commit: int
    items: int
    bytes: int
    sessions: tuple[SessionRecord, ...]
    growth: tuple[CategoryCount, ...]
    categories: tuple[CategoryView, ...]
    retired: tuple[CategoryInfo, ...]
    map: tuple[MapItem, ...]
    changes: Changes
    unassigned: int
    unassigned_items: tuple[ItemInfo, ...]
    seedlings: tuple[SeedlingInfo, ...]
    left_out: int = 0


@dataclass(frozen=True)
class SourceInfo(Result):
    """A file or folder of the user that sessions name.

    Parameters
    ----------
    path : str
        As the sessions name it.
    commits : tuple of int
        The commands in effect that read it.
    place : str or None
        Where it is looked for on this machine; None if it is not opened, because the workspace was imported.

    Examples
    --------
    >>> SourceInfo("/data/monday.csv", (3,)).place is None
    True
    """

    path: str
    commits: tuple[int, ...]
    place: str | None = None
