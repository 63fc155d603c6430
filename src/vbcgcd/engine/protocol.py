"""What an engine is, and what it is given to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

from vbcgcd.errors import VbcgcdError

__all__ = ["Engine", "Work", "WorkersLost"]


class WorkersLost(VbcgcdError):
    """Workers died again and again, or none came back.

    Examples
    --------
    >>> issubclass(WorkersLost, VbcgcdError)
    True
    """


@runtime_checkable
class Work(Protocol):
    """What workers do: an object that can be pickled, loaded once in each worker.

    What it holds, such as a model, is sent to each worker once and stays there while block after block comes.

    Examples
    --------
    >>> class Times:
    ...     def __init__(self, factor):
    ...         self.factor = factor
    ...
    ...     def load(self):
    ...         return lambda block: self.factor * block
    >>> isinstance(Times(2), Work)
    True
    """

    def load(self) -> Callable[[Any], Any]:
        """The function of a block: pure, so that a block whose worker is lost can be computed once more."""


@runtime_checkable
class Engine(Protocol):
    """Runs a function over blocks. It decides who computes and when, and nothing else.

    Attributes
    ----------
    name : {"here", "processes", "ray"}
    workers : int
        Blocks that are computed at the same time.
    """

    @property
    def name(self) -> str:
        """As it is asked for."""

    @property
    def workers(self) -> int:
        """Blocks that are computed at the same time."""

    def map(self, work: Work, blocks: Sequence[Any]) -> Iterator[Any]:
        """Results in the order of the blocks, whoever computes them.

        Only a few blocks are taken ahead of the results that are fetched. A block whose worker is lost is
        computed once more. What a block raises is raised here.

        Parameters
        ----------
        work : Work
        blocks : sequence
            Small values that say where the rows are, such as paths: they are sent, the rows are not.
        """

    def close(self) -> None:
        """Let the workers go; an engine that is closed cannot be used."""

    def __enter__(self) -> Engine: ...

    def __exit__(self, *error: object) -> None: ...
