"""Sufficient statistics of the categories of labelled shards, added up by a fixed tree."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.bayes import Statistics, Structure, statistics_by_label, structure_of
from vbcgcd.discovery.gathered import Gather
from vbcgcd.discovery.magnitude import check_reach
from vbcgcd.discovery.reduce import Reducer
from vbcgcd.engine import Engine, group_blocks, reduce_tree
from vbcgcd.engine.tree import add
from vbcgcd.shards.dataset import Block, ShardedData

Array = NDArray[Any]

#: Rows of a block whose statistics are taken at once, in float64.
STATISTICS_ROWS = 32_768
#: Bytes of statistics that a worker holds at a time: with more categories the shards are read again.
PANEL_BYTES = 256 * 2**20

__all__ = ["GatherStatistics", "in_panels", "shard_statistics"]


@dataclass(frozen=True)
class GatherStatistics:
    """What workers do: the statistics of neighbouring blocks, added up.

    Parameters
    ----------
    data : ShardedData
    place : dict of label -> int
        Positions of the categories that count, 0 to ``n_categories - 1``; rows of others are left out.
    n_categories : int
    reducer : Reducer
    structure : {"full", "diagonal"}
    """

    data: ShardedData
    place: Mapping[Any, int]
    n_categories: int
    reducer: Reducer
    structure: Structure
    spread: float = 1.0

    def load(self) -> Callable[[Sequence[Block]], Statistics | None]:
        """See `vbcgcd.engine.Work`."""
        return lambda blocks: reduce_tree(map(self.block, blocks), add)

    def block(self, block: Block) -> Statistics | None:
        """Statistics of one block; None where no row of it counts."""
        parts, codes = [], []
        for rows in self.data.read(block):
            assert rows.labels is not None
            places = np.array([self.place.get(label, -1) for label in rows.labels], dtype=np.int64)
            chosen = np.flatnonzero(places >= 0)
            if len(chosen) == 0:
                continue
            # In float64, so that no digit depends on where blocks begin.
            reduced = self.reducer.transform(rows.vectors[chosen])
            check_reach(reduced, rows.vectors[chosen], self.spread)
            parts.append(reduced)
            codes.append(places[chosen])
        if not parts:
            return None
        return statistics_by_label(
            np.concatenate(parts), np.concatenate(codes), self.n_categories, structure=self.structure
        )


def shard_statistics(
    engine: Engine,
    data: ShardedData,
    place: Mapping[Any, int],
    reducer: Reducer,
    *,
    n_categories: int,
    structure: Structure = "full",
    progress: Callable[[int], None] = lambda rows: None,
) -> Statistics:
    """Statistics of each category, from all labelled rows of all shards.

    Equal to the last bit whatever the engine and its workers, and to 1e-9 however the rows are cut into
    shards.

    Parameters
    ----------
    engine : Engine
    data : ShardedData
        With embeddings and labels.
    place : dict of label -> int
        Positions of the categories; rows with other labels, or none, are left out.
    reducer : Reducer
        The projection to the space of the categories.
    n_categories : int
    structure : {"full", "diagonal"}
    progress : callable
        Called with the number of rows that were added.

    Returns
    -------
    Statistics
    """
    work = GatherStatistics(data, place, n_categories, reducer, structure)
    groups = group_blocks(data.blocks(STATISTICS_ROWS))

    def parts() -> Iterator[Statistics | None]:
        for group, part in zip(groups, engine.map(work, groups), strict=True):
            progress(sum(sum(b.shard.groups[b.first : b.last]) for b in group))
            yield part

    found = reduce_tree(parts(), add)
    return Statistics.empty(n_categories, reducer.n_components, structure) if found is None else found


def in_panels(
    engine: Engine,
    data: ShardedData,
    labels: Sequence[Sequence[Any]],
    reducer: Reducer,
    progress: Callable[[int], None] = lambda rows: None,
) -> Gather:
    """A function that gathers the statistics of chosen categories, as many at a time as memory allows.

    Parameters
    ----------
    engine, data, reducer, progress
        As for `shard_statistics`.
    labels : sequence (K,) of sequences
        The labels of each category.
    """

    def gather(chosen: Array, structure: Structure) -> Iterator[tuple[Array, Statistics]]:
        size = max(PANEL_BYTES // (8 * structure_of(structure, reducer.n_components).scatter_width), 1)
        for start in range(0, len(chosen), size):
            panel = chosen[start : start + size]
            place = {label: i for i, k in enumerate(panel) for label in labels[k]}
            narrow = replace(data, keep=())
            yield (
                panel,
                shard_statistics(
                    engine,
                    narrow,
                    place,
                    reducer,
                    n_categories=len(panel),
                    structure=structure,
                    progress=progress,
                ),
            )

    return gather
