"""The turn: who makes a commit count, one after the other, even where locks do nothing.

A turn is a file that only one process can create. It is held for two renames. Whoever finds one waits, or
ends it if its holder is surely gone: a process of this machine that no longer runs, or one that has not been
heard of for long.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path

from vbcgcd.workspace.log.asides import aside_name, discard, machine, remove
from vbcgcd.workspace.log.disk import write_synced

TURN = ".turn"
#: Seconds after which a holder is taken to be gone: watched all the time, or by the age of the file.
WATCHED, OLD = 10.0, 60.0

__all__ = ["TURN", "WATCHED", "turn"]


@contextlib.contextmanager
def turn(workspace: Path) -> Iterator[None]:
    """Be the only one who changes what counts in a workspace."""
    path = workspace / TURN
    _take(path)
    try:
        yield
    finally:
        try:
            os.unlink(path)
        except OSError:
            discard(path)


def _take(path: Path) -> None:
    spare = path.parent / aside_name()
    write_synced(spare, f"{machine()} {_process(os.getpid())}".encode(), sync=False)
    try:
        while True:
            try:
                os.link(spare, path)  # unlike a rename, it never replaces anything
                return
            except FileExistsError:
                _wait(path)
            except PermissionError:  # no links on this disk
                write_synced(path, spare.read_bytes(), sync=False)
                return
    finally:
        remove(spare)


def _wait(path: Path) -> None:
    """Return when there is no turn, or none that anybody holds."""
    first, end = _mark(path), time.monotonic() + WATCHED
    while (now := _mark(path)) is not None:
        if now != first:
            first, end = now, time.monotonic() + WATCHED
        if _is_gone(path) or time.monotonic() > end:
            discard(path)
            return
        time.sleep(0.002)


def _mark(path: Path) -> tuple[int, int] | None:
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_mtime_ns


def _is_gone(path: Path) -> bool:
    """Whether the holder of a turn no longer runs."""
    try:
        text, age = path.read_text(), time.time() - os.lstat(path).st_mtime
    except (FileNotFoundError, ValueError):
        return False
    place, _, process = text.partition(" ")
    if place != machine():
        return age > OLD
    number = process.partition(" ")[0]
    return number.isascii() and number.isdigit() and process != _process(int(number))


def _process(number: int) -> str:
    """A process by its number and when it was started; only the number where the system does not tell."""
    try:
        status = Path(f"/proc/{number}/stat").read_text()
        return f"{number} {status.rpartition(')')[2].split()[19]}"
    except FileNotFoundError:
        if Path("/proc/self").exists():
            return ""
    except (OSError, IndexError):
        pass
    return str(number) if _runs(number) else ""


def _runs(number: int) -> bool:
    try:
        os.kill(number, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True
