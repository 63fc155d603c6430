"""Back to the last whole commit, whatever happened to the folder. Nothing is deleted.

Every commit that can be read is looked at, those in ``set-aside/`` too. A commit is whole if each of its
files is what its record says, and if the commit before it is whole. If the commit that HEAD names is whole,
whole commits that continue it come into effect again (HEAD was restored from a backup); if not, its last
whole ancestor does (files are damaged, or the folder was copied while somebody wrote to it).
"""

from __future__ import annotations

import errno
import os
import re
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from vbcgcd.errors import InputError, MissingFileError, WorkspaceDamaged
from vbcgcd.workspace.log.asides import SET_ASIDE, set_aside
from vbcgcd.workspace.log.commits import ABOUT, COMMITS, FORMAT, HEAD, LOCK, RECORD, Commit, check_version
from vbcgcd.workspace.log.disk import (
    digest,
    disk_errors,
    exists,
    file_digest,
    from_json,
    read_file,
    unreadable,
)
from vbcgcd.workspace.log.files import DECORATIVE
from vbcgcd.workspace.log.head import Head, read_head
from vbcgcd.workspace.log.lock import WriteLock
from vbcgcd.workspace.log.store import about_bytes
from vbcgcd.workspace.log.turn import turn
from vbcgcd.workspace.log.writing import replace_file
from vbcgcd.workspace.values import RepairResult

_FOLDER = re.compile("([0-9]{6,12})(-.*)?")
#: Attempts to read a file that the disk fails to read.
TIMES = 5
Content = TypeVar("Content")

__all__ = ["repair"]


@dataclass(frozen=True)
class _Found:
    """A commit whose record can be read; ``whole`` says whether its files are what they should be."""

    head: Head
    commit: Commit
    folder: Path
    whole: bool
    lost: tuple[str, ...] = ()


@dataclass
class _Done:
    """What a repair has done so far."""

    returned: list[int] = field(default_factory=list)
    set_aside: list[str] = field(default_factory=list)
    rewritten: list[str] = field(default_factory=list)


def repair(path: Path, *, timeout: float = 0.0) -> RepairResult:
    """Return to the last whole commit of the workspace at ``path``; ``timeout`` as for `WriteLock`.

    Raises
    ------
    MissingFileError
        There is nothing that looks like a workspace.
    WorkspaceDamaged
        Not even the first commit is whole.
    """
    if not (path / COMMITS).is_dir():
        raise MissingFileError(f"There is no workspace at {path}, nor commits of one; nothing was changed.")
    with WriteLock(path / LOCK, "repair", timeout=timeout), disk_errors(path, "nothing was deleted"):
        found = _look(path)
        named = _named(path)
        chain = _chain(found, named)
        if not chain:
            raise WorkspaceDamaged(f"No commit of {path} is whole; restore it from an export or a copy.")
        done = _Done()
        with turn(path):
            about = _mend_about(path, chain[0].commit, done)
            _put_in_place(path, chain, done)
            _mend_head(path, chain[-1].head, about, done)
            _clear_beyond(path, chain[-1].head.number, done)
            lost = _mend_decorations(path, chain, done)
    before = None if named is None else named.number
    parts = (tuple(done.returned), tuple(done.set_aside), lost, tuple(done.rewritten))
    return RepairResult(str(path), chain[-1].head.number, before, *parts)


def _look(path: Path) -> list[_Found]:
    """All commits that can be read, those in their proper place first."""
    places = [path / COMMITS, path / SET_ASIDE]
    folders = [place / name for place in places if place.is_dir() for name in sorted(os.listdir(place))]
    found = (_find(folder) for folder in folders if _FOLDER.fullmatch(folder.name))
    return [commit for commit in found if commit is not None]


def _find(folder: Path) -> _Found | None:
    path = folder / RECORD
    data = _unless_lost(path, path.read_bytes)
    if data is None:
        return None
    try:
        commit = Commit.from_record(data, path)
    except (WorkspaceDamaged, InputError):
        return None
    broken = [name for name, mark in commit.files.items() if not _is_sound(folder / name, mark.sha256)]
    needed = [name for name in broken if name not in DECORATIVE]
    return _Found(Head(commit.number, digest(data)), commit, folder, not needed, tuple(broken))


def _is_sound(path: Path, sha256: str) -> bool:
    return _unless_lost(path, lambda: file_digest(path)) == sha256


def _unless_lost(path: Path, read: Callable[[], Content]) -> Content | None:
    """What a file gives; None if it is missing, or if the disk fails to read it several times.

    Raises
    ------
    DiskError
        It cannot be read for another reason, so that nobody knows whether it is damaged.
    """
    for attempt in range(TIMES):
        try:
            return read()
        except OSError as error:
            failure = unreadable(path, error)
            if isinstance(failure, WorkspaceDamaged):
                return None
            if error.errno != errno.EIO:
                raise failure from None
        time.sleep(0.01 * 2**attempt)
    return None


