"""A whole workspace as one file (zip), and back."""

from __future__ import annotations

import os
import re
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from vbcgcd.archive import atomic_file, sync_folder
from vbcgcd.errors import InputError, MissingFileError, WorkspaceDamaged
from vbcgcd.workspace.log.commits import ABOUT, COMMITS, HEAD, RECORD
from vbcgcd.workspace.log.disk import disk_errors
from vbcgcd.workspace.log.folder import build_folder
from vbcgcd.workspace.log.store import Store
from vbcgcd.workspace.values import ExportResult

_NAMES = re.compile(rf"{re.escape(ABOUT)}|{HEAD}|{COMMITS}/[0-9]{{6,9}}/[A-Za-z0-9_-]+\.[a-z]+")

__all__ = ["export_to", "import_from"]


def export_to(store: Store, path: Path) -> ExportResult:
    """Write everything up to the last commit into one file, which appears complete or stays as it was."""
    store.check_target(path)
    head = store.head()
    commits = store.commits(head)
    with (
        disk_errors(path.parent),
        atomic_file(path, private=True) as file,
        zipfile.ZipFile(file, "w") as archive,
    ):
        _add(archive, ABOUT, (store.path / ABOUT).read_bytes())
        _add(archive, HEAD, head.as_bytes(store.about_digest))
        for commit in commits:
            folder = store.folder(commit.number)
            for name in (RECORD, *commit.files):
                source = folder / name if name == RECORD else store.file(commit, name)
                _add_file(archive, f"{COMMITS}/{folder.name}/{name}", source)
    return ExportResult(str(path), len(commits), path.stat().st_size)


def import_from(
    file: Path,
    path: Path,
    *,
    check_archive: Callable[[zipfile.ZipFile], object],
    check_store: Callable[[Store], object],
) -> None:
    """Make a workspace at ``path`` from an exported file; it appears complete and checked, or not at all.

    Parameters
    ----------
    file, path : Path
    check_archive : callable
        Called before anything is unpacked; it may raise.
    check_store : callable
        Called with the unpacked workspace, its digests checked, before it appears; it may raise or add files.
    """

    def fill(folder: Path) -> None:
        with zipfile.ZipFile(file) as archive:
            check_archive(archive)
            _extract(archive, folder, file)
        store = Store(folder)
        store.verify()
        expected = {f"{c.number:06d}" for c in store.commits(store.head())}
        if {part.name for part in (folder / COMMITS).iterdir()} != expected:
            raise WorkspaceDamaged(f"{file} is inconsistent (commits beyond HEAD); export it again.")
        check_store(store)

    if not file.is_file():
        raise MissingFileError(f"There is no file {file}.")
    build_folder(path, fill)


def _add(archive: zipfile.ZipFile, name: str, data: bytes) -> None:
    archive.writestr(zipfile.ZipInfo(name), data)  # with a fixed date: equal workspaces give equal files


def _add_file(archive: zipfile.ZipFile, name: str, path: Path) -> None:
    """The same for a file, which is never held whole."""
    info = zipfile.ZipInfo(name)
    with path.open("rb") as source:
        info.file_size = os.fstat(source.fileno()).st_size
        with archive.open(info, "w") as out:
            shutil.copyfileobj(source, out, 2**20)


def _extract(archive: zipfile.ZipFile, folder: Path, file: Path) -> None:
    infos = archive.infolist()
    names = [info.filename for info in infos]
    strange: Any = next((name for name in names if not _NAMES.fullmatch(name)), None)
    whole = {ABOUT, HEAD} <= set(names) and any(name.endswith(RECORD) for name in names)
    if strange is not None or len(set(names)) < len(names) or not whole:
        reason = "parts are missing" if strange is None else f"it holds {strange!r}"
        raise InputError(f"{file} is not an export of a workspace: {reason}.")
    for info in infos:
        target = folder / info.filename
        for place in (target.parent.parent, target.parent):
            place.mkdir(mode=0o700, exist_ok=True)
        with archive.open(info) as source, open(target, "xb", opener=_private) as out:
            shutil.copyfileobj(source, out)
            out.flush()
            os.fsync(out.fileno())
    for part in [*(folder / COMMITS).iterdir(), folder / COMMITS]:
        sync_folder(part)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
