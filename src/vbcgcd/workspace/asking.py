"""Queries as methods: a function of a snapshot, asked of whatever has one."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from vbcgcd.workspace.snapshot import Snapshot

P = ParamSpec("P")
Answer = TypeVar("Answer")

__all__ = ["query"]


class HasSnapshot(Protocol):
    """A workspace, as far as a query needs one."""

    def snapshot(self) -> Snapshot:
        """The workspace as the last commit left it."""


def query(
    function: Callable[Concatenate[Snapshot, P], Answer],
) -> Callable[Concatenate[HasSnapshot, P], Answer]:
    """A method that asks a question of the present snapshot."""

    @functools.wraps(function)
    def method(self: HasSnapshot, /, *args: P.args, **kwargs: P.kwargs) -> Answer:
        return function(self.snapshot(), *args, **kwargs)

    return method
