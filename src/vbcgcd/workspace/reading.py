"""What can be asked of a workspace: everything that changes nothing in it."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from vbcgcd.embed import Embedder
from vbcgcd.errors import InputError
from vbcgcd.validation import check_number
from vbcgcd.workspace.assignments import Assignments
from vbcgcd.workspace.categories import Key, find
from vbcgcd.workspace.data import Reader
from vbcgcd.workspace.lookup import Shown
from vbcgcd.workspace.overview import Query
from vbcgcd.workspace.posteriors import Shelf
from vbcgcd.workspace.predictions import Explanation, Members, check_reject, explained, predicted
from vbcgcd.workspace.results import Exported, Predictions, Reported
from vbcgcd.workspace.state import Category, History
from vbcgcd.workspace.store import NOTHING, Store
from vbcgcd.workspace.transfer import export_to
from vbcgcd.workspace.views import CategoryInfo, Changes, CommandInfo, ItemInfo, Overview, SessionInfo

PathLike = str | os.PathLike[str]
Progress = bool | Callable[[int, int], None] | None

__all__ = ["PathLike", "Progress", "Reading", "check_embedder"]


class Reading:
    """A workspace that can be asked; `vbcgcd.workspace.Workspace` can also learn.

    Commits of other processes are taken in by every question.

    Parameters
    ----------
    path : str or Path
        An existing workspace.
    embedder : Embedder, optional
        In place of the one that the settings name.
    cache : bool or path, default=True
        Where embeddings are kept, as in ``vbcgcd.embed.embed_items``.
    """

    def __init__(
        self, path: PathLike, *, embedder: Embedder | None = None, cache: bool | PathLike = True
    ) -> None:
        check_embedder(embedder)
        self.path = Path(path).absolute()
        self._store = Store(self.path)
        self._embedder, self._cache = embedder, cache
        self._tables: dict[int, Assignments] = {}
        self._forget()
        self._refresh()

    def predict(
        self, data: Any, reject: float | None = None, *, embedding_progress: Progress = None, **columns: Any
    ) -> Predictions:
        """Category, name, probability, novelty and second choice of each item. Nothing is stored.

        Parameters
        ----------
        data : path, Items or array
        reject : float, optional
            Answer "none of these" where the novelty exceeds ``1 - reject``, the share of items of known
            categories that are wrongly refused. None takes the setting ``reject``; 0 refuses nothing.
        embedding_progress, **columns
            As in `learn`.
        """
        state = self._refresh().state
        rate = check_reject(state.config["reject"] if reject is None else reject)
        knowledge = self._shelf.knowledge(state)
        batch = self._reader().read(data, progress=embedding_progress, **columns)
        return predicted(knowledge, state, batch, rate)

    def explain(
        self,
        data: Any,
        *,
        row: int = 0,
        n: int = 3,
        n_samples: int = 3,
        items: bool = False,
        **columns: Any,
    ) -> Explanation:
        """Why an item belongs to its category: distances, evidence against the runner-up, typical members.

        Parameters
        ----------
        data : path, Items or array
        row : int
            Which of the items.
        n : int
            Candidates to show.
        n_samples : int
            Typical members of each.
        items : bool
            Find their texts again, in the user's own files.
        **columns
            As in `learn`.
        """
        state = self._refresh().state
        knowledge = self._shelf.knowledge(state)
        check_number("n", n, low=1, whole=True)
        reader = self._reader()
        given, maker = reader.items(data, columns)
        check_number("row", row, low=0, high=len(given) - 1, whole=True)
        batch = reader.embedded(given.take([row]), maker)
        query = self._query()

        def typical(category: int) -> Members:
            return query.typical(category, n_samples, items=items)

        return explained(knowledge, state, batch, typical, n=n)

    def categories(
        self,
        *,
        n_samples: int = 5,
        retired: bool = False,
        items: bool = False,
        only: Collection[int] | None = None,
    ) -> tuple[CategoryInfo, ...]:
        """The live categories, by rising id.

        Parameters
        ----------
        n_samples : int
            Typical items of each.
        retired : bool
            Add those that were merged, split or dropped.
        items : bool
            Find the texts of the typical items again, in the user's own files.
        only : collection of int, optional
            Ids: no other category is looked up.
        """
        self._refresh()
        return self._query().categories(n_samples=n_samples, retired=retired, items=items, only=only)

    def category(self, key: Key) -> Category:
        """The live category with this id or name."""
        return find(self._refresh().state, key)

    def config(self) -> dict[str, Any]:
        """All settings."""
        return dict(self._refresh().state.config)

    def sessions(self, *, undone: bool = True) -> tuple[SessionInfo, ...]:
        """The labelled and unlabelled sessions, first to last."""
        self._refresh()
        return self._query().sessions(undone=undone)

    def history(self) -> tuple[CommandInfo, ...]:
        """Every command that changed the workspace, first to last."""
        self._refresh()
        return self._query().commands()

    def last_command(self) -> CommandInfo:
        """The last command in effect: what an undo would take back, unless it is ``init``."""
        self._refresh()
        return self._query().last_command()

    def next_redo(self) -> CommandInfo | None:
        """The command that a redo would bring back; None where there is none."""
        self._refresh()
        return self._query().next_redo()

    def changes(self) -> Changes:
        """What is different from the state before the last session."""
        self._refresh()
        return self._query().changes()

    def shown(self, items: Sequence[ItemInfo]) -> list[Shown]:
        """Text or small picture of each item, from what was kept or from your own unchanged files."""
        self._refresh()
        return self._query().lookup.shown(items)

    def overview(self, *, n_items: int = 5, n_map: int = 2000) -> Overview:
        """All that a report needs: sessions, categories with their items, a map, and the last changes."""
        self._refresh()
        return self._query().overview(n_items=n_items, n_map=n_map)

    def report(
        self,
        path: PathLike,
        *,
        items: bool = True,
        title: str | None = None,
        n_items: int = 5,
        n_map: int = 2000,
    ) -> Reported:
        """Write one HTML file that shows all of this to a person; it needs neither network nor scripts.

        Parameters
        ----------
        path : str or Path
            Of the file to write, ending in ``.html``.
        items : bool
            Show texts and pictures, found again in the user's own files while these are unchanged; without
            it, only excerpts that the workspace keeps.
        title : str, optional
            The name of the workspace's folder by default.
        n_items : int
            Typical and doubtful items of each category.
        n_map : int
            Items on the map.
        """
        from vbcgcd.workspace.report import write_report

        self._refresh()
        target = Path(path).absolute()
        return write_report(self._query(), target, items=items, title=title, n_items=n_items, n_map=n_map)

    def verify(self) -> int:
        """Check every file against its digest; the number of files."""
        return self._store.verify()

    def check_target(self, path: PathLike) -> None:
        """Raise `InputError` unless a file can be written to ``path`` without harm to the workspace."""
        self._store.check_target(Path(path).absolute())

    def export(self, path: PathLike) -> Exported:
        """Write everything, with its whole history, into one file."""
        return export_to(self._store, Path(path).absolute())

    @property
    def embedder(self) -> Mapping[str, Any] | None:
        """What made the embeddings: name, kind, fingerprint, dimension; None before the base session."""
        return self._refresh().state.embedder

    @property
    def last_commit(self) -> int:
        """Number of the last commit."""
        return len(self._refresh().commits)

    def __repr__(self) -> str:
        state = self._history.state
        name, n_live = type(self).__name__, len(state.where)
        return f"{name}({str(self.path)!r}, {n_live} categories, commit {self._head.number})"

    def _forget(self) -> None:
        self._history, self._head = History(), NOTHING
        self._shelf = Shelf(self._store, self._history)
        self._answers: Query | None = None

    def _refresh(self) -> History:
        """Take in what other processes have committed."""
        head = self._store.head()
        if head == self._head:
            return self._history
        if head.number <= self._head.number:  # the folder was replaced, by an older copy for example
            self._forget()
            self._tables.clear()
        for commit in self._store.commits(head, after=self._head):
            self._history.append(commit)
        self._head, self._answers = head, None
        return self._history

    def _reader(self) -> Reader:
        state = self._history.state
        return Reader(state.config, state.embedder, self._embedder, self._cache)

    def _query(self) -> Query:
        if self._answers is None:
            self._answers = Query(self._store, self._history, self._shelf, self._tables)
        return self._answers


def check_embedder(embedder: Any) -> None:
    """Raise unless this is an embedder or None."""
    if embedder is not None and not isinstance(embedder, Embedder):
        raise InputError(
            f"embedder must be an object with the protocol vbcgcd.embed.Embedder, got {embedder!r}; init and "
            "configure also take the name or path of one."
        )
