"""`Workspace`: every command and query of a workspace as a method. It only wires the other modules."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vbcgcd.archive import utf8_path
from vbcgcd.checks import check_number
from vbcgcd.record import SessionRecord, plain
from vbcgcd.workspace import commands, imports, queries, values
from vbcgcd.workspace.asking import query
from vbcgcd.workspace.batch import Batch, Embedding, PathLike, Progress, check_embedder, single_item
from vbcgcd.workspace.category_verbs import recorded
from vbcgcd.workspace.config import DEFAULTS, check_config, check_device, with_vocabulary
from vbcgcd.workspace.log.commits import Commit, Draft
from vbcgcd.workspace.log.folder import open_created
from vbcgcd.workspace.log.parquet import check_pyarrow
from vbcgcd.workspace.log.repair import repair
from vbcgcd.workspace.log.store import Store
from vbcgcd.workspace.log.transfer import export_to
from vbcgcd.workspace.naming_verbs import NamingVerbs
from vbcgcd.workspace.packing import pack, pack_all
from vbcgcd.workspace.queries.sources import new_source
from vbcgcd.workspace.report import write_report
from vbcgcd.workspace.review_verbs import ReviewVerbs
from vbcgcd.workspace.shard_verbs import ShardVerbs
from vbcgcd.workspace.snapshot import Snapshot
from vbcgcd.workspace.trust import check_clusterer, check_embedder_setting, unconfirmed

if TYPE_CHECKING:
    from vbcgcd.embed import Embedder
    from vbcgcd.items import Items

__all__ = ["Workspace"]


class Workspace(ReviewVerbs, NamingVerbs, ShardVerbs):
    """A folder that learns for years: labelled categories, and those discovered batch after batch.

    Every command is one commit, which is there whole or not at all; what was learned before is never
    rewritten. Ids of categories never change their meaning, names can. No items are stored, only their
    references and assignments and, if the settings ask for it, a few short excerpts.

    Data is a path (CSV, JSON, Parquet, a folder of pictures, ``.npy``, ``.npz``; see `read_items`), an
    ``Items``, a frame, Series or dataset of pandas, polars, Arrow or Hugging Face, a list of texts, of paths
    or of dicts, or an array of embeddings (N, d), texts (N,) or pictures (N, H, W, 3).
    Methods that take data also take ``**columns``, the options of ``vbcgcd.items.read_items``, and
    ``embedding_progress``, the ``progress`` of ``vbcgcd.embed.embed_items``. A category is an id or a name.
    Commits of others are taken in first.

    Parameters
    ----------
    path : str or Path
        An existing workspace; `Workspace.init` makes one.
    embedder : Embedder, optional
        Used instead of the one that the settings name.
    cache : bool or path, default=True
        Where embeddings are kept, as in ``vbcgcd.embed.embed_items``.
    lock_timeout : float, default=0
        Seconds to wait for another writer.

    Attributes
    ----------
    by : str or None
        Who gives the commands, which the log keeps beside each of them.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from vbcgcd.workspace import Workspace
    >>> X, y = load_iris(return_X_y=True)
    >>> folder = tempfile.TemporaryDirectory()
    >>> flowers = Workspace.init(pathlib.Path(folder.name) / "flowers")
    >>> flowers.learn(X[:100], y[:100]).novel
    {0: '0', 1: '1'}
    >>> flowers.discover(X[100:], n_novel=1).novel
    {2: 'novel-2'}
    >>> _ = flowers.rename(2, "virginica")
    >>> flowers.predict(X[[0, 149]]).name
    ['0', 'virginica']
    >>> folder.cleanup()
    """

    def __init__(
        self,
        path: PathLike,
        *,
        embedder: Embedder | None = None,
        cache: bool | PathLike = True,
        lock_timeout: float = 0.0,
    ) -> None:
        check_number("lock_timeout", lock_timeout, low=0)
        check_embedder(embedder)
        self.path = Path(path).absolute()
        self._store = Store(self.path)
        self._embedder, self._cache, self._timeout = embedder, cache, lock_timeout
        self._loaded: dict[str, Embedder] = {}
        self.by: str | None = None
        self._snapshot = Snapshot(self._store).refresh()

    @classmethod
    def init(
        cls,
        path: PathLike,
        /,
        *,
        embedder: Embedder | PathLike | None = None,
        cache: bool | PathLike = True,
        lock_timeout: float = 0.0,
        **settings: Any,
    ) -> Workspace:
        """Make a workspace in a folder that is empty or does not exist.

        Parameters
        ----------
        path : str or Path
        embedder : str, Path or Embedder, optional
            What makes embeddings; None takes the offline default for the kind of items.
        cache, lock_timeout
            As for `Workspace`.
        **settings
            ``kind``, ``columns``, ``embedder_options``, ``model``, ``reject``, ``names``, ``excerpts``,
            ``sample``, ``vocabulary`` (also a path of a text file), ``namer``; see
            ``vbcgcd.workspace.config.check_config``.
        """
        name = os.fspath(embedder) if isinstance(embedder, str | os.PathLike) else None
        ready: Any = embedder if name is None else None
        check_embedder(ready)
        check_number("lock_timeout", lock_timeout, low=0)
        settings = with_vocabulary(settings)
        config = check_config({**DEFAULTS, **settings, "embedder": name})
        check_device(config["model"], {})
        draft = Draft("init", changes={"config": config}, parameters=plain(settings))
        folder = Path(utf8_path(Path(path).absolute()))
        Store.create(folder, draft)
        return open_created(folder, lambda: cls(path, embedder=ready, cache=cache, lock_timeout=lock_timeout))

    @classmethod
    def open(cls, path: PathLike, **options: Any) -> Workspace:
        """An existing workspace; the options are those of `Workspace`."""
        return cls(path, **options)

    @classmethod
    def import_(cls, file: PathLike, path: PathLike, *, trust: bool = False, **options: Any) -> Workspace:
        """Make a workspace from an exported file, in a folder that is empty or does not exist.

        Unless you ``trust`` the file, the data that it names is not opened until you `relocate` it, nor an
        embedder that it chose until you `configure` it.
        """
        folder = Path(utf8_path(Path(path).absolute()))
        imports.import_workspace(Path(file), folder, trust=trust)
        return open_created(folder, lambda: cls(path, **options))

    @classmethod
    def repair(cls, path: PathLike, *, lock_timeout: float = 0.0) -> values.RepairResult:
        """Return to the last whole commit; what is damaged goes to the folder ``set-aside``."""
        check_number("lock_timeout", lock_timeout, low=0)
        result = repair(Path(path).absolute(), timeout=lock_timeout)
        pack_all(Path(result.path))
        return result

    def learn(
        self,
        data: Any,
        labels: Any = None,
        *,
        update_known: bool = False,
        new_labels: bool = False,
        again: bool = False,
        embedding_progress: Progress = None,
        **columns: Any,
    ) -> SessionRecord:
        """Learn labelled items: the base session.

        A later call adds the labels that are not yet names of live categories; items of known categories
        are assigned to them and, with ``update_known``, update their posteriors. The projection stays.

        Parameters
        ----------
        data : path, Items or array
            Items without a label are left out.
        labels : array-like (N,), optional
            Labels of the items of an array.
        update_known : bool
            Let known categories learn from their items.
        new_labels : bool
            Accept labels that differ from the name of a category by one letter; otherwise they are refused as
            probable typos.
        again : bool
            Use a file or folder although a session in effect has learned from it already.
        """
        check_pyarrow()
        with self._writing("learn") as now:
            source = new_source(now.history, "learn", data, columns, again=again)
            batch = self._batch(
                now, data, columns, embedding_progress, labels=labels, check=commands.check_labelled
            )
            draft = commands.learn_draft(now, batch, source, update_known=update_known, new_labels=new_labels)
            called = {"update_known": update_known, "new_labels": new_labels or None, "again": again or None}
            return self._record(draft, {**called, **recorded(columns)})

    def discover(
        self,
        data: Any,
        n_novel: int | None = None,
        *,
        again: bool = False,
        progress: Callable[[str], None] = lambda step: None,
        embedding_progress: Progress = None,
        **columns: Any,
    ) -> SessionRecord:
        """Find the novel categories of a batch without labels; labels in it are ignored.

        Parameters
        ----------
        data : path, Items or array
        n_novel : int or None
            Number of novel categories, at most half that of the items; None estimates it.
        again : bool
            Use a file or folder although a session in effect has used it already: its items count twice.
        progress : callable
            Called with the name of each step as it begins.
        """
        from vbcgcd.discovery.options import check_n_novel

        check_pyarrow()
        with self._writing("discover") as now:
            _ = now.base  # without a base session there is nothing to compare with
            check_clusterer(now)
            source = new_source(now.history, "discover", data, columns, again=again)
            batch = self._batch(
                now, data, columns, embedding_progress, check=lambda items: check_n_novel(n_novel, len(items))
            )
            words = self._vocabulary(now)
            draft = commands.discover_draft(now, batch, source, n_novel, progress, words)
            return self._record(draft, {"n_novel": n_novel, "again": again or None, **recorded(columns)})

    def configure(self, /, **changes: Any) -> values.ConfigResult:
        """Change settings; see ``vbcgcd.workspace.config.check_config``."""
        with self._writing("configure") as now:
            commit = self._commit(commands.configure_draft(now, with_vocabulary(changes)))
            return values.ConfigResult(commit.number, queries.get_config(self._snapshot))

    def predict(
        self, data: Any, reject: float | None = None, *, embedding_progress: Progress = None, **columns: Any
    ) -> values.Predictions:
        """Category, name, probability, novelty and second choice of each item. Nothing is stored.

        Parameters
        ----------
        data : path, Items or array
        reject : float, optional
            Answer "none of these" if the novelty exceeds ``1 - reject``, the share of items of known
            categories that are wrongly rejected. None takes the setting ``reject``; 0 rejects nothing.
        """
        from vbcgcd.discovery.options import check_reject

        now = self.snapshot()
        rate = check_reject(now.state.config["reject"] if reject is None else reject)
        _ = now.base
        return queries.predict(now, self._batch(now, data, columns, embedding_progress), rate)

    def read(self, data: Any, **columns: Any) -> Items:
        """The items of data as this workspace reads them: by the columns that it remembers."""
        return self._embedding(self.snapshot()).read(data, columns)

    def warm_up(self) -> None:
        """Read what `predict` needs and load the embedder, so that the next call answers at once."""
        self._embedding(self.snapshot()).warm_up()
        _ = self._snapshot.knowledge

    def explain(
        self,
        data: Any,
        *,
        row: int = 0,
        n: int = 3,
        n_samples: int = 3,
        items: bool = False,
        **columns: Any,
    ) -> values.Explanation:
        """Why an item belongs to its category: distances, evidence against the runner-up, typical items.

        Parameters
        ----------
        data : text, path, Items, frame or array
            In a workspace of texts, a string that names no file is the text itself.
        row : int
            Which of the items.
        n : int
            Number of candidates.
        n_samples : int
            Typical items of each.
        items : bool
            Read their texts from the user's own files.
        """
        now = self.snapshot()
        _ = now.base
        check_number("n", n, low=1, whole=True)
        item = data
        if isinstance(data, str) and not any(value is not None for value in columns.values()):
            item = single_item(data, (now.state.embedder or {}).get("kind")) or data
        batch = self._batch(now, item, columns, row=row)
        return queries.explain(now, batch, n=n, n_samples=n_samples, texts=items)

    categories = query(queries.list_categories)
    category = query(queries.get_category)
    entries = query(queries.list_entries)
    config = query(queries.get_config)
    sessions = query(queries.list_sessions)
    history = query(queries.list_commands)
    last_command = query(queries.last_command)
    next_redo = query(queries.next_redo)
    changes = query(queries.list_changes)
    sizes = query(queries.category_sizes)
    count_items = query(queries.count_items)
    count_unassigned = query(queries.count_unassigned)
    unassigned = query(queries.unassigned_items)
    seedlings = query(queries.list_seedlings)
    items = query(queries.list_items)
    item_contents = query(queries.item_contents)
    overview = query(queries.overview)
    sources = query(queries.list_sources)
    unconfirmed = query(unconfirmed)
    report = query(write_report)

    def verify(self) -> int:
        """Check every file against its digest; returns the number of files."""
        return self._store.verify()

    def relocate(self, old: PathLike, new: PathLike) -> tuple[values.SourceInfo, ...]:
        """Say that the files or folders which sessions call ``old`` are at ``new``; returns all sources."""
        self._snapshot = commands.relocate_sources(self.snapshot(), old, new)
        return self.sources()

    def check_target(self, path: PathLike) -> None:
        """Raise `InputError` unless a file can be written to ``path`` without harm to the workspace."""
        self._store.check_target(Path(path).absolute())

    def export(self, path: PathLike) -> values.ExportResult:
        """Write everything, with its whole history, into one file."""
        return export_to(self._store, Path(path).absolute())

    def snapshot(self) -> Snapshot:
        """The workspace as the last commit left it: a value that never changes."""
        self._snapshot = self._snapshot.refresh()
        return self._snapshot

    @property
    def embedder(self) -> Mapping[str, Any] | None:
        """The workspace's embedder: name, kind, fingerprint, dimension; None before the base session."""
        return self.snapshot().state.embedder

    @property
    def last_commit(self) -> int:
        """Number of the last commit."""
        return self.snapshot().head.number

    def __repr__(self) -> str:
        now = self._snapshot
        return f"Workspace({str(self.path)!r}, {len(now.state.ids)} categories, commit {now.head.number})"

    def _repr_html_(self) -> str:
        from vbcgcd.workspace.notebook import workspace_html

        return workspace_html(self.snapshot(), repr(self))

    @contextmanager
    def _writing(self, command: str) -> Iterator[Snapshot]:
        with self._store.writer(command, timeout=self._timeout):
            yield self.snapshot()

    def _batch(
        self, now: Snapshot, data: Any, columns: Mapping[str, Any], progress: Progress = None, **options: Any
    ) -> Batch:
        return self._embedding(now, progress).load(data, columns, **options)

    def _embedding(self, now: Snapshot, progress: Progress = None) -> Embedding:
        check, state = partial(check_embedder_setting, now), now.state
        kind = state.config.get("kind") if state.embedder is None else state.embedder["kind"]
        prefer = {"kind": kind, **queries.remembered_columns(now)}
        return Embedding(state, self._embedder, self._cache, progress, check, self._loaded, prefer)

    def _commit(self, draft: Draft, parameters: Mapping[str, Any] | None = None) -> Commit:
        before = self._snapshot
        draft = draft.called_with({**(parameters or {}), "by": self.by})
        commit, head = self._store.append(draft, before.head)
        self._snapshot = before.after(commit, head, draft.files)
        pack(self._snapshot)
        return commit

    def _record(self, draft: Draft, parameters: Mapping[str, Any]) -> SessionRecord:
        commit = self._commit(draft, parameters)
        assert draft.record is not None
        return replace(draft.record, commit=commit.number, time=commit.time)
