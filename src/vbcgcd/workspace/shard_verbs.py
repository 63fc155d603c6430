"""The methods of `Workspace` for folders of Parquet shards, on any engine."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vbcgcd.blocks.marks import MANIFEST
from vbcgcd.record import SessionRecord
from vbcgcd.workspace import queries
from vbcgcd.workspace.category_verbs import recorded
from vbcgcd.workspace.log.commits import Draft
from vbcgcd.workspace.log.parquet import check_pyarrow
from vbcgcd.workspace.queries import sharded
from vbcgcd.workspace.queries.sources import new_source
from vbcgcd.workspace.snapshot import Snapshot
from vbcgcd.workspace.trust import check_clusterer

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

    def _writing(self, command: str) -> AbstractContextManager[Snapshot]:
        raise NotImplementedError

    def _record(self, draft: Draft, parameters: Mapping[str, Any]) -> SessionRecord:
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
        self._check_folder(output)
        data = sharded.shards_of(now, folder, columns, queries.remembered_columns(now))
        return sharded.predict_shards(now, engine, data, output, rate, progress)

    def learn_shards(
        self,
        folder: Any,
        *,
        engine: Engine,
        update_known: bool = False,
        new_labels: bool = False,
        again: bool = False,
        progress: Callable[[str, int, int], None] = lambda step, finished, total: None,
        **columns: Any,
    ) -> SessionRecord:
        """Learn from a folder of Parquet shards with embeddings and labels; see `Workspace.learn`.

        The rows stay where they are; of each item the workspace keeps its reference and its scores, as ever.

        Parameters
        ----------
        folder : str or Path
        engine : Engine
            See ``vbcgcd.engine.open_engine``.
        update_known, new_labels, again : bool
            As for `Workspace.learn`.
        progress : callable
            Called with the name of a step, the rows that are done and all of them.
        """
        from vbcgcd.workspace.commands.sharded import learn_shards_draft

        check_pyarrow()
        with self._writing("learn") as now:
            source = new_source(now.history, "learn", folder, columns, again=again)
            data = sharded.shards_of(now, folder, columns, queries.remembered_columns(now))
            draft = learn_shards_draft(
                now,
                engine,
                data,
                source,
                update_known=update_known,
                new_labels=new_labels,
                progress=progress,
            )
            called = {"update_known": update_known, "new_labels": new_labels or None, "again": again or None}
            return self._record(draft, {**called, **recorded(columns)})

    def discover_shards(
        self,
        folder: Any,
        n_novel: int | None = None,
        *,
        engine: Engine,
        output: Any = None,
        again: bool = False,
        progress: Callable[[str], None] = lambda step: None,
        **columns: Any,
    ) -> SessionRecord:
        """Find the novel categories of a folder of Parquet shards with embeddings; see `Workspace.discover`.

        Parameters
        ----------
        folder : str or Path
        n_novel : int or None
            As for `Workspace.discover`.
        engine : Engine
            See ``vbcgcd.engine.open_engine``.
        output : str or Path, optional
            Folder for a shard of assignments for each shard, under the same name; a manifest is written last.
        again : bool
            As for `Workspace.discover`.
        progress : callable
            Called with the name of each step as it begins.
        """
        from vbcgcd.discovery.options import check_n_novel
        from vbcgcd.workspace.commands.sharded import discover_shards_draft

        check_pyarrow()
        with self._writing("discover") as now:
            _ = now.base
            check_clusterer(now)
            source = new_source(now.history, "discover", folder, columns, again=again)
            data = sharded.shards_of(now, folder, columns, queries.remembered_columns(now))
            check_n_novel(n_novel, data.rows)
            if output is not None:
                self._check_folder(output)
                sharded.begin_assignments(now, data, output)
            draft = discover_shards_draft(now, engine, data, source, n_novel, progress)
            parameters = {"n_novel": n_novel, "again": again or None, **recorded(columns)}
            record = self._record(draft, parameters)
            if output is not None:
                sharded.write_assignments(now, data, output, record)
            return record

    def _check_folder(self, output: Any) -> None:
        place = Path(output)
        self.check_target(place / MANIFEST if place.is_dir() else place)
