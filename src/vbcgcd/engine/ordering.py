"""Order, retries and a bound on what is under way: what all engines with workers share."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from vbcgcd.engine.protocol import WorkersLost

#: How often a block is tried whose worker is lost each time.
TRIES = 4
#: Blocks for each worker that are under way, or done and wait for those before them.
WINDOW = 4

__all__ = ["TRIES", "WINDOW", "Outcome", "Pool", "in_order"]


class Outcome(NamedTuple):
    """What became of a block.

    Parameters
    ----------
    place : int
        Which block.
    value : object
        Its result, where neither of the others is given.
    error : BaseException or None
        What it raised.
    lost : str
        Why its worker is gone; "" where it is not.
    """

    place: int
    value: Any = None
    error: BaseException | None = None
    lost: str = ""


class Pool(Protocol):
    """Workers that take one block at a time."""

    def free(self) -> int:
        """How many blocks can be submitted now."""

    def submit(self, place: int, block: Any) -> None:
        """Give a block to a worker that is free."""

    def wait(self) -> list[Outcome]:
        """What has finished since; waits until something has."""

    def drop(self) -> None:
        """Forget what is under way."""


def in_order(pool: Pool, blocks: Sequence[Any], workers: int) -> Iterator[Any]:
    """Results of all blocks, in order; a block whose worker is lost is tried again.

    Raises
    ------
    WorkersLost
        A block lost its worker each time.
    """
    waiting, ready, lost = list(range(len(blocks))), dict[int, Any](), Counter[int]()
    first = 0
    try:
        while first < len(blocks):
            while waiting and waiting[0] < first + WINDOW * workers and pool.free():
                place = heapq.heappop(waiting)
                pool.submit(place, blocks[place])
            for outcome in pool.wait():
                if outcome.error is not None:
                    raise outcome.error
                if not outcome.lost:
                    ready[outcome.place] = outcome.value
                    continue
                lost[outcome.place] += 1
                if lost[outcome.place] >= TRIES:
                    raise WorkersLost(
                        f"{lost[outcome.place]} workers were lost one after the other while they worked on "
                        f"{str(blocks[outcome.place])[:200]}: {outcome.lost}. Memory is the usual reason: "
                        "use fewer workers on each machine, or smaller shards. What is finished is kept."
                    )
                heapq.heappush(waiting, outcome.place)
            while first in ready:
                yield ready.pop(first)
                first += 1
    finally:
        pool.drop()
