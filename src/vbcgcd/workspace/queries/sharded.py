"""Predictions for folders of Parquet shards, on any engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vbcgcd.errors import InputError
from vbcgcd.workspace.batch import UNKNOWN
from vbcgcd.workspace.snapshot import Snapshot

if TYPE_CHECKING:
    from vbcgcd.engine import Engine
    from vbcgcd.record import SessionRecord
    from vbcgcd.shards import Manifest, ShardedData
    from vbcgcd.shards.folder import JobFolder

__all__ = ["begin_assignments", "check_shards", "predict_shards", "shards_of", "write_assignments"]


def shards_of(snapshot: Snapshot, folder: Any, columns: Mapping[str, Any], prefer: Any) -> ShardedData:
    """A folder of shards that fits the workspace.

    Parameters
    ----------
    snapshot : Snapshot
    folder : str or Path
    columns : dict
        Options of ``vbcgcd.items.read_items``.
    prefer : mapping
        Columns that the workspace remembers.
    """
    from vbcgcd.shards import open_shards

    for name in ("split", "format"):
        if columns.get(name) is not None:
            raise InputError(
                f"The option {name!r} cannot be used with an engine: shards are read whole.", option=name
            )
    keep: Any = columns.get("keep") or ()
    chosen = {n: v for n, v in columns.items() if n not in ("split", "format", "keep") and v is not None}
    if "text" not in chosen and "image" not in chosen:
        chosen.setdefault("kind", "embedding")
    kept = ("all",) if keep is True else tuple(keep)
    try:
        data = open_shards(folder, keep=kept, prefer=prefer, **chosen)
    except InputError as error:
        if error.option != "embedding" or "embedding" in chosen:
            raise
        advice = (
            f"Texts and pictures are embedded first, with 'vbcgcd embed {folder} -o FOLDER --engine ...'."
        )
        raise InputError(f"{error} {advice}", option="embedding") from None
    check_shards(snapshot, data)
    return data


def check_shards(snapshot: Snapshot, data: ShardedData) -> None:
    """Raise if shards hold anything but embeddings that fit the workspace."""
    if data.columns.kind != "embedding":
        raise InputError(
            f"The shards of {data.folder} hold {data.columns.kind}s; embed them first with 'vbcgcd embed "
            f"{data.folder} -o FOLDER --engine ...'."
        )
    known = snapshot.state.embedder
    if known is None:
        return
    if data.width != known["dimension"]:
        raise InputError(
            f"This workspace uses embeddings of {known['dimension']} dimensions, but the shards of "
            f"{data.folder} have {data.width}; use the same embedder."
        )
    fingerprint = UNKNOWN if data.made_by is None else data.made_by[1]
    if UNKNOWN not in (fingerprint, known["fingerprint"]) and fingerprint != known["fingerprint"]:
        raise InputError(
            f"This workspace was made with the embedder {known['name']!r}, the shards of {data.folder} with "
            "another one, and cannot be compared; use the same embedder."
        )


def predict_shards(
    snapshot: Snapshot,
    engine: Engine,
    data: ShardedData,
    output: Any,
    reject: float | None,
    progress: Callable[[int, int], None],
) -> Manifest:
    """Category of each row of all shards, written shard by shard.

    Parameters
    ----------
    snapshot : Snapshot
    engine : Engine
    data : ShardedData
    output : str or Path
        Folder for the answers.
    reject : float or None
        Share of items of known categories that may be rejected wrongly; None rejects nothing.
    progress : callable
        Called with the rows that are done and all of them.
    """
    from vbcgcd.shards import predict_shards as run

    state = snapshot.state
    return run(
        engine,
        data,
        output,
        snapshot.knowledge,
        ids=state.ids,
        names=[category.name for category in state.live],
        model=str(snapshot.head.sha256),
        reject=reject,
        progress=progress,
    )


def _assignments(snapshot: Snapshot, data: ShardedData, output: Any) -> JobFolder:
    from vbcgcd.shards.folder import JobFolder

    job = {"command": "discover", "model": str(snapshot.head.sha256), "keep": list(data.keep)}
    return JobFolder(Path(output), job, data)


def begin_assignments(snapshot: Snapshot, data: ShardedData, output: Any) -> None:
    """Mark a folder as unfinished output of the session that comes after a snapshot."""
    _assignments(snapshot, data, output).begin()


def write_assignments(snapshot: Snapshot, data: ShardedData, output: Any, record: SessionRecord) -> Manifest:
    """What a session decided for each row, a shard for each shard.

    Parameters
    ----------
    snapshot : Snapshot
        Before the session.
    data : ShardedData
    output : str or Path
    record : SessionRecord
    """
    from vbcgcd.items.parquet import pyarrow_module
    from vbcgcd.tabular import carried

    arrow, folder, first = pyarrow_module(), _assignments(snapshot, data, output), 0
    missing, done = folder.begin()
    names = {shard.name for shard in missing}
    written = []
    for shard in data.shards:
        part = slice(first, first + shard.rows)
        first = part.stop
        if shard.name in names:
            columns = {name: values[part] for name, values in record.table_.items()}
            kept = [rows.kept for rows in data.read(shard)] if data.keep else []
            extra = arrow.concat_tables(kept) if kept else arrow.table({})
            table = arrow.table(carried(columns, {name: extra.column(name) for name in extra.column_names}))
            written.append(folder.target.write(shard, table, {}))
    return folder.finish(done, written)
