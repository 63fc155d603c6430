"""Who computes the blocks: the one place to change to have them computed elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from vbcgcd.bayes.threads import in_parallel

Item = TypeVar("Item")
Result = TypeVar("Result")

__all__ = ["over_blocks"]


def over_blocks(
    function: Callable[[Item], Result], blocks: Iterable[Item], *, work: float
) -> Iterator[Result]:
    """Results of a pure function for each block, in the order of the blocks.

    Parameters
    ----------
    function : callable
        Of one block. It holds what all blocks need, and can be pickled.
    blocks : iterable
        Taken as they are needed: only a few are in memory at a time.
    work : float
        Multiplications for each block, roughly.
    """
    return in_parallel(function, blocks, work=work)
