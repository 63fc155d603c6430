"""Digests of the parts of large files, so that a part can be checked without the rest.

The file ``blocks.safetensors`` of a commit holds the SHA-256 of each megabyte of its large files. The record
of the commit vouches for it as for every other file, and so HEAD vouches for every part.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd import mapped as mapping
from vbcgcd.archive import archive_bytes, read_archive
from vbcgcd.errors import WorkspaceDamaged
from vbcgcd.workspace.log.commits import Content, FileMark
from vbcgcd.workspace.log.disk import RESTORE, unreadable, write_synced
from vbcgcd.workspace.log.files import BLOCKS, IN_PARTS

Array = NDArray[Any]

#: Bytes of a part.
BLOCK = 2**20
BLOCKS_KIND, BLOCKS_VERSION = "vbcgcd-blocks", 1

__all__ = ["BLOCK", "BlockCheck", "Blocks", "write_contents"]


@dataclass(frozen=True, eq=False)
class Blocks:
    """Digests of parts.

    Parameters
    ----------
    digests : dict of name -> uint8 array (n, 32)
        Of each file, those of its parts.
    """

    digests: Mapping[str, Array]

    def as_bytes(self) -> bytes:
        """A safetensors archive."""
        return archive_bytes(BLOCKS_KIND, BLOCKS_VERSION, dict(self.digests), {"block": BLOCK})

    @classmethod
    def read(cls, path: Path) -> Blocks:
        """From a file that holds `as_bytes`."""
        arrays, values = read_archive(path, BLOCKS_KIND, BLOCKS_VERSION)
        sound = values == {"block": BLOCK} and set(arrays) <= IN_PARTS
        if not sound or any(a.dtype != np.uint8 or a.shape[1:] != (32,) for a in arrays.values()):
            raise WorkspaceDamaged(f"{path} does not hold digests of this release; {RESTORE}.")
        return cls(arrays)


class BlockCheck:
    """Checks the parts of a file that are going to be used, each of them once.

    Parameters
    ----------
    path : Path
    mark : FileMark
    digests : uint8 array (n, 32)

    Raises
    ------
    WorkspaceDamaged
        A part is not what was written, when it is called; or the file has another length, at once.
    """

    def __init__(self, path: Path, mark: FileMark, digests: Array) -> None:
        self.path, self.digests = path, digests
        self._sound = np.zeros(len(digests), dtype=bool)
        try:
            size = os.stat(path).st_size
        except OSError as error:
            raise unreadable(path, error) from None
        if size != mark.bytes or len(digests) != -(-size // BLOCK):
            raise WorkspaceDamaged(f"{path} has {size} bytes instead of {mark.bytes}; {RESTORE}.")

    def __call__(self, start: int, stop: int) -> None:
        """Check the bytes from ``start`` to before ``stop``."""
        first, last = start // BLOCK, min(-(-stop // BLOCK), len(self._sound))
        unsound = first + np.flatnonzero(~self._sound[first:last])
        if not len(unsound):
            return
        try:
            with open(self.path, "rb") as file:
                for block in unsound.tolist():
                    file.seek(block * BLOCK)
                    if hashlib.sha256(file.read(BLOCK)).digest() != self.digests[block].tobytes():
                        raise WorkspaceDamaged(f"{self.path} was changed after it was written; {RESTORE}.")
                    self._sound[block] = True
        except OSError as error:
            raise unreadable(self.path, error) from None


def write_contents(folder: Path, contents: Mapping[str, Content]) -> dict[str, FileMark]:
    """Write the files of a commit, synced, and digests of the parts of large ones; their marks by name."""
    marks, digests = {}, {}
    for name, content in contents.items():
        marks[name], parts = _write(folder / name, content)
        if name in IN_PARTS and marks[name].bytes > mapping.LARGE:
            digests[name] = np.frombuffer(parts, dtype=np.uint8).reshape(-1, 32)
    if digests:
        marks[BLOCKS], _ = _write(folder / BLOCKS, Blocks(digests))
    return marks


def _write(path: Path, content: Content) -> tuple[FileMark, bytes]:
    """Write one file; its mark, and the digests of its parts."""
    pieces = content.as_parts() if hasattr(content, "as_parts") else (content.as_bytes(),)
    whole, digests, size = hashlib.sha256(), bytearray(), 0

    def noted() -> Iterator[bytes | memoryview]:
        nonlocal size
        for block in _blocks(pieces):
            whole.update(block)
            digests.extend(hashlib.sha256(block).digest())
            size += len(block)
            yield block

    write_synced(path, noted())
    return FileMark(size, whole.hexdigest()), bytes(digests)


def _blocks(pieces: Iterable[bytes | memoryview]) -> Iterator[bytes | memoryview]:
    """The same bytes in parts of a megabyte; the last one may be shorter."""
    rest = bytearray()
    for piece in pieces:
        view = memoryview(piece)
        if rest:
            lacking = BLOCK - len(rest)
            rest += view[:lacking]
            view = view[lacking:]
            if len(rest) < BLOCK:
                continue
            yield bytes(rest)
            rest = bytearray()
        whole = len(view) // BLOCK * BLOCK
        for start in range(0, whole, BLOCK):
            yield view[start : start + BLOCK]
        rest += view[whole:]
    if rest:
        yield bytes(rest)
