"""`Workspace`: every command of a workspace as a method. It only wires the other modules."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from vbcgcd.embed import Embedder, Failure
from vbcgcd.errors import InputError
from vbcgcd.validation import check_number
from vbcgcd.workspace.assignments import check_pyarrow
from vbcgcd.workspace.categories import Key, drop_draft, find, merge_draft, rename_draft, split_draft
from vbcgcd.workspace.commits import Commit, Draft
from vbcgcd.workspace.config import DEFAULTS, check_config
from vbcgcd.workspace.origin import Origin, origin_of, used_before
from vbcgcd.workspace.reading import PathLike, Progress, Reading, check_embedder
from vbcgcd.workspace.results import CategoryResult, Configured, Discovered, Learned, Undone, plain
from vbcgcd.workspace.sessions import (
    check_labelled,
    check_n_novel,
    discover_draft,
    learn_base_draft,
    learn_more_draft,
)
from vbcgcd.workspace.state import Category, History
from vbcgcd.workspace.store import Store
from vbcgcd.workspace.transfer import import_from

__all__ = ["Workspace"]


def _quiet(step: str) -> None:
    """Tell nobody."""


class Workspace(Reading):
    """A folder that learns for years: labelled categories, and those found batch after batch.

    Every command is one commit, which is there whole or not at all; what was learned before is never
    rewritten. Ids of categories never change their meaning, names can. No items are stored, only their
    references and assignments and, if asked for, a few short excerpts.

    Data is a path (CSV, JSONL, Parquet, a folder of pictures, ``.npy``, ``.npz``; with the options of
    ``vbcgcd.items.read_items``), an ``Items``, or an array of embeddings (N, d), texts (N,) or pictures
    (N, H, W, 3). A category is given by its id or its name; names are unique among the live categories.

    Parameters
    ----------
    path : str or Path
        An existing workspace; `Workspace.init` makes one.
    embedder : Embedder, optional
        In place of the one that the settings name.
    cache : bool or path, default=True
        Where embeddings are kept, as in ``vbcgcd.embed.embed_items``.
    lock_timeout : float, default=0
        Seconds to wait for another writer.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sklearn.datasets import load_iris
    >>> from vbcgcd.workspace import Workspace
    >>> X, y = load_iris(return_X_y=True)
    >>> folder = tempfile.TemporaryDirectory()
    >>> flowers = Workspace.init(pathlib.Path(folder.name) / "flowers")
    >>> flowers.learn(X[:100], y[:100]).categories
    {0: '0', 1: '1'}
    >>> flowers.discover(X[100:], n_novel=1).categories
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
        super().__init__(path, embedder=embedder, cache=cache)
        self._timeout = lock_timeout

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
            ``kind``, ``embedder_options``, ``model``, ``reject``, ``names``, ``excerpts``, ``sample``; see
            ``vbcgcd.workspace.config.check_config``.
        """
        given, named = (
            (None, os.fspath(embedder)) if isinstance(embedder, str | os.PathLike) else (embedder, None)
        )
        check_embedder(given)
        check_number("lock_timeout", lock_timeout, low=0)
        config = check_config({**DEFAULTS, **settings, "embedder": named})
        Store.create(
            Path(path).absolute(), Draft("init", changes={"config": config}, parameters=plain(settings))
        )
        return cls(path, embedder=given, cache=cache, lock_timeout=lock_timeout)

    @classmethod
    def open(cls, path: PathLike, **options: Any) -> Workspace:
        """An existing workspace; the options are those of `Workspace`."""
        return cls(path, **options)

    def learn(
        self,
        data: Any,
        labels: Any = None,
        *,
        update_known: bool = False,
        again: bool = False,
        embedding_progress: Progress = None,
        **columns: Any,
    ) -> Learned:
        """Learn labelled items: the base session.

        A later call adds the labels that are not yet names of live categories; items of known categories
        are assigned to them and, with ``update_known``, update their posteriors. The projection stays.

        Parameters
        ----------
        data : path, Items or array
            Items without a label are left out.
        labels : array-like (N,), optional
            For arrays.
        update_known : bool
        again : bool
            Also use a file or folder that a session in effect has learned from already.
        embedding_progress : bool or callable
            As ``progress`` of ``vbcgcd.embed.embed_items``.
        **columns
            Options of ``vbcgcd.items.read_items``.
        """
        check_pyarrow()
        with self._writing("learn") as history:
            batch = self._reader().read(
                data,
                labels,
                progress=embedding_progress,
                origin=_origin(history, "learn", data, columns, again=again),
                check=check_labelled,
                **columns,
            )
            if history.state.model is None:
                draft = learn_base_draft(history, batch)
            else:
                knowledge = self._shelf.knowledge(history.state)
                draft = learn_more_draft(history, knowledge, batch, update_known=update_known)
            commit = self._commit(draft, update_known=update_known, again=again or None, **columns)
        return Learned(
            commit.number,
            commit.changes["session"],
            len(batch) - commit.summary["unlabelled"],
            _names(commit),
            _counts(commit),
            commit.summary["unlabelled"],
            batch.failures,
            commit.summary["seconds"],
        )

    def discover(
        self,
        data: Any,
        n_novel: int | None = None,
        *,
        again: bool = False,
        progress: Callable[[str], None] = _quiet,
        embedding_progress: Progress = None,
        **columns: Any,
    ) -> Discovered:
        """Find the novel categories of a batch without labels (labels in it are not looked at).

        Parameters
        ----------
        data : path, Items or array
        n_novel : int or None
            Their number, at most half that of the items; None estimates it.
        again : bool
            Also use a file or folder that a session in effect was made from already: its items count twice.
        progress : callable
            Told the name of each step.
        embedding_progress, **columns
            As in `learn`.
        """
        check_pyarrow()
        with self._writing("discover") as history:
            model = self._shelf.model(history.state)
            batch = self._reader().read(
                data,
                progress=embedding_progress,
                origin=_origin(history, "discover", data, columns, again=again),
                check=lambda items: check_n_novel(n_novel, len(items)),
                **columns,
            )
            draft = discover_draft(history, model, batch, n_novel, progress)
            commit = self._commit(draft, n_novel=n_novel, again=again or None, **columns)
        told = commit.summary
        return Discovered(
            commit.number,
            commit.changes["session"],
            told["rows"],
            told["known_rows"],
            told["novel_rows"],
            _names(commit),
            _counts(commit),
            told["estimated"],
            told["novel_share"],
            batch.failures,
            told["seconds"],
        )

    def rename(self, key: Key, name: str) -> CategoryResult:
        """Name a category. Any text of one line is a name; it must be free among the live categories."""
        with self._writing("rename") as history:
            return self._changed(self._commit(rename_draft(history.state, key, name)))

    def merge(self, keys: Sequence[Key], name: str | None = None) -> CategoryResult:
        """Make one new category of several, exactly: their sufficient statistics add.

        The merged ones retire and point to it. Without ``name`` it takes over the best name: of the user,
        else of a label, else of the largest.
        """
        with self._writing("merge") as history:
            knowledge = self._shelf.knowledge(history.state)
            sizes = self._query().ledger.sizes()
            return self._changed(self._commit(merge_draft(history, knowledge, keys, name, sizes)))

    def split(
        self,
        key: Key,
        data: Any,
        n_parts: int = 2,
        *,
        names: Sequence[str] | None = None,
        embedding_progress: Progress = None,
        **columns: Any,
    ) -> CategoryResult:
        """Split a category by clustering those items of a batch that belong to it.

        Its parts learn from these items alone, since no others are kept; it retires and points to them.

        Parameters
        ----------
        key : int or str
        data : path, Items or array
            At least two items of the category for each part.
        n_parts : int
        names : sequence of str, optional
            Of the parts, the largest first.
        embedding_progress, **columns
            As in `learn`.
        """
        check_pyarrow()
        with self._writing("split") as history:
            knowledge = self._shelf.knowledge(history.state)
            find(history.state, key)
            batch = self._reader().read(data, progress=embedding_progress, origin=origin_of(data), **columns)
            draft = split_draft(history, knowledge, key, batch, n_parts, names)
            return self._changed(self._commit(draft, **columns), batch.failures)

    def drop(self, key: Key) -> CategoryResult:
        """Retire a category; items that would be its own go to the others from now on."""
        with self._writing("drop") as history:
            self._shelf.knowledge(history.state)
            return self._changed(self._commit(drop_draft(history.state, key)))

    def undo(self, *, commit: int | None = None) -> Undone:
        """Take back the last command that is still in effect; again takes back the one before it.

        Parameters
        ----------
        commit : int, optional
            Take back this command and no other: an error if another one came after it.
        """
        with self._writing("undo") as history:
            trail = history.state.trail
            if len(trail) < 2:
                raise InputError("There is nothing left to undo: only init is in effect.")
            _check_meant(commit, history.commits[trail[-1]])
            return self._went("undo", goto=trail[-2], of=trail[-1])

    def redo(self, *, commit: int | None = None) -> Undone:
        """Take back the last undo; ``commit`` as in `undo`."""
        with self._writing("redo") as history:
            if not history.undone:
                raise InputError("There is nothing to redo: only what the very last commands undid can be.")
            _check_meant(commit, history.commits[history.undone[-1]])
            return self._went("redo", goto=history.undone[-1], of=history.undone[-1])

    def configure(self, /, **changes: Any) -> Configured:
        """Change settings; see ``vbcgcd.workspace.config.check_config``."""
        with self._writing("configure") as history:
            checked = check_config(changes, learned=history.state.model is not None)
            if not checked:
                raise InputError(f"Give at least one setting; the settings are {', '.join(DEFAULTS)}.")
            commit = self._commit(Draft("configure", changes={"config": checked}, parameters=checked))
            return Configured(commit.number, dict(history.state.config))

    @classmethod
    def import_(cls, file: PathLike, path: PathLike, **options: Any) -> Workspace:
        """Make a workspace from an exported file in a folder that is empty or does not exist."""
        import_from(Path(file), Path(path).absolute())
        return cls(path, **options)

    @contextmanager
    def _writing(self, command: str) -> Iterator[History]:
        with self._store.writer(command, timeout=self._timeout):
            yield self._refresh()

    def _commit(self, draft: Draft, **parameters: Any) -> Commit:
        said = {name: value for name, value in parameters.items() if value is not None}
        full = Draft(
            draft.command, draft.changes, plain({**draft.parameters, **said}), draft.summary, draft.files
        )
        commit, _ = self._store.append(full, self._head)
        return self._refresh().commits[commit.number]

    def _went(self, command: str, *, goto: int, of: int) -> Undone:
        draft = Draft(command, changes={"goto": goto}, parameters={"of": of})
        commit = self._commit(draft)
        return Undone(commit.number, command, of, self._history.commits[of].command)

    def _changed(self, commit: Commit, failures: tuple[Failure, ...] = ()) -> CategoryResult:
        made = [Category.from_json(values) for values in commit.changes["categories"]]
        return CategoryResult(
            commit.number,
            commit.command,
            {category.id: category.name for category in made if category.live},
            {category.id: category.name for category in made if not category.live},
            _counts(commit),
            failures,
        )


def _origin(history: History, command: str, data: Any, columns: dict[str, Any], *, again: bool) -> Origin:
    """Where data comes from; an error if a session in effect took the same rows in by the same command."""
    origin = origin_of(data)
    rows = plain(columns.get("split"))
    sessions = (c for c in history.in_effect() if c.command == command and c.parameters.get("split") == rows)
    before = None if again or not origin.path else used_before(origin, sessions)
    if before is not None:
        since = "" if origin.digest else " and has not changed since"
        raise InputError(
            f"{Path(origin.path).name} is session {before.changes['session']} already ({command}, "
            f"{before.time[:16].replace('T', ' ')}){since}; give again=True to use it once more."
        )
    return origin


def _check_meant(commit: int | None, last: Commit) -> None:
    if commit is not None and commit != last.number:
        raise InputError(
            f"Command {commit} is meant, but command {last.number} ({last.command}) came in between; look "
            "again."
        )


def _names(commit: Commit) -> dict[int, str]:
    return {values["id"]: values["name"] for values in commit.changes["categories"]}


def _counts(commit: Commit) -> dict[int, int]:
    return {int(category): count for category, count in commit.summary.get("counts", {}).items()}
