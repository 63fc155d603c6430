"""The embeddings of shards as a source of rows, read by whoever computes with them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.engine import Engine
from vbcgcd.shards.dataset import Block, Shard, ShardedData

Array = NDArray[Any]

__all__ = ["RowPlace", "ShardRows"]


@dataclass(frozen=True)
class RowPlace:
    """Some neighbouring rows of shards: small, so that it can be sent to whoever reads them.

    Parameters
    ----------
    data : ShardedData
        The shards that hold them.
    first, rows : int
        First row, counted from that of the first of these shards, and how many.
    """

    data: ShardedData
    first: int
    rows: int

    def __len__(self) -> int:
        return self.rows

    def read(self) -> Array:
        """The rows, array (n, d)."""
        parts, start = [], 0
        for shard in self.data.shards:
            for group, n in enumerate(shard.groups):
                low, high = max(self.first, start), min(self.first + self.rows, start + n)
                if low < high:
                    parts.append(_group(_plain(self.data), shard, group)[low - start : high - start])
                start += n
        return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _plain(data: ShardedData) -> ShardedData:
    """The data without what tells its parts apart, so that neighbours share what was read."""
    columns = replace(data.columns, label=None, id=None, shown=None)
    return replace(data, shards=(), columns=columns, keep=())


@lru_cache(maxsize=2)
def _group(data: ShardedData, shard: Shard, group: int) -> Array:
    """The embeddings of one row group; the last ones stay in memory, because neighbours ask for them."""
    parts = [rows.vectors for rows in data.read(Block(shard, group, group + 1))]
    return np.concatenate(parts)


@dataclass(frozen=True)
class _TakeRows:
    """What workers do: some rows of a shard, by their numbers."""

    data: ShardedData

    def load(self) -> Callable[[tuple[Shard, Array]], Array]:
        """See `vbcgcd.engine.Work`."""
        return self._take

    def _take(self, wanted: tuple[Shard, Array]) -> Array:
        shard, rows = wanted
        ends = np.cumsum(shard.groups)
        group_of = np.searchsorted(ends, rows, side="right")
        out = []
        for group in np.unique(group_of).tolist():
            first = int(ends[group]) - shard.groups[group]
            out.append(_group(self.data, shard, group)[rows[group_of == group] - first])
        return np.concatenate(out)


class ShardRows:
    """A `vbcgcd.blocks.RowBlocks` whose rows are read by the workers of an engine.

    Parameters
    ----------
    data : ShardedData
        With embeddings.
    engine : Engine
    """

    def __init__(self, data: ShardedData, engine: Engine) -> None:
        self._data, self._engine = data, engine
        self._starts = [0, *accumulate(shard.rows for shard in data.shards)]

    def __len__(self) -> int:
        return self._data.rows

    @property
    def width(self) -> int:
        """Number of columns."""
        return self._data.width

    def pieces(self) -> Iterator[Array]:
        """All rows in order."""
        for shard in self._data.shards:
            for rows in self._data.read(shard):
                yield rows.vectors

    def places(self, size: int) -> Iterator[tuple[int, RowPlace]]:
        """All rows in order, in blocks of one size: number of the first row, and where they are."""
        plain = _plain(self._data)
        for first in range(0, len(self), size):
            rows = min(size, len(self) - first)
            begin = bisect_right(self._starts, first) - 1
            end = bisect_right(self._starts, first + rows - 1)
            some = replace(plain, shards=self._data.shards[begin:end])
            yield first, RowPlace(some, first - self._starts[begin], rows)

    def take(self, rows: Array) -> Array:
        """The rows with these rising numbers, array (n, width)."""
        bounds = np.searchsorted(rows, self._starts)
        wanted = [
            (shard, rows[low:high] - start)
            for shard, start, low, high in zip(
                self._data.shards, self._starts, bounds[:-1], bounds[1:], strict=False
            )
            if low < high
        ]
        parts = list(self._engine.map(_TakeRows(_plain(self._data)), wanted))
        return np.concatenate(parts) if parts else np.empty((0, self.width), np.float32)
