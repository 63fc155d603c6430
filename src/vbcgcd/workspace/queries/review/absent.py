"""Why a question is not there: what has changed since somebody saw it."""

from __future__ import annotations

import re

from vbcgcd.workspace.queries.categories import describe
from vbcgcd.workspace.queries.items import item_info, item_row
from vbcgcd.workspace.queries.review.dismissed import dismissals
from vbcgcd.workspace.snapshot import Snapshot

_ITEM_KINDS = ("label", "group")
_N = "([0-9]{1,15})"
_ID = re.compile(f"(same)-{_N}-{_N}|(two|odd|near|drift|stale)-{_N}|(label|group)-{_N}-{_N}")

__all__ = ["why_absent"]


def why_absent(snapshot: Snapshot, question: str) -> str:
    """The message for a question that is not open."""
    match = _ID.fullmatch(question)
    if match is None:
        return (
            f"There is no question {question[:100]!r}; questions are called as 'vbcgcd review' lists them, "
            "such as same-12-31."
        )
    kind, *numbers = (part for part in match.groups() if part is not None)
    if question in dismissals(snapshot):
        number = dismissals(snapshot)[question].commit
        return (
            f"Question {question} was dismissed (commit {number}), and its evidence has not changed clearly "
            "since."
        )
    if kind in _ITEM_KINDS:
        reason = _item_changed(snapshot, int(numbers[0]), int(numbers[1]))
    else:
        reason = _category_changed(snapshot, [int(number) for number in numbers])
    reason = reason or "the evidence no longer asks for it"
    return (
        f"Question {question} is not open any more: {reason}. List the questions again with 'vbcgcd review'."
    )


def _category_changed(snapshot: Snapshot, ids: list[int]) -> str:
    state = snapshot.state
    for category in (state.categories.get(i) for i in ids):
        if category is None:
            return f"there is no category {next(i for i in ids if i not in state.categories)}"
        if not category.live:
            into = " and ".join(describe(state.categories[i]) for i in category.into)
            return f"{describe(category)} was {category.status}" + (f" into {into}" if into else "")
    return ""


def _item_changed(snapshot: Snapshot, commit: int, row: int) -> str:
    history = snapshot.history
    if not 0 < commit <= len(history.commits) or commit not in snapshot.state.trail:
        return f"there is no session of commit {commit} in effect"
    if not 0 <= row < history.commit(commit).summary.get("rows", 0):
        return f"commit {commit} has no item {row}"
    item = item_info(snapshot, item_row(snapshot, (commit, row)))
    if item.state in ("moved", "confirmed", "rejected"):
        return f"item {item.reference!r} of {item.source} was {item.state}"
    return ""
