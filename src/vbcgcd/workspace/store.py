"""The directory: numbered commits that are only ever appended, and HEAD, the one point of commitment.

::

    workspace.json     format, version, when it was made
    HEAD               number and digest of the last commit
    .lock              held by a writer
    commits/000001/    commit.json and the files of the commit

Each record holds the digests of its files and of the record before it, so that HEAD vouches for everything.
A commit is written aside, synced and renamed; replacing HEAD makes it count. What lies beyond HEAD was never
committed: it is ignored, and removed by the next writer.
"""

from __future__ import annotations

import glob
import json
import os
import re
import shutil
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import vbcgcd
from vbcgcd.errors import InputError
from vbcgcd.workspace.commits import VERSION, Commit, Draft, FileMark, check_version
from vbcgcd.workspace.durable import (
    digest,
    file_digest,
    from_json,
    replace_synced,
    sync_file,
    sync_folder,
    to_json,
    write_synced,
    writing_to,
)
from vbcgcd.workspace.lock import WriteLock

ABOUT, HEAD, LOCK, COMMITS, RECORD = "workspace.json", "HEAD", ".lock", "commits", "commit.json"
FORMAT = "vbcgcd-workspace"
_ASIDE = re.compile(r"\.new-[0-9a-f]{32}")
_DAMAGED = "restore the workspace from an export or a copy"

__all__ = ["ABOUT", "COMMITS", "HEAD", "NOTHING", "RECORD", "Head", "Store", "build_folder", "is_workspace"]


@dataclass(frozen=True)
class Head:
    """The last commit: its number and the digest of its record."""

    number: int
    sha256: str | None

    def as_bytes(self) -> bytes:
        """As it is stored."""
        return to_json({"commit": self.number, "sha256": self.sha256})


#: Before the first commit.
NOTHING = Head(0, None)


class Store:
    """A workspace's directory.

    Parameters
    ----------
    path : Path
        An existing workspace.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._checked: set[Path] = set()
        about = path / ABOUT
        if not about.is_file():
            raise InputError(
                f"There is no workspace at {path}; make one with Workspace.init, or give its folder."
            )
        self.about = from_json(about.read_bytes(), about)
        if self.about.get("format") != FORMAT:
            raise InputError(f"{about} is not of a workspace of vbcgcd.")
        check_version(self.about.get("version"), about)

    @classmethod
    def create(cls, path: Path, draft: Draft) -> Store:
        """A new workspace whose first commit is ``draft``; it appears complete or not at all."""

        def fill(folder: Path) -> None:
            about = {"format": FORMAT, "version": VERSION, "created": _now(), "release": vbcgcd.__version__}
            write_synced(folder / ABOUT, to_json({**about, "id": uuid.uuid4().hex}))
            (folder / COMMITS).mkdir()
            cls(folder)._write(NOTHING, draft)

        build_folder(path, fill)
        return cls(path)

    def head(self) -> Head:
        """Number and digest of the last commit."""
        path = self.path / HEAD
        try:
            values = from_json(path.read_bytes(), path)
            return Head(int(values["commit"]), str(values["sha256"]))
        except InputError:
            raise
        except (OSError, KeyError, TypeError, ValueError) as error:
            raise InputError(f"{path} is damaged or missing ({error}); {_DAMAGED}.") from None

    def folder(self, number: int) -> Path:
        """Where a commit lies."""
        return self.path / COMMITS / f"{number:06d}"

    def commits(self, head: Head, *, after: Head = NOTHING) -> list[Commit]:
        """The commits from ``after`` (not included) to ``head``, their chain of digests checked."""
        found: list[Commit] = []
        number, expected = head.number, head.sha256
        while number > after.number:
            path = self.folder(number) / RECORD
            try:
                data = path.read_bytes()
            except OSError as error:
                raise InputError(f"{path} is missing ({error.strerror}); {_DAMAGED}.") from None
            if digest(data) != expected:
                raise InputError(f"{path} was changed after it was written; {_DAMAGED}.")
            commit = Commit.from_json(from_json(data, path), path)
            self._check_sizes(commit)
            found.append(commit)
            number, expected = number - 1, commit.parent
        if expected != after.sha256:
            raise InputError(f"The history of {self.path} was changed after it was written; {_DAMAGED}.")
        return found[::-1]

    def file(self, commit: Commit, name: str) -> Path:
        """Path of a file of a commit, its content checked."""
        path = self.folder(commit.number) / name
        if path not in self._checked:
            try:
                found = file_digest(path)
            except OSError as error:
                raise InputError(f"{path} cannot be read ({error.strerror}); {_DAMAGED}.") from None
            if found != commit.files[name].sha256:
                raise InputError(f"{path} was changed after it was written; {_DAMAGED}.")
            self._checked.add(path)
        return path

    def verify(self) -> int:
        """Check every byte of every commit; the number of files."""
        self._checked.clear()
        commits = self.commits(self.head())
        for commit in commits:
            for name in commit.files:
                self.file(commit, name)
        return sum(1 + len(commit.files) for commit in commits) + 2

    def check_target(self, path: Path) -> None:
        """Raise unless ``path`` can be a file of the user's: in a folder, and no part of the workspace."""
        if path.is_dir():
            raise InputError(f"Cannot write {path}: it is a folder; give the name of a file.")
        if not path.parent.is_dir():
            raise InputError(f"Cannot write {path}: there is no folder {path.parent}; make it first.")
        whole = Path(os.path.realpath(self.path))
        own = {name.casefold() for name in (ABOUT, HEAD, LOCK, COMMITS)}  # some disks do not tell case
        # The name itself, which would be replaced, and what it points to if it is a link.
        for place in (Path(os.path.realpath(path.parent)) / path.name, Path(os.path.realpath(path))):
            if place.is_relative_to(whole) and place.relative_to(whole).parts[0].casefold() in own:
                raise InputError(f"{path} belongs to the workspace itself; choose another file.")

    @contextmanager
    def writer(self, command: str, *, timeout: float = 0.0) -> Iterator[None]:
        """Hold the lock; what killed writers left behind is removed."""
        with WriteLock(self.path / LOCK, command, timeout=timeout):
            with writing_to(self.path):
                self._sweep()
            yield

    def append(self, draft: Draft, parent: Head) -> tuple[Commit, Head]:
        """Write a commit after ``parent``; only inside `writer`."""
        with writing_to(self.path):
            return self._write(parent, draft)

    def _write(self, parent: Head, draft: Draft) -> tuple[Commit, Head]:
        number = parent.number + 1
        aside = self.path / COMMITS / _aside()
        try:
            aside.mkdir()
            commit, data = self._record(aside, number, parent, draft)
            write_synced(aside / RECORD, data)
            sync_folder(aside)
            if parent != NOTHING and self.head() != parent:
                raise InputError(f"{self.path} was changed in spite of its lock; nothing was changed here.")
            os.rename(aside, self.folder(number))
            sync_folder(self.path / COMMITS)
            head = Head(number, digest(data))
            replace_synced(self.path / HEAD, head.as_bytes())
        except BaseException:
            if aside.exists():
                shutil.rmtree(aside, ignore_errors=True)
            elif not (self.path / HEAD).exists() or self.head().number < number:
                shutil.rmtree(self.folder(number), ignore_errors=True)
            raise
        return commit, head

    def _record(self, aside: Path, number: int, parent: Head, draft: Draft) -> tuple[Commit, bytes]:
        marks = {}
        for name, write in draft.files.items():
            write(aside / name)
            sync_file(aside / name)
            marks[name] = FileMark((aside / name).stat().st_size, file_digest(aside / name))
        commit = Commit(
            number,
            draft.command,
            _now(),
            parent.sha256,
            draft.parameters,
            draft.changes,
            draft.summary,
            marks,
            vbcgcd.__version__,
        )
        return commit, to_json(commit.as_json())

    def _check_sizes(self, commit: Commit) -> None:
        for name, mark in commit.files.items():
            path = self.folder(commit.number) / name
            try:
                size = path.stat().st_size
            except OSError as error:
                raise InputError(f"{path} is missing ({error.strerror}); {_DAMAGED}.") from None
            if size != mark.bytes:
                raise InputError(f"{path} has {size} bytes, written were {mark.bytes}; {_DAMAGED}.")

    def _sweep(self) -> None:
        last = self.head().number
        for path in (*(self.path / COMMITS).iterdir(), *self.path.glob(".new-*")):
            if _ASIDE.fullmatch(path.name) or (path.name.isdigit() and int(path.name) > last):
                shutil.rmtree(path)
        for path in self.path.glob(f".{HEAD}.*"):
            path.unlink()


