"""One writer at a time: a lock that the operating system releases when the process ends, however it ends."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

from vbcgcd.errors import WorkspaceBusy
from vbcgcd.workspace.log.durable import disk_errors

__all__ = ["WriteLock"]

if sys.platform == "win32":
    import msvcrt

    def _acquire(handle: int) -> None:
        os.lseek(handle, 0x7FFF0000, os.SEEK_SET)  # beyond the text, so that others can read it
        msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)

else:
    import fcntl

    def _acquire(handle: int) -> None:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)


class WriteLock:
    """A context manager that is held while a command writes.

    Parameters
    ----------
    path : Path
        The lock file. It names the holder while the lock is held, and is empty afterwards.
    command : str
        Name of the command, for the message that another writer gets.
    timeout : float
        Seconds to wait for another writer.

    Raises
    ------
    WorkspaceBusy
        Another process, or another object of this one, holds the lock.
    DiskError
        The lock file cannot be written.
    """

    def __init__(self, path: Path, command: str, *, timeout: float = 0.0) -> None:
        self.path, self.command, self.timeout = path, command, timeout
        self._handle = -1

    def __enter__(self) -> WriteLock:
        with disk_errors(self.path.parent):
            self._handle = os.open(self.path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            self._wait()
            os.ftruncate(self._handle, 0)
            os.lseek(self._handle, 0, os.SEEK_SET)
            holder = {"pid": os.getpid(), "host": socket.gethostname(), "command": self.command}
            since = datetime.now(UTC).isoformat(timespec="seconds")
            os.write(self._handle, json.dumps({**holder, "since": since}).encode())
        except BaseException:
            os.close(self._handle)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            os.ftruncate(self._handle, 0)
        finally:
            os.close(self._handle)

    def _wait(self) -> None:
        end = time.monotonic() + self.timeout
        while True:
            try:
                return _acquire(self._handle)
            except OSError:
                if time.monotonic() >= end:
                    raise WorkspaceBusy(self._message()) from None
            time.sleep(0.05)

    def _message(self) -> str:
        try:
            holder = json.loads(self.path.read_text())
            who = "process {pid} on {host} ({command}, since {since})".format(**holder)
        except (OSError, ValueError, KeyError):
            who = "another process"
        return (
            f"The workspace {self.path.parent} is being changed by {who}. Nothing was changed; wait until it "
            "has finished and run the command again."
        )
