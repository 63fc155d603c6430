"""Items and positions of all sessions, from packs where there are any; and the packs themselves."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from vbcgcd.errors import VbcgcdError, WorkspaceDamaged
from vbcgcd.workspace.log.commits import RECORD, Commit
from vbcgcd.workspace.log.disk import digest, read_file
from vbcgcd.workspace.log.files import SAMPLE, TABLE
from vbcgcd.workspace.log.packs import FAN, RECORDS, Pack, join_records, wanted
from vbcgcd.workspace.log.rows import Positions, Rows
from vbcgcd.workspace.log.store import Store
from vbcgcd.workspace.snapshot import Snapshot

#: Seconds that a command spends at most on packs, once it has packed something.
SECONDS = 0.3

__all__ = ["assigned_rows", "coarse_positions", "pack", "pack_all"]


def assigned_rows(snapshot: Snapshot) -> list[Rows]:
    """Assigned items of the commits in effect, in their order."""
    return _in_effect(snapshot, TABLE)


def coarse_positions(snapshot: Snapshot) -> list[Positions]:
    """Coarse positions of items of the commits in effect, in their order."""
    return _in_effect(snapshot, SAMPLE)


def _in_effect(snapshot: Snapshot, name: str) -> list[Any]:
    trail = np.array(snapshot.state.trail)
    parts = (part.only(trail) for part in _parts(snapshot, name, 1, snapshot.head.number, keep=True))
    return [part for part in parts if len(part.commit)]


def _parts(snapshot: Snapshot, name: str, first: int, last: int, *, keep: bool = False) -> Iterator[Any]:
    """What a file of each commit in a range holds: from packs, and from the commits between them.

    Parameters
    ----------
    snapshot : Snapshot
    name : str
        The table of assigned items, or the sample.
    first, last : int
        Commits, undone ones included.
    keep : bool
        Whether to keep in memory what packs hold.
    """
    number = first
    for pack in [*snapshot.store.packs.covering(first, last, snapshot.digest_of), None]:
        begin = last + 1 if pack is None else pack.first
        yield from _of_commits(snapshot, name, number, begin - 1)
        if pack is not None:
            packed = _of_pack(snapshot, name, pack, keep=keep)
            yield from _of_commits(snapshot, name, pack.first, pack.last) if packed is None else packed
            number = pack.last + 1


def _of_commits(snapshot: Snapshot, name: str, first: int, last: int) -> Iterator[Any]:
    for commit in _holding(snapshot, name, first, last):
        if name == TABLE:
            yield Rows.of(commit.number, snapshot.content(commit, TABLE))
        elif (sample := snapshot.decoration(commit, SAMPLE)) is not None:
            yield Positions.of(commit.number, sample)


def _of_pack(snapshot: Snapshot, name: str, pack: Pack, *, keep: bool) -> list[Any] | None:
    """What a pack holds; None if it cannot be read, so that its commits have to be."""
    packed, key = snapshot._memory.packed, (pack.tip, name)
    if key in packed:
        return [packed[key]]
    if not _holding(snapshot, name, pack.first, pack.last):
        return []
    data = pack.read(name)
    if data is None:
        return None
    content = Rows.from_bytes(data) if name == TABLE else Positions.read(pack.path / name)
    if keep and name == TABLE:
        packed[key] = content
    return [content]


def _holding(snapshot: Snapshot, name: str, first: int, last: int) -> list[Commit]:
    return [commit for commit in snapshot.history.commits[first - 1 : last] if name in commit.files]


def pack(snapshot: Snapshot, *, seconds: float = SECONDS) -> None:
    """Write the packs that are missing, as many as the time allows; only while the lock is held.

    What the packs hold is no longer kept in memory commit by commit. A pack that cannot be written is done
    without.
    """
    packs, end = snapshot.store.packs, time.monotonic() + seconds
    ranges = wanted(snapshot.head.number)
    try:
        for first, last in _missing(snapshot, ranges):
            _write(snapshot, first, last)
            if time.monotonic() > end:
                return
        old = [old for old in packs.all() if (old.first, old.last) not in ranges]
        if old:
            packs.remove(old)
    except (OSError, VbcgcdError):
        return
    _forget(snapshot, ranges[-1][1] if ranges else 0)


def pack_all(path: Path) -> None:
    """Write all packs that are missing in the workspace at ``path``, however long it takes."""
    store = Store(path)
    with store.writer("pack"):
        pack(Snapshot(store).refresh(), seconds=math.inf)


def _missing(snapshot: Snapshot, ranges: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Ranges to pack, smaller ones before the larger one that they are part of."""
    packs = snapshot.store.packs.all()
    there = {
        (pack.first, pack.last)
        for pack in packs
        if pack.last <= snapshot.head.number and pack.tip == snapshot.digest_of(pack.last)
    }
    missing: list[tuple[int, int]] = []

    def want(first: int, last: int) -> None:
        size = (last - first + 1) // FAN
        if (first, last) in there:
            return
        if size >= FAN:
            for begin in range(first, last, size):
                want(begin, begin + size - 1)
        missing.append((first, last))

    for first, last in ranges:
        want(first, last)
    return missing


def _write(snapshot: Snapshot, first: int, last: int) -> None:
    records = []
    for number in range(first, last + 1):
        path = snapshot.store.folder(number) / RECORD
        data = read_file(path)
        if digest(data) != snapshot.digest_of(number):
            raise WorkspaceDamaged(f"{path} was changed after it was written.")
        records.append(data)
    files = {RECORDS: join_records(records)}
    for name, kind in ((TABLE, Rows), (SAMPLE, Positions)):
        parts = list(_parts(snapshot, name, first, last))
        if parts:
            files[name] = kind.joined(parts).as_bytes()
    tip = snapshot.digest_of(last)
    assert tip is not None
    snapshot.store.packs.write(first, last, tip, files)


def _forget(snapshot: Snapshot, last: int) -> None:
    """Keep in memory neither what commits hold that are packed, nor packs that are part of a larger one."""
    memory = snapshot._memory
    for key in [key for key in memory.contents if key[0] <= last and key[1] in (TABLE, SAMPLE)]:
        del memory.contents[key]
    tips = {pack.tip for pack in snapshot.store.packs.all()}
    for packed in [key for key in memory.packed if key[0] not in tips]:
        del memory.packed[packed]
