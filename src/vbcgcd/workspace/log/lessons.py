"""What items taught, on disk: the lessons of a session, and the corrections of items.

Statistics add and subtract, so what an item taught can be taken back, if it is known which category it taught
and by what weight. A target is a pair (category, seedling), one of which is -1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from vbcgcd.archive import archive_bytes, read_archive
from vbcgcd.record import Lessons
from vbcgcd.workspace.log.parquet import check_pyarrow, numbers_of, parquet_bytes, parquet_columns

Array = NDArray[Any]
#: A category, or a seedling of the bed; the other is -1.
Target = tuple[int, int]
#: Weight by which an item teaches each target.
Taught = Mapping[Target, float]
#: The commit that assigned an item, and its row there.
ItemKey = tuple[int, int]
ItemState = Literal["guessed", "labelled", "unassigned", "moved", "confirmed", "rejected"]
#: By their codes on disk.
STATES: tuple[ItemState, ...] = ("guessed", "labelled", "unassigned", "moved", "confirmed", "rejected")
#: States in which a person has said what an item is.
BY_PEOPLE: frozenset[ItemState] = frozenset({"labelled", "moved", "confirmed"})
CORRECTIONS_KIND, CORRECTIONS_VERSION = "vbcgcd-corrections", 1

__all__ = [
    "BY_PEOPLE",
    "STATES",
    "Correction",
    "Corrections",
    "ItemKey",
    "ItemState",
    "SessionLessons",
    "Target",
    "Taught",
]


@dataclass(frozen=True, eq=False)
class SessionLessons:
    """What the items of an unlabelled session taught, by rising row.

    Parameters
    ----------
    row, category, seedling : int array (M,)
        A row of the assignments, and its target: a category by its id, or a seedling by its position in the
        bed after the session.
    weight : float array (M,)
    """

    row: Array
    category: Array
    seedling: Array
    weight: Array

    @classmethod
    def of(cls, lessons: Lessons, ids: Sequence[int]) -> SessionLessons:
        """From what a session returned; ``ids`` are the categories in the order of their posteriors."""
        wait = np.flatnonzero(lessons.waiting >= 0)
        row = np.concatenate([lessons.row, wait])
        category = np.concatenate([np.array(ids)[lessons.category], np.full(len(wait), -1)])
        seedling = np.concatenate([np.full(len(lessons.row), -1), lessons.waiting[wait]])
        weight = np.concatenate([lessons.weight, np.ones(len(wait))])
        order = np.argsort(row, kind="stable")
        row, category, seedling = (part[order].astype(np.int64) for part in (row, category, seedling))
        return cls(row, category, seedling, weight[order])

    def of_row(self, row: int) -> dict[Target, float]:
        """What one item taught."""
        first, last = np.searchsorted(self.row, [row, row + 1])
        places = range(int(first), int(last))
        return {(int(self.category[i]), int(self.seedling[i])): float(self.weight[i]) for i in places}

    def as_bytes(self) -> bytes:
        """A Parquet table with one row for each lesson."""
        arrow = check_pyarrow()
        names = ("row", "category", "seedling", "weight")
        columns = {name: arrow.array(getattr(self, name)) for name in names}
        return parquet_bytes(columns, write_statistics=False, store_schema=False)

    @classmethod
    def read(cls, path: Path) -> SessionLessons:
        """From a file that holds `as_bytes`."""
        columns = parquet_columns(path.read_bytes())
        return cls(*(numbers_of(columns[name]) for name in ("row", "category", "seedling", "weight")))


@dataclass(frozen=True, eq=False)
class Correction:
    """What a commit says about one item.

    Parameters
    ----------
    key : (int, int)
    category : int
        -1 for none.
    state : str
        One of `STATES`.
    before, after : dict of target -> weight
        What it taught until then, and from then on.
    vector : float array (D,) or None
        Its reduced embedding; None where nothing had to be taken back or added.
    """

    key: ItemKey
    category: int
    state: ItemState
    before: Taught
    after: Taught
    vector: Array | None = None


@dataclass(frozen=True, eq=False)
class Corrections:
    """The corrections of one commit, by rising key."""

    items: tuple[Correction, ...]

    def as_bytes(self) -> bytes:
        """A safetensors archive: keys, categories and states, lessons side by side, and vectors."""
        lessons = [
            (place, when, *target, weight)
            for place, item in enumerate(self.items)
            for when, taught in enumerate((item.before, item.after))
            for target, weight in taught.items()
        ]
        columns = list(zip(*lessons, strict=True)) or [()] * 5
        vectors = [item.vector for item in self.items if item.vector is not None]
        arrays: dict[str, Array] = {
            "commit": np.array([item.key[0] for item in self.items], dtype=np.int64),
            "row": np.array([item.key[1] for item in self.items], dtype=np.int64),
            "category": np.array([item.category for item in self.items], dtype=np.int64),
            "state": np.array([STATES.index(item.state) for item in self.items], dtype=np.uint8),
            "has_vector": np.array([item.vector is not None for item in self.items], dtype=np.uint8),
            "vectors": np.stack(vectors) if vectors else np.empty((0, 0), dtype=np.float32),
            "lessons.item": np.array(columns[0], dtype=np.int64),
            "lessons.after": np.array(columns[1], dtype=np.uint8),
            "lessons.category": np.array(columns[2], dtype=np.int64),
            "lessons.seedling": np.array(columns[3], dtype=np.int64),
            "lessons.weight": np.array(columns[4], dtype=np.float64),
        }
        return archive_bytes(CORRECTIONS_KIND, CORRECTIONS_VERSION, arrays, {"states": list(STATES)})

    @classmethod
    def read(cls, path: Path) -> Corrections:
        """From a file that holds `as_bytes`."""
        arrays, _ = read_archive(path, CORRECTIONS_KIND, CORRECTIONS_VERSION)
        number = len(arrays["commit"])
        taught: list[tuple[dict[Target, float], dict[Target, float]]] = [({}, {}) for _ in range(number)]
        for item, when, category, seedling, weight in zip(
            *(
                arrays[f"lessons.{name}"].tolist()
                for name in ("item", "after", "category", "seedling", "weight")
            ),
            strict=True,
        ):
            taught[item][when][category, seedling] = weight
        places = np.cumsum(arrays["has_vector"], dtype=np.int64) - 1
        return cls(
            tuple(
                Correction(
                    (int(arrays["commit"][i]), int(arrays["row"][i])),
                    int(arrays["category"][i]),
                    STATES[int(arrays["state"][i])],
                    *taught[i],
                    arrays["vectors"][places[i]] if arrays["has_vector"][i] else None,
                )
                for i in range(number)
            )
        )
