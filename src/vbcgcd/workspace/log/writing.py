"""How a commit comes to count, safe with a lock or without one.

1. The commit is written under a name of its own, and the next HEAD too; both are synced.
2. The folder of the commit is renamed to its number. A folder cannot be renamed onto another one that holds
   something, so of several writers exactly one gets the number. From this moment on the commit counts.
3. HEAD is moved forward. If the writer is stopped before that, everybody still sees the commit
   (`Store.head`), and the next writer moves HEAD.

Steps 2 and 3 are one turn (`vbcgcd.workspace.log.turn`), so that HEAD never goes back. Before step 2 a
failure changes nothing. After it the command has been carried out, and an error says so.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import vbcgcd
from vbcgcd.archive import folder_sync, sync_folder
from vbcgcd.errors import DiskError, VbcgcdError, WorkspaceBusy
from vbcgcd.workspace.log.asides import aside_name, remove, set_aside, sweep
from vbcgcd.workspace.log.blocks import write_contents
from vbcgcd.workspace.log.commits import COMMITS, HEAD, RECORD, Commit, Draft, summary_of
from vbcgcd.workspace.log.disk import digest, disk_errors, exists, make_folder, to_json, write_synced
from vbcgcd.workspace.log.head import NOTHING, Head
from vbcgcd.workspace.log.lock import WriteLock
from vbcgcd.workspace.log.turn import turn

if TYPE_CHECKING:
    from vbcgcd.workspace.log.store import Store

#: How a rename says that the name is taken.
_TAKEN = frozenset({errno.EEXIST, errno.ENOTEMPTY, errno.ENOTDIR, errno.EACCES, errno.EPERM})

__all__ = ["prepare", "replace_file", "write_commit"]


def prepare(store: Store, lock: WriteLock) -> None:
    """Bring a workspace into order before a command writes."""
    with disk_errors(store.path):
        for folder in (store.path, store.path / COMMITS, store.packs.folder):
            sweep(folder, lock)
        if store.head(quiet=True) != store.named() or _beyond(store):
            with turn(store.path):
                _set_newer_aside(store)
                head = store.head(quiet=True)
                if head != store.named():
                    replace_file(store.path / HEAD, head.as_bytes(store.about_digest))


def write_commit(store: Store, parent: Head, draft: Draft) -> tuple[Commit, Head]:
    """Write a commit after ``parent``.

    Raises
    ------
    WorkspaceBusy
        Another writer was quicker. Nothing was changed.
    DiskError
        Nothing was changed, unless it says ``done``.
    """
    aside, spare = store.path / COMMITS / aside_name(), store.path / aside_name()
    try:
        with (
            disk_errors(store.path),
            folder_sync(store.path / COMMITS) as sync_commits,
            folder_sync(store.path) as sync_root,
        ):
            commit, head = _write_aside(aside, parent, draft)
            write_synced(spare, head.as_bytes(store.about_digest))
            with turn(store.path):
                _claim(store, aside, parent)
                _confirm(store, head, spare, sync_commits, sync_root)
    finally:
        remove(aside)
        remove(spare)
    return commit, head


def replace_file(path: Path, data: bytes) -> None:
    """Replace HEAD or workspace.json in one step; it is on the disk when this returns."""
    spare = path.parent / aside_name()
    try:
        write_synced(spare, data)
        os.replace(spare, path)  # a link is replaced, not followed
    except BaseException:
        remove(spare)
        raise
    sync_folder(path.parent)


def _write_aside(aside: Path, parent: Head, draft: Draft) -> tuple[Commit, Head]:
    """All files of a commit, synced; its record and the HEAD that will name it."""
    make_folder(aside)
    marks = write_contents(aside, draft.files)
    commit = Commit(
        parent.number + 1,
        draft.command,
        datetime.now(UTC).isoformat(timespec="seconds"),
        parent.sha256,
        draft.parameters,
        draft.changes,
        draft.summary if draft.record is None else summary_of(draft.record),
        marks,
        vbcgcd.__version__,
    )
    data = to_json(commit.as_json())
    write_synced(aside / RECORD, data)
    sync_folder(aside)
    return Commit.from_record(data, aside / RECORD), Head(commit.number, digest(data))


def _claim(store: Store, aside: Path, parent: Head) -> None:
    """Make the commit count: give it its number, which only one writer can."""
    target = store.folder(parent.number + 1)
    for _ in range(3):
        if parent != NOTHING and store.head() != parent:
            break
        try:
            os.rename(aside, target)
            return
        except OSError as error:
            if error.errno not in _TAKEN or not exists(target):
                raise
        if store.child(parent) is not None:
            break
        _tell_aside(store, [parent.number + 1], set_aside(target, store.path))
    raise WorkspaceBusy(
        f"Another process changed {store.path} at the same time. This command changed nothing; run it again."
    )


def _confirm(
    store: Store, head: Head, spare: Path, sync_commits: Callable[[], None], sync_root: Callable[[], None]
) -> None:
    """Move HEAD to a commit that counts already, and wait for the disk."""
    try:
        sync_commits()
        while True:
            if not exists(store.path / HEAD) or store.named().number < head.number:
                if not exists(spare):  # used, or removed by somebody
                    write_synced(spare, head.as_bytes(store.about_digest))
                os.replace(spare, store.path / HEAD)
            # If others took this turn to be over and went on, HEAD must not stay behind their commits.
            child = store.child(head)
            if child is None:
                break
            while child is not None:
                head, child = child, store.child(child)
        sync_root()
    except (OSError, VbcgcdError) as error:
        what = f"The command was carried out and is in effect in {store.path}"
        cause = error if isinstance(error, OSError) else getattr(error, "cause", None)
        raise DiskError.unconfirmed(what, cause or OSError(str(error))) from error


def _beyond(store: Store) -> bool:
    """Whether something is in the place of the next commit."""
    return exists(store.folder(store.head(quiet=True).number + 1))


def _set_newer_aside(store: Store) -> None:
    """Move away what lies beyond HEAD and does not count."""
    if not _beyond(store):
        return
    last = store.head(quiet=True).number
    beyond = [number for number in store.numbers() if number > last]
    for number in beyond:  # the lowest first: what is left never continues HEAD
        place = set_aside(store.folder(number), store.path)
    sync_folder(store.path / COMMITS)
    _tell_aside(store, beyond, place)


def _tell_aside(store: Store, numbers: list[int], place: Path) -> None:
    what = f"Commit {numbers[0]} was" if len(numbers) == 1 else f"Commits {numbers[0]} to {numbers[-1]} were"
    store.tell(
        f"{what} set aside in {place.parent}: newer than HEAD, or not part of its history, as after HEAD was "
        "restored from a backup. Nothing was deleted."
    )
