"""What became of a workspace after an attack on a command."""

from __future__ import annotations

from pathlib import Path

from torture.table import DONE, LOSS, REFUSED, TRACEBACK, UNCHANGED, WRONG, finding
from torture.world import Command, answers, before_and_after, opened
from vbcgcd.errors import DiskError, VbcgcdError


def state(command: Command, path: Path, where: str) -> str:
    """Whether the workspace is as before the command or as after it; anything else must never happen."""
    before, after = before_and_after(command.name)
    try:
        now = answers(path)
    except VbcgcdError as error:
        return finding(LOSS, f"{where}: the workspace does not open: {error}")
    except Exception as error:
        return finding(TRACEBACK, f"{where}: {type(error).__name__}: {error}")
    if now not in (before, after):
        return finding(WRONG, f"{where}: answers are neither as before nor as after")
    return DONE if now == after else UNCHANGED


def goes_on(command: Command, path: Path, now: str, where: str) -> str:
    """The state, once the next command has worked: nothing that was left behind is in its way."""
    try:
        if now == UNCHANGED:
            command.action(path)
            if state(command, path, f"{where}, again") != DONE:
                return finding(WRONG, f"{where}: a second attempt gives another result")
        opened(path).verify()
        opened(path).configure(sample=7)
    except Exception as error:
        return finding(LOSS, f"{where}: the next command fails: {type(error).__name__}: {error}")
    return now


def failure(command: Command, path: Path, error: Exception, where: str) -> str:
    """Whether an error was clear, and whether what it says about the workspace is true."""
    if not isinstance(error, VbcgcdError):
        return finding(TRACEBACK, f"{where}: {type(error).__name__}: {error}")
    now = state(command, path, where)
    if now not in (DONE, UNCHANGED):
        return now
    before, after = before_and_after(command.name)
    done = isinstance(error, DiskError) and error.done
    if before != after and done != (now == DONE):
        return finding(WRONG, f"{where}: the command was {now}, but the error says: {error}")
    after_all = goes_on(command, path, now, where)
    return REFUSED if after_all == now else after_all
