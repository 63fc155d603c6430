"""`Snapshot`: a workspace as one commit left it. It never changes, and every query is a function of it."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from vbcgcd import mapped as mapping
from vbcgcd.errors import InputError, WorkspaceDamaged, WorkspaceWarning
from vbcgcd.workspace.history import Category, History, Key, NamedBy, State
from vbcgcd.workspace.log.commits import Commit
from vbcgcd.workspace.log.disk import unreadable
from vbcgcd.workspace.log.files import MODEL, SEEDLINGS, SEGMENT, BaseModel, read_content
from vbcgcd.workspace.log.store import NOTHING, Head, Store

if TYPE_CHECKING:
    from vbcgcd.bayes import Posterior
    from vbcgcd.discovery.knowledge import Knowledge
    from vbcgcd.discovery.seedlings import Seedlings

Array = NDArray[Any]

Answer = TypeVar("Answer")

__all__ = ["Category", "History", "Key", "NamedBy", "Snapshot", "State", "once_per_snapshot"]


class _Memory:
    """Contents of a history's files, which never change: shared by its snapshots, filled as they are needed.

    Attributes
    ----------
    contents : dict of (commit, name) -> value
    packed : dict of (tip of a pack, name) -> value
    places : dict of id -> (commit, row)
        Where the rows of ``posterior`` came from.
    posterior : Posterior or None
        The posteriors that were needed last.
    missing : set of str
        Devices that were asked for and are not here: once is enough to say so.
    """

    def __init__(self) -> None:
        self.contents: dict[tuple[int, str], Any] = {}
        self.packed: dict[tuple[str | None, str], Any] = {}
        self.places: Mapping[int, tuple[int, int]] = {}
        self.posterior: Posterior | None = None
        self.missing: set[str] = set()


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

    Examples
    --------
    >>> import tempfile
    >>> from vbcgcd.workspace import Workspace
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     before = Workspace.init(folder).snapshot()
    ...     _ = Workspace(folder).configure(reject=0.05)
    ...     print(before.head.number, before.refresh().head.number)
    1 2
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
        self.store.packs.forget()
        history = now.history.extended(self.store.commits(head, after=now.head))
        return replace(now, head=head, history=history, _answers={})

    def after(self, commit: Commit, head: Head, contents: Mapping[str, Any]) -> Snapshot:
        """The snapshot after a commit that was just written; ``contents`` of its files need not be read."""
        self._memory.contents.update({(commit.number, name): value for name, value in contents.items()})
        return replace(self, head=head, history=self.history.after(commit), _answers={})

    def content(self, commit: Commit, name: str) -> Any:
        """What a file of a commit holds; it is read and checked only once."""
        contents = self._memory.contents
        if (commit.number, name) not in contents:
            path, check = self.store.opened(commit, name)
            try:
                contents[commit.number, name] = read_content(path, check)
            except OSError as error:
                raise unreadable(path, error) from None
        return contents[commit.number, name]

    def decoration(self, commit: Commit, name: str) -> Any | None:
        """What a file holds that only a report shows; None, and a warning, if it is lost."""
        try:
            return self.content(commit, name)
        except WorkspaceDamaged:
            self.store.tell_lost(commit, name)
            return None

    def digest_of(self, number: int) -> str | None:
        """Digest of the record of a commit."""
        last = number == self.head.number
        return self.head.sha256 if last else self.history.commit(number + 1).parent

    @property
    def base(self) -> BaseModel:
        """What the base session learned.

        Raises
        ------
        InputError
            There was none yet.
        """
        if self.state.model is None:
            raise InputError("This workspace is empty; run learn with labelled items first.")
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

    def seedlings(self) -> Seedlings | None:
        """Groups that are not categories yet; None where there are none."""
        contents, place = self._memory.contents, self.state.seedlings
        for key in [key for key in contents if key[1] == SEEDLINGS and key[0] != place]:
            del contents[key]  # each commit holds all of them, so the others are of the past
        if place is None:
            return None
        seedlings: Seedlings = self.content(self.history.commit(place), SEEDLINGS).seedlings
        return seedlings

    def device(self) -> str | None:
        """Where the settings have the model computed; None, and a warning, if that is not here."""
        from vbcgcd.devices import is_here

        device = self.state.config["model"].get("device")
        if is_here(device):
            return None if device is None else str(device)
        if device not in self._memory.missing:
            self._memory.missing.add(device)
            warnings.warn(
                f"model.device is {str(device)[:40]!r}, which is not available here; NumPy computes "
                "instead. 'vbcgcd config model.device auto' takes a GPU where there is one, else NumPy, and "
                "ends this note.",
                WorkspaceWarning,
                stacklevel=2,
            )
        return None

    def _gather(self, memory: _Memory) -> Posterior:
        """The posteriors of the live categories, from what is in memory and from the files of commits."""
        from vbcgcd.bayes import Posterior

        rows = {place: row for row, place in enumerate(memory.places.values())}
        parts: dict[int, Posterior] = {} if memory.posterior is None else {-1: memory.posterior}
        wanted = self.state.posterior_places.values()
        places = [(-1, rows[place]) if place in rows else place for place in wanted]
        part, row = np.array(places, dtype=np.int64).T
        numbers = np.unique(part).tolist()
        for number in numbers:
            if number not in parts:
                parts[number] = self._segment(number)
        if len(numbers) == 1 and np.array_equal(row, np.arange(len(parts[numbers[0]]))):
            return parts[numbers[0]]
        joined = Posterior.concatenate([parts[number] for number in numbers])
        starts = np.cumsum([0, *(len(parts[number]) for number in numbers)])
        order = starts[np.searchsorted(numbers, part)] + row
        return joined if np.array_equal(order, np.arange(len(joined))) else joined.take(order)

    def _segment(self, number: int) -> Posterior:
        from vbcgcd.bayes.stacks import FactorStack

        if number == self.state.model:
            posterior: Posterior = self.base.knowledge.posterior
        else:
            posterior = self.content(self.history.commit(number), SEGMENT).posterior
        if posterior.factor.nbytes <= mapping.LARGE:
            return posterior
        stack: Any = FactorStack.of(posterior.factor)  # so that nothing copies it
        return replace(posterior, factor=stack)


def once_per_snapshot(query: Callable[[Snapshot], Answer]) -> Callable[[Snapshot], Answer]:
    """Let a query be answered once for each snapshot; it must depend on nothing else."""

    @functools.wraps(query)
    def answer(snapshot: Snapshot) -> Answer:
        answers = snapshot._answers
        if query not in answers:
            answers[query] = query(snapshot)
        result: Answer = answers[query]
        return result

    return answer


@once_per_snapshot
def _knowledge(snapshot: Snapshot) -> Knowledge:
    reliability = np.array([category.reliability for category in snapshot.state.live])
    base = snapshot.base.knowledge
    return replace(
        base,
        classifier=replace(base.classifier, device=snapshot.device()),
        posterior=snapshot.posterior(),
        seedlings=snapshot.seedlings(),
        reliability=reliability,
        later=np.array([category.birth > 0 for category in snapshot.state.live]),
    )
