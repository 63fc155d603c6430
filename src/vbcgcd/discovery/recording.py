"""The record of an unlabelled session: what small and large ones have in common."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vbcgcd.bayes import log_evidence
from vbcgcd.discovery.distinct import Returned
from vbcgcd.discovery.knowledge import Knowledge
from vbcgcd.discovery.leftovers import Leftovers
from vbcgcd.discovery.steps import NovelFit, back_among, few_labels
from vbcgcd.record import CountCurve, Lessons, SessionRecord, Step

Array = NDArray[Any]

__all__ = ["Assignment", "session_record"]


class Assignment(NamedTuple):
    """What a session says of its rows, arrays (N,).

    Attributes
    ----------
    best : int array
        Position of each row's category: known ones first, then novel ones.
    probability : array
        How probable that category is.
    unassigned : bool array
        Whether the row fits nowhere all the same.
    returned : Returned
        Rows that came back as a group to a category that was found before.
    """

    best: Array
    probability: Array
    unassigned: Array
    returned: Returned


def session_record(
    assignment: Assignment,
    names: Array,
    knowledge: Knowledge,
    fit: NovelFit,
    leftovers: Leftovers | None,
    *,
    session: int,
    flagged: float,
    estimated: bool,
    novel_share: float | None,
    count: CountCurve | None,
    steps: tuple[Step, ...],
    labels: Array,
    probabilities: Any,
    novelty: Array,
    lessons: Lessons | None,
) -> SessionRecord:
    """The record of a session.

    Parameters
    ----------
    assignment : Assignment
    names : array (K,)
        Labels of the known categories, then of the novel ones.
    knowledge : Knowledge
        Before the session.
    fit : NovelFit
        Of the novel categories.
    leftovers : Leftovers or None
    session, flagged, novel_share, count, steps
        As in the record.
    estimated : bool
        Whether the number of novel categories was.
    labels, probabilities, novelty, lessons
        Of the rows, in the order in which they came.
    """
    assigned, novel = ~assignment.unassigned, names[len(knowledge.posterior) :].tolist()
    present, counts = np.unique(names[assignment.best[assigned]], return_counts=True)
    sure = assignment.probability[assigned]
    seedlings = None if leftovers is None else leftovers.seedlings
    grown = {} if leftovers is None else leftovers.grown
    return SessionRecord(
        command="discover",
        rows=len(assigned),
        novel={label: str(label) for label in novel},
        counts=dict(zip(present.tolist(), counts.tolist(), strict=True)),
        seconds=sum(step.seconds for step in steps),
        mean_probability=float(np.mean(sure)) if len(sure) else None,
        unassigned=int(assignment.unassigned.sum()),
        seedlings=() if seedlings is None else seedlings.sizes,
        grown={novel[k]: seedling for k, seedling in grown.items()},
        returned=back_among(assignment.returned, names, assigned),
        warnings=few_labels(knowledge) if estimated else (),
        evidence=0.0 if fit.posterior is None else float(log_evidence(knowledge.prior, fit.posterior).sum()),
        ratio_before=tuple(fit.ratio_before.tolist()),
        ratio_after=tuple(fit.ratio_after.tolist()),
        steps=steps,
        estimated=estimated,
        classes_=names,
        session=session,
        flagged=flagged,
        novel_share=novel_share,
        count=count,
        labels_=labels,
        probabilities_=probabilities,
        novelty_=novelty,
        lessons_=lessons,
    )
