"""Questions that were dismissed, and when they come back.

A dismissed question is not asked again unless its evidence has changed clearly: the items that it would
change have doubled since, or its odds are ten times as high. Undoing the dismissal brings it back too. Who
says that two categories differ has said it of what they are merged into.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from vbcgcd.workspace.queries.review.evidence import Finding, log_odds
from vbcgcd.workspace.snapshot import Snapshot, once_per_snapshot

#: A question comes back if so many times as many items are affected, or its odds are so many times as high.
MORE_ITEMS, HIGHER_ODDS = 2.0, 10.0

__all__ = ["Dismissal", "dismissals", "is_open"]


class Dismissal(NamedTuple):
    """What a question was like when it was dismissed."""

    commit: int
    probability: float
    affected: float


@once_per_snapshot
def dismissals(snapshot: Snapshot) -> dict[str, Dismissal]:
    """Dismissals in effect, by the question as it is called now."""
    found: dict[str, Dismissal] = {}
    for commit in snapshot.history.in_effect():
        if commit.command == "dismiss":
            values = commit.changes["dismissed"]
            key = _called_now(snapshot, values["question"], values["categories"])
            found[key] = Dismissal(commit.number, values["probability"], values["affected"])
    return found


def _called_now(snapshot: Snapshot, question: str, categories: list[int]) -> str:
    if not question.startswith("same-"):
        return question
    pair = sorted({snapshot.state.resolve(category) for category in categories})
    return "-".join(["same", *map(str, pair)]) if len(pair) == 2 else question


def is_open(finding: Finding, dismissed: Dismissal | None) -> bool:
    """Whether a question is to be asked: it was not dismissed, or its evidence has changed clearly."""
    if dismissed is None:
        return True
    more = finding.affected >= MORE_ITEMS * max(dismissed.affected, 1.0)
    higher = log_odds(finding.probability) - log_odds(dismissed.probability) >= np.log(HIGHER_ODDS)
    return bool(more or higher)
