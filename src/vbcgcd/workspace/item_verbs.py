"""The methods of `Workspace` that correct single items."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from vbcgcd.checks import check_choice
from vbcgcd.workspace.batch import Embedding, Progress
from vbcgcd.workspace.log.commits import Commit, Draft
from vbcgcd.workspace.queries.finding import ItemKeyLike, find_items
from vbcgcd.workspace.queries.rereading import vectors_again
from vbcgcd.workspace.snapshot import Key, Snapshot
from vbcgcd.workspace.values import Explanation, ItemInfo, ItemsResult

if TYPE_CHECKING:
    from vbcgcd.workspace.commands.items import Vectors

Items = ItemKeyLike | Sequence[ItemKeyLike]
Make = Callable[[Snapshot, Sequence[ItemInfo], "Vectors"], Draft]

__all__ = ["ItemVerbs"]


class ItemVerbs:
    """Move, confirm, reject and unlabel items; each is one commit, and `undo` restores every bit.

    Items are given by reference, as ``source:reference`` where several sources have the same, or as
    `Workspace.items` returns them. What an item has taught is taken back exactly; for that its embedding is
    needed, which comes from the cache or from its source. Items of a session that did not come from a file
    have to be passed once more as ``data``, as they were then.
    """

    def move_items(
        self,
        items: Items,
        to: Key,
        *,
        create: bool = False,
        data: Any = None,
        embedding_progress: Progress = None,
    ) -> ItemsResult:
        """Put items into a category, which learns from them as if they had been labelled so.

        Parameters
        ----------
        items : str or ItemInfo, or a sequence of them
        to : int or str
            Id or name of a live category.
        create : bool
            ``to`` is the name of a new category, which has just these items.
        data : Items or array, optional
            The items of their session, where it did not come from a file.
        """
        from vbcgcd.workspace.commands.items import move_draft

        check_choice("create", create, (False, True))

        def make(now: Snapshot, chosen: Sequence[ItemInfo], vectors: Vectors) -> Draft:
            return move_draft(now, chosen, to, vectors, create=create)

        return self._correct("move", items, make, data, embedding_progress)

    def confirm_items(
        self, items: Items, *, data: Any = None, embedding_progress: Progress = None
    ) -> ItemsResult:
        """Say that items are where they belong: they count as labelled, whatever they counted for before."""
        from vbcgcd.workspace.commands.items import confirm_draft

        return self._correct("confirm", items, confirm_draft, data, embedding_progress)

    def reject_items(
        self, items: Items, *, data: Any = None, embedding_progress: Progress = None
    ) -> ItemsResult:
        """Say that items are not of their category: they become unassigned and teach nothing."""
        from vbcgcd.workspace.commands.items import reject_draft

        return self._correct("reject", items, reject_draft, data, embedding_progress)

    def unlabel_items(
        self, items: Items, *, data: Any = None, embedding_progress: Progress = None
    ) -> ItemsResult:
        """Forget what people said about items: what an unlabelled session found counts again.

        An item of a labelled session has nothing but its label; it becomes unassigned.
        """
        from vbcgcd.workspace.commands.items import unlabel_draft

        return self._correct("unlabel", items, unlabel_draft, data, embedding_progress)

    def explain_item(self, item: ItemKeyLike, *, n: int = 3, n_samples: int = 3) -> Explanation:
        """Why an item of a session belongs to its category, as `Workspace.explain` says it.

        Parameters
        ----------
        item : str or ItemInfo
        n : int
            Number of candidates.
        n_samples : int
            Typical items of each, with their texts.
        """
        from vbcgcd.workspace.queries.predictions import explain_row

        now = self.snapshot()
        (chosen,) = find_items(now, item)
        reduced = vectors_again(now, self._embedding(now), [chosen])
        return explain_row(now, reduced, chosen.reference, n=n, n_samples=n_samples, texts=True)

    def _correct(self, command: str, items: Items, make: Make, data: Any, progress: Progress) -> ItemsResult:
        from vbcgcd.workspace.commands.items import items_result

        with self._writing(command) as now:
            _ = now.base
            chosen = find_items(now, items)
            embedding = self._embedding(now, progress)
            draft = make(now, chosen, lambda some: vectors_again(now, embedding, some, data))
            commit = self._commit(draft)
            # What was just written is known: nothing that can fail is read once the command is done.
            return items_result(commit, now, self._snapshot)

    if TYPE_CHECKING:
        _snapshot: Snapshot

        def snapshot(self) -> Snapshot: ...  # noqa: D102

        def _writing(self, command: str) -> AbstractContextManager[Snapshot]: ...

        def _embedding(self, now: Snapshot, progress: Progress = None) -> Embedding: ...

        def _commit(self, draft: Draft, parameters: Mapping[str, Any] | None = None) -> Commit: ...
