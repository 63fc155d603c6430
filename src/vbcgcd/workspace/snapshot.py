"""`Snapshot`: a workspace as one commit left it. It never changes, and every query is a function of it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from vbcgcd.bayes import Posterior
from vbcgcd.discovery.knowledge import Knowledge
from vbcgcd.errors import InputError
from vbcgcd.workspace.log.commits import Commit
from vbcgcd.workspace.log.files import MODEL, SEGMENT, BaseModel, read_content
from vbcgcd.workspace.log.store import NOTHING, Head, Store
from vbcgcd.workspace.state import History, State

Array = NDArray[Any]
Answer = TypeVar("Answer")

__all__ = ["Snapshot", "once_per_snapshot"]


class _Memory:
    """Contents of a history's files, which never change: shared by its snapshots, filled as they are needed.

    Attributes
    ----------
    contents : dict of (commit, name) -> value
    places : dict of id -> (commit, row)
        Where the rows of ``posterior`` came from.
    posterior : Posterior or None
        The posteriors that were needed last.
    """

    def __init__(self) -> None:
        self.contents: dict[tuple[int, str], Any] = {}
        self.places: Mapping[int, tuple[int, int]] = {}
        self.posterior: Posterior | None = None


@dataclass(frozen=True, eq=False)
class Snapshot:
    """A workspace as one commit left it.

    Parameters
    ----------
    store : Store
    head : Head
        The commit.
    history : History
        Everything up to it.
    """

    store: Store
    head: Head = NOTHING
    history: History = field(default=History(), repr=False)
    _memory: _Memory = field(default_factory=_Memory, repr=False)
    _answers: dict[Any, Any] = field(default_factory=dict, repr=False)

    @property
    def state(self) -> State:
        """What is in effect."""
        return self.history.state

    def refresh(self) -> Snapshot:
        """The snapshot of the present HEAD: this one, unless another process has committed since."""
        head = self.store.head()
        if head == self.head:
            return self
        replaced = head.number <= self.head.number  # the folder, by an older copy for example
        now = Snapshot(self.store) if replaced else self
        history = now.history
        for commit in self.store.commits(head, after=now.head):
            history = history.after(commit)
        return replace(now, head=head, history=history, _answers={})

    def after(self, commit: Commit, head: Head, contents: Mapping[str, Any]) -> Snapshot:
        """The snapshot after a commit that was just written; ``contents`` of its files need not be read."""
        self._memory.contents.update({(commit.number, name): value for name, value in contents.items()})
        return replace(self, head=head, history=self.history.after(commit), _answers={})

    def content(self, commit: Commit, name: str) -> Any:
        """What a file of a commit holds; it is read and checked only once."""
        contents = self._memory.contents
        if (commit.number, name) not in contents:
            contents[commit.number, name] = read_content(self.store.file(commit, name))
        return contents[commit.number, name]

    @property
    def base(self) -> BaseModel:
        """What the base session learned.

        Raises
        ------
        InputError
            There was none yet.
        """
        if self.state.model is None:
            raise InputError("This workspace has learned nothing yet; give it labelled items with learn.")
        base: BaseModel = self.content(self.history.commit(self.state.model), MODEL)
        return base

    @property
    def knowledge(self) -> Knowledge:
        """All that is known, posteriors in the order of ``state.ids``."""
        return _knowledge(self)

    def posterior(self) -> Posterior:
        """The posteriors of the live categories; only those not in memory are read."""
        memory, places = self._memory, self.state.posterior_places
        if memory.posterior is None or list(memory.places.items()) != list(places.items()):
            memory.posterior = self._gather(memory)
            memory.places = places
            for key in [key for key in memory.contents if key[1] == SEGMENT]:
                del memory.contents[key]  # every row that is in use has been copied
        return memory.posterior

    def _gather(self, memory: _Memory) -> Posterior:
        rows = {place: row for row, place in enumerate(memory.places.values())}
        parts: dict[int, Posterior] = {} if memory.posterior is None else {-1: memory.posterior}
        wanted: list[tuple[int, int]] = []
        for place in self.state.posterior_places.values():
            if place in rows:
                wanted.append((-1, rows[place]))
                continue
            if place[0] not in parts:
                parts[place[0]] = self._segment(place[0])
            wanted.append(place)
        arrays = {
            name: np.stack([getattr(parts[part], name)[row] for part, row in wanted])
            for name in ("mean", "kappa", "nu", "factor")
        }
        return Posterior(structure=self.base.knowledge.posterior.structure, **arrays)

    def _segment(self, number: int) -> Posterior:
        if number == self.state.model:
            return self.base.knowledge.posterior
        posterior: Posterior = self.content(self.history.commit(number), SEGMENT).posterior
        return posterior


def once_per_snapshot(query: Callable[[Snapshot], Answer]) -> Callable[[Snapshot], Answer]:
    """Let a query be answered once for each snapshot; it must depend on nothing else."""

    @functools.wraps(query)
    def answer(snapshot: Snapshot) -> Answer:
        answers = snapshot._answers
        if query not in answers:
            answers[query] = query(snapshot)
        found: Answer = answers[query]
        return found

    return answer


@once_per_snapshot
def _knowledge(snapshot: Snapshot) -> Knowledge:
    return replace(snapshot.base.knowledge, posterior=snapshot.posterior())