def is_workspace(path: Path) -> bool:
    """Whether a folder says that it is a workspace."""
    try:
        about = json.loads((path / ABOUT).read_bytes())
    except (OSError, ValueError):
        return False
    return isinstance(about, dict) and about.get("format") == FORMAT


def build_folder(path: Path, fill: Callable[[Path], Any]) -> None:
    """Make a workspace's folder at ``path``: ``fill`` writes it aside, under a lock; it appears complete."""
    check_vacant(path)
    build = _build_inside if path.is_dir() else _build_beside
    with writing_to(path if path.is_dir() else path.parent):
        build(path, fill)


def _build_beside(path: Path, fill: Callable[[Path], Any]) -> None:
    """A new folder: one rename makes it appear."""
    _sweep_asides(path)
    aside = path.with_name(f".{path.name}{_aside()}")
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
    """An empty folder, which may be where the user stands: the rename of workspace.json makes it count."""
    aside = path / _aside()
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
    """Remove what the making of a workspace writes, and nothing else that is in the folder."""
    (path / HEAD).unlink(missing_ok=True)
    shutil.rmtree(path / COMMITS, ignore_errors=True)
    for part in path.iterdir():  # last: while there is one, the others are known to be what a process left
        if _ASIDE.fullmatch(part.name):
            shutil.rmtree(part, ignore_errors=True)


def check_vacant(path: Path) -> None:
    """Raise unless ``path`` can become a workspace."""
    if (path / ABOUT).exists():
        raise InputError(f"There is a workspace at {path} already; open it, or choose another folder.")
    if path.is_dir():
        names = {part.name for part in path.iterdir()}
        asides = {name for name in names if _ASIDE.fullmatch(name)}
        # What a process that was killed while it made a workspace here may have left.
        left = asides | {LOCK, HEAD, COMMITS} if asides else {LOCK}
        if names - left:
            raise InputError(f"{path} is not an empty folder; choose one that is empty or does not exist.")
    elif path.exists():
        raise InputError(f"{path} is a file; choose a folder that is empty or does not exist.")
    elif not path.parent.is_dir():
        raise InputError(f"There is no folder {path.parent} to hold {path.name}; make it first.")


def _sweep_asides(path: Path) -> None:
    """Remove what killed processes left beside ``path``; one that is still at work holds its lock."""
    for aside in path.parent.glob(f".{glob.escape(path.name)}.new-*"):
        try:
            with WriteLock(aside / LOCK, "sweep"):
                shutil.rmtree(aside, ignore_errors=True)
        except InputError:
            continue


def _aside() -> str:
    return f".new-{uuid.uuid4().hex}"


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
