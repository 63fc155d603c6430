"""Drift: recent items of a category lie elsewhere, or wider, than they used to.

Of each session and category the traces tell how far the mean of its items was from the category's and how
wide they were. The mean of n items of variance v is off by v (1/n + 1/m) by chance, m being the items that
the category was learned from. What is left, in units of the variance before, is compared with the other
categories: where all have moved, as they do after the labelled session to which the projection was fitted,
none of them has drifted.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.workspace.log.lessons import STATES
from vbcgcd.workspace.queries.items import session_of_commit
from vbcgcd.workspace.queries.review.evidence import Evidence, Finding, evidence_of
from vbcgcd.workspace.queries.review.traces import Traced, traced
from vbcgcd.workspace.snapshot import Snapshot

Array = NDArray[Any]
#: Sessions that are recent, and items that they must have.
RECENT, FEWEST = 3, 8
#: Deviations beyond the other categories from which drift is probable, and how soon it becomes sure.
FAR, SURER = 4.0, 1.0
#: Fewest categories that tell what is usual, and the least deviation among them.
FEWEST_OTHERS, LEAST_SCALE = 5, 0.05
#: Median absolute deviations in a standard deviation.
DEVIATIONS = 1.4826
#: Improbable ones are not asked about.
LEAST = 0.2
#: Seconds to compare recent items with earlier ones.
SECONDS = 30.0

__all__ = ["find_drift"]


def find_drift(snapshot: Snapshot) -> list[Finding]:
    """Categories whose recent items lie elsewhere or wider."""
    evidence, traces = evidence_of(snapshot), traced(snapshot)
    findings = []
    for place in np.unique(traces.place).tolist():
        own = np.flatnonzero(traces.place == place)
        recent, before = own[-RECENT:], own[:-RECENT]
        if len(own) < 2:
            continue
        if not len(before):
            recent, before = own[1:], own[:1]
        findings.append((place, recent, before))
    usable = [(p, r, b) for p, r, b in findings if traces.count[r].sum() >= FEWEST]
    if len(usable) < FEWEST_OTHERS:
        return []
    moved = np.array([_moved(evidence, traces, p, r, b) for p, r, b in usable])
    wider = np.array([_wider(traces, r, b) for _, r, b in usable])
    scores = np.maximum(_beyond(moved), _beyond(wider))
    made = []
    for k, (place, recent, _) in enumerate(usable):
        probability = 1 / (1 + float(np.exp(-np.clip((scores[k] - FAR) / SURER, -500, 500))))
        if probability >= LEAST:
            since = int(traces.session[recent].min())
            facts = {
                "moved": float(_beyond(moved)[k]),
                "wider": float(_beyond(wider)[k]),
                "since": float(since),
            }
            rows = _recent_rows(snapshot, evidence, place, since)
            category = int(evidence.ids[place])
            made.append(
                Finding(
                    f"drift-{category}",
                    "drift",
                    probability,
                    len(rows) / 2,
                    SECONDS,
                    (category,),
                    rows,
                    facts,
                )
            )
    return made


def _moved(evidence: Evidence, traces: Traced, place: int, recent: Array, before: Array) -> float:
    """Squared distance of the recent mean beyond chance, in variances; logarithmic from 1 on."""
    count = traces.count[recent]
    variance = _variance(traces, before) or _variance(traces, recent) or 1.0
    chance = variance * (1 / count + 1 / max(float(evidence.taught[place]), 1.0))
    return float(np.arcsinh(np.average((traces.shift[recent] - chance) / variance, weights=count)))


def _wider(traces: Traced, recent: Array, before: Array) -> float:
    """Logarithm of the recent variance over the one before."""
    now, then = _variance(traces, recent), _variance(traces, before)
    return float(np.log(now / then)) if now and then else 0.0


def _variance(traces: Traced, rows: Array) -> float:
    known = rows[np.isfinite(traces.spread[rows])]
    return float(np.average(traces.spread[known], weights=traces.count[known])) if len(known) else 0.0


def _beyond(values: Array) -> Array:
    """Deviations of each value above the usual one, robustly."""
    middle = np.median(values)
    scale = max(DEVIATIONS * float(np.median(np.abs(values - middle))), LEAST_SCALE)
    return np.asarray((values - middle) / scale)


def _recent_rows(snapshot: Snapshot, evidence: Evidence, place: int, since: int) -> tuple[int, ...]:
    """Items of a category since a session that nobody has judged."""
    late = [number for number, session in session_of_commit(snapshot).items() if session >= since]
    columns = evidence.columns
    keep = (
        (evidence.place == place) & (columns.state == STATES.index("guessed")) & np.isin(columns.commit, late)
    )
    return tuple(np.flatnonzero(keep).tolist())
