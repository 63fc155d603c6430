"""The methods of `Workspace` for folders of Parquet shards, on any engine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vbcgcd.workspace import queries
from vbcgcd.workspace.queries import sharded
from vbcgcd.workspace.snapshot import Snapshot

if TYPE_CHECKING:
    from vbcgcd.engine import Engine
    from vbcgcd.shards import Manifest

__all__ = ["ShardVerbs"]


class ShardVerbs:
    """Work on folders of Parquet shards: rows stay where they are, workers read them block by block."""

    def snapshot(self) -> Snapshot:
        """The workspace as the last commit left it."""
        raise NotImplementedError

    def check_target(self, path: Any) -> None:
        """Raise unless something can be written to ``path`` without harm to the workspace."""
        raise NotImplementedError

    def predict_shards(
        self,
        folder: Any,
        output: Any,
        reject: float | None = None,
        *,
        engine: Engine,
        progress: Callable[[int, int], None] = lambda finished, total: None,
        **columns: Any,
    ) -> Manifest:
        """Predict the category of each row of a folder of Parquet shards with embeddings.

        The answers are those of `Workspace.predict`, whichever engine computes them. After an interruption
        the same call does only what is missing.

        Parameters
        ----------
        folder : str or Path
            Of ``.parquet`` files, also in subfolders.
        output : str or Path
            Folder for a shard of answers for each shard, under the same name; a manifest is written last.
        reject : float, optional
            As for `Workspace.predict`.
        engine : Engine
            See ``vbcgcd.engine.open_engine``.
        progress : callable
            Called with the rows that are done and all of them.
        """
        from vbcgcd.discovery.options import check_reject

        now = self.snapshot()
        rate = check_reject(now.state.config["reject"] if reject is None else reject)
        _ = now.base
        place = Path(output)
        self.check_target(place / "_manifest.json" if place.is_dir() else place)
        data = sharded.shards_of(now, folder, columns, queries.remembered_columns(now))
        return sharded.predict_shards(now, engine, data, output, rate, progress)
