"""Saying where the user's own files are now: it changes this copy of a workspace, not its history."""

from __future__ import annotations

import os
from dataclasses import replace

from vbcgcd.workspace.queries.sources import list_sources
from vbcgcd.workspace.snapshot import Snapshot
from vbcgcd.workspace.trust import relocated, trust_of, write_trust

__all__ = ["relocate_sources"]


def relocate_sources(
    snapshot: Snapshot, old: str | os.PathLike[str], new: str | os.PathLike[str]
) -> Snapshot:
    """The snapshot for which what sessions call ``old`` is at ``new``, an existing file or folder."""
    known = [info.path for info in list_sources(snapshot)]
    write_trust(snapshot.store.path, relocated(trust_of(snapshot), old, new, known))
    return replace(snapshot, _answers={})  # what was read elsewhere does not count any more
