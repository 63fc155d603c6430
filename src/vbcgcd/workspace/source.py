"""Where the items of a session came from, so that they can be found again: a path and a digest."""

from __future__ import annotations

import hashlib
import math
import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vbcgcd.errors import InputError
from vbcgcd.items.folders import list_pictures
from vbcgcd.record import plain
from vbcgcd.workspace.log.commits import Commit
from vbcgcd.workspace.state import History

__all__ = ["NO_SOURCE", "Source", "content_digest", "find_session", "new_source", "source_of"]


@dataclass(frozen=True)
class Source:
    """The user's own file or folder.

    Parameters
    ----------
    path : str
        Absolute path; empty if the items came from memory.
    digest : str
        BLAKE2b of the content of a file; empty for a folder.
    read : float
        When it was read, in seconds since 1970. Whatever was written later was not learned from.
    """

    path: str = ""
    digest: str = ""
    read: float = 0.0

    def as_json(self) -> dict[str, Any]:
        """For the summary of a commit; empty if there is nothing to find again."""
        if not self.path:
            return {}
        return {"source_path": self.path, "source_digest": self.digest, "source_read": self.read}

    @classmethod
    def from_json(cls, summary: Mapping[str, Any]) -> Source:
        """From the summary of a commit; early ones do not name their source."""
        path, mark, read = (summary.get(f"source_{part}") for part in ("path", "digest", "read"))
        if not isinstance(path, str) or not isinstance(mark, str) or not isinstance(read, int | float):
            return NO_SOURCE
        return cls(path, mark, float(read))


NO_SOURCE = Source()


def source_of(data: Any) -> Source:
    """Path and digest of data. Call it before reading, so that a later content is never taken for it."""
    if not isinstance(data, str | os.PathLike):
        return NO_SOURCE
    path, now = Path(os.path.abspath(data)), time.time()
    try:
        str(path).encode("utf-8")
        mark = "" if path.is_dir() else content_digest(path)
    except (OSError, UnicodeError):
        return NO_SOURCE
    return Source(str(path), mark, now)


def new_source(
    history: History, command: str, data: Any, columns: Mapping[str, Any], *, again: bool
) -> Source:
    """Path and digest of data that no session in effect has used yet.

    Parameters
    ----------
    history : History
    command : {"learn", "discover"}
        Sessions of the other command do not matter.
    data : path, Items or array
    columns : dict
        Options of ``vbcgcd.items.read_items``: another ``split`` of a file is other data.
    again : bool
        Whether data may be used once more.

    Raises
    ------
    InputError
        A session has used the same data.
    """
    source = source_of(data)
    split = plain(columns.get("split"))
    sessions = (c for c in history.in_effect() if c.command == command and c.parameters.get("split") == split)
    earlier = None if again or not source.path else find_session(source, sessions)
    if earlier is not None:
        since = "" if source.digest else " and has not changed since"
        raise InputError(
            f"{Path(source.path).name} was already used in session {earlier.changes['session']} ({command}, "
            f"{earlier.time[:16].replace('T', ' ')}){since}; set the option 'again' to use it once more.",
            option="again",
        )
    return source


def find_session(source: Source, sessions: Iterable[Commit]) -> Commit | None:
    """The session that used the same content: the same file, or a folder that has not changed since.

    Parameters
    ----------
    source : Source
    sessions : iterable of Commit
        Those to search.
    """
    for session in sessions:
        earlier = Source.from_json(session.summary)
        if not earlier.path or earlier.digest != source.digest:
            continue
        if source.digest or (earlier.path == source.path and _newest(source.path) <= earlier.read):
            return session
    return None


def content_digest(path: Path) -> str:
    """BLAKE2b of the content of a file, read piece by piece."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def _newest(folder: str) -> float:
    """When a picture below a folder was last written, or something was added or removed."""
    try:
        pictures = [os.path.join(folder, name) for name in list_pictures(folder)]
        places = {folder, *pictures, *map(os.path.dirname, pictures)}
        return max(os.stat(place).st_mtime for place in places)
    except OSError:  # what cannot be read is not known to be the same
        return math.inf
