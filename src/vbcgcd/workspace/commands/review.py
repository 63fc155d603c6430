"""Dismissing a question of a review: it is remembered with its evidence, as a commit of its own."""

from __future__ import annotations

from vbcgcd.workspace.log.commits import Commit, Draft
from vbcgcd.workspace.values.questions import DismissResult, Question

__all__ = ["dismiss_draft", "dismiss_result"]


def dismiss_draft(question: Question) -> Draft:
    """Remember that a question was dismissed, and what its evidence was."""
    dismissed = {
        "question": question.id,
        "categories": list(question.categories),
        "probability": round(question.probability, 6),
        "affected": round(question.affected, 3),
    }
    return Draft("dismiss", changes={"dismissed": dismissed}, parameters={"question": question.id})


def dismiss_result(commit: Commit, question: Question) -> DismissResult:
    """What a dismissal did."""
    return DismissResult(commit.number, question.id, question.title)
