"""What embedding reports: its progress while it runs, and its result at the end."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from vbcgcd.items import Failure

Array = NDArray[Any]
Report = Callable[[int, int], None]

__all__ = ["EmbedResult", "Report", "open_report"]


@dataclass(frozen=True, eq=False)
class EmbedResult:
    """Embeddings, and the items that could not be embedded.

    Parameters
    ----------
    vectors : float array (n, D)
        float32, or the type of the arrays passed through.
    rows : int array (n,)
        Positions of the embedded items in the input, ascending.
    failures : tuple of Failure
        The items that could not be embedded, and why.
    computed, reused : int
        How many vectors were computed, and how many came from the cache; every view counts.
    views : float32 array (n, k, D) or None
        Embeddings of k random views of each item.
    problem : str or None
        Why vectors could not be cached, if so.

    Examples
    --------
    >>> import numpy as np
    >>> result = EmbedResult(np.eye(2), np.array([0, 2]), (Failure("b.png", "broken picture"),))
    >>> print(result.summary())
    1 of 3 items could not be embedded:
      b.png: broken picture
    """

    vectors: Array
    rows: Array
    failures: tuple[Failure, ...] = ()
    computed: int = 0
    reused: int = 0
    views: Array | None = None
    problem: str | None = None

    def summary(self) -> str:
        """Everything that went wrong, in a few lines; empty if nothing did."""
        lines = [] if self.problem is None else [self.problem]
        if self.failures:
            total = len(self.rows) + len(self.failures)
            lines.append(f"{len(self.failures)} of {total} items could not be embedded:")
            lines += [f"  {f.reference}: {f.reason}" for f in self.failures[:20]]
            if len(self.failures) > 20:
                lines.append(f"  and {len(self.failures) - 20} more")
        return "\n".join(lines)


@contextlib.contextmanager
def open_report(progress: bool | Report | None, title: str) -> Iterator[Report]:
    """A function ``report(finished, total)`` that shows progress while the context is open.

    Parameters
    ----------
    progress : bool, callable or None
        True draws a bar with count, rate and time left on standard error; a function is called itself; False
        or None shows nothing.
    title : str
        What the bar is called.
    """
    if callable(progress):
        yield progress
    elif not progress:
        yield lambda finished, total: None
    else:
        with _progress_bar(title) as report:
            yield report


@contextlib.contextmanager
def _progress_bar(title: str) -> Iterator[Report]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=False) as bars:
        task = bars.add_task(title, total=None, rate="")

        def report(finished: int, total: int) -> None:
            bars.update(task, completed=finished, total=total)
            speed = bars.tasks[0].speed
            bars.update(task, rate=f"{speed:.0f}/s" if speed else "")

        yield report
