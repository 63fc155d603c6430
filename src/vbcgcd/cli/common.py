"""What all commands share: a console, and errors as one message."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

from vbcgcd.errors import VbcgcdError

Command = TypeVar("Command", bound=Callable[..., Any])
#: Exit codes: wrong input, and interrupted by Ctrl-C.
BAD_INPUT, INTERRUPTED = 2, 130
WIDTH = 100

__all__ = ["BAD_INPUT", "INTERRUPTED", "console", "errors_are_messages", "progress_bar"]


def console(*, stderr: bool = False) -> Console:
    """A console for what a command prints: as wide as the terminal, 100 columns into a file."""
    out = Console(stderr=stderr, highlight=False)
    return out if out.is_terminal else Console(stderr=stderr, highlight=False, width=WIDTH)


def errors_are_messages(command: Command) -> Command:
    """Show our errors as one message and Ctrl-C as one word, with exit codes 2 and 130."""

    @functools.wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        except VbcgcdError as error:
            console(stderr=True).print(f"Error: {error}", style="red", markup=False)
            raise typer.Exit(BAD_INPUT) from None
        except KeyboardInterrupt:
            console(stderr=True).print("Interrupted; what was finished is kept.", style="yellow")
            raise typer.Exit(INTERRUPTED) from None

    return wrapped  # type: ignore[return-value]


def progress_bar() -> Progress:
    """A bar with a count, the time spent and what is being done, on the error stream."""
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        console=console(stderr=True),
        transient=True,
    )
