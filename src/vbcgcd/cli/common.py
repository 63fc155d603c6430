"""What all commands share: data, workspace, consoles, JSON, progress, errors as messages and exit codes."""

from __future__ import annotations

import errno
import functools
import inspect
import json
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from enum import IntEnum
from pathlib import Path
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
from rich.text import Text
from typer.models import OptionInfo

from vbcgcd import __version__
from vbcgcd.cli.scripting import (
    SCHEMA_VERSION,
    SCRIPT_OPTIONS,
    GlobalLog,
    GlobalQuiet,
    GlobalWait,
    Manner,
    following,
    manner,
    set_manner,
    with_script_options,
)
from vbcgcd.errors import (
    PASSING,
    DiskError,
    InputError,
    MissingFileError,
    NothingToDo,
    VbcgcdError,
    WorkspaceBusy,
    WorkspaceDamaged,
    WorkspaceWarning,
)
from vbcgcd.words import UNBOUNDED, next_steps, one_line

if TYPE_CHECKING:
    from vbcgcd.workspace import Workspace

Command = TypeVar("Command", bound=Callable[..., Any])
#: Letters of a line of a message: longer than any path.
_LONGEST = 10_000
_DISK = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO, errno.EFBIG})

AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON document for scripts.", show_default=False)
]

__all__ = [
    "AsJson",
    "ExitCode",
    "Steps",
    "check_data",
    "column_options",
    "console",
    "damaged_workspace",
    "errors_are_messages",
    "find_workspace",
    "finish",
    "key_value",
    "main",
    "manner",
    "new_folder",
    "note",
    "open_workspace",
    "print_json",
    "progress_bar",
    "refuse_options_before",
    "versioned",
    "warnings_are_notes",
    "working",
    "writes",
]


class ExitCode(IntEnum):
    """How a command ended, for scripts. 1 is left to Python: an error of ours, with its traceback."""

    INPUT = 2
    BUSY = 3
    DAMAGED = 4
    DISK = 5
    UNCONFIRMED = 6
    NOTHING = 7
    INTERRUPTED = 130


def console(*, stderr: bool = False, always: bool = False) -> Console:
    """A console for what a command prints: as wide as the terminal, and as it has to be into a file.

    With ``--quiet`` it prints nothing, unless ``always``.
    """
    quiet = manner().quiet and not always
    out = Console(stderr=stderr, highlight=False, quiet=quiet)
    return out if out.is_terminal else Console(stderr=stderr, highlight=False, quiet=quiet, width=UNBOUNDED)


def errors_are_messages(command: Command, *, writes: bool = False) -> Command:
    """Show the errors a user can meet as one message, and end with their exit code.

    The command also gets the options for scripts: ``--quiet``, ``--log`` and, if it ``writes``, ``--wait``.
    """
    signature, context = with_script_options(command, writes=writes)
    own = inspect.signature(command).parameters

    @functools.wraps(command)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        ctx: typer.Context | None = kwargs.get(context)
        values = {name: value for name, value in kwargs.items() if name in own}
        before = manner()
        set_manner(before.with_options(**{name: kwargs.get(name) for name in SCRIPT_OPTIONS}))
        if ctx is not None and ctx.invoked_subcommand is not None:
            with _errors_end(wrapper, kwargs):  # the options of a group are those of the command after it
                return command(*args, **values)
        name = command.__name__ if ctx is None else _words(ctx)
        changed = {key: v for key, v in values.items() if key != context and v != own[key].default}
        try:
            with _errors_end(wrapper, kwargs), following(name, changed, _any_exit_code), warnings_are_notes():
                return command(*args, **values)
        finally:
            set_manner(before)

    wrapper.__signature__ = signature  # type: ignore[attr-defined]
    return wrapper  # type: ignore[return-value]


def _words(ctx: typer.Context) -> str:
    """A command as it is typed, without the name of the program."""
    words: list[str] = []
    place = ctx
    while place.parent is not None:
        words.insert(0, str(place.info_name))
        place = place.parent  # type: ignore[assignment]
    return " ".join(words)


def writes(command: Command) -> Command:
    """As `errors_are_messages`, for a command that writes to a workspace and may have to wait for another."""
    return errors_are_messages(command, writes=True)


