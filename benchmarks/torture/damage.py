"""Damage: flipped bits, files that are cut off or gone, HEAD from a backup. Then repair."""

from __future__ import annotations

import functools
import hashlib
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np

from torture.table import LOSS, REFUSED, TRACEBACK, UNCHANGED, WRONG, Counts, attack, finding
from torture.world import answers, opened, scratch, small_packs, world
from vbcgcd.errors import VbcgcdError
from vbcgcd.workspace import Workspace
from vbcgcd.workspace.log.head import Head


@attack("bit flips", long=2500, short=80)
def flips(rng: np.random.Generator, n: int) -> Counts:
    """A bit of a file of a workspace is flipped: each file in turn, at a random place."""

    def flip(path: Path) -> None:
        data = bytearray(path.read_bytes())
        data[int(rng.integers(len(data)))] ^= 1 << int(rng.integers(8))
        path.write_bytes(bytes(data))

    return _damaged(rng, n, flip)


@attack("truncated and missing files", long=500, short=40)
def truncation(rng: np.random.Generator, n: int) -> Counts:
    """A file of a workspace is cut off, emptied or removed: each file in turn."""

    def cut(path: Path) -> None:
        data = path.read_bytes()
        how = rng.integers(4)
        if how == 0:
            path.unlink()
        else:
            path.write_bytes(data[: 0 if how == 1 else int(rng.integers(len(data)))])

    return _damaged(rng, n, cut)


def _damaged(rng: np.random.Generator, n: int, damage: Callable[[Path], None]) -> Counts:
    """Half of the tries with packs, half without; each file of the workspace in turn."""
    counts = Counter[str]()
    for template in ("rich", "loose"):
        counts += _damaged_copy(rng, n // 2, damage, template)
    return counts


def _damaged_copy(rng: np.random.Generator, n: int, damage: Callable[[Path], None], template: str) -> Counts:
    here, counts = world(), Counter[str]()
    with small_packs(), scratch() as folder:
        target = here.copy(template, folder / "w")
        expected, past = answers(target, times=True), _past()
        every = [path.relative_to(target) for path in sorted(target.rglob("*")) if path.is_file()]
        files = [name for name in every if (target / name).stat().st_size > 0]
        for i in range(n):
            name = files[i % len(files)]
            data = (target / name).read_bytes()
            damage(target / name)
            where = f"{template}, {name} damaged ({i})"
            outcome = _asked(target, expected, where)
            if outcome == REFUSED and rng.random() < 0.25:
                outcome = _repaired(target, past, where)
                here.copy(template, target)
            else:
                (target / name).write_bytes(data)
            counts[outcome] += 1
    return counts


def _asked(target: Path, expected: str, where: str) -> str:
    try:
        now = answers(target, times=True)
    except VbcgcdError:
        return REFUSED
    except Exception as error:
        return finding(TRACEBACK, f"{where}: {type(error).__name__}: {error}")
    return UNCHANGED if now == expected else finding(WRONG, f"{where}: another answer without an error")


@functools.cache
def _past() -> frozenset[str]:
    """What the template answered after each of its commits."""
    here = world()
    states = []
    with scratch() as folder:
        target = here.copy("rich", folder / "w")
        snapshot = opened(target).snapshot()
        about = snapshot.store.about_digest
        shutil.rmtree(target / "packs")
        for number in range(snapshot.head.number, 0, -1):
            (target / "HEAD").write_bytes(Head(number, snapshot.digest_of(number)).as_bytes(about))
            states.append(answers(target))
            shutil.rmtree(snapshot.store.folder(number))
    return frozenset(states)


def _repaired(target: Path, past: frozenset[str], where: str) -> str:
    """Repair must lead to a state that the workspace once had, and delete nothing."""
    before = _contents(target)
    try:
        Workspace.repair(target)
    except VbcgcdError as error:
        first = "000001" in where
        return REFUSED if first else finding(LOSS, f"{where}: it cannot be repaired: {error}")
    except Exception as error:
        return finding(TRACEBACK, f"{where}, repair: {type(error).__name__}: {error}")
    try:
        if answers(target) not in past:
            return finding(WRONG, f"{where}: repaired to a state that never was")
        opened(target).verify()
        opened(target).configure(sample=7)
    except Exception as error:
        return finding(LOSS, f"{where}: after repair: {type(error).__name__}: {error}")
    gone = before - _contents(target)
    return finding(LOSS, f"{where}: repair deleted {gone}") if gone else REFUSED


def _contents(target: Path) -> frozenset[str]:
    """Digests of all files of commits, wherever they are now."""
    folders = (target / "commits", target / "set-aside")
    files = (file for folder in folders for file in folder.rglob("*") if file.is_file())
    return frozenset(hashlib.sha256(file.read_bytes()).hexdigest() for file in files)


@attack("HEAD from a backup", long=60, short=6)
def old_head(rng: np.random.Generator, n: int) -> Counts:
    """HEAD of an earlier commit comes back, then somebody writes: nothing is deleted, repair finds all."""
    here, counts = world(), Counter[str]()
    with small_packs(), scratch() as folder:
        target = folder / "w"
        for i in range(n):
            here.copy("rich", target)
            snapshot, full = opened(target).snapshot(), answers(target)
            number = int(rng.integers(1, snapshot.head.number))
            (target / "HEAD").write_bytes(Head(number, snapshot.digest_of(number)).as_bytes())
            counts[_written_after(target, full, repair=i % 2 == 0, where=f"HEAD of commit {number}")] += 1
    return counts


def _written_after(target: Path, full: str, *, repair: bool, where: str) -> str:
    before = _contents(target)
    try:
        if repair:
            Workspace.repair(target)
            if answers(target) != full:
                return finding(WRONG, f"{where}: repair does not return to the last commit")
        opened(target).configure(sample=7)
        opened(target).verify()
    except Exception as error:
        return finding(LOSS, f"{where}: {type(error).__name__}: {error}")
    gone = before - _contents(target)
    return finding(LOSS, f"{where}: {len(gone)} files were deleted") if gone else UNCHANGED
