"""Categories, what is in effect after a commit, and the history of all commits.

Posteriors are only pointed to, as (commit, row); they are read when they are needed. A state follows from the
commits in effect, and undoing is leaving one of them out. Two things never go back: the next id and the next
session, so that an id never changes its meaning.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from vbcgcd.workspace.log.commits import Commit

NamedBy = Literal["label", "user", "terms", "likeness", "number"]
Status = Literal["live", "merged", "split", "dropped"]
Key = int | str

__all__ = ["Category", "History", "Key", "NamedBy", "State"]


@dataclass(frozen=True)
class Category:
    """A lasting category.

    Parameters
    ----------
    id : int
        Never used for anything else.
    name : str
        Unique among the live categories.
    named_by : {"label", "user", "terms", "likeness", "number"}
        Where the name comes from: a label of the data, the user, distinctive words of its texts, the
        categories it is most similar to, or its id.
    birth : int
        Session in which it was learned; 0 is the base session. A merged category has the earliest birth of
        its parts, the parts of a split have that of the whole.
    status : {"live", "merged", "split", "dropped"}
    into : tuple of int
        What a merged or split category became.
    parents : tuple of int
        What it was made from.
    reliability : float
        Probability that it stands for a class of its own: 1 where somebody named it or labelled its items.

    Examples
    --------
    >>> Category(2, "virginica", "user", birth=1).live
    True
    >>> Category(3, "novel-3", "number", birth=1, status="merged", into=(2,)).live
    False
    """

    id: int
    name: str
    named_by: NamedBy
    birth: int
    status: Status = "live"
    into: tuple[int, ...] = ()
    parents: tuple[int, ...] = ()
    reliability: float = 1.0

    @property
    def live(self) -> bool:
        """Whether items can be assigned to it."""
        return self.status == "live"

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        values = asdict(self)
        if self.reliability == 1:
            del values["reliability"]
        return values

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Category:
        """From plain values."""
        return cls(**{**values, "into": tuple(values["into"]), "parents": tuple(values["parents"])})


@dataclass(frozen=True)
class State:
    """What is in effect after a commit.

    Parameters
    ----------
    config : dict
    embedder : dict or None
        The embedder of this workspace; see `vbcgcd.workspace.batch.EmbedderMark`.
    model : int or None
        Commit of the base model; None before the base session.
    categories : dict of id -> Category
        Live and retired ones.
    posterior_places : dict of id -> (commit, row)
        Where the posterior of each live category is stored, by rising id.
    trail : tuple of int
        The commits in effect, first to last: those that were not undone.
    seedlings : int or None
        Commit that holds the present seedlings, all of them; None where there are none.
    """

    config: Mapping[str, Any] = field(default_factory=dict)
    embedder: Mapping[str, Any] | None = None
    model: int | None = None
    categories: Mapping[int, Category] = field(default_factory=dict)
    posterior_places: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    trail: tuple[int, ...] = ()
    seedlings: int | None = None

    @property
    def ids(self) -> list[int]:
        """Ids of the live categories, rising, which is the order of their posteriors."""
        return list(self.posterior_places)

    @property
    def live(self) -> list[Category]:
        """The live categories, by rising id."""
        return [self.categories[i] for i in self.posterior_places]

    def resolve(self, category: int) -> int:
        """The category that the items of a merged one belong to now; others stand for themselves."""
        now = self.categories.get(category)
        while now is not None and now.status == "merged":
            now = self.categories.get(now.into[0])
        return category if now is None else now.id

    def after(self, commits: Iterable[Commit]) -> State:
        """The state after further commits, none of them an undo or redo."""
        config, embedder, model = dict(self.config), self.embedder, self.model
        categories, places = dict(self.categories), dict(self.posterior_places)
        trail, seedlings = list(self.trail), self.seedlings
        for commit in commits:
            changes, number = commit.changes, commit.number
            config |= changes.get("config", {})
            embedder = changes.get("embedder", embedder)
            model = number if changes.get("model") else model
            for values in changes.get("categories", ()):
                categories[values["id"]] = Category.from_json(values)
            for row, category_id in enumerate(changes.get("posteriors", ())):
                places[category_id] = (number, row)
            if "seedlings" in changes:  # the number of those that there are now
                seedlings = number if changes["seedlings"] else None
            trail.append(number)
        return State(
            config=config,
            embedder=embedder,
            model=model,
            categories=categories,
            posterior_places={i: places[i] for i in sorted(places) if categories[i].live},
            trail=tuple(trail),
            seedlings=seedlings,
        )


@dataclass(frozen=True)
class History:
    """All commits, the state after the last of them, and the counters that never go back.

    Parameters
    ----------
    commits : tuple of Commit
        Commit n is at position n - 1.
    state : State
        What is in effect now.
    undone : tuple of int
        Commits that redo would bring back, the next one last.
    next_id, next_session : int
    """

    commits: tuple[Commit, ...] = ()
    state: State = field(default_factory=State)
    undone: tuple[int, ...] = ()
    next_id: int = 0
    next_session: int = 0

    def commit(self, number: int) -> Commit:
        """A commit by its number."""
        return self.commits[number - 1]

    def in_effect(self) -> list[Commit]:
        """The commits that were not undone, first to last."""
        return [self.commit(number) for number in self.state.trail]

    def state_at(self, number: int) -> State:
        """The state after a commit, made anew."""
        return State().after(self.commit(n) for n in self._trail(number))

    @functools.cached_property
    def states(self) -> dict[int, State]:
        """The state after every commit, by its number; takes memory for all of them."""
        states, last = dict[int, State](), State()
        for commit in self.commits:
            goto = commit.changes.get("goto")
            last = states[commit.number] = last.after([commit]) if goto is None else states[goto]
        return states

    def after(self, commit: Commit) -> History:
        """The history with the next commit."""
        return self.extended([commit])

    def extended(self, commits: Sequence[Commit]) -> History:
        """The history with further commits; what is in effect is made only once, after the last of them."""
        whole = replace(self, commits=(*self.commits, *commits))
        trail, undone = list(self.state.trail), list(self.undone)
        next_id, next_session = self.next_id, self.next_session
        for commit in commits:
            goto, changes = commit.changes.get("goto"), commit.changes
            if commit.command == "undo":
                undone.append(trail[-1])
            elif commit.command == "redo":
                undone = undone[:-1]
            else:
                undone = []
            if goto is None:
                trail.append(commit.number)
            elif trail[-2:-1] == [goto]:
                trail.pop()
            else:
                trail = whole._trail(goto)
            next_id = max([next_id, *(values["id"] + 1 for values in changes.get("categories", ()))])
            next_session = max(next_session, changes.get("session", -1) + 1)
        return replace(
            whole,
            state=whole._state(self.state, trail),
            undone=tuple(undone),
            next_id=next_id,
            next_session=next_session,
        )

    def _state(self, before: State, trail: Sequence[int]) -> State:
        """The state of a trail, from an earlier one if it only goes on."""
        known = len(before.trail)
        start = before if tuple(trail[:known]) == before.trail else State()
        return start.after(self.commit(number) for number in trail[len(start.trail) :])

    def _trail(self, number: int) -> list[int]:
        """The commits in effect after a commit, first to last."""
        trail: list[int] = []
        while number > 0:
            goto = self.commit(number).changes.get("goto")
            if goto is None:
                trail.append(number)
            number = number - 1 if goto is None else goto
        return trail[::-1]
