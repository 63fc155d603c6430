"""Drift: recent items of a category lie elsewhere, or wider, than they used to.

Of each session and category the traces tell how far the mean of its items was from the category's and how
wide they were. The mean of n items of variance v is off by v (1/n + 1/m) by chance, m being the items that
the category was learned from, and measured variances differ by chance too; what is beyond it is counted in
standard deviations. Then categories are compared with each other: where all have moved, as they do after the
labelled session to which the projection was fitted, none of them has drifted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.workspace.log.lessons import STATES
from vbcgcd.workspace.queries.items import session_of_commit
from vbcgcd.workspace.queries.review.evidence import Evidence, Finding, beyond_usual, evidence_of
from vbcgcd.workspace.queries.review.traces import Traced, traced
from vbcgcd.workspace.snapshot import Snapshot

Array = NDArray[Any]
#: Sessions that are recent, and items that they must have.
RECENT, FEWEST = 2, 8
#: Deviations beyond the other categories from which drift is probable, and how soon it becomes sure.
FAR, SURER = 4.0, 1.0
#: Fewest categories that tell what is usual.
FEWEST_OTHERS = 5
#: Improbable ones are not asked about.
LEAST = 0.2
#: Share of the recent items that is wrong where a category has drifted: some, not all.
AFFECTED = 0.25
#: Seconds to compare recent items with earlier ones.
SECONDS = 30.0

__all__ = ["find_drift"]


def find_drift(snapshot: Snapshot) -> list[Finding]:
    """Categories whose recent items lie elsewhere or wider."""
    evidence, traces = evidence_of(snapshot), traced(snapshot)
    usable = _usable(traces)
    if len(usable) < FEWEST_OTHERS:
        return []
    moves = np.array([_moved(evidence, traces, p, r, b) for p, r, b in usable])
    widths = np.array([_wider(evidence, traces, r, b) for _, r, b in usable])
    moved, wider = (beyond_usual(values, least_scale=1.0) for values in (moves, widths))
    findings = []
    for k, (place, recent, _) in enumerate(usable):
        score = max(float(moved[k]), float(wider[k]))
        probability = 1 / (1 + float(np.exp(-np.clip((score - FAR) / SURER, -500, 500))))
        if probability < LEAST:
            continue
        since, category = int(traces.session[recent].min()), int(evidence.ids[place])
        rows = _recent_rows(snapshot, evidence, place, since)
        facts = {"moved": float(moved[k]), "wider": float(wider[k]), "since": float(since)}
        affected = AFFECTED * len(rows)
        findings.append(
            Finding(f"drift-{category}", "drift", probability, affected, SECONDS, (category,), rows, facts)
        )
    return findings


def _usable(traces: Traced) -> list[tuple[int, Array, Array]]:
    """Categories with enough recent items: position, and the recent and the earlier traces of each."""
    order = np.argsort(traces.place, kind="stable")
    places, starts = np.unique(traces.place[order], return_index=True)
    usable = []
    for place, own in zip(places.tolist(), np.split(order, starts[1:]), strict=False):
        recent, before = (own[-RECENT:], own[:-RECENT]) if len(own) > RECENT else (own[1:], own[:1])
        if len(recent) and traces.count[recent].sum() >= FEWEST:
            usable.append((place, recent, before))
    return usable


def _moved(evidence: Evidence, traces: Traced, place: int, recent: Array, before: Array) -> float:
    """Standard deviations by which the recent means are farther away than chance has it."""
    count, dim = traces.count[recent], evidence.mean.shape[1]
    variance = _variance(traces, before) or _variance(traces, recent) or 1.0
    chance = variance * (1 / count + 1 / max(float(evidence.taught[place]), 1.0))
    ratio = traces.shift[recent] / chance  # chi-squared over its degrees of freedom
    return float((ratio.mean() - 1) * np.sqrt(len(recent) * dim / 2))


def _wider(evidence: Evidence, traces: Traced, recent: Array, before: Array) -> float:
    """Standard deviations of the logarithm of the recent variance over the one before."""
    now, then = _variance(traces, recent), _variance(traces, before)
    if not now or not then:
        return 0.0
    dim, counts = evidence.mean.shape[1], (traces.count[recent].sum(), traces.count[before].sum())
    return float(np.log(now / then) / np.sqrt(sum(2 / (count * dim) for count in counts)))


def _variance(traces: Traced, rows: Array) -> float:
    known = rows[np.isfinite(traces.spread[rows])]
    return float(np.average(traces.spread[known], weights=traces.count[known])) if len(known) else 0.0


def _recent_rows(snapshot: Snapshot, evidence: Evidence, place: int, since: int) -> tuple[int, ...]:
    """Items of a category since a session that nobody has judged."""
    late = [number for number, session in session_of_commit(snapshot).items() if session >= since]
    columns = evidence.columns
    keep = (
        (evidence.place == place) & (columns.state == STATES.index("guessed")) & np.isin(columns.commit, late)
    )
    return tuple(np.flatnonzero(keep).tolist())
