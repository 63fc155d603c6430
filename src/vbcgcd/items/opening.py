"""Opening the text of a file, packed by gzip or not, and no more of it than a sound file unpacks to."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from vbcgcd.errors import InputError

PACKED = ".gz"
#: A packed file may always unpack to this many bytes, and to this many times its own size. Tables pack to a
#: tenth or a thirtieth; a bomb to a thousandth.
ALWAYS, TIMES = 256 * 2**20, 100

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
