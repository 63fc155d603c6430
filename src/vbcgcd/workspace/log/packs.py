"""Packs: what many commits hold, side by side in one place, so that reading does not take a file per session.

A pack holds the records of 16, 256, 4096, ... neighbouring commits byte for byte, their assigned items in one
table and their coarse positions in one archive. It is made from commits and never instead of them: whoever
finds no pack, or one that is damaged or of another history, reads the commits themselves. So nobody waits for
the disk when a pack is written, and nothing is lost with it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from vbcgcd.errors import WorkspaceDamaged
from vbcgcd.workspace.log.asides import aside_name, discard, remove
from vbcgcd.workspace.log.disk import digest, from_json, make_folder, to_json, write_synced

PACKS, ABOUT_PACK = "packs", "pack.json"
RECORDS = "records.json"
#: Commits in the smallest pack, and packs in the next larger one.
FAN = 16
_NAME = re.compile("([0-9]{6,12})-([0-9]{6,12})")
#: Between records: JSON has no such letter.
_BETWEEN = b"\0"

__all__ = ["FAN", "PACKS", "RECORDS", "Pack", "Packs", "join_records", "wanted"]


@dataclass(frozen=True)
class Pack:
    """What the commits from ``first`` to ``last`` hold."""

    first: int
    last: int
    path: Path

    @cached_property
    def _about(self) -> Mapping[str, Any]:
        """The digest of its last record, and those of its files; nothing if it cannot be read."""
        path = self.path / ABOUT_PACK
        try:
            return from_json(path.read_bytes(), path)
        except (OSError, WorkspaceDamaged):
            return {}

    @property
    def tip(self) -> str | None:
        """Digest of its last record, which vouches for all the others."""
        tip = self._about.get("tip")
        return tip if isinstance(tip, str) else None

    def read(self, name: str) -> bytes | None:
        """The content of a file; None if it is missing or not what was written."""
        files = self._about.get("files")
        try:
            data = (self.path / name).read_bytes()
        except OSError:
            return None
        known = isinstance(files, dict) and files.get(name) == digest(data)
        return data if known else None


class Packs:
    """The packs of a workspace.

    Parameters
    ----------
    workspace : Path
    """

    def __init__(self, workspace: Path) -> None:
        self.folder = workspace / PACKS
        self._packs: list[Pack] | None = None

    def all(self) -> list[Pack]:
        """All packs, the largest first."""
        if self._packs is None:
            packs = []
            with suppress(OSError):
                for name in os.listdir(self.folder):
                    if found := _NAME.fullmatch(name):
                        packs.append(Pack(int(found[1]), int(found[2]), self.folder / name))
            self._packs = sorted(packs, key=lambda pack: (pack.first - pack.last, pack.first))
        return self._packs

    def forget(self) -> None:
        """Look again at the next question: this process or another one has written packs."""
        self._packs = None

    def records(self, number: int) -> dict[int, bytes]:
        """Records of the pack that holds a commit, by number; empty if there is none. Check their digests."""
        for pack in self.all():
            if pack.first <= number <= pack.last and (data := pack.read(RECORDS)) is not None:
                return dict(zip(range(pack.first, pack.last + 1), data.split(_BETWEEN), strict=False))
        return {}

    def covering(self, first: int, last: int, digest_of: Callable[[int], str | None]) -> list[Pack]:
        """Packs of this history between two commits, in their order; none overlaps another.

        Parameters
        ----------
        first, last : int
        digest_of : callable
            The digest of a commit's record.
        """
        chosen: list[Pack] = []
        for pack in sorted(self.all(), key=lambda pack: (pack.first, -pack.last)):
            begin = chosen[-1].last + 1 if chosen else first
            if begin <= pack.first and pack.last <= last and pack.tip == digest_of(pack.last):
                chosen.append(pack)
        return chosen

    def write(self, first: int, last: int, tip: str, files: Mapping[str, bytes]) -> None:
        """Write a pack; one of another history in its place is replaced."""
        with suppress(FileExistsError):
            make_folder(self.folder)
        aside, target = self.folder / aside_name(), self.folder / f"{first:06d}-{last:06d}"
        try:
            make_folder(aside)
            for name, data in files.items():
                write_synced(aside / name, data, sync=False)
            about = {"tip": tip, "files": {name: digest(data) for name, data in files.items()}}
            write_synced(aside / ABOUT_PACK, to_json(about), sync=False)
            discard(target)
            os.rename(aside, target)
        finally:
            remove(aside)
            self.forget()

    def remove(self, packs: Sequence[Pack]) -> None:
        """Remove packs: all of them are in a larger one, or of no use."""
        for pack in packs:
            discard(pack.path)
        self.forget()


def join_records(records: Sequence[bytes]) -> bytes:
    """Records of neighbouring commits as one file."""
    return _BETWEEN.join(records)


def wanted(last: int) -> list[tuple[int, int]]:
    """Ranges of the packs that commits up to ``last`` should be in: few large ones, then smaller ones.

    Examples
    --------
    >>> wanted(300)
    [(1, 256), (257, 272), (273, 288)]
    """
    ranges, first = [], 1
    size = FAN
    while size * FAN <= last:
        size *= FAN
    while size >= FAN:
        while first + size - 1 <= last:
            ranges.append((first, first + size - 1))
            first += size
        size //= FAN
    return ranges
