"""Embeddings of shards: a shard with vectors for each shard of texts or paths of pictures."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from vbcgcd.embed.parquet import embedded_table
from vbcgcd.embed.registry import embedder as make_embedder
from vbcgcd.embed.run import embed_items
from vbcgcd.engine import Engine
from vbcgcd.errors import InputError
from vbcgcd.items.from_table import read_table
from vbcgcd.items.items import Items
from vbcgcd.shards.dataset import Shard, ShardedData, open_shard
from vbcgcd.shards.folder import JobFolder, Manifest, Target, Written
from vbcgcd.shards.prediction import Progress

#: Failed items that a shard names one by one.
NAMED_FAILURES = 20

__all__ = ["EmbedShards", "embed_shards"]


@dataclass(frozen=True)
class EmbedShards:
    """What workers do: one shard of items in, one shard with their embeddings out.

    Parameters
    ----------
    embedder : str or None
        Name or path for ``vbcgcd.embed.embedder``, the same on every machine.
    options : dict
        Further options of it.
    data : ShardedData
    target : Target
    """

    embedder: str | None
    options: Mapping[str, Any]
    data: ShardedData
    target: Target

    def load(self) -> Callable[[Shard], Written]:
        """The function of a shard; the embedder is loaded here, once for each worker."""
        model = make_embedder(self.embedder, kind=self.data.columns.kind, **self.options)

        def embed(shard: Shard) -> Written:
            with open_shard(shard):  # gone or changed: one clear error
                pass
            chosen = self.data.columns
            names: dict[str, Any] = {chosen.kind: chosen.values[0], "label": chosen.label}
            names["id"] = chosen.id if chosen.explicit_id else None
            items = _named_apart(read_table(Path(shard.path), kind=chosen.kind, **names), shard)
            result = embed_items(items, model, cache=None, workers=1)
            table = embedded_table(
                [("", items.take(result.rows), result.vectors)], None, (model.name, model.fingerprint)
            )
            failures = [[f.reference, f.reason] for f in result.failures[:NAMED_FAILURES]]
            counts = {"embedded": len(result.rows), "failed": len(result.failures)}
            made_by = {"embedder": model.name, "fingerprint": model.fingerprint}
            return self.target.write(shard, table, {"items": counts, "failures": failures, **made_by})

        return embed


def embed_shards(
    engine: Engine,
    data: ShardedData,
    output: str | os.PathLike[str],
    *,
    embedder: str | os.PathLike[str] | None = None,
    options: Mapping[str, Any] | None = None,
    progress: Progress = lambda finished, total: None,
) -> Manifest:
    """Embed the texts or pictures of all shards.

    After an interruption the same call does what is missing. Items that cannot be embedded are left out and
    named in the manifest.

    Parameters
    ----------
    engine : Engine
    data : ShardedData
        With texts or paths of pictures, which every machine can open.
    output : str or Path
        Folder for a shard with embeddings for each shard, under the same name, and a manifest at the end.
    embedder : str or Path, optional
        Name or path for ``vbcgcd.embed.embedder``; None takes the offline default.
    options : dict, optional
        Further options of it.
    progress : callable
        Called with the rows that are done and all of them.

    Returns
    -------
    Manifest
    """
    if data.columns.kind == "embedding":
        raise InputError(f"The shards of {data.folder} hold embeddings already.")
    name = None if embedder is None else os.fspath(embedder)
    chosen = dict(options or {})
    job = {"command": "embed", "embedder": name, "options": chosen, "columns": data.columns.names}
    folder = JobFolder(Path(output), job, data)
    missing, done = folder.begin()
    rows = {shard.name: shard.rows for shard in data.shards}
    finished = sum(rows[shard.name] for shard in done)
    progress(finished, data.rows)
    run = getattr(engine, "sweep", engine.map)  # one long pass; Ray has a library for it
    written: list[Written] = []
    for shard in run(EmbedShards(name, chosen, data, folder.target), missing):
        written.append(shard)
        finished += rows[shard.name]
        progress(finished, data.rows)
    _check_alike([*done, *written])
    return folder.finish(done, written)


def _named_apart(items: Items, shard: Shard) -> Items:
    """Items with references ``SHARD:ROW`` where they are row numbers, which every shard has."""
    if "id" in items.columns or not all(name.isdecimal() for name in items.references):
        return items
    return replace(items, references=[f"{shard.name}:{row}" for row in items.references])


def _check_alike(shards: list[Written]) -> None:
    """Raise if two machines have embedded with different models of the same name."""
    makers = {str(shard.summary.get("fingerprint")): shard.name for shard in shards}
    if len(makers) > 1:
        (one, first), (other, second), *_ = makers.items()
        raise InputError(
            f"The machines have different models: {first} was embedded with the fingerprint {one[:12]}, "
            f"{second} with {other[:12]}. Install the same embedder everywhere, and delete the output."
        )
