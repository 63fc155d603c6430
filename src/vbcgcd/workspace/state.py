"""What a workspace knows at a commit: a fold over its commits, in plain values.

Posteriors are only pointed to, as (commit, row); they are read when they are needed. A state is therefore
small, the states of all commits are kept, and undoing is going back to one of them. Two things never go back:
the next id and the next session, so that an id never changes its meaning.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

import numpy as np

from vbcgcd.errors import InputError
from vbcgcd.workspace.log.commits import Commit

NamedBy = Literal["label", "user", "terms", "likeness", "number"]
Status = Literal["live", "merged", "split", "dropped"]
Key = int | str
#: How many categories an error suggests, and how similar their names must be (0 to 1).
SUGGESTIONS, SIMILAR = 3, 0.6

__all__ = ["Category", "History", "Key", "NamedBy", "State", "describe", "find_category"]


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
        Where the name comes from: a label of the data, the user, distinctive terms of its texts, the
        categories it is most similar to, or its id.
    birth : int
        Session in which it was learned; 0 is the base session. A merged category has the earliest birth of
        its parts, the parts of a split have that of the whole.
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
        """Whether items can be assigned to it."""
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
        What made the embeddings; see `vbcgcd.workspace.batch.EmbedderMark`.
    model : int or None
        Commit of the base model; None before the base session.
    categories : dict of id -> Category
        Live and retired ones.
    posterior_places : dict of id -> (commit, row)
        Where the posterior of each live category is stored, by rising id.
    trail : tuple of int
        The commits in effect, first to last: those that were not undone.
    """

    config: Mapping[str, Any] = field(default_factory=dict)
    embedder: Mapping[str, Any] | None = None
    model: int | None = None
    categories: Mapping[int, Category] = field(default_factory=dict)
    posterior_places: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    trail: tuple[int, ...] = ()

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

    def after(self, commit: Commit) -> State:
        """The state after a commit other than undo and redo."""
        changes = commit.changes
        categories, places = dict(self.categories), dict(self.posterior_places)
        for values in changes.get("categories", ()):
            category = Category.from_json(values)
            categories[category.id] = category
        for row, category_id in enumerate(changes.get("posteriors", ())):
            places[category_id] = (commit.number, row)
        return State(
            config={**self.config, **changes.get("config", {})},
            embedder=changes.get("embedder", self.embedder),
            model=commit.number if changes.get("model") else self.model,
            categories=categories,
            posterior_places={i: places[i] for i in sorted(places) if categories[i].live},
            trail=(*self.trail, commit.number),
        )


@dataclass(frozen=True)
class History:
    """All commits with the state after each, and the counters that never go back.

    Parameters
    ----------
    commits : tuple of Commit
        Commit n is at position n - 1.
    states : tuple of State
        The state after commit n is at position n; the first one is before any commit.
    undone : tuple of int
        Commits that redo would bring back, the next one last.
    next_id, next_session : int
    """

    commits: tuple[Commit, ...] = ()
    states: tuple[State, ...] = (State(),)
    undone: tuple[int, ...] = ()
    next_id: int = 0
    next_session: int = 0

    @property
    def state(self) -> State:
        """What is in effect now."""
        return self.states[-1]

    def commit(self, number: int) -> Commit:
        """A commit by its number."""
        return self.commits[number - 1]

    def in_effect(self) -> list[Commit]:
        """The commits that were not undone, first to last."""
        return [self.commit(number) for number in self.state.trail]

    def after(self, commit: Commit) -> History:
        """The history with the next commit."""
        goto = commit.changes.get("goto")
        state = self.state.after(commit) if goto is None else self.states[goto]
        undone: tuple[int, ...] = ()
        if commit.command == "undo":
            undone = (*self.undone, self.state.trail[-1])
        elif commit.command == "redo":
            undone = self.undone[:-1]
        ids = [values["id"] for values in commit.changes.get("categories", ())]
        session = commit.changes.get("session")
        return replace(
            self,
            commits=(*self.commits, commit),
            states=(*self.states, state),
            undone=undone,
            next_id=max([self.next_id, *(i + 1 for i in ids)]),
            next_session=self.next_session if session is None else max(self.next_session, session + 1),
        )


def find_category(state: State, key: Key, *, retired: bool = False) -> Category:
    """The live category with an id (an integer, or text such as ``"12"`` and ``"#12"``) or a name.

    Parameters
    ----------
    state : State
    key : int or str
    retired : bool
        Also find a retired category by its id.

    Raises
    ------
    InputError
        There is no such category, it is retired, or the text is the name of one and the id of another.
    """
    named, number = None, None
    if isinstance(key, str):
        named = next((category for category in state.live if category.name == key.strip()), None)
        digits = key.strip().removeprefix("#")
        number = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 19 else None
    elif isinstance(key, int | np.integer) and not isinstance(key, bool):
        number = int(key)
    else:
        raise InputError(f"Give a category by its id or its name, got {key!r}.")
    numbered = None if number is None else state.categories.get(number)
    if named is not None and numbered is not None and numbered.live and named.id != numbered.id:
        raise InputError(
            f"{key!r} is both the name of category {named.id} and the id of {numbered.name!r}; write "
            f"'#{named.id}' for the first or '#{numbered.id}' for the second."
        )
    category = named or numbered
    if category is None:
        raise InputError(f"There is no category {key!r}. {_suggest(state, key, number)}")
    if not category.live and not retired:
        successors = ", ".join(describe(state.categories[i]) for i in category.into)
        into = f" into {successors}" if successors else ""
        raise InputError(
            f"Category {category.id} ({category.name!r}) was {category.status}{into} and is no longer live."
        )
    return category


def describe(category: Category) -> str:
    """A category in a message: its name and id."""
    return f"{category.name!r} (category {category.id})"


def _suggest(state: State, key: Key, number: int | None) -> str:
    """The end of a message: what the user may have meant."""
    if not state.categories:
        return "Nothing was learned yet."
    if number is not None:
        return f"Ids go from {min(state.categories)} to {max(state.categories)}."
    similar = sorted((-_similarity(str(key), c.name), c.id, c.name) for c in state.live)
    close = [f"{i} {name!r}" for score, i, name in similar[:SUGGESTIONS] if -score >= SIMILAR]
    if close:
        return f"Did you mean {' or '.join(close)}?"
    names = ", ".join(f"{category.id} {category.name!r}" for category in state.live[:8])
    return f"There are {names}" + (f" and {len(state.live) - 8} more." if len(state.live) > 8 else ".")


def _similarity(key: str, name: str) -> float:
    """How similar a text is to a name or to a word of it, from 0 to 1."""
    wanted, name = key.strip().casefold(), name.casefold()
    if wanted and wanted in name:
        return 1.0
    parts = (name, *name.replace("_", " ").split())
    return max(difflib.SequenceMatcher(None, wanted, part).ratio() for part in parts)