def _named(path: Path) -> Head | None:
    try:
        return read_head(path)[0]
    except WorkspaceDamaged:
        return None


def _chain(found: list[_Found], named: Head | None) -> list[_Found]:
    """The whole commits to be in effect, first to last."""
    rooted: dict[Head, _Found] = {}
    children: dict[Head, Head] = {}
    for each in sorted(found, key=lambda each: each.head.number):  # of equal ones the first is in its place
        parent = Head(each.head.number - 1, each.commit.parent)
        begins = each.head.number == 1 and each.commit.parent is None
        if each.whole and (begins or parent in rooted) and each.head not in rooted:
            rooted[each.head] = each
            children.setdefault(parent, each.head)
    named = _meant(found, named)
    tip = _tip(found, rooted, named)
    if tip == named:
        while tip in children:
            tip = children[tip]
    chain = []
    while tip is not None and tip in rooted:
        chain.append(rooted[tip])
        tip = Head(tip.number - 1, rooted[tip].commit.parent)
    return chain[::-1]


def _meant(found: list[_Found], named: Head | None) -> Head | None:
    """The commit that HEAD means, even if a letter of HEAD is wrong: no two digests are nearly the same."""
    if named is None or named.sha256 is None or len(named.sha256) != 64:
        return None
    for each in found:
        wrong = sum(a != b for a, b in zip(named.sha256, each.head.sha256 or "", strict=False))
        if wrong <= 2:
            return each.head
    return named


def _tip(found: list[_Found], rooted: dict[Head, _Found], named: Head | None) -> Head | None:
    """The commit that HEAD names, or the last whole one before it.

    A record whose digest is not the one that HEAD or the next record tells was changed: the commit before it
    is taken.
    """
    in_place = [each for each in rooted.values() if each.folder.parent.name == COMMITS]
    if named is None:
        return max(in_place, key=lambda each: each.head.number).head if in_place else None
    records = {each.head: each.commit for each in found}
    while named not in rooted and named.number > 0:
        if named in records:
            named = Head(named.number - 1, records[named].parent)
            continue
        before = [each.head for each in in_place if each.head.number == named.number - 1]
        named = before[0] if before else Head(named.number - 1, None)
    return named if named in rooted else None


def _mend_about(path: Path, first: Commit, done: _Done) -> str:
    """Make workspace.json anew if it is missing or not what was written; returns its digest."""
    about = path / ABOUT
    try:
        expected = read_head(path)[1]
    except WorkspaceDamaged:
        expected = None
    try:
        data = read_file(about)
        values = from_json(data, about)
        check_version(values.get("version"), about)
        if values.get("format") == FORMAT and expected in (None, digest(data)):
            return digest(data)
    except (WorkspaceDamaged, InputError):
        pass
    if exists(about):
        done.set_aside.append(set_aside(about, path).name)
    data = about_bytes(first.time, first.release)
    replace_file(about, data)
    done.rewritten.append(ABOUT)
    return digest(data)


def _put_in_place(path: Path, chain: Iterable[_Found], done: _Done) -> None:
    """Give every commit of the chain its folder."""
    for each in chain:
        place = path / COMMITS / f"{each.head.number:06d}"
        if each.folder != place:
            if exists(place):
                done.set_aside.append(set_aside(place, path).name)
            os.rename(each.folder, place)
            done.returned.append(each.head.number)


def _mend_head(path: Path, head: Head, about: str, done: _Done) -> None:
    try:
        if read_head(path) == (head, about):
            return
    except WorkspaceDamaged:
        pass
    if (path / HEAD).is_dir():
        done.set_aside.append(set_aside(path / HEAD, path).name)
    named = _named(path)
    replace_file(path / HEAD, head.as_bytes(about))
    done.rewritten.append(HEAD)
    if named is not None:
        done.returned += [n for n in range(named.number + 1, head.number + 1) if n not in done.returned]


def _clear_beyond(path: Path, last: int, done: _Done) -> None:
    """Move away what lies beyond the last whole commit, the lowest first: what is left never continues it."""
    for name in sorted(os.listdir(path / COMMITS)):
        number = _FOLDER.fullmatch(name)
        if number and int(number[1]) > last:
            done.set_aside.append(set_aside(path / COMMITS / name, path).name)


def _mend_decorations(path: Path, chain: Iterable[_Found], done: _Done) -> tuple[str, ...]:
    """Move away damaged files that only reports show; returns the names of all that are lost."""
    lost = []
    for each in chain:
        folder = path / COMMITS / f"{each.head.number:06d}"
        for name in each.lost:
            lost.append(f"{folder.name}/{name}")
            if exists(folder / name):
                target = set_aside(folder / name, path)
                done.set_aside.append(target.name)
    return tuple(lost)
