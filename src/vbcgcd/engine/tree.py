"""Sums of blocks in a fixed order: the same tree for every engine and number of workers, hence the same bits.

Blocks are leaves in the order of their numbers. Neighbours are added first, then neighbours of those, as in
pairwise summation, so that rounding grows with the depth and not with the number of blocks. Only the roots of
finished subtrees are held: about as many as the tree is deep.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from vbcgcd.errors import NothingToDo

Value = TypeVar("Value")
Block = TypeVar("Block")

#: Blocks that one worker adds up before anything is sent.
GROUP = 16

__all__ = ["GROUP", "group_blocks", "reduce_tree"]


def reduce_tree(values: Iterable[Value], merge: Callable[[Value, Value], Value]) -> Value:
    """One value from those of all blocks, which come in order.

    Parameters
    ----------
    values : iterable
        At least one.
    merge : callable
        The value of two neighbours together.

    Examples
    --------
    >>> reduce_tree("abcde", lambda left, right: f"({left}{right})")
    '(((ab)(cd))e)'
    """
    stack: list[tuple[int, Value]] = []
    for value in values:
        size = 1
        while stack and stack[-1][0] == size:
            value = merge(stack.pop()[1], value)
            size *= 2
        stack.append((size, value))
    if not stack:
        raise NothingToDo("There are no blocks to add up.")
    _, result = stack.pop()
    while stack:
        result = merge(stack.pop()[1], result)
    return result


def group_blocks(blocks: Sequence[Block], size: int = GROUP) -> list[tuple[Block, ...]]:
    """Neighbouring blocks that one worker adds up: what is sent shrinks by ``size``, a power of two.

    The tree over groups of a power of two is the tree over the blocks, cut at one level.

    Examples
    --------
    >>> group_blocks("abcde", 2)
    [('a', 'b'), ('c', 'd'), ('e',)]
    """
    return [tuple(blocks[start : start + size]) for start in range(0, len(blocks), size)]


def add(left: Any, right: Any) -> Any:
    """The sum of two values; None is nothing."""
    if left is None or right is None:
        return right if left is None else left
    return left + right
