"""Groups that are no categories yet: seedlings near becoming one, and unassigned items that are alike."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.workspace.ledger import Ledger, ledger_of
from vbcgcd.workspace.log.files import LESSONS, UNASSIGNED
from vbcgcd.workspace.log.lessons import STATES
from vbcgcd.workspace.queries.items import item_row
from vbcgcd.workspace.queries.review.evidence import Evidence, Finding, evidence_of
from vbcgcd.workspace.snapshot import Snapshot

Array = NDArray[Any]
#: Items of a group, at least, and unassigned ones that share their best category.
FEWEST, FEWEST_UNASSIGNED = 3, 4
#: Items of a group that are shown and moved together.
MOST = 12
#: Seconds to see what a group has in common, and to check one item.
SECONDS, SECONDS_EACH = 10.0, 3.0

__all__ = ["find_groups", "seedling_rows"]


def find_groups(snapshot: Snapshot) -> list[Finding]:
    """Seedlings with their items, and unassigned items that are most like the same category."""
    evidence = evidence_of(snapshot)
    waiting = seedling_rows(snapshot)
    taken = {row for rows in waiting.values() for row in rows}
    return [*_seedlings(snapshot, evidence, waiting), *_unassigned(evidence, taken)]


def _seedlings(snapshot: Snapshot, evidence: Evidence, waiting: Mapping[int, list[int]]) -> list[Finding]:
    from vbcgcd.discovery.seedlings import ENOUGH
    from vbcgcd.discovery.worth import chance_of

    seedlings, columns = snapshot.seedlings(), evidence.columns
    findings = []
    for place, rows in waiting.items():
        if seedlings is None or len(rows) < FEWEST:
            continue
        chance = chance_of(len(columns.commit), evidence.margin)
        needed = ENOUGH * evidence.margin * (float(seedlings.rows[place]) + chance)
        ripe = float(np.clip(seedlings.worth[place] / needed, 0.0, 1.0))
        first, shown = min(rows), sorted(rows)[:MOST]
        commit = int(columns.commit[first])
        number = first - int(np.searchsorted(columns.commit, commit))
        facts = {"items": float(len(rows)), "ripe": ripe, "since": float(seedlings.since[place])}
        seconds = SECONDS + SECONDS_EACH * len(shown)
        findings.append(
            Finding(
                f"group-{commit}-{number}", "group", ripe, float(len(rows)), seconds, (), tuple(shown), facts
            )
        )
    return findings


def _unassigned(evidence: Evidence, taken: set[int]) -> list[Finding]:
    """Unassigned items by the category that they are most like."""
    columns = evidence.columns
    loose = (columns.category == UNASSIGNED) & (columns.state == STATES.index("unassigned"))
    rows = np.array(
        [r for r in np.flatnonzero(loose & (evidence.second >= 0)).tolist() if r not in taken], dtype=np.int64
    )
    rows = rows[np.lexsort((-columns.second_probability[rows], evidence.second[rows]))]
    places, starts = np.unique(evidence.second[rows], return_index=True)
    findings = []
    for place, members in zip(places.tolist(), np.split(rows, starts[1:]), strict=False):
        if len(members) < FEWEST_UNASSIGNED:
            continue
        shown, category = members[:MOST], int(evidence.ids[place])
        probability = float(np.clip(columns.second_probability[shown], 0, 1).mean())
        seconds = SECONDS + SECONDS_EACH * len(shown)
        facts = {"items": float(len(members))}
        findings.append(
            Finding(
                f"near-{category}",
                "group",
                max(probability, 0.01),
                float(len(shown)),
                seconds,
                (category,),
                tuple(shown.tolist()),
                facts,
            )
        )
    return findings


def seedling_rows(snapshot: Snapshot) -> dict[int, list[int]]:
    """Rows of all assigned items that belong to each seedling, as far as that was recorded."""
    seedlings, ledger = snapshot.seedlings(), ledger_of(snapshot)
    rows: dict[int, list[int]] = {}
    if seedlings is None:
        return rows
    earliest = int(seedlings.since.min())
    now = {place: k for k, place in enumerate(ledger.kept)}
    for commit in snapshot.history.in_effect():
        if LESSONS not in commit.files or commit.changes["session"] < earliest:
            continue
        lessons = snapshot.content(commit, LESSONS)
        for k in np.flatnonzero(lessons.seedling >= 0).tolist():
            key = (commit.number, int(lessons.row[k]))
            place = _followed(ledger, int(lessons.seedling[k]), commit.number)
            if place in now and key not in ledger.standing:
                rows.setdefault(now[place], []).append(item_row(snapshot, key))
    return rows


def _followed(ledger: Ledger, seedling: int, since: int) -> int:
    """What became of a seedling after a session; -1 if it is gone, a category, or not known."""
    for number, fate in ledger.fates:
        if number > since and seedling >= 0:
            _, seedling = (-1, -1) if fate is None else fate.get(seedling, (-1, -1))
    return seedling
