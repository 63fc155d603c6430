"""Who computes the blocks: threads of this process, or the engine that was chosen for a session.

The blocks, and the order in which their results are added up, are the same: not a bit depends on it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, Protocol, TypeVar

from vbcgcd.bayes.threads import in_parallel, one_thread
from vbcgcd.engine import Engine, group_blocks

Item = TypeVar("Item")
Result = TypeVar("Result")

#: Blocks that go to a worker together, so that it reads neighbouring rows once.
TOGETHER = 8

_ENGINE: ContextVar[Engine | None] = ContextVar("engine", default=None)

__all__ = ["Place", "computing_on", "is_elsewhere", "over_blocks"]


class Place(Protocol):
    """Rows that are read where they are computed with."""

    def __len__(self) -> int:
        """Number of rows."""

    def read(self) -> Any:
        """The rows, array (n, d)."""


@contextmanager
def computing_on(engine: Engine) -> Iterator[None]:
    """Have the blocks of sessions computed by an engine."""
    before = _ENGINE.set(engine)
    try:
        yield
    finally:
        _ENGINE.reset(before)


def is_elsewhere() -> bool:
    """Whether an engine computes the blocks: then rows are better read where it does."""
    return _ENGINE.get() is not None


@dataclass(frozen=True)
class _Blocks:
    """What workers do: a function of each of some neighbouring blocks."""

    function: Callable[[Any], Any]

    def load(self) -> Callable[[tuple[Any, ...]], list[Any]]:
        """See `vbcgcd.engine.Work`."""
        return self._run

    @one_thread()
    def _run(self, blocks: tuple[Any, ...]) -> list[Any]:
        return [self.function(block._replace(rows=block.rows.read())) for block in blocks]


def _is_elsewhere(block: Any) -> bool:
    """Whether the rows of a block are to be read where it is computed."""
    return hasattr(getattr(block, "rows", None), "read")


def over_blocks(
    function: Callable[[Item], Result], blocks: Iterable[Item], *, work: float
) -> Iterator[Result]:
    """Results of a pure function for each block, in the order of the blocks.

    Parameters
    ----------
    function : callable
        Of one block. It holds what all blocks need, and can be pickled.
    blocks : iterable
        Taken as they are needed: only a few are in memory at a time. For an engine their rows are a `Place`.
    work : float
        Multiplications for each block, roughly.
    """
    engine, waiting = _ENGINE.get(), iter(blocks)
    first = list(islice(waiting, 1))
    if engine is None or not all(map(_is_elsewhere, first)):
        yield from in_parallel(function, chain(first, waiting), work=work)
        return
    for results in engine.map(_Blocks(function), group_blocks([*first, *waiting], TOGETHER)):
        yield from results
