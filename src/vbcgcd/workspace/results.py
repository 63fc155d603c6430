"""What commands return: frozen values that can be printed, or turned into plain ones for JSON."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.embed import Failure

Array = NDArray[Any]

__all__ = [
    "CategoryResult",
    "Configured",
    "Discovered",
    "Exported",
    "Learned",
    "Predictions",
    "Reported",
    "Result",
    "Undone",
    "plain",
]


def plain(value: Any) -> Any:
    """Only dicts, lists, strings, numbers, truth values and None; a number that is not finite is None."""
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return str(value) if isinstance(value, Path) else value


@dataclass(frozen=True)
class Result:
    """Base of all results."""

    def as_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return dict(plain(self))


@dataclass(frozen=True)
class Learned(Result):
    """Outcome of ``learn``.

    Parameters
    ----------
    commit, session : int
    rows : int
        Labelled items that were used.
    categories : dict of id -> name
        Those that are new.
    counts : dict of id -> int
        Items of each category.
    unlabelled : int
        Items without a label, left out.
    failures : tuple of Failure
    seconds : float
    """

    commit: int
    session: int
    rows: int
    categories: Mapping[int, str]
    counts: Mapping[int, int]
    unlabelled: int
    failures: tuple[Failure, ...]
    seconds: float


@dataclass(frozen=True)
class Discovered(Result):
    """Outcome of ``discover``.

    Parameters
    ----------
    commit, session, rows : int
    known_rows, novel_rows : int
        Items of categories known before, and of those found now.
    categories : dict of id -> name
        Those found now.
    counts : dict of id -> int
        Items of the session in each category.
    estimated : bool
        Whether the number of novel categories was estimated.
    novel_share : float
        Estimated share of novel items.
    failures : tuple of Failure
    seconds : float
    """

    commit: int
    session: int
    rows: int
    known_rows: int
    novel_rows: int
    categories: Mapping[int, str]
    counts: Mapping[int, int]
    estimated: bool
    novel_share: float
    failures: tuple[Failure, ...]
    seconds: float


@dataclass(frozen=True)
class CategoryResult(Result):
    """Outcome of ``rename``, ``merge``, ``split`` and ``drop``.

    Parameters
    ----------
    commit : int
    command : str
    categories : dict of id -> name
        New or renamed ones.
    retired : dict of id -> name
        Those that are no longer live.
    counts : dict of id -> int
        Items of a split in each of its parts.
    failures : tuple of Failure
        Items given for a split that could not be embedded.
    """

    commit: int
    command: str
    categories: Mapping[int, str] = field(default_factory=dict)
    retired: Mapping[int, str] = field(default_factory=dict)
    counts: Mapping[int, int] = field(default_factory=dict)
    failures: tuple[Failure, ...] = ()


@dataclass(frozen=True)
class Undone(Result):
    """Outcome of ``undo`` and ``redo``: which command was taken back, or done again."""

    commit: int
    command: str
    of_commit: int
    of_command: str


@dataclass(frozen=True)
class Configured(Result):
    """Outcome of ``configure``: all settings."""

    commit: int
    config: Mapping[str, Any]


@dataclass(frozen=True)
class Exported(Result):
    """Outcome of ``export``."""

    path: str
    commits: int
    bytes: int


@dataclass(frozen=True)
class Reported(Result):
    """Outcome of ``report``: where it is, its size, and how much it tells."""

    path: str
    bytes: int
    categories: int
    sessions: int


@dataclass(frozen=True, eq=False)
class Predictions(Result):
    """Category of each item.

    Parameters
    ----------
    references : list of str (N,)
    category : int array (N,)
        -1 where the item is refused.
    name : list of str (N,)
        "none of these" where the item is refused.
    probability : array (N,)
        Of the most probable category.
    novelty : array (N,)
        Near 1 for items of no category; uniform on [0, 1] for items of known ones.
    best : int array (N,)
        The most probable category, also where the item is refused.
    second : int array (N,)
        The next one; -1 where there is only one category.
    second_name : list of str (N,)
    second_probability : array (N,)
    reject : float or None
        Share of items of known categories that are wrongly refused.
    failures : tuple of Failure
        Items that could not be embedded and have no row here.
    """

    references: list[str]
    category: Array
    name: list[str]
    probability: Array
    novelty: Array
    best: Array
    second: Array
    second_name: list[str]
    second_probability: Array
    reject: float | None
    failures: tuple[Failure, ...] = ()

    def __len__(self) -> int:
        return len(self.references)

    def rows(self) -> Iterator[dict[str, Any]]:
        """One plain dict for each item."""
        names = [f.name for f in fields(self) if f.name not in ("references", "reject", "failures")]
        columns = [plain(getattr(self, name)) for name in names]
        for reference, *values in zip(self.references, *columns, strict=True):
            yield {"reference": reference, **dict(zip(names, values, strict=True))}
