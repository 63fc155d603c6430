"""Making the folder of a workspace: it appears complete or not at all."""

from __future__ import annotations

import glob
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

from vbcgcd.archive import sync_folder
from vbcgcd.errors import DiskError, InputError, MissingFileError, WorkspaceBusy
from vbcgcd.workspace.log.commits import (
    ABOUT,
    ASIDE,
    COMMITS,
    HEAD,
    LOCAL,
    LOCK,
    WriteLock,
    aside_name,
    disk_errors,
)

__all__ = ["build_folder", "check_vacant"]


def build_folder(path: Path, fill: Callable[[Path], Any]) -> None:
    """Make the folder of a workspace at ``path``.

    ``fill`` writes it under another name while a lock is held; then it appears complete.
    """
    check_vacant(path)
    build = _build_inside if path.is_dir() else _build_beside
    with disk_errors(path if path.is_dir() else path.parent, "no workspace was created"):
        build(path, fill)


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
    try:
        aside.mkdir()
        with WriteLock(aside / LOCK, "init"):
            fill(aside)
            sync_folder(aside)
            os.rename(aside, path)
            sync_folder(path.parent)
    except BaseException:
        shutil.rmtree(aside, ignore_errors=True)
        raise


def _build_inside(path: Path, fill: Callable[[Path], Any]) -> None:
    """An empty folder, which may be the current one: the rename of workspace.json makes it count."""
    aside = path / aside_name()
    with WriteLock(path / LOCK, "init"):
        check_vacant(path)  # again: another process may have been quicker
        try:
            _clear(path)
            aside.mkdir()
            fill(aside)
            for part in sorted(aside.iterdir(), key=lambda part: part.name == ABOUT):
                os.rename(part, path / part.name)
            sync_folder(path)
            aside.rmdir()
        except BaseException:
            if not (path / ABOUT).exists():
                _clear(path)
                (path / LOCK).unlink(missing_ok=True)
            raise


def _clear(path: Path) -> None:
    """Remove what making a workspace writes, and nothing else that is in the folder."""
    (path / HEAD).unlink(missing_ok=True)
    (path / LOCAL).unlink(missing_ok=True)
    shutil.rmtree(path / COMMITS, ignore_errors=True)
    for part in path.iterdir():  # last: while one is there, the others are known to be leftovers
        if ASIDE.fullmatch(part.name):
            shutil.rmtree(part, ignore_errors=True)


def _sweep_asides(path: Path) -> None:
    """Remove what killed processes left beside ``path``; one that is still running holds its lock."""
    for aside in path.parent.glob(f".{glob.escape(path.name)}.new-*"):
        try:
            with WriteLock(aside / LOCK, "sweep"):
                shutil.rmtree(aside, ignore_errors=True)
        except (WorkspaceBusy, DiskError):
            continue
