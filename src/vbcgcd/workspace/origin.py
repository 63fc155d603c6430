"""Where the items of a session came from, so that they can be found again: a path, and a digest of a file."""

from __future__ import annotations

import hashlib
import math
import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vbcgcd.items.folders import list_pictures
from vbcgcd.workspace.commits import Commit

__all__ = ["NOWHERE", "Origin", "file_mark", "origin_of", "used_before"]


@dataclass(frozen=True)
class Origin:
    """The user's own file or folder.

    Parameters
    ----------
    path : str
        Absolute; empty where the items came from memory.
    digest : str
        Of the content of a file (BLAKE2b); empty for a folder.
    read : float
        When it was read, in seconds since 1970: what changed later is no longer what was learned from.
    """

    path: str = ""
    digest: str = ""
    read: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """For the summary of a session; nothing where there is nothing to find again."""
        if not self.path:
            return {}
        return {"source_path": self.path, "source_digest": self.digest, "source_read": self.read}

    @classmethod
    def from_json(cls, summary: Mapping[str, Any]) -> Origin:
        """From the summary of a session; of an early one, which does not tell, nowhere."""
        path, mark, read = (summary.get(f"source_{part}") for part in ("path", "digest", "read"))
        if not isinstance(path, str) or not isinstance(mark, str) or not isinstance(read, int | float):
            return NOWHERE
        return cls(path, mark, float(read))


NOWHERE = Origin()


def origin_of(data: Any) -> Origin:
    """Path and digest of data, taken before it is read: a later content is never taken for it."""
    if not isinstance(data, str | os.PathLike):
        return NOWHERE
    path, now = Path(os.path.abspath(data)), time.time()
    try:
        str(path).encode("utf-8")
        mark = "" if path.is_dir() else file_mark(path)
    except (OSError, UnicodeError):
        return NOWHERE
    return Origin(str(path), mark, now)


def file_mark(path: Path) -> str:
    """BLAKE2b of the content of a file, read piece by piece."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def used_before(origin: Origin, sessions: Iterable[Commit]) -> Commit | None:
    """The session that was made from the same content: of a file, or of a folder that has not changed since.

    Parameters
    ----------
    origin : Origin
    sessions : iterable of Commit
        Those to look among.
    """
    for session in sessions:
        before = Origin.from_json(session.summary)
        if not before.path or before.digest != origin.digest:
            continue
        if origin.digest or (before.path == origin.path and _newest(origin.path) <= before.read):
            return session
    return None


def _newest(folder: str) -> float:
    """When a picture below a folder was last written, or something put there or taken away."""
    try:
        pictures = [os.path.join(folder, name) for name in list_pictures(folder)]
        places = {folder, *pictures, *map(os.path.dirname, pictures)}
        return max(os.stat(place).st_mtime for place in places)
    except OSError:  # what cannot be looked at is not known to be the same
        return math.inf
