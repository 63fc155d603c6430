"""The lock of the one writer. It is a courtesy: commits stay whole even where locks do nothing."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import socket
import stat
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType

from vbcgcd.errors import InputError, WorkspaceBusy
from vbcgcd.workspace.log.disk import disk_errors

#: How the system says that somebody else holds a lock; other errors mean that there are no locks here.
_HELD = frozenset({errno.EWOULDBLOCK, errno.EAGAIN, errno.EACCES, errno.EDEADLK})

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
    InputError
        The lock file is a link or no ordinary file.
    DiskError
        The lock file cannot be opened.
    """

    def __init__(self, path: Path, command: str, *, timeout: float = 0.0) -> None:
        self.path, self.command, self.timeout = path, command, timeout
        self._handle = -1

    def __enter__(self) -> WriteLock:
        with disk_errors(self.path.parent):
            self._handle = self._open(os.O_CREAT)
        try:
            self._wait()
            self._tell()
        except BaseException:
            os.close(self._handle)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            with contextlib.suppress(OSError):  # whatever was written under the lock is done
                os.ftruncate(self._handle, 0)
        finally:
            with contextlib.suppress(OSError):
                os.close(self._handle)

    def excludes(self) -> bool:
        """Whether the lock that is held keeps others out; on some network disks locks do nothing."""
        try:
            handle = self._open()
        except OSError:
            return False
        try:
            _acquire(handle)
        except OSError as error:
            return error.errno in _HELD
        finally:
            os.close(handle)
        return False

    def _open(self, create: int = 0) -> int:
        # Neither a link nor a pipe is opened: what a link points to must not be emptied.
        flags = os.O_RDWR | create | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
        if self.path.is_symlink():
            raise self._not_ours()
        handle = os.open(self.path, flags, 0o600)
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode) or status.st_nlink > 1:
            os.close(handle)
            raise self._not_ours()
        return handle

    def _not_ours(self) -> InputError:
        return InputError(f"{self.path} is a link or no ordinary file. Nothing was changed; remove it first.")

    def _wait(self) -> None:
        end = time.monotonic() + self.timeout
        while True:
            try:
                return _acquire(self._handle)
            except OSError as error:
                if error.errno not in _HELD:
                    return None
                if time.monotonic() >= end:
                    raise WorkspaceBusy(self._message()) from None
            time.sleep(0.05)

    def _tell(self) -> None:
        """Name the holder; a disk that is full does not matter to the lock."""
        holder = {"pid": os.getpid(), "host": socket.gethostname(), "command": self.command}
        since = datetime.now(UTC).isoformat(timespec="seconds")
        with contextlib.suppress(OSError):
            os.ftruncate(self._handle, 0)
            os.lseek(self._handle, 0, os.SEEK_SET)
            os.write(self._handle, json.dumps({**holder, "since": since}).encode())

    def _message(self) -> str:
        try:
            holder = json.loads(self.path.read_text())
            who = "process {pid} on {host} ({command}, since {since})".format(**holder)
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            who = "another process"
        return (
            f"The workspace {self.path.parent} is in use by {who}. Nothing was changed; try again when it "
            "has finished."
        )