@contextmanager
def _errors_end(command: Callable[..., Any], values: dict[str, Any]) -> Iterator[None]:
    """End with a message and an exit code where something is wrong that a user can meet."""
    try:
        yield
    except KeyboardInterrupt:
        note("Interrupted. Finished work is saved; nothing else has changed.", style="red")
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    except typer.Abort:  # the answer to a question was no, or Ctrl-C
        note("Nothing was changed.", style="red")
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    except Exception as error:
        code = _exit_code(error)
        if code is None:
            raise
        note(_message(error, command, values), style="red")
        raise typer.Exit(code) from None


def _any_exit_code(error: BaseException) -> int:
    """The exit code of whatever ended a command."""
    if isinstance(error, KeyboardInterrupt | typer.Abort):
        return ExitCode.INTERRUPTED
    if isinstance(error, typer.Exit):
        return error.exit_code
    return (_exit_code(error) or 1) if isinstance(error, Exception) else 1


@contextmanager
def warnings_are_notes() -> Iterator[None]:
    """Show what the owner of a workspace should know as a note; other warnings stay what they are."""
    with warnings.catch_warnings():
        shown = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
            if issubclass(category, WorkspaceWarning):
                note(f"Note: {message}")
            else:
                manner().event("warning", message=str(message))
                shown(message, category, *rest, **more)

        warnings.simplefilter("always", WorkspaceWarning)
        warnings.showwarning = show
        yield


def _exit_code(error: Exception) -> ExitCode | None:
    """The exit code; None for what is not a fault of the input, the workspace or the disk."""
    if isinstance(error, DiskError) and error.done:
        return ExitCode.UNCONFIRMED
    if isinstance(error, VbcgcdError):
        kinds = {
            WorkspaceBusy: ExitCode.BUSY,
            WorkspaceDamaged: ExitCode.DAMAGED,
            DiskError: ExitCode.DISK,
            NothingToDo: ExitCode.NOTHING,
        }
        return next((code for kind, code in kinds.items() if isinstance(error, kind)), ExitCode.INPUT)
    if not isinstance(error, OSError) or isinstance(error, BrokenPipeError):
        return None
    if error.errno in _DISK or error.errno in PASSING:
        return ExitCode.DISK
    return ExitCode.INPUT if error.filename is not None else None


def _message(error: Exception, command: Callable[..., Any], values: dict[str, Any]) -> str:
    """What to print: the option at fault where the user gave it, a hint where it would help."""
    if isinstance(error, OSError):
        reason = error.strerror or str(error)
        return f"Error: {reason}: {error.filename}." if error.filename is not None else f"Error: {reason}."
    name, flag = _option(command, getattr(error, "option", None))
    if not flag:
        return f"Error: {error}"
    message = _as_typed(str(error), command)
    default = inspect.signature(command).parameters[name].default
    # An option for scripts may have been given before the command, or by the environment.
    passed = name in SCRIPT_OPTIONS or values.get(name, default) != default
    if passed:
        return f"Error in {flag}: {message}"
    return f"Error: {message}" if flag in message else f"Error: {message}\nHint: pass {flag}."


def _as_typed(message: str, command: Callable[..., Any]) -> str:
    """A message with options as they are typed: ``pass --again``, not ``set the option 'again'``."""
    parameters = inspect.signature(command).parameters
    for name, flag in _flags(command).items():
        if isinstance(parameters[name].default, bool):
            message = message.replace(f"set the option {name!r}", f"pass {flag}")
        message = message.replace(f"the option {name!r}", flag)
    return message


def _option(command: Callable[..., Any], option: str | None) -> tuple[str, str]:
    """The parameter of a command that an error names, and how it is written; "" where it has none."""
    flags = {} if option is None else _flags(command)
    dashed = "" if option is None else f"--{option.replace('_', '-')}"
    return next(((name, flag) for name, flag in flags.items() if name == option or flag == dashed), ("", ""))


def _flags(command: Callable[..., Any]) -> dict[str, str]:
    """The options of a command: parameter -> how it is written on the command line."""
    options = {}
    hints = {p.name: p.annotation for p in inspect.signature(command, eval_str=True).parameters.values()}
    for name, hint in hints.items():
        for info in getattr(hint, "__metadata__", ()):
            if isinstance(info, OptionInfo):
                spellings = (info.default, *(info.param_decls or ()))  # in Annotated the first is "default"
                long = (flag for flag in spellings if isinstance(flag, str) and flag.startswith("--"))
                options[name] = next(long, f"--{name.replace('_', '-')}").partition("/")[0]
    return options


