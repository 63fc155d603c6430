"""How far embedding is: a bar with rate and time left, or a function of one's own."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

Report = Callable[[int, int], None]

__all__ = ["Report", "reporting"]


@contextlib.contextmanager
def reporting(progress: bool | Report | None, title: str) -> Iterator[Report]:
    """A function ``report(done, total)``.

    Parameters
    ----------
    progress : bool, callable or None
        True draws a bar with count, rate and time left on the error stream; a function is called as it is.
    title : str
    """
    if callable(progress):
        yield progress
    elif not progress:
        yield lambda done, total: None
    else:
        with _bar(title) as report:
            yield report


@contextlib.contextmanager
def _bar(title: str) -> Iterator[Report]:
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

        def report(done: int, total: int) -> None:
            bars.update(task, completed=done, total=total)
            speed = bars.tasks[0].speed
            bars.update(task, rate=f"{speed:.0f}/s" if speed else "")

        yield report
