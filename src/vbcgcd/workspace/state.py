"""What a workspace knows at a commit: a fold over its commits, in plain values.

Posteriors are only pointed to, as (commit, row); they are read when they are needed. A state is therefore
small, the states of all commits are kept, and undoing is going back to one of them. Two things never go back:
the next id and the next session, so that an id never changes its meaning.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from vbcgcd.workspace.commits import Commit

NamedBy = Literal["label", "user", "terms", "likeness", "number"]
Status = Literal["live", "merged", "split", "dropped"]

__all__ = ["Category", "History", "State"]


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
        A given label; the user; distinctive terms of its texts; the categories it is like; its id.
    birth : int
        Session in which it was learned; 0 is the base session. A merged category has the earliest of its
        parts, the parts of a split that of the whole.
    status : {"live", "merged", "split", "dropped"}
    into : tuple of int
        What a merged or split category became.
    parents : tuple of int
        What it was made from.
    """

    id: int
    name: str
    named_by: NamedBy
    birth: int
    status: Status = "live"
    into: tuple[int, ...] = ()
    parents: tuple[int, ...] = ()

    @property
    def live(self) -> bool:
        """Whether rows can belong to it."""
        return self.status == "live"

    def as_json(self) -> dict[str, Any]:
        """Plain values."""
        return asdict(self)

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
        What made the embeddings; see `vbcgcd.workspace.data`.
    model : int or None
        Commit of the base model; None before the base session.
    categories : dict of id -> Category
        Live and retired ones.
    where : dict of id -> (commit, row)
        Posteriors of the live categories, by rising id.
    trail : tuple of int
        The commits in effect, first to last: those that were not undone.
    """

    config: Mapping[str, Any] = field(default_factory=dict)
    embedder: Mapping[str, Any] | None = None
    model: int | None = None
    categories: Mapping[int, Category] = field(default_factory=dict)
    where: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    trail: tuple[int, ...] = ()

    @property
    def live(self) -> list[Category]:
        """The live categories, by rising id, which is the order of their posteriors."""
        return [self.categories[i] for i in self.where]

    def resolved(self, category: int) -> int:
        """The category that the rows of a merged one belong to now; others stand for themselves."""
        found = self.categories.get(category)
        while found is not None and found.status == "merged":
            found = self.categories.get(found.into[0])
        return category if found is None else found.id

    def applied(self, commit: Commit) -> State:
        """The state after a commit that is no undo or redo."""
        changes = commit.changes
        categories, where = dict(self.categories), dict(self.where)
        for values in changes.get("categories", ()):
            category = Category.from_json(values)
            categories[category.id] = category
        for row, category_id in enumerate(changes.get("posteriors", ())):
            where[category_id] = (commit.number, row)
        return State(
            config={**self.config, **changes.get("config", {})},
            embedder=changes.get("embedder", self.embedder),
            model=commit.number if changes.get("model") else self.model,
            categories=categories,
            where={i: where[i] for i in sorted(where) if categories[i].live},
            trail=(*self.trail, commit.number),
        )


class History:
    """All commits with the state after each, and the counters that never go back."""

    def __init__(self) -> None:
        self.commits: dict[int, Commit] = {}
        self.states: dict[int, State] = {0: State()}
        self.undone: list[int] = []
        self.next_id = 0
        self.next_session = 0

    @property
    def state(self) -> State:
        """What is in effect now."""
        return self.states[len(self.commits)]

    def append(self, commit: Commit) -> None:
        """Take the next commit in."""
        before = self.state
        goto = commit.changes.get("goto")
        if goto is None:
            after = before.applied(commit)
            self.undone = []
        else:
            after = replace(self.states[goto])
            if commit.command == "undo":
                self.undone.append(before.trail[-1])
            else:
                self.undone.pop()
        self.commits[commit.number] = commit
        self.states[commit.number] = after
        ids = [values["id"] for values in commit.changes.get("categories", ())]
        self.next_id = max([self.next_id, *(i + 1 for i in ids)])
        if commit.changes.get("session") is not None:
            self.next_session = max(self.next_session, commit.changes["session"] + 1)

    def in_effect(self) -> list[Commit]:
        """The commits that were not undone, first to last."""
        return [self.commits[number] for number in self.state.trail]