def note(message: str, *, style: str = "yellow") -> None:
    """Print to the error stream; lines are not cut, so that paths stay whole.

    In yellow it is a warning, which is logged as well; ``--quiet`` leaves only what is red: errors.
    """
    if style == "yellow":
        manner().event("warning", message=message)
    lines = "\n".join(_indent(line) + one_line(line, _LONGEST) for line in message.splitlines())
    console(stderr=True, always=style == "red").print(
        lines, style=style, markup=False, emoji=False, soft_wrap=True
    )


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip(" "))]


def print_json(value: Any) -> None:
    """One JSON document on standard output; a number that is not finite is null."""
    from vbcgcd.record import plain  # brings NumPy, which --help need not wait for

    utf8 = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "") == "utf8"
    typer.echo(json.dumps(plain(value), ensure_ascii=not utf8, indent=2, allow_nan=False))


def finish(
    value: Any, as_json: bool, render: Callable[[], RenderableType], *, steps: Sequence[str] = ()
) -> None:
    """Print the result of a command.

    Parameters
    ----------
    value : object
        What ``--json`` prints.
    as_json : bool
    render : callable
        Makes what people read.
    steps : sequence of str
        Commands to propose below it.
    """
    manner().done(value)
    if as_json:
        print_json(versioned(value))
        return
    if manner().quiet:
        return
    out = console()
    out.print(render(), markup=False, emoji=False)
    if steps:
        out.print(Text(), next_steps(*steps), sep="\n", markup=False, emoji=False, soft_wrap=True)


def versioned(value: Any) -> dict[str, Any]:
    """The JSON document of a result: its plain values, after the version of its schema."""
    from vbcgcd.record import plain

    return {"schema_version": SCHEMA_VERSION, **plain(value)}


def progress_bar() -> Progress:
    """A bar on the error stream with a description, a count and the time spent."""
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
    """The steps of one command on a progress display: one line each, with its time; embedding counts items.

    Parameters
    ----------
    bars : Progress
    first : str
        Name of the first step; it is also shown between embedding and the step after it.

    Attributes
    ----------
    seconds : float
        How long the whole command took, once it has ended.
    """

    def __init__(self, bars: Progress, first: str) -> None:
        self.bars, self.first = bars, first
        self.task = self._add(first)
        self._counting, self._last = False, ""
        self._start, self.seconds = time.monotonic(), 0.0

    def step(self, name: str) -> None:
        """End the current step and begin this one."""
        self._counting = False
        self.bars.update(self.task, total=1, completed=1)
        self.task = self._add(name)
        manner().event("step", name=name)

    def embedding(self, completed: int, total: int) -> None:
        """Show how many items are embedded."""
        self.counting("embedding", completed, total)

    def counting(self, name: str, completed: int, total: int) -> None:
        """Show how many items a step has done."""
        if not self._counting:
            self.step(name)
            self._counting = True
        self.bars.update(self.task, completed=completed, total=total, of=f"{completed:,} of {total:,}")
        if completed >= total:
            self.step(self.first)

    def counted(self, name: str, completed: int, total: int) -> None:
        """Show how many items a step has done, where steps follow each other."""
        if name != self._last:
            self._counting, self._last = False, name
        self.counting(name, completed, total)

    def stop(self) -> None:
        """Record the elapsed time."""
        self.seconds = time.monotonic() - self._start

    def _add(self, name: str) -> TaskID:
        return self.bars.add_task(name, total=None, of="")


@contextmanager
def working(first: str) -> Iterator[Steps]:
    """Show the steps of a command on the error stream while it runs; nothing unless that is a terminal."""
    bars = Progress(
        SpinnerColumn(finished_text="✓"),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[of]}"),
        TimeElapsedColumn(),
        console=console(stderr=True),
        transient=True,
        disable=manner().quiet or not sys.stderr.isatty(),
    )
    with bars:
        steps = Steps(bars, first)
        yield steps
        steps.stop()


