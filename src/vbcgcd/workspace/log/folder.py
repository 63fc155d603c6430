"""Making the folder of a workspace: it appears complete or not at all."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from vbcgcd.archive import folder_sync, sync_folder
from vbcgcd.errors import DiskError, InputError, MissingFileError, WorkspaceBusy
from vbcgcd.workspace.log.asides import ASIDE, aside_name, discard, is_left, remove
from vbcgcd.workspace.log.commits import ABOUT, COMMITS, HEAD, LOCAL, LOCK
from vbcgcd.workspace.log.disk import disk_errors, make_folder
from vbcgcd.workspace.log.lock import WriteLock

Opened = TypeVar("Opened")

__all__ = ["build_folder", "check_vacant", "open_created"]


def build_folder(path: Path, fill: Callable[[Path], Any]) -> None:
    """Make the folder of a workspace at ``path``.

    ``fill`` writes it under another name while a lock is held; then it appears complete.
    """
    check_vacant(path)
    build = _build_inside if path.is_dir() else _build_beside
    with disk_errors(path if path.is_dir() else path.parent, "no workspace was created"):
        build(path, fill)


def open_created(path: Path, opening: Callable[[], Opened]) -> Opened:
    """Open a workspace that was just made; if it cannot be read now, the error says that it is there."""
    try:
        return opening()
    except DiskError as error:
        raise DiskError(f"The workspace {path} was created. {error}", cause=error.cause, done=True) from error


def check_vacant(path: Path) -> None:
    """Raise unless ``path`` can become a workspace."""
    if (path / ABOUT).exists():
        raise InputError(f"There is already a workspace at {path}; open it, or choose another folder.")
    if path.is_dir():
        names = {part.name for part in path.iterdir()}
        asides = {name for name in names if ASIDE.fullmatch(name)}
        # A process that was killed while it made a workspace here may have left these.
        leftovers = asides | {LOCK, LOCAL, HEAD, COMMITS} if asides else {LOCK}
        if names - leftovers:
            raise InputError(f"{path} is not an empty folder; choose one that is empty or does not exist.")
    elif path.exists():
        raise InputError(f"{path} is a file; choose a folder that is empty or does not exist.")
    elif not path.parent.is_dir():
        raise MissingFileError(f"There is no folder {path.parent}; create it first.")


def _build_beside(path: Path, fill: Callable[[Path], Any]) -> None:
    """A new folder: one rename makes it appear."""
    _sweep_asides(path)
    aside = path.with_name(f".{path.name}{aside_name()}")
    with folder_sync(path.parent) as sync:
        try:
            make_folder(aside)
            with WriteLock(aside / LOCK, "init"):
                fill(aside)
                sync_folder(aside)
                os.rename(aside, path)
        except BaseException:
            remove(aside)
            raise
        _confirm(path, sync)


def _build_inside(path: Path, fill: Callable[[Path], Any]) -> None:
    """An empty folder, which may be the current one: the rename of workspace.json makes it count."""
    aside = path / aside_name()
    with WriteLock(path / LOCK, "init") as lock, folder_sync(path) as sync:
        check_vacant(path)  # again: another process may have been quicker
        _clear(path, lock)
        moved: list[Path] = []
        try:
            make_folder(aside)
            fill(aside)
            # The commits first: only one of several processes can give them their name.
            for part in sorted(aside.iterdir(), key=lambda p: (p.name == ABOUT, p.name != COMMITS)):
                if part.name == ABOUT:
                    sync()  # what makes it count must not be there before the rest
                os.rename(part, path / part.name)
                moved.append(path / part.name)
        except BaseException:
            if path / ABOUT not in moved:
                for part in moved:
                    remove(part)
                (path / LOCK).unlink(missing_ok=True)
            raise
        finally:
            remove(aside)
        _confirm(path, sync)


def _confirm(path: Path, sync: Callable[[], None]) -> None:
    try:
        sync()
    except OSError as error:
        raise DiskError.unconfirmed(f"The workspace {path} was created", error) from error


def _clear(path: Path, lock: WriteLock) -> None:
    """Remove what a killed process left while it made a workspace here, and nothing else."""
    asides = [part for part in path.iterdir() if ASIDE.fullmatch(part.name)]
    if not all(is_left(part, lock) for part in asides):
        raise WorkspaceBusy(
            f"Another process may be creating a workspace in {path}. Nothing was changed; try again when it "
            "has finished, or choose another folder."
        )
    if asides:
        # The asides last: while one is there, the others are leftovers.
        for part in (path / HEAD, path / LOCAL, path / COMMITS, *asides):
            discard(part)


def _sweep_asides(path: Path) -> None:
    """Remove what killed processes left beside ``path``; one that is still running holds its lock."""
    for aside in path.parent.glob(f".{glob.escape(path.name)}.new-*"):
        try:
            with WriteLock(aside / LOCK, "sweep") as lock:
                if is_left(aside, lock):
                    discard(aside)
        except (WorkspaceBusy, DiskError, InputError):
            continue
