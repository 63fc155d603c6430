"""Where to look: one ranked list of questions, each a function of the snapshot that it is shown with.

One file for each kind makes findings, which are numbers; they are ranked on one scale, the items that change
for the better for each second of a person; and only those that are shown become questions with words and
examples.
"""

from __future__ import annotations

from collections.abc import Callable

from vbcgcd.checks import check_choice, check_number
from vbcgcd.errors import InputError
from vbcgcd.workspace.queries.review.absent import why_absent
from vbcgcd.workspace.queries.review.dismissed import dismissals, is_open
from vbcgcd.workspace.queries.review.drift import find_drift
from vbcgcd.workspace.queries.review.evidence import Finding
from vbcgcd.workspace.queries.review.group import find_groups
from vbcgcd.workspace.queries.review.label import find_labels
from vbcgcd.workspace.queries.review.odd import find_odd
from vbcgcd.workspace.queries.review.same import find_same
from vbcgcd.workspace.queries.review.stale import find_stale
from vbcgcd.workspace.queries.review.two import find_two
from vbcgcd.workspace.queries.review.wording import question_of
from vbcgcd.workspace.snapshot import Snapshot, once_per_snapshot
from vbcgcd.workspace.values.questions import KINDS, Kind, Question, Review

_FINDERS: dict[Kind, Callable[[Snapshot], list[Finding]]] = {
    "same": find_same,
    "two": find_two,
    "odd": find_odd,
    "label": find_labels,
    "group": find_groups,
    "drift": find_drift,
    "stale": find_stale,
}

__all__ = ["find_question", "findings", "question_to_settle", "review"]


def review(
    snapshot: Snapshot,
    n: int | None = 10,
    *,
    kind: Kind | None = None,
    examples: int = 3,
    items: bool = False,
) -> Review:
    """What is worth a person's minute, the most worthwhile first.

    Parameters
    ----------
    snapshot : Snapshot
    n : int or None
        At most so many questions; None for all.
    kind : {"same", "two", "odd", "label", "group", "drift", "stale"}, optional
        Only questions of this kind.
    examples : int
        Typical and doubtful items of each category of a question.
    items : bool
        Read the texts of items from the user's own files.
    """
    if n is not None:
        check_number("n", n, low=0, whole=True)
    check_number("examples", examples, low=0, whole=True)
    if kind is not None:
        check_choice("kind", kind, tuple(KINDS))
    _ = snapshot.base
    opened = _open(snapshot)
    counts = {name: sum(f.kind == name for f in opened) for name in KINDS}
    chosen = [(place, f) for place, f in enumerate(opened, start=1) if kind in (None, f.kind)]
    return Review(
        snapshot.head.number,
        tuple(question_of(snapshot, f, examples=examples, texts=items) for _, f in chosen[:n]),
        len(chosen),
        {name: number for name, number in counts.items() if number},
        len(dismissals(snapshot)) - sum(f.id in dismissals(snapshot) for f in opened),
        tuple(place for place, _ in chosen[:n]),
    )


def find_question(snapshot: Snapshot, key: str | int, *, examples: int = 3, items: bool = False) -> Question:
    """The open question with this id, or the one at this place of the list, counted from 1.

    Raises
    ------
    InputError
        There is no such question, or it is no longer open; the message says what has changed.
    """
    _ = snapshot.base
    opened = _open(snapshot)
    text = str(key).strip()
    if text.isascii() and text.isdigit():
        if not 1 <= int(text) <= len(opened):
            raise InputError(f"There are {len(opened)} questions, so none has the number {text}.")
        found: Finding | None = opened[int(text) - 1]
    else:
        found = next((f for f in opened if f.id == text), None)
    if found is None:
        raise InputError(why_absent(snapshot, text))
    return question_of(snapshot, found, examples=examples, texts=items)


def question_to_settle(snapshot: Snapshot, key: str) -> Question:
    """The open question with this id, without examples, for an answer to it.

    Raises
    ------
    InputError
        There is no such question, it is no longer open, or a place of the list was given: places change with
        every answer, so that a number could settle another question than the one that was read.
    """
    asked = find_question(snapshot, key, examples=0)
    if asked.id != str(key).strip():
        raise InputError(
            f"Numbers change with every answer; settle a question by its id. Number {key} is {asked.id} "
            f"now: {asked.title}",
            option="question",
        )
    return asked


@once_per_snapshot
def findings(snapshot: Snapshot) -> list[Finding]:
    """All findings, open or dismissed, the most worthwhile first."""
    every = [finding for find in _FINDERS.values() for finding in find(snapshot)]
    return sorted(every, key=lambda f: (-f.rank, f.id))


def _open(snapshot: Snapshot) -> list[Finding]:
    closed = dismissals(snapshot)
    return [finding for finding in findings(snapshot) if is_open(finding, closed.get(finding.id))]
