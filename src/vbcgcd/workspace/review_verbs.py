"""The methods of `Workspace` that settle the questions of a review."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from vbcgcd.errors import InputError
from vbcgcd.workspace.asking import query
from vbcgcd.workspace.batch import Progress
from vbcgcd.workspace.category_verbs import CategoryVerbs
from vbcgcd.workspace.queries.review import find_question, question_to_settle, review
from vbcgcd.workspace.snapshot import Key
from vbcgcd.workspace.values import CategoryResult, ItemsResult
from vbcgcd.workspace.values.questions import DismissResult, Question

__all__ = ["ReviewVerbs"]


class ReviewVerbs(CategoryVerbs):
    """List what is worth a person's minute, and settle it: each answer is one commit that `undo` takes back.

    `question` takes the id of a question, which lasts, or its place in the list; answers take the id alone.
    """

    review = query(review)
    question = query(find_question)

    def accept(
        self,
        question: str,
        *,
        to: Key | None = None,
        create: bool = False,
        without: Collection[int] = (),
        data: Any = None,
        embedding_progress: Progress = None,
    ) -> CategoryResult | ItemsResult:
        """Carry out the command that settles a question, as its own commit.

        Parameters
        ----------
        question : str
            Its id.
        to : int or str, optional
            For questions about items: the category that they belong to. By default odd items are rejected, an
            item to be labelled is confirmed where it is, and unassigned items go to the category that they
            are most like.
        create : bool
            ``to`` is the name of a new category.
        without : collection of int
            Items of the question to leave as they are, by their places in its list, counted from 1.
        data : Items or array, optional
            The items of their session, where it did not come from a file.

        Raises
        ------
        InputError
            The question is not open any more, or a place of the list was given; the message says what to do.
        """
        now = self.snapshot()
        asked = question_to_settle(now, question)
        _check_answer(asked, to, without)
        chosen = [item for place, item in enumerate(asked.items, start=1) if place not in without]
        given: dict[str, Any] = {"data": data, "embedding_progress": embedding_progress}
        if asked.kind == "same":
            return self.merge(asked.categories)
        if asked.kind == "two":
            return self.split(asked.categories[0], data, 2)
        if asked.kind == "stale":
            return self.drop(asked.categories[0])
        if to is None and asked.kind == "group" and asked.categories:
            to = asked.categories[0]
        if to is not None:
            return self.move_items(chosen, to, create=create, **given)
        if asked.kind == "odd":
            return self.reject_items(chosen, **given)
        return self.confirm_items(chosen, **given)

    def dismiss(self, question: str) -> DismissResult:
        """Do not ask the question with this id again, unless its evidence changes clearly."""
        from vbcgcd.workspace.commands.review import dismiss_draft, dismiss_result

        with self._writing("dismiss") as now:
            asked = question_to_settle(now, question)
            return dismiss_result(self._commit(dismiss_draft(asked)), asked)


def _check_answer(asked: Question, to: Key | None, without: Collection[int]) -> None:
    about_items = asked.kind in ("odd", "label", "group", "drift")
    if to is not None and not about_items:
        raise InputError(f"Question {asked.id} takes no category; accept or dismiss it.", option="to")
    if asked.needs_category and to is None:
        which = "items belong" if len(asked.items) > 1 else "item belongs"
        raise InputError(
            f"Question {asked.id} needs the category that its {which} to, or the name of a new one.",
            option="to",
        )
    odd = [place for place in without if not 1 <= place <= len(asked.items)]
    if odd:
        raise InputError(
            f"Question {asked.id} is about {len(asked.items)} items, so none has the number {odd[0]}.",
            option="without",
        )
    if asked.items and len(set(without)) == len(asked.items):
        raise InputError("All items are left out; dismiss the question instead.", option="without")
