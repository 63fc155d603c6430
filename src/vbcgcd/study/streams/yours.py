"""How well would discovery work on your data? The plan that asks it, and the answer in a short table.

Half of the categories are labelled, the others arrive in batches without labels, each with all of its rows:
small ones stay small. Nobody tells how many there are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.errors import InputError
from vbcgcd.study.datasets.labelled import labels_digest
from vbcgcd.study.plans import Plan, PlannedSession, PlanOrigin
from vbcgcd.study.records import RunRecord
from vbcgcd.study.streams.scoring import StreamResult, StreamSession
from vbcgcd.study.table_parts import Context, ResultTable

Array = NDArray[Any]

#: Name of the plan and of the experiment.
YOURS = "yours"
#: Share of the categories that is labelled, and of the rows of these; the other rows arrive in the batches.
LABELLED_SHARE, LABELLED_ROWS = 0.5, 0.6
MOST_SESSIONS, FEWEST_CATEGORIES = 5, 4
#: Categories with fewer rows in their batch are hard to find anywhere.
SMALL = 20

__all__ = ["YOURS", "make_yours", "verdict"]


def make_yours(y: Array, *, seed: int = 0) -> Plan:
    """Draw the plan: which categories are labelled, and in which batch each of the others arrives.

    Parameters
    ----------
    y : array (N,)
        Category of each training row.
    seed : int

    Examples
    --------
    >>> import numpy as np
    >>> y = np.repeat(np.arange(6), [10, 20, 30, 40, 50, 60])
    >>> plan = make_yours(y)
    >>> sorted(len(session.rows[np.isin(y[session.rows], session.novel)]) for session in plan.sessions)
    [10, 20, 50]
    """
    y, rng = np.asarray(y), np.random.default_rng(seed)
    classes = rng.permutation(np.unique(y))
    if len(classes) < FEWEST_CATEGORIES:
        raise InputError(
            f"The data has {len(classes)} categories; at least {FEWEST_CATEGORIES} are needed, of which half "
            "are taken for novel ones.",
            option="data",
        )
    labelled, novel = np.split(classes, [round(LABELLED_SHARE * len(classes))])
    base, familiar = [], []
    for c in labelled.tolist():
        rows = rng.permutation(np.flatnonzero(y == c))
        n = max(round(LABELLED_ROWS * len(rows)), 1)
        base.append(rows[:n])
        familiar.append(rows[n:])
    groups = np.array_split(novel, min(MOST_SESSIONS, len(novel)))
    known = np.array_split(rng.permutation(np.concatenate(familiar)), len(groups))
    sessions = tuple(
        PlannedSession(
            group, rng.permutation(np.concatenate([np.flatnonzero(np.isin(y, group)), rest])), "mixed"
        )
        for group, rest in zip(groups, known, strict=True)
    )
    origin = PlanOrigin(YOURS, "random", seed, labels_digest(y))
    return Plan(labelled, np.concatenate(base), sessions, origin)


def verdict(c: Context) -> ResultTable:
    """What was found and how right the answers are: a line for each question, a column for each method."""
    answers = {label: _answers(group, c.protocol) for label, group in c.groups.items()}
    questions = list(next(iter(answers.values())))
    rows = tuple((question, *(answer[question] for answer in answers.values())) for question in questions)
    n_seeds = max(map(len, c.groups.values()))
    note = (
        f"Half of the categories were labelled; the others came in batches without labels, as many items of "
        f"each as the data has, and nobody told how many there are. Mean of {n_seeds} draws of which are "
        "labelled. A category is found if a novel one holds at least half of its items and mostly these."
    )
    return ResultTable(f"Discovery on your data: {c.data}", ("", *answers), rows, (note, *c.source_notes))


def _answers(group: Sequence[RunRecord], protocol: str) -> dict[str, str]:
    streams = [_stream(record) for record in group]
    sessions = [session for stream in streams for session in stream.sessions]
    final = float(np.mean([record.accuracies(protocol).final.all for record in group]))
    share = float(np.mean([record.share(protocol) for record in group]))
    true, found = sum(s.true for s in sessions), sum(s.found for s in sessions)
    error = float(np.mean([stream.calibration_error for stream in streams]))
    return {
        "novel categories that are found": _of(sessions, 0, None),
        f"  of those with more than {SMALL} items": _of(sessions, SMALL + 1, None),
        f"  of those with {SMALL} items or fewer": _of(sessions, 0, SMALL),
        "categories made for each novel one": f"{found / true:.2f}" if true else "–",
        "categories made that are none, in a batch": f"{np.mean([s.invented for s in sessions]):.1f}",
        "new items classified right, in the end": f"{100 * final:.1f} %",
        "  of what labels for everything would give": f"{100 * share:.1f} %",
        "how far its probabilities are off": "–" if math.isnan(error) else f"{error:.2f}",
    }


def _of(sessions: Sequence[StreamSession], low: int, high: int | None) -> str:
    hits = [
        hit
        for session in sessions
        for size, hit in zip(session.sizes, session.hits, strict=True)
        if low <= size and (high is None or size <= high)
    ]
    return f"{100 * np.mean(hits):.0f} % ({sum(hits)} of {len(hits)})" if hits else "there are none"


def _stream(record: RunRecord) -> StreamResult:
    assert record.result is not None
    assert record.result.stream is not None
    return record.result.stream