def print_version(show: bool) -> None:
    """Print the version and exit, if asked to."""
    if show:
        typer.echo(f"vbcgcd {__version__}")
        raise typer.Exit


def main(
    version: Annotated[
        bool,
        typer.Option("--version", callback=print_version, is_eager=True, help="Print the version and exit."),
    ] = False,
    quiet: GlobalQuiet = False,
    log: GlobalLog = None,
    wait: GlobalWait = None,
) -> None:
    """Learn labelled categories, discover novel ones batch by batch, and forget nothing."""
    set_manner(Manner().with_options(quiet, log, wait))
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, ValueError):  # print letters the terminal lacks as escapes
            stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]


def column_options(
    *,
    text: str | None = None,
    image: str | None = None,
    embedding: list[str] | None = None,
    label: str | None = None,
    id: str | None = None,
    split: str | None = None,
    kind: str | None = None,
    format: str | None = None,
    keep: list[str] | None = None,
) -> dict[str, Any]:
    """Options of ``vbcgcd.items.read_items``, without those that are None."""
    options: dict[str, Any] = {"text": text, "image": image, "label": label, "id": id, "kind": kind}
    options["format"] = format
    if keep:
        options["keep"] = True if "all" in keep else list(keep)
    if embedding:
        options["embedding"] = embedding[0] if len(embedding) == 1 else list(embedding)
    if split is not None:
        options["split"] = key_value(split, "split")
    return {name: value for name, value in options.items() if value is not None}


def key_value(pair: str, option: str) -> tuple[str, str]:
    """Key and value of ``KEY=VALUE``; ``option`` is where it was given."""
    key, equals, value = pair.partition("=")
    if not key or not equals:
        raise InputError(f"Expected a name and a value separated by =, got {pair!r}.", option=option)
    return key.strip(), value


def check_data(data: Path) -> Path:
    """Raise if the data is a workspace."""
    if _is_workspace(data):
        raise InputError(f"{data} is a workspace, not data. Give a table, a folder of pictures or arrays.")
    return data


def refuse_options_before(ctx: typer.Context, flags: Mapping[str, str]) -> None:
    """Raise for options before a subcommand, which would be ignored; ``flags`` that are not their names."""
    for name in ctx.params.keys() - SCRIPT_OPTIONS.keys():
        source = ctx.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            flag = flags.get(name, f"--{name}")
            raise InputError(f"Put {flag} after '{ctx.invoked_subcommand}', not before it.")


def find_workspace(folder: Path | None) -> Path:
    """The workspace of a command: ``folder``, or the current folder or the nearest one above it."""
    if folder is not None:
        from vbcgcd.workspace.log.commits import ABOUT

        if (folder / ABOUT).exists():  # opening it tells what is wrong with it
            return folder
        raise MissingFileError(f"There is no workspace at {folder}. Create one with 'vbcgcd init {folder}'.")
    nearest = _enclosing(Path.cwd())
    if nearest is None:
        raise MissingFileError(
            f"Neither {Path.cwd()} nor any folder above it is a workspace. Create one with 'vbcgcd init "
            "NAME' and change into it, or choose one with --workspace."
        )
    return nearest


def open_workspace(folder: Path | None) -> Workspace:
    """The workspace of a command, open."""
    path = find_workspace(folder)
    from vbcgcd.workspace import Workspace

    return Workspace.open(path, lock_timeout=manner().wait)


def damaged_workspace(folder: Path | None) -> Path:
    """The folder to repair: as `find_workspace`, but it need not say that it is a workspace."""
    return Path(os.path.abspath(folder or _enclosing(Path.cwd()) or Path.cwd()))


def new_folder(path: Path) -> Path:
    """Absolute path of a workspace to be created; raise if it would be inside another one."""
    path = Path(os.path.abspath(path))
    outer = _enclosing(path)
    if outer not in (None, path):
        raise InputError(f"{path} is inside the workspace {outer}. Choose a folder outside of it.")
    return path


def _is_workspace(path: Path) -> bool:
    from vbcgcd.workspace.log.commits import is_workspace

    return is_workspace(path)


def _enclosing(start: Path) -> Path | None:
    start = Path(os.path.abspath(start))
    return next((folder for folder in (start, *start.parents) if _is_workspace(folder)), None)
