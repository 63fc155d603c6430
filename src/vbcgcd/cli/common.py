"""What all commands share: consoles, JSON, progress, and errors as one message."""

from __future__ import annotations

import functools
import json
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from rich.console import Console, RenderableType
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)

if TYPE_CHECKING:
    from vbcgcd.errors import InputError

Command = TypeVar("Command", bound=Callable[..., Any])
#: Exit codes: wrong input, and interrupted by Ctrl-C.
BAD_INPUT, INTERRUPTED = 2, 130
WIDTH = 100
#: Letters of a line of a message: longer than any path.
_LONGEST = 10_000
#: The library names options as Python does; on the command line they have another form.
_N_NOVEL = re.compile(r"(?<![\w./-])n_novel(?=\s)")
_OPTION = re.compile(r"(?<![\w=-])(kind|label|text|image|embedding|id|split|row)=(?=[\s.,;:)]|$)")

AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON document for scripts.", show_default=False)
]

__all__ = [
    "BAD_INPUT",
    "INTERRUPTED",
    "AsJson",
    "Steps",
    "console",
    "errors_are_messages",
    "finish",
    "note",
    "print_json",
    "progress_bar",
    "working",
    "wrong",
]


def console(*, stderr: bool = False) -> Console:
    """A console for what a command prints: as wide as the terminal, 100 columns into a file."""
    out = Console(stderr=stderr, highlight=False)
    return out if out.is_terminal else Console(stderr=stderr, highlight=False, width=WIDTH)


def wrong(message: str) -> InputError:
    """The error to raise for wrong input. Its class brings scikit-learn, which --help need not wait for."""
    from vbcgcd.errors import InputError

    return InputError(message)


def errors_are_messages(command: Command) -> Command:
    """Show our errors as one message and Ctrl-C as one word, with exit codes 2 and 130."""

    @functools.wraps(command)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        except KeyboardInterrupt:
            console(stderr=True).print(
                "Interrupted; what was finished before is kept, the rest is as it was.", style="yellow"
            )
            raise typer.Exit(INTERRUPTED) from None
        except Exception as error:
            message = _message(error)
            if message is None:
                raise
            note(f"Error: {message}", style="red")
            raise typer.Exit(BAD_INPUT) from None

    return wrapped  # type: ignore[return-value]


def _message(error: Exception) -> str | None:
    """What to tell the user; None for what is no fault of the input or the disk."""
    from vbcgcd.errors import VbcgcdError

    if isinstance(error, VbcgcdError):
        return _for_the_shell(str(error))
    if isinstance(error, OSError) and error.filename is not None and not isinstance(error, BrokenPipeError):
        return f"{error.filename}: {error.strerror or error}."
    return None


def _for_the_shell(message: str) -> str:
    message = message.replace("use None to estimate it", "leave it out to estimate it")
    message = message.replace("give again=True", "give --again")
    message = message.replace("(all rows) or None", "(all rows)").replace(" or None, got", " or null, got")
    return _OPTION.sub(r"--\1", _N_NOVEL.sub("--n-novel", message))


def note(message: str, *, style: str = "yellow") -> None:
    """Say something on the error stream; lines are not cut, so that paths stay whole."""
    from vbcgcd.cli.show.text import visible

    lines = "\n".join(_indent(line) + visible(line, _LONGEST) for line in message.splitlines())
    console(stderr=True).print(lines, style=style, markup=False, emoji=False, soft_wrap=True)


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" "))]


def print_json(value: Any) -> None:
    """One JSON document on standard output; a number that is not finite is null."""
    from vbcgcd.workspace import plain

    utf8 = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "") == "utf8"
    typer.echo(json.dumps(plain(value), ensure_ascii=not utf8, indent=2, allow_nan=False))


def finish(value: Any, as_json: bool, shown: Callable[[], RenderableType]) -> None:
    """Print what a command came to: as JSON, or as people read it."""
    if as_json:
        print_json(value)
    else:
        console().print(shown(), markup=False, emoji=False)


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


class Steps:
    """The steps of one command: each is a line with its time; embedding counts its items.

    Parameters
    ----------
    bars : Progress
    first : str
        What is done before any step is told.

    Attributes
    ----------
    seconds : float
        How long all of it took.
    """

    def __init__(self, bars: Progress, first: str) -> None:
        self.bars, self.first = bars, first
        self.now = self._begun(first)
        self._counting = False
        self._start, self.seconds = time.monotonic(), 0.0

    def step(self, name: str) -> None:
        """The step before is done; this one begins."""
        self._counting = False
        self.bars.update(self.now, total=1, completed=1)
        self.now = self._begun(name)

    def embedding(self, done: int, total: int) -> None:
        """So many items are embedded."""
        if not self._counting:
            self.step("embedding")
            self._counting = True
        self.bars.update(self.now, completed=done, total=total, of=f"{done} of {total}")
        if done >= total:
            self.step(self.first)

    def done(self) -> None:
        """All is done: take the time."""
        self.seconds = time.monotonic() - self._start

    def _begun(self, name: str) -> TaskID:
        return self.bars.add_task(name, total=None, of="")


@contextmanager
def working(first: str) -> Iterator[Steps]:
    """Show the steps of a command on the error stream while it runs; nothing where that is no terminal."""
    bars = Progress(
        SpinnerColumn(finished_text="✓"),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[of]}"),
        TimeElapsedColumn(),
        console=console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
    )
    with bars:
        steps = Steps(bars, first)
        yield steps
        steps.done()
