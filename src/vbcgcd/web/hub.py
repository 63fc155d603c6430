"""`Hub`: the one workspace behind all requests, what was computed for its present state, and who listens."""

from __future__ import annotations

import asyncio
import threading
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from vbcgcd.errors import VbcgcdError
from vbcgcd.web.decisions import check_current
from vbcgcd.workspace import Snapshot, Workspace
from vbcgcd.workspace.log.lessons import ItemKey

Answer = TypeVar("Answer")
#: Seconds between two looks at HEAD: others write to the same workspace.
LOOK = 0.4
#: Seconds after which a silent stream of events says that it is alive.
ALIVE = 15.0
#: Answers that are kept for the present state: visitors choose some of the keys, such as a text to find.
KEPT = 64

__all__ = ["Hub"]


class Hub:
    """A workspace that many visitors look at and change.

    One thread uses it at a time. Long work is done by other processes, which open the folder themselves.

    Parameters
    ----------
    workspace : Workspace
    """

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._turn = threading.RLock()
        self._answers: OrderedDict[Any, Any] = OrderedDict()
        self._head = -1
        self._listeners: set[asyncio.Queue[dict[str, Any]]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = threading.Event()

    @contextmanager
    def reading(self) -> Iterator[Snapshot]:
        """The present snapshot; nobody else uses the workspace meanwhile."""
        with self._turn:
            snapshot = self.workspace.snapshot()
            if snapshot.head.number != self._head:
                self._answers.clear()
                self._head = snapshot.head.number
            yield snapshot

    def once(self, key: Any, compute: Callable[[Snapshot], Answer]) -> Answer:
        """An answer that is computed once for each state, as long as it is among the last `KEPT` ones."""
        with self.reading() as snapshot:
            if key not in self._answers:
                self._answers[key] = compute(snapshot)
            self._answers.move_to_end(key)
            while len(self._answers) > KEPT:
                self._answers.popitem(last=False)
            answer: Answer = self._answers[key]
            return answer

    def write(
        self,
        action: Callable[[Workspace], Answer],
        *,
        seen: int | None,
        concerns: Collection[int] | None = (),
        items: Collection[ItemKey] | None = (),
        by: str | None = None,
    ) -> Answer:
        """Let the workspace carry out a command.

        Parameters
        ----------
        action : callable
        seen : int or None
            The commit that the visitor's decision is based on.
        concerns : collection of int or None
            Categories that it is about; None if it is about everything.
        items : collection of (int, int) or None
            Items that it is about, as in `check_current`.
        by : str, optional
            Name of the visitor, which the log keeps.

        Raises
        ------
        Outdated
            Something that it is about has changed since.
        """
        with self.reading() as snapshot:
            check_current(snapshot, seen, concerns, items)
            self.workspace.by = by
            try:
                answer = action(self.workspace)
            finally:
                self.workspace.by = None
            head = self.workspace.last_commit
        self.publish({"type": "changed", "head": head})
        return answer

    def publish(self, event: dict[str, Any]) -> None:
        """Tell everybody who listens."""
        loop = self._loop
        if loop is None or loop.is_closed():
            return
        for queue in list(self._listeners):
            loop.call_soon_threadsafe(queue.put_nowait, event)

    async def events(self) -> AsyncIterator[dict[str, Any] | None]:
        """Events as they come; None now and then, so that a lost connection is noticed."""
        queue: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._listeners.add(queue)
        try:
            while not self._closed.is_set():
                try:
                    yield await asyncio.wait_for(queue.get(), ALIVE)
                except TimeoutError:
                    yield None
        finally:
            self._listeners.discard(queue)

    async def watch(self) -> None:
        """Look whether others have written, until `close`."""
        self._loop = asyncio.get_running_loop()
        last = -1
        while not self._closed.is_set():
            try:
                head = await asyncio.to_thread(self.look)
            except (VbcgcdError, OSError):
                head = last  # a writer may be half-way; requests tell of what lasts
            if last not in (-1, head):
                self.publish({"type": "changed", "head": head})
            last = head
            await asyncio.sleep(LOOK)

    def look(self) -> int:
        """Number of the last commit."""
        with self._turn:
            return self.workspace.last_commit

    def close(self) -> None:
        """Let go of everybody who listens."""
        self._closed.set()
        self.publish({"type": "closed"})
