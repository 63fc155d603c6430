"""What scripts ask of every command: to be quiet, to log events, and to wait for another writer.

The options can be given before or after the name of a command, or as environment variables; the last one
counts. `Manner` is what they come to, and is the same for everything that a command calls.
"""

from __future__ import annotations

import inspect
import json
import math
import os
import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from vbcgcd import __version__
from vbcgcd.errors import DiskError, InputError

#: Of the JSON documents that commands print, and of the lines of a log; see ``vbcgcd schema``.
SCHEMA_VERSION = 1
#: A list or mapping that is longer than this is given by its length in a log.
LONGEST = 20
_PANEL = "For scripts"


def _quiet(**more: Any) -> Any:
    words = "Print nothing but errors, and JSON where it is asked for."
    return typer.Option("--quiet", "-q", help=words, rich_help_panel=_PANEL, show_default=False, **more)


def _log(**more: Any) -> Any:
    words = "Append one JSON line to FILE for each event: start, step, warning, result, error."
    return typer.Option("--log", metavar="FILE", help=words, rich_help_panel=_PANEL, **more)


def _finite(seconds: float | None) -> float | None:
    if seconds is not None and not math.isfinite(seconds):
        raise typer.BadParameter("give a number of seconds, such as 3600 for an hour.")
    return seconds


def _wait(**more: Any) -> Any:
    words = "How long to wait for another process that writes to the workspace. Default: not at all."
    more |= {"min": 0, "callback": _finite, "show_default": False}
    return typer.Option("--wait", metavar="SECONDS", help=words, rich_help_panel=_PANEL, **more)


Quiet = Annotated[bool, _quiet()]
Log = Annotated[Path | None, _log()]
Wait = Annotated[float | None, _wait()]
# Only before the name of a command, so that the environment does not overrule what was typed there.
GlobalQuiet = Annotated[bool, _quiet(envvar="VBCGCD_QUIET")]
GlobalLog = Annotated[Path | None, _log(envvar="VBCGCD_LOG")]
GlobalWait = Annotated[float | None, _wait(envvar="VBCGCD_WAIT")]

__all__ = [
    "SCHEMA_VERSION",
    "SCRIPT_OPTIONS",
    "EventLog",
    "GlobalLog",
    "GlobalQuiet",
    "GlobalWait",
    "Manner",
    "following",
    "manner",
    "set_manner",
    "with_script_options",
]


@dataclass
class EventLog:
    """A file to which events are appended, one JSON object on each line.

    Parameters
    ----------
    path : Path
    run : str
        Tells the events of one command from those of others in the same file.
    """

    path: Path
    run: str = field(default_factory=lambda: secrets.token_hex(4))
    result: Any = None
    _failed: bool = False

    def check(self) -> None:
        """Raise unless the file is new, empty or a log: nothing else may be appended to."""
        try:
            if not self.path.exists():
                self.path.touch()
            if not self.path.is_file():  # a pipe would be waited for
                raise InputError(f"The log {self.path} is not a file; choose another one.", option="log")
            with self.path.open("rb") as file:
                first = file.readline(1_000_000)
        except OSError as error:
            raise InputError(
                f"Cannot write the log {self.path}: {error.strerror or error}.", option="log"
            ) from None
        if first and not _is_event(first):
            raise InputError(
                f"{self.path} exists and is not a log of vbcgcd; choose another file.", option="log"
            )

    def write(self, event: str, **values: Any) -> None:
        """Append an event in one piece, also where several processes share the file."""
        from vbcgcd.record import plain

        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        head = {"schema_version": SCHEMA_VERSION, "time": now, "version": __version__, "run": self.run}
        line = json.dumps({**head, "event": event, **plain(values)}, ensure_ascii=False, allow_nan=False)
        try:
            handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                os.write(handle, f"{line}\n".encode("utf-8", "backslashreplace"))
            finally:
                os.close(handle)
        except OSError as error:  # what the command does matters more than the note of it
            if not self._failed:
                self._failed = True
                typer.echo(f"Note: {DiskError.writing(self.path, error)} The log is incomplete.", err=True)


def _is_event(line: bytes) -> bool:
    try:
        values = json.loads(line)
    except ValueError:
        return False
    return isinstance(values, dict) and {"event", "run", "version"} <= values.keys()


