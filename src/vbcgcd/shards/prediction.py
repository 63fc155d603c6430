"""Predictions for shards: a shard of answers for each shard of embeddings."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.discovery.knowledge import Knowledge, is_rejected, score
from vbcgcd.engine import Engine
from vbcgcd.errors import InputError
from vbcgcd.items.parquet import pyarrow_module
from vbcgcd.labels import NONE_OF_THESE
from vbcgcd.shards.dataset import Rows, Shard, ShardedData
from vbcgcd.shards.folder import JobFolder, Manifest, Target, Written
from vbcgcd.tabular import carried

Array = NDArray[Any]
Progress = Callable[[int, int], None]

__all__ = ["Predict", "predict_shards"]


@dataclass(frozen=True)
class Predict:
    """What workers do: one shard of embeddings in, one shard of answers out.

    Parameters
    ----------
    knowledge : Knowledge
    ids, names : tuple (K,)
        Of the categories, in the order of the posteriors.
    reject : float or None
        Share of rows of known categories that may be rejected wrongly; None rejects nothing.
    data : ShardedData
    target : Target
    """

    knowledge: Knowledge
    ids: tuple[int, ...]
    names: tuple[str, ...]
    reject: float | None
    data: ShardedData
    target: Target

    def load(self) -> Callable[[Shard], Written]:
        """See `vbcgcd.engine.Work`."""
        return self._shard

    def _shard(self, shard: Shard) -> Written:
        arrow = pyarrow_module()
        tables, counts = [], np.zeros(len(self.ids) + 1, dtype=np.int64)
        for rows in self.data.read(shard):
            columns = self.answers(rows.vectors)
            place = np.where(columns["refused"], len(self.ids), columns["place"])
            counts += np.bincount(place, minlength=len(counts))
            tables.append(self._table(arrow, rows, columns))
        names = [*map(str, self.ids), "-1"]
        summary = {"categories": {name: int(n) for name, n in zip(names, counts, strict=True) if n}}
        table = arrow.concat_tables(tables) if tables else self._empty(arrow)
        return self.target.write(shard, table, summary)

    def answers(self, vectors: Array) -> dict[str, Array]:
        """What is known of each row: arrays (N,)."""
        scores = score(self.knowledge, vectors)
        return {
            "place": scores.best,
            "refused": is_rejected(scores.novelty, self.reject),
            "second": scores.second,
            "probability": scores.probability,
            "second_probability": scores.second_probability,
            "novelty": scores.novelty,
        }

    def _table(self, arrow: Any, rows: Rows, columns: dict[str, Array]) -> Any:
        """A row for each item, in the columns of ``vbcgcd.workspace.values.Predictions``."""
        ids = np.array([*self.ids, -1])
        names = arrow.array([*self.names, NONE_OF_THESE, ""], arrow.string())
        best, refused = columns["place"], columns["refused"]
        second = np.where(columns["second"] < 0, len(self.ids) + 1, columns["second"])
        own = {
            "reference": arrow.array(rows.references, arrow.string()),
            "category": np.where(refused, -1, ids[best]),
            "name": names.take(arrow.array(np.where(refused, len(self.ids), best))),
            "probability": columns["probability"].astype(np.float64),
            "novelty": columns["novelty"].astype(np.float64),
            "best": ids[best],
            "second": ids[columns["second"]],
            "second_name": names.take(arrow.array(second)),
            "second_probability": columns["second_probability"].astype(np.float64),
        }
        kept = {name: rows.kept.column(name) for name in rows.kept.column_names}
        return arrow.table(carried(own, kept))

    def _empty(self, arrow: Any) -> Any:
        nothing = np.empty(0)
        none = dict.fromkeys(("probability", "second_probability", "novelty"), nothing)
        whole = {name: nothing.astype(np.int64) for name in ("place", "second")}
        rows = Rows(np.empty((0, self.data.width)), [], None, arrow.table({}))
        return self._table(arrow, rows, {**none, **whole, "refused": nothing.astype(bool)})


def predict_shards(
    engine: Engine,
    data: ShardedData,
    output: str | os.PathLike[str],
    knowledge: Knowledge,
    *,
    ids: Sequence[int],
    names: Sequence[str],
    model: str,
    reject: float | None = None,
    progress: Progress = lambda finished, total: None,
) -> Manifest:
    """Predict the category of each row of all shards.

    After an interruption the same call does what is missing. The answers do not depend on the engine.

    Parameters
    ----------
    engine : Engine
    data : ShardedData
        With embeddings; see `open_shards`.
    output : str or Path
        Folder for a shard of answers for each shard, under the same name, and a manifest at the end.
    knowledge : Knowledge
    ids, names : sequence (K,)
        Of the categories, in the order of the posteriors.
    model : str
        What tells this knowledge from any other, such as a digest: output of another one is not continued.
    reject : float, optional
        Answer "none of these" where the novelty exceeds ``1 - reject``.
    progress : callable
        Called with the rows that are done and all of them.

    Returns
    -------
    Manifest
    """
    _check(data, knowledge)
    keep = list(data.keep)
    job = {
        "command": "predict",
        "model": model,
        "reject": reject,
        "columns": data.columns.names,
        "keep": keep,
    }
    folder = JobFolder(Path(output), job, data)
    missing, done = folder.begin()
    finished = sum(shard.rows for shard in done)
    progress(finished, data.rows)
    work = Predict(knowledge.for_workers(), tuple(ids), tuple(names), reject, data, folder.target)
    written = []
    for shard in engine.map(work, missing):
        written.append(shard)
        finished += shard.rows
        progress(finished, data.rows)
    return folder.finish(done, written)


def _check(data: ShardedData, knowledge: Knowledge) -> None:
    if data.columns.kind != "embedding":
        raise InputError(
            f"The shards of {data.folder} hold {data.columns.kind}s; embed them first with vbcgcd embed."
        )
    if data.width != knowledge.reducer.n_inputs:
        raise InputError(
            f"The shards of {data.folder} have embeddings of {data.width} numbers, but the model has learned "
            f"from {knowledge.reducer.n_inputs}; use the same embedder."
        )
