"""The methods of `Workspace` that change categories, and those that take commands back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from vbcgcd.errors import InputError
from vbcgcd.workspace import commands, values
from vbcgcd.workspace.batch import Progress
from vbcgcd.workspace.item_verbs import ItemVerbs
from vbcgcd.workspace.log.parquet import check_pyarrow
from vbcgcd.workspace.queries.rereading import read_again
from vbcgcd.workspace.queries.sources import source_of
from vbcgcd.workspace.snapshot import Key

__all__ = ["CategoryVerbs", "recorded"]


class CategoryVerbs(ItemVerbs):
    """Rename, merge, split and drop categories; undo and redo any command."""

    def rename(self, key: Key, name: str) -> values.CategoryResult:
        """Name a category with a text of one line that looks like no other live category's name."""
        with self._writing("rename") as now:
            return commands.category_result(self._commit(commands.rename_draft(now, key, name)))

    def merge(self, keys: Sequence[Key], name: str | None = None) -> values.CategoryResult:
        """Make one new category of several, exactly: their sufficient statistics add.

        The merged ones retire and point to it. By default its name is the user's, a label, or the largest's.
        """
        with self._writing("merge") as now:
            return commands.category_result(self._commit(commands.merge_draft(now, keys, name)))

    def split(
        self,
        key: Key,
        data: Any = None,
        n_parts: int | None = None,
        *,
        names: Sequence[str] | None = None,
        embedding_progress: Progress = None,
        **columns: Any,
    ) -> values.CategoryResult:
        """Split a category by clustering its items, which are read again from their files.

        Each item goes to its part with what it taught, and labelled ones stay labelled. What items taught
        that are not there any more is shared by posterior weight, so that nothing that was learned is lost.
        The category retires and points to its parts.

        Parameters
        ----------
        key : int or str
            Id or name of the category.
        data : path, Items or array, optional
            Items of a session that did not come from a file or whose file is elsewhere now, as they were
            then; or any others, which help to find the parts and teach nothing.
        n_parts : int, optional
            By default the number of names or, without them, as many as there are by the judgement that finds
            novel categories; a category that is one by that judgement is not split.
        names : sequence of str, optional
            Names of the parts, the largest first.
        """
        check_pyarrow()
        with self._writing("split") as now:
            _ = now.base
            embedding = self._embedding(now, embedding_progress)
            extra, named = None, next((name for name, value in columns.items() if value is not None), None)
            if data is None and named is not None:
                raise InputError(f"{named} names a column of data, but no data was given.", option=named)
            if data is not None:
                extra = commands.Extra(source_of(data), lambda: embedding.load(data, columns))
            draft, failures = commands.split_draft(
                now, key, n_parts, names, lambda items: read_again(now, embedding, items, data), extra
            )
            return commands.category_result(self._commit(draft, recorded(columns)), failures)

    def drop(self, key: Key) -> values.CategoryResult:
        """Retire a category; items like its own go to the others from now on."""
        with self._writing("drop") as now:
            return commands.category_result(self._commit(commands.drop_draft(now, key)))

    def undo(self, *, commit: int | None = None) -> values.UndoResult:
        """Take back the last command in effect; with ``commit``, this one and no other."""
        with self._writing("undo") as now:
            return commands.undo_result(self._commit(commands.undo_draft(now, commit)), now)

    def redo(self, *, commit: int | None = None) -> values.UndoResult:
        """Bring back what the last undo took back; with ``commit``, this command and no other."""
        with self._writing("redo") as now:
            return commands.undo_result(self._commit(commands.redo_draft(now, commit)), now)


def recorded(columns: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a command that say how to read its data again."""
    return {name: value for name, value in columns.items() if name != "keep"}
