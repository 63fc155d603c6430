"""The base session from labelled shards: sums over all rows, and a bounded sample chosen by their ids."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.discovery.base import learn_base
from vbcgcd.discovery.gathered import RowSums, Shift, check_options, gathered_reducer, learn_gathered
from vbcgcd.discovery.knowledge import Knowledge
from vbcgcd.discovery.options import Options
from vbcgcd.engine import Engine, group_blocks, reduce_tree
from vbcgcd.errors import InputError
from vbcgcd.shards.dataset import Block, Shard, ShardedData
from vbcgcd.shards.statistics import in_panels

Array = NDArray[Any]

#: Rows that are held, at most: with fewer labelled rows the base session is that of one machine, bit for bit.
SAMPLE_ROWS = 65_536

__all__ = ["LabelledShards", "count_labels", "learn_shards", "row_key", "row_sample", "sample_share"]


@dataclass(frozen=True)
class CountLabels:
    """What workers do: the labels of a shard, counted."""

    data: ShardedData

    def load(self) -> Callable[[Shard], Counter[Any]]:
        """See `vbcgcd.engine.Work`."""
        return lambda shard: Counter(self.data.read_labels(shard))


@dataclass(frozen=True)
class TakeSample:
    """What workers do: the rows of a block whose ids say so.

    Parameters
    ----------
    data : ShardedData
    share : float
        Of the rows to take.
    seed : int
    labelled : bool
        Whether rows without a label are left out.
    """

    data: ShardedData
    share: float
    seed: int
    labelled: bool = True

    def load(self) -> Callable[[Block], tuple[Array, list[Any], Array, list[str]]]:
        """See `vbcgcd.engine.Work`."""
        return self._block

    def _block(self, block: Block) -> tuple[Array, list[Any], Array, list[str]]:
        limit = int(self.share * 2**64)
        vectors, labels, keys, names = [np.empty((0, self.data.width), np.float32)], [], [], []
        for rows in self.data.read(block):
            marks = [row_key(self.seed, reference) for reference in rows.references]
            held = rows.labels if rows.labels is not None else [None] * len(marks)
            chosen = [
                i for i, key in enumerate(marks) if key < limit and not (self.labelled and held[i] is None)
            ]
            if chosen:
                vectors.append(rows.vectors[chosen])
            labels += [held[i] for i in chosen]
            keys += [marks[i] for i in chosen]
            names += [rows.references[i] for i in chosen]
        parts = vectors[1:] or vectors
        return np.concatenate(parts), labels, np.array(keys, dtype=np.uint64), names


@dataclass(frozen=True)
class AddRows:
    """What workers do: sums over neighbouring blocks, for the projection."""

    data: ShardedData
    codes: Mapping[Any, int]
    shift: Shift

    def load(self) -> Callable[[Sequence[Block]], RowSums]:
        """See `vbcgcd.engine.Work`."""
        return lambda blocks: reduce_tree(map(self.block, blocks), RowSums.__add__)

    def block(self, block: Block) -> RowSums:
        """The sums of one block."""
        found: RowSums | None = None
        n = max(self.codes.values()) + 1
        for rows in self.data.read(block):
            assert rows.labels is not None
            codes = np.array([self.codes.get(label, -1) for label in rows.labels], dtype=np.int64)
            part = self.shift.sums(rows.vectors[codes >= 0], codes[codes >= 0], n)
            found = part if found is None else found + part
        assert found is not None  # a block has rows
        return found


@dataclass(frozen=True, eq=False)
class LabelledShards:
    """What labelled shards hold, counted.

    Parameters
    ----------
    labels : tuple (L,)
        Different labels, in order.
    counts : int array (L,)
        Rows of each.
    unlabelled : int
        Rows without a label.
    """

    labels: tuple[Any, ...]
    counts: Array
    unlabelled: int


def count_labels(engine: Engine, data: ShardedData) -> LabelledShards:
    """Count the labels of all shards; embeddings are not read.

    Raises
    ------
    InputError
        There is no column of labels, none of the rows has one, or they are of different types.
    """
    if data.columns.label is None:
        raise InputError(
            f"The shards of {data.folder} have no labels; name the column that holds them with the option "
            "'label'.",
            option="label",
        )
    counts: Counter[Any] = Counter()
    for part in engine.map(CountLabels(data), data.shards):
        counts.update(part)
    unlabelled = counts.pop(None, 0)
    kinds = sorted({type(label).__name__ for label in counts})
    if len(kinds) > 1:
        raise InputError(f"The labels of {data.folder} are of the types {', '.join(kinds)}; use one type.")
    if not counts:
        raise InputError(f"No row of {data.folder} has a label.", option="label")
    labels = tuple(sorted(counts))
    return LabelledShards(labels, np.array([counts[label] for label in labels]), unlabelled)


def learn_shards(
    engine: Engine,
    data: ShardedData,
    codes: Mapping[Any, int],
    sizes: Array,
    options: Options,
    *,
    sample_rows: int = SAMPLE_ROWS,
    progress: Callable[[str, int, int], None] = lambda step, finished, total: None,
) -> Knowledge:
    """The base session from labelled shards.

    Up to ``sample_rows`` labelled rows it is that of one machine, bit for bit. Beyond, the rows stay where
    they are: means, covariances and posteriors come from sums over all of them, and what needs rows, such as
    the calibration, from a sample chosen by a hash of their ids. Neither depends on the engine.

    Parameters
    ----------
    engine : Engine
    data : ShardedData
        With embeddings and labels.
    codes : dict of label -> int
        Category of each label, 0 to K - 1; rows with other labels are left out.
    sizes : int array (K,)
        Rows of each category; see `count_labels`.
    options : Options
    sample_rows : int
        Rows that are held at most, roughly.
    progress : callable
        Called with the name of a step, the rows that are done and all of them.

    Returns
    -------
    Knowledge
    """
    total = int(sizes.sum())
    data = replace(data, keep=())
    seed = options.random_state or 0
    share = sample_share(total, sample_rows)
    rows, labels, keys, _ = row_sample(engine, data, share, seed, progress)
    chosen = np.array([codes.get(label, -1) for label in labels], dtype=np.int64)
    rows, chosen, keys = rows[chosen >= 0], chosen[chosen >= 0], keys[chosen >= 0]
    if share == 1.0:
        return learn_base(rows, chosen, options)
    check_options(options)
    order = np.argsort(keys, kind="stable")  # by the hash: not by the shards
    rows, chosen = rows[order], chosen[order]
    groups = group_blocks(data.blocks())

    def gather(shift: Shift) -> RowSums:
        done = 0
        parts = []
        for group, part in zip(groups, engine.map(AddRows(data, codes, shift), groups), strict=True):
            parts.append(part)
            done += sum(sum(b.shard.groups[b.first : b.last]) for b in group)
            progress("projection", done, data.rows)
        return reduce_tree(parts, RowSums.__add__)

    reducer = gathered_reducer(rows, chosen, len(sizes), options, gather)
    names: list[list[Any]] = [[] for _ in range(len(sizes))]
    for label, code in codes.items():
        names[code].append(label)
    count = [0]

    def added(n: int) -> None:
        count[0] += n
        progress("statistics", count[0] % (data.rows + 1), data.rows)

    statistics = in_panels(engine, data, names, reducer, added)
    return learn_gathered(rows, chosen, sizes, reducer, options, statistics)


def sample_share(total: int, sample_rows: int) -> float:
    """Share of the rows to hold."""
    return 1.0 if total <= sample_rows else sample_rows / total


def row_sample(
    engine: Engine,
    data: ShardedData,
    share: float,
    seed: int,
    progress: Callable[[str, int, int], None] = lambda step, finished, total: None,
    *,
    labelled: bool = True,
) -> tuple[Array, list[Any], Array, list[str]]:
    """Rows whose ids say so, in the order of the shards: vectors, labels, hashes and references.

    Parameters
    ----------
    engine : Engine
    data : ShardedData
    share : float
        Of the rows to take, roughly; 1 takes all.
    seed : int
    progress : callable
        Called with the name of the step, the rows that are done and all of them.
    labelled : bool
        Whether rows without a label are left out.
    """
    blocks, parts, done = data.blocks(), [], 0
    work = TakeSample(data, share, seed, labelled)
    for block, part in zip(blocks, engine.map(work, blocks), strict=True):
        done += sum(block.shard.groups[block.first : block.last])
        progress("sample", done, data.rows)
        if len(part[0]):
            parts.append(part)
    if not parts:
        raise InputError(f"No row of {data.folder} was sampled; give more rows.")
    return (
        np.concatenate([part[0] for part in parts]),
        [label for part in parts for label in part[1]],
        np.concatenate([part[2] for part in parts]),
        [name for part in parts for name in part[3]],
    )


def row_key(seed: int, reference: str) -> int:
    """A number below 2**64 that depends on the id of a row alone."""
    content = f"{seed}:{reference}".encode("utf-8", "surrogateescape")
    return int.from_bytes(hashlib.blake2b(content, digest_size=8).digest(), "big")
