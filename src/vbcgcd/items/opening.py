"""Opening the text of a file, packed by gzip or not, and no more of it than a sound file unpacks to."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

from vbcgcd.errors import InputError

PACKED = ".gz"
#: A packed file may always unpack to this many bytes, and to this many times its own size. Tables pack to a
#: tenth or a thirtieth; a bomb to a thousandth.
ALWAYS, TIMES = 256 * 2**20, 100
#: What gzip can make of one byte at most, and bytes that are unpacked at a time.
_DENSEST, _PIECE = 1032, 2**18

__all__ = ["PACKED", "extension_of", "open_bytes", "open_text", "stem_of"]


def extension_of(path: Path) -> str:
    """The ending of a name that says what is in the file, in small letters; that of a packed file is double.

    Examples
    --------
    >>> extension_of(Path("Monday.CSV")), extension_of(Path("a.b.csv.gz")), extension_of(Path("notes"))
    ('.csv', '.csv.gz', '')
    """
    suffixes = [suffix.lower() for suffix in path.suffixes]
    return "".join(suffixes[-2:] if suffixes[-1:] == [PACKED] else suffixes[-1:])


def stem_of(path: Path) -> str:
    """The name without that ending.

    Examples
    --------
    >>> stem_of(Path("data/a.b.csv.gz"))
    'a.b'
    """
    return path.name[: len(path.name) - len(extension_of(path))]


@contextmanager
def open_bytes(path: Path) -> Iterator[IO[bytes]]:
    """The content of a file, unpacked where its name ends in ``.gz``.

    Raises
    ------
    InputError
        It is not what its name says, is cut off, or unpacks to far more than its size.
    """
    with path.open("rb") as file:
        if path.suffix.lower() != PACKED:
            yield file
            return
        try:
            about = path.stat()
            # Lines are taken one by one, far slower than a bomb of blank lines unpacks.
            _check_size(path, about.st_size, about.st_mtime_ns)
            with gzip.GzipFile(fileobj=file) as packed:
                yield io.BufferedReader(_Bounded(packed, path))
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise InputError(f"{path} is not a complete gzip file ({error}); write it again.") from None


@contextmanager
def open_text(path: Path, *, newline: str | None = None) -> Iterator[IO[str]]:
    """The same as text, UTF-8 with a mark at its beginning or without."""
    with open_bytes(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8-sig", newline=newline)
        try:
            yield text
        finally:
            text.detach()


@lru_cache(maxsize=16)  # tables are opened several times
def _check_size(path: Path, size: int, changed: int) -> None:
    """Raise if a packed file unpacks to more than its limit, before anybody looks at what it holds."""
    if size * _DENSEST <= ALWAYS:
        return
    with gzip.GzipFile(path) as packed, io.BufferedReader(_Bounded(packed, path), _PIECE) as file:
        while file.read(_PIECE):
            pass


class _Bounded(io.RawIOBase):
    """What a packed file unpacks to, up to its limit."""

    def __init__(self, packed: gzip.GzipFile, path: Path) -> None:
        self._packed, self._path, self._seen = packed, path, 0
        self._most = max(ALWAYS, TIMES * path.stat().st_size)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        content = self._packed.read(len(buffer))
        self._seen += len(content)
        if self._seen > self._most:
            raise InputError(
                f"{self._path} unpacks to more than {self._most // 2**20:,} MB, {TIMES} times its size, and "
                "was not read further; unpack it yourself if you know what it holds."
            )
        buffer[: len(content)] = content
        return len(content)
