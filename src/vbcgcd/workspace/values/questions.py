"""What a review returns: questions that are worth a person's minute, with their evidence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from vbcgcd.record import plain
from vbcgcd.workspace.values.results import Result
from vbcgcd.workspace.values.views import ItemInfo

Kind = Literal["same", "two", "odd", "label", "group", "drift", "stale"]
#: Kinds of questions, and what each asks in two words.
KINDS: dict[Kind, str] = {
    "same": "same?",
    "two": "two things?",
    "odd": "odd items",
    "label": "label first",
    "group": "new group",
    "drift": "drift",
    "stale": "stale",
}

__all__ = ["KINDS", "DismissResult", "Kind", "Question", "Review", "Side"]


@dataclass(frozen=True)
class Side(Result):
    """A category that a question is about, with examples.

    Parameters
    ----------
    category : int
    name : str
    size : int
        Items assigned to it.
    birth : int
        Session in which it was learned.
    typical, doubtful : tuple of ItemInfo
    texts : dict of (commit, row) -> str
        Texts of the examples, where they are available.

    Examples
    --------
    >>> Side(75, "lost card", 40, birth=1).name
    'lost card'
    """

    category: int
    name: str
    size: int
    birth: int
    typical: tuple[ItemInfo, ...] = ()
    doubtful: tuple[ItemInfo, ...] = ()
    texts: Mapping[tuple[int, int], str] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """Plain values; each example has its text."""
        values = {**super().as_json()}
        del values["texts"]
        for name in ("typical", "doubtful"):
            for item in values[name]:
                item["text"] = self.texts.get((item["commit"], item["row"]), "")
        return values


@dataclass(frozen=True)
class Question(Result):
    """Something that a person can settle in a moment.

    Parameters
    ----------
    id : str
        Made of the kind and of the categories or items that it is about, so it lasts.
    kind : {"same", "two", "odd", "label", "group", "drift", "stale"}
    title : str
        The question.
    reason : str
        Why it is asked.
    probability : float
        That the answer changes something.
    affected : float
        Items that change for the better if it does.
    seconds : float
        What an answer takes of a person's time, roughly.
    command : str
        What settles it, as it is typed.
    categories : tuple of int
    items : tuple of ItemInfo
        The items that it is about.
    texts : dict of (commit, row) -> str
        Texts of these items, where they are available.
    sides : tuple of Side
        The categories with examples.
    facts : dict of str -> number
        The evidence in numbers.
    needs_category : bool
        Whether accepting it takes the name of a category.
    names : dict of id -> str
        Names of the categories that it mentions.

    Examples
    --------
    >>> asked = Question(
    ...     "same-75-81", "same", "Are 'lost card' and 'card gone' the same?", "Their means are near.",
    ...     probability=0.8, affected=20, seconds=20, command="vbcgcd categories merge 75 81",
    ... )
    >>> asked.gain, round(asked.rank, 2)
    (16.0, 0.8)
    """

    id: str
    kind: Kind
    title: str
    reason: str
    probability: float
    affected: float
    seconds: float
    command: str
    categories: tuple[int, ...] = ()
    items: tuple[ItemInfo, ...] = ()
    texts: Mapping[tuple[int, int], str] = field(default_factory=dict)
    sides: tuple[Side, ...] = ()
    facts: Mapping[str, float] = field(default_factory=dict)
    needs_category: bool = False
    names: Mapping[int, str] = field(default_factory=dict)

    @property
    def gain(self) -> float:
        """Items that change for the better, on average over the answers."""
        return self.probability * self.affected

    @property
    def rank(self) -> float:
        """Gain for each second of a person: the larger, the earlier it is asked."""
        return self.gain / self.seconds

    def as_json(self) -> dict[str, Any]:
        """Plain values; each item has its text."""
        values = {**super().as_json(), "gain": plain(self.gain)}
        del values["texts"]
        for item in values["items"]:
            item["text"] = self.texts.get((item["commit"], item["row"]), "")
        values["sides"] = [side.as_json() for side in self.sides]
        return values


@dataclass(frozen=True)
class Review(Result):
    """The questions that a workspace has.

    Parameters
    ----------
    commit : int
        The commit whose state they are about.
    questions : tuple of Question
        The first ones, the most worthwhile first.
    total : int
        How many there are.
    counts : dict of kind -> int
        How many of each kind.
    dismissed : int
        Dismissed questions that are not asked again, unless their evidence changes.
    places : tuple of int
        Place of each question in the list of all kinds, counted from 1.

    Examples
    --------
    >>> Review(12, (), 0).as_json()["questions"]
    []
    """

    commit: int
    questions: tuple[Question, ...]
    total: int
    counts: Mapping[str, int] = field(default_factory=dict)
    dismissed: int = 0
    places: tuple[int, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return {**super().as_json(), "questions": [question.as_json() for question in self.questions]}


@dataclass(frozen=True)
class DismissResult(Result):
    """Outcome of ``dismiss``: the question that is not asked again.

    Examples
    --------
    >>> DismissResult(9, "same-75-81", "Are they the same?").question
    'same-75-81'
    """

    commit: int
    question: str
    title: str
