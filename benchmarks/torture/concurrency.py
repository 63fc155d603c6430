"""Several processes at once: with locks, with locks that do nothing, killed, read and copied meanwhile."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

from torture.table import DONE, LOSS, REFUSED, TRACEBACK, UNCHANGED, WRONG, Counts, attack, finding
from torture.world import opened, scratch, small_packs, world
from vbcgcd.errors import VbcgcdError, WorkspaceBusy, WorkspaceDamaged
from vbcgcd.workspace import Workspace
from vbcgcd.workspace.log import lock


def _child(action: Callable[[], None]) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            action()
        except BaseException as error:
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
            os._exit(1)
        os._exit(0)
    return pid


def _write_names(path: Path, log: Path, writer: int, n: int) -> None:
    """Rename a category ``n`` times; each name that was acknowledged goes to the log, errors too."""
    handle = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for i in range(n):
        name = f"name-{writer}-{i}"
        while True:
            try:
                opened(path).rename(0, name)
                os.write(handle, f"ok {name}\n".encode())
                break
            except WorkspaceBusy:
                time.sleep(0.002)
            except VbcgcdError as error:
                os.write(handle, f"error {name}: {error}\n".encode())
                break
            except Exception as error:
                os.write(handle, f"traceback {name}: {type(error).__name__}: {error}\n".encode())
                break


def _locks_do_nothing() -> None:
    lock._acquire = lambda handle: None


def _judged(path: Path, log: Path, where: str) -> Counts:
    """Every acknowledged name must be in the history."""
    counts = Counter[str]()
    lines = log.read_text().splitlines() if log.exists() else []
    try:
        workspace = opened(path)
        there = {str(info.parameters.get("name")) for info in workspace.history()}
        workspace.verify()
    except Exception as error:
        there = set()
        counts[finding(LOSS, f"{where}: {type(error).__name__}: {error}")] += 1
    for line in lines:
        word, _, rest = line.partition(" ")
        if word == "ok":
            name = rest.strip()
            counts[DONE if name in there else finding(LOSS, f"{where}: {name} was acknowledged")] += 1
        else:
            counts[finding(TRACEBACK if word == "traceback" else WRONG, f"{where}: {rest}")] += 1
    return counts


def _race(
    folder: Path, n: int, *, locks: bool, kills: int = 0, rng: np.random.Generator | None = None
) -> Counts:
    path, log = world().copy("grown", folder / "w"), folder / "log"
    log.unlink(missing_ok=True)

    def write(writer: int) -> None:
        if not locks:
            _locks_do_nothing()
        _write_names(path, log, writer, n)

    pids = [_child(lambda w=w: write(w)) for w in range(4)]  # type: ignore[misc]
    for pid in pids[:kills] if rng is not None else ():
        time.sleep(float(rng.uniform(0.02, 0.2)))  # type: ignore[union-attr]
        os.kill(pid, signal.SIGKILL)
    for pid in pids:
        os.waitpid(pid, 0)
    return _judged(path, log, "with locks" if locks else "without locks")


@attack("writers, locks do nothing", long=600, short=24)
def without_locks(rng: np.random.Generator, n: int) -> Counts:
    """Four processes write at once where locks do nothing; in half of the rounds two of them are killed."""
    counts, rounds = Counter[str](), max(1, n // 60)
    with small_packs(), scratch() as folder:
        for i in range(rounds):
            each = max(2, n // rounds // 4)
            counts += _race(folder, each, locks=False, kills=2 * (i % 2), rng=rng)
    return counts


@attack("writers with locks", long=200, short=16)
def with_locks(rng: np.random.Generator, n: int) -> Counts:
    """Four processes write at once; those that find the workspace busy try again."""
    counts, rounds = Counter[str](), max(1, n // 50)
    with small_packs(), scratch() as folder:
        for _ in range(rounds):
            counts += _race(folder, max(2, n // rounds // 4), locks=True, rng=rng)
    return counts


@attack("readers while others write", long=300, short=16)
def readers(rng: np.random.Generator, n: int) -> Counts:
    """A reader opens and asks while two processes write without locks: it sees a name that somebody gave."""
    counts = Counter[str]()
    with small_packs(), scratch() as folder:
        path, log = world().copy("grown", folder / "w"), folder / "log"

        def write(writer: int) -> None:
            _locks_do_nothing()
            _write_names(path, log, writer, 100_000)

        pids = [_child(lambda w=w: write(w)) for w in range(2)]  # type: ignore[misc]
        try:
            for _ in range(n):
                counts[_seen(path)] += 1
        finally:
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
        counts += _judged(path, log, "read meanwhile")
    return counts


def _seen(path: Path) -> str:
    try:
        names = [info.name for info in opened(path).categories()]
    except Exception as error:
        return finding(TRACEBACK, f"a reader: {type(error).__name__}: {error}")
    known = names[0] == "cat" or names[0].startswith("name-")
    return UNCHANGED if known and len(names) == 4 else finding(WRONG, f"a reader saw {names}")


@attack("copies while others write", long=80, short=6)
def copies(rng: np.random.Generator, n: int) -> Counts:
    """The folder is copied file by file while somebody writes: the copy opens, or repair makes it open."""
    counts = Counter[str]()
    while counts.total() < n:
        with small_packs(), scratch() as folder:
            path = world().copy("grown", folder / "w")
            pid = _child(lambda p=path, f=folder: _write_names(p, f / "log", 0, 100_000))  # type: ignore[misc]
            try:
                for _ in range(min(5, n - counts.total())):
                    counts[_copied(path, folder / "copy", rng)] += 1
            finally:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)
    return counts


def _copied(path: Path, copy: Path, rng: np.random.Generator) -> str:
    shutil.rmtree(copy, ignore_errors=True)
    copy.mkdir()
    for name in rng.permutation(sorted(os.listdir(path))):  # in any order, and slowly
        with contextlib.suppress(shutil.Error, FileNotFoundError):  # what was renamed meanwhile
            copying = shutil.copytree if (path / name).is_dir() else shutil.copy2
            copying(path / name, copy / name)
        time.sleep(float(rng.uniform(0, 0.02)))
    outcome = UNCHANGED
    try:
        opened(copy).categories()
    except WorkspaceDamaged:
        outcome = REFUSED
    except Exception as error:
        return finding(TRACEBACK, f"a copy: {type(error).__name__}: {error}")
    try:
        Workspace.repair(copy)
        opened(copy).rename(0, "mine")
        opened(copy).verify()
    except Exception as error:
        return finding(LOSS, f"a copy, repaired: {type(error).__name__}: {error}")
    return outcome
