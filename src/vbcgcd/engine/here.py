"""The engine without workers: this process, one block after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from vbcgcd.engine.protocol import Work

__all__ = ["Here"]


class Here:
    """Everything in this process. Inside a block, threads of our own are used as everywhere.

    Examples
    --------
    >>> class Square:
    ...     def load(self):
    ...         return lambda block: block**2
    >>> with Here() as engine:
    ...     list(engine.map(Square(), [1, 2, 3]))
    [1, 4, 9]
    """

    name, workers = "here", 1

    def map(self, work: Work, blocks: Sequence[Any]) -> Iterator[Any]:
        """See `vbcgcd.engine.Engine.map`."""
        if blocks:
            yield from map(work.load(), blocks)

    def close(self) -> None:
        """Nothing to let go."""

    def __enter__(self) -> Here:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
