"""HEAD: the one file of a workspace that is ever replaced. It names the last commit."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from vbcgcd.errors import WorkspaceDamaged
from vbcgcd.workspace.log.commits import HEAD
from vbcgcd.workspace.log.disk import RESTORE, from_json, read_file, to_json

__all__ = ["NOTHING", "Head", "read_head"]


@dataclass(frozen=True)
class Head:
    """The last commit: its number and the digest of its record."""

    number: int
    sha256: str | None

    def as_bytes(self, about: str | None = None) -> bytes:
        """The content of the file HEAD; ``about`` is the digest of workspace.json."""
        values = {"commit": self.number, "sha256": self.sha256}
        return to_json(values if about is None else {**values, "about": about})


#: Before the first commit.
NOTHING = Head(0, None)


def read_head(workspace: Path) -> tuple[Head, str | None]:
    """What HEAD names, and the digest of workspace.json, which early releases did not write."""
    path = workspace / HEAD
    values = from_json(read_file(path), path)
    number, sha256, about = values.get("commit"), values.get("sha256"), values.get("about")
    if type(number) is not int or number < 1 or not isinstance(sha256, str):
        raise WorkspaceDamaged(f"{path} is damaged (it names no commit); {RESTORE}.")
    return Head(number, sha256), about if isinstance(about, str) else None
