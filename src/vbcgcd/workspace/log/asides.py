"""What is being written, what was left behind, and what is kept although it does not count.

A commit is written under a name of its own, ``.new-...``, until a rename makes it count. What a killed
process left is removed by the next writer, but only if it was surely made on this machine and nobody can be
writing to it, or if it is a day old. It is renamed before it is removed: whoever is still writing to it finds
it gone, and nobody can make half of it count.

Commits that do not continue the history are never removed. They are moved to ``set-aside/``.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import re
import shutil
import socket
import time
import uuid
from datetime import UTC, datetime
from pathlib import Path

from vbcgcd.archive import sync_folder
from vbcgcd.workspace.log.disk import make_folder
from vbcgcd.workspace.log.lock import WriteLock

#: Names of what is being written, until a rename makes it count.
ASIDE = re.compile(r"\.new-[0-9a-f]{32}")
#: Names of what is being removed.
_DEAD = re.compile(r"\.old-[0-9a-f]{32}")
#: What earlier releases called the next HEAD.
_EARLY = re.compile(r"\.HEAD\.[a-z0-9_]{6,16}")
#: Where commits go that do not count.
SET_ASIDE = "set-aside"
#: Seconds after which nobody is writing to something any more.
AGE = 24 * 3600.0

__all__ = [
    "AGE",
    "ASIDE",
    "SET_ASIDE",
    "aside_name",
    "discard",
    "is_left",
    "machine",
    "remove",
    "set_aside",
    "sweep",
]


def aside_name() -> str:
    """A fresh name that `ASIDE` matches; it begins with a mark of this machine."""
    return f".new-{machine()}{uuid.uuid4().hex[:24]}"


@functools.cache
def machine() -> str:
    """Eight letters that stand for this machine since it was last started."""
    boot = ""
    with contextlib.suppress(OSError):
        boot = Path("/proc/sys/kernel/random/boot_id").read_text()
    return hashlib.sha256(f"{socket.gethostname()} {boot}".encode()).hexdigest()[:8]


def discard(path: Path) -> None:
    """Remove what others wrote and what does not count, as far as the disk allows."""
    dead = path.with_name(f".old-{uuid.uuid4().hex}")
    try:
        os.rename(path, dead)
    except OSError:
        return
    remove(dead)


def sweep(folder: Path, lock: WriteLock) -> None:
    """Remove what killed writers left in a folder.

    Parameters
    ----------
    folder : Path
    lock : WriteLock
        Held now. Where it keeps others out, nobody on this machine is writing.
    """
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return
    for name in names:
        if _DEAD.fullmatch(name):
            remove(folder / name)
        elif (ASIDE.fullmatch(name) or _EARLY.fullmatch(name)) and is_left(folder / name, lock):
            discard(folder / name)


def is_left(path: Path, lock: WriteLock) -> bool:
    """Whether nobody can be writing to something any more; ``lock`` as for `sweep`."""
    try:
        age = time.time() - os.lstat(path).st_mtime
    except OSError:
        return False
    own = f".new-{machine()}" in path.name
    return age > AGE or (own and lock.excludes())


def set_aside(path: Path, workspace: Path) -> Path:
    """Move something that does not count out of the way; returns where it is now.

    Parameters
    ----------
    path : Path
        A file or folder of the workspace.
    workspace : Path
    """
    place = workspace / SET_ASIDE
    if not place.is_dir():
        with contextlib.suppress(FileExistsError):
            make_folder(place)
        sync_folder(workspace)  # before anything is moved into it
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S")
    target = place / f"{path.name.lstrip('.')}-{stamp}-{uuid.uuid4().hex[:6]}"
    with contextlib.suppress(FileNotFoundError):  # another writer was quicker
        os.rename(path, target)
    sync_folder(place)
    return target


def remove(path: Path) -> None:
    """Remove what this process wrote and what does not count, as far as the disk allows."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            os.unlink(path)