@dataclass(frozen=True)
class Manner:
    """How commands behave towards scripts.

    Parameters
    ----------
    quiet : bool
        Print nothing but errors and JSON.
    wait : float
        Seconds to wait for another writer.
    path : Path or None
        The log file.
    log : EventLog or None
        The log, while a command runs.
    """

    quiet: bool = False
    wait: float = 0.0
    path: Path | None = None
    log: EventLog | None = None

    def with_options(self, quiet: bool | None, log: Path | None, wait: float | None) -> Manner:
        """The manner after further options; those that were not given change nothing."""
        return replace(
            self,
            quiet=bool(quiet) or self.quiet,
            path=self.path if log is None else log,
            wait=self.wait if wait is None else wait,
        )

    def event(self, event: str, **values: Any) -> None:
        """Log an event, if there is a log."""
        if self.log is not None:
            self.log.write(event, **values)

    def done(self, result: Any) -> None:
        """Remember what a command returned, for the log."""
        if self.log is not None:
            self.log.result = result


_NOW: ContextVar[Manner] = ContextVar("manner", default=Manner())  # noqa: B039 - frozen


def manner() -> Manner:
    """How the present command behaves."""
    return _NOW.get()


def set_manner(new: Manner) -> None:
    """Behave like this from now on."""
    _NOW.set(new)


#: The options by parameter; `with_script_options` adds them to commands.
SCRIPT_OPTIONS: dict[str, Any] = {"quiet": Quiet, "log": Log, "wait": Wait}
_DEFAULTS: dict[str, Any] = {"quiet": False, "log": None, "wait": None}


def with_script_options(command: Callable[..., Any], *, writes: bool) -> tuple[inspect.Signature, str]:
    """The signature of a command with the options for scripts, and the name of its context parameter.

    Parameters
    ----------
    command : callable
    writes : bool
        Whether it writes to a workspace, so that it may have to wait.
    """
    own = inspect.signature(command, eval_str=True)
    parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in own.parameters.values()]
    context = next((p.name for p in parameters if p.annotation is typer.Context), "")
    wanted = [name for name in SCRIPT_OPTIONS if name not in own.parameters and (writes or name != "wait")]
    extra = {name: (SCRIPT_OPTIONS[name], _DEFAULTS[name]) for name in wanted}
    if not context:
        context = "context_"
        extra[context] = (typer.Context, None)
    for name, (annotation, default) in extra.items():
        kind = inspect.Parameter.KEYWORD_ONLY
        parameters.append(inspect.Parameter(name, kind, default=default, annotation=annotation))
    return own.replace(parameters=parameters), context


@contextmanager
def following(
    name: str, arguments: Mapping[str, Any], exit_code: Callable[[BaseException], int]
) -> Iterator[None]:
    """Log the start of a command, and its result or error.

    Parameters
    ----------
    name : str
        The command as it is typed.
    arguments : mapping
        What it was called with.
    exit_code : callable
        The exit code of an error.
    """
    before = manner()
    if before.path is None:
        yield
        return
    log = EventLog(before.path)
    log.check()
    set_manner(replace(before, log=log))
    start = time.monotonic()
    log.write("start", command=name, arguments=arguments, pid=os.getpid())
    try:
        yield
    except BaseException as error:
        about = {
            "kind": type(error).__name__,
            "message": str(error),
            "option": getattr(error, "option", None),
        }
        seconds = round(time.monotonic() - start, 3)
        log.write("error", command=name, exit_code=exit_code(error), seconds=seconds, **about)
        raise
    else:
        seconds = round(time.monotonic() - start, 3)
        log.write("result", command=name, exit_code=0, seconds=seconds, result=_brief(log.result))
    finally:
        set_manner(before)


def _brief(value: Any) -> Any:
    """A result for a log: long lists and mappings are given by their length."""
    from vbcgcd.record import plain

    def short(part: Any, depth: int) -> Any:
        if isinstance(part, dict | list) and (depth > 0 or isinstance(part, list)) and len(part) > LONGEST:
            return len(part)
        if isinstance(part, dict):
            return {key: short(below, depth + 1) for key, below in part.items()}
        return [short(below, depth + 1) for below in part] if isinstance(part, list) else part

    return short(plain(value), 0)
