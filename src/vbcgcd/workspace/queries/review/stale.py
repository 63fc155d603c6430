"""Stale: categories that have had no items for longer than chance explains."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.workspace.queries.items import session_of_commit
from vbcgcd.workspace.queries.review.evidence import Finding, evidence_of
from vbcgcd.workspace.snapshot import Snapshot

Array = NDArray[Any]
#: Unlabelled sessions without items, at least, and items that were to be expected in them.
SILENT, EXPECTED = 3, 3.0
#: Seconds to say whether a category is still needed.
SECONDS = 8.0

__all__ = ["find_stale"]


def find_stale(snapshot: Snapshot) -> list[Finding]:
    """Categories without items although their share of the items before says that some should have come.

    With a share s of the items of the sessions before, n later items have none with probability exp(-s n).
    """
    evidence, columns = evidence_of(snapshot), evidence_of(snapshot).columns
    sessions = session_of_commit(snapshot)
    numbers = [c.number for c in snapshot.history.in_effect() if c.command == "discover"]
    if len(numbers) <= SILENT:
        return []
    order = {number: k for k, number in enumerate(numbers)}
    when = np.array([order.get(int(number), -1) for number in np.unique(columns.commit)])
    when = when[np.unique(columns.commit, return_inverse=True)[1]]
    seen = (when >= 0) & (evidence.place >= 0)
    counts = np.zeros((len(evidence.ids), len(numbers)), dtype=np.int64)
    np.add.at(counts, (evidence.place[seen], when[seen]), 1)
    total = np.bincount(when[when >= 0], minlength=len(numbers))
    findings = []
    for place in np.flatnonzero(counts.any(axis=1)):
        last = int(np.flatnonzero(counts[place]).max())
        silent = len(numbers) - 1 - last
        first = max(
            (k for k, number in enumerate(numbers) if sessions[number] < evidence.live[place].birth),
            default=-1,
        )
        before = total[first + 1 : last + 1].sum()
        expected = float(counts[place].sum() / max(before, 1) * total[last + 1 :].sum())
        if silent >= SILENT and expected >= EXPECTED:
            category, since = int(evidence.ids[place]), float(sessions[numbers[last]])
            facts = {"silent": float(silent), "expected": expected, "last": since}
            chance = 1 - float(np.exp(-expected))
            findings.append(
                Finding(f"stale-{category}", "stale", chance, 1.0, SECONDS, (category,), facts=facts)
            )
    return findings
