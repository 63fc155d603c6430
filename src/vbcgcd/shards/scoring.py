"""Scores of the rows of shards for a session: a few numbers for each row, and a sample of reduced rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vbcgcd.discovery.knowledge import Knowledge, Scores, score
from vbcgcd.engine import Engine
from vbcgcd.shards.dataset import Shard, ShardedData
from vbcgcd.shards.learning import row_key

Array = NDArray[Any]

__all__ = ["ScoreRows", "ScoredRows", "references_of", "score_shards"]


class ScoredRows(NamedTuple):
    """Scores of rows in the order of the shards.

    Parameters
    ----------
    references : list of str (N,)
        Ids, or numbers of the rows from 0 over all shards.
    scores : Scores
    sampled : int array (m,)
        Places of the rows in the sample.
    reduced : array (m, D)
        Their reduced embeddings.
    """

    references: list[str]
    scores: Scores
    sampled: Array
    reduced: Array


@dataclass(frozen=True)
class ScoreRows:
    """What workers do: the scores of a shard.

    Parameters
    ----------
    knowledge : Knowledge
    data : ShardedData
    codes : dict of label -> int
        Position of the category of each label, which is then the best; rows with other labels are left out.
    share : float
        Of the rows to return reduced, chosen by a hash of their ids.
    """

    knowledge: Knowledge
    data: ShardedData
    codes: Mapping[Any, int]
    share: float

    def load(self) -> Callable[[Shard], tuple[list[str], Array, Scores, Array, Array]]:
        """See `vbcgcd.engine.Work`."""
        return self._shard

    def _shard(self, shard: Shard) -> tuple[list[str], Array, Scores, Array, Array]:
        limit, first, n = int(self.share * 2**64), 0, 0
        ids, places, parts, sampled = [], [np.empty(0, np.int64)], [], [np.empty(0, np.int64)]
        reduced = [np.empty((0, self.knowledge.reducer.n_components), np.float32)]
        for rows in self.data.read(shard):
            assert rows.labels is not None
            own = np.array([self.codes.get(label, -1) for label in rows.labels], dtype=np.int64)
            chosen = np.flatnonzero(own >= 0)
            parts.append(score(self.knowledge, rows.vectors[chosen], own[chosen]) if len(chosen) else None)
            names = [rows.references[i] for i in chosen]
            some = np.array([i for i, name in enumerate(names) if row_key(0, name) < limit], dtype=np.int64)
            if len(some):
                reduced.append(self.knowledge.reduced(rows.vectors[chosen[some]]).astype(np.float32))
                sampled.append(n + some)
            ids += names
            places.append(first + chosen)
            first, n = first + len(own), n + len(chosen)
        return ids, np.concatenate(places), _joined(parts), np.concatenate(sampled), np.concatenate(reduced)


@dataclass(frozen=True)
class _ReadIds:
    """What workers do: the ids of a shard."""

    data: ShardedData

    def load(self) -> Callable[[Shard], list[str]]:
        """See `vbcgcd.engine.Work`."""
        return self.data.read_ids


def references_of(engine: Engine, data: ShardedData) -> list[str]:
    """Ids of all rows, or their numbers from 0 over all shards."""
    if data.columns.id is None:
        return [str(row) for row in range(data.rows)]
    return [name for ids in engine.map(_ReadIds(data), data.shards) for name in ids]


def _joined(parts: list[Scores | None]) -> Scores:
    some = [vars(part) for part in parts if part is not None]
    if not some:
        whole, number = np.empty(0, np.int64), np.empty(0)
        return Scores(whole, number, whole, number, number)
    return Scores(**{name: np.concatenate([part[name] for part in some]) for name in some[0]})


def score_shards(
    engine: Engine,
    data: ShardedData,
    knowledge: Knowledge,
    codes: Mapping[Any, int],
    *,
    sample_rows: int,
    progress: Callable[[int, int], None] = lambda finished, total: None,
) -> ScoredRows:
    """Scores of all labelled rows.

    Parameters
    ----------
    engine : Engine
    data : ShardedData
    knowledge : Knowledge
    codes : dict of label -> int
        Position of the category of each label; rows with other labels are left out.
    sample_rows : int
        Rows to return reduced, roughly.
    progress : callable
        Called with the rows that are done and all of them.
    """
    share = 1.0 if data.rows <= sample_rows else sample_rows / data.rows
    work = ScoreRows(knowledge.for_workers(), replace(data, keep=()), codes, share)
    references: list[str] = []
    scores, sampled, reduced = [], [], []
    first = 0
    for shard, part in zip(data.shards, engine.map(work, data.shards), strict=True):
        ids, places, own, some, vectors = part
        sampled.append(len(references) + some)
        references += ids if data.columns.id is not None else [str(first + row) for row in places.tolist()]
        scores.append(own)
        reduced.append(vectors)
        first += shard.rows
        progress(first, data.rows)
    return ScoredRows(references, _joined([*scores]), np.concatenate(sampled), np.concatenate(reduced))
