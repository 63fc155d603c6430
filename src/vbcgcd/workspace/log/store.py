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

import os
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import vbcgcd
from vbcgcd.archive import sync_folder
from vbcgcd.errors import InputError, MissingFileError, WorkspaceBusy, WorkspaceDamaged
from vbcgcd.workspace.log.commits import (
    ABOUT,
    ASIDE,
    COMMITS,
    FORMAT,
    HEAD,
    LOCAL,
    LOCK,
    RECORD,
    RESTORE,
    VERSION,
    Commit,
    Draft,
    FileMark,
    WriteLock,
    aside_name,
    check_version,
    digest,
    disk_errors,
    file_digest,
    from_json,
    replace_synced,
    summary_of,
    to_json,
    write_synced,
)
from vbcgcd.workspace.log.folder import build_folder

__all__ = ["NOTHING", "Head", "Store"]


@dataclass(frozen=True)
class Head:
    """The last commit: its number and the digest of its record."""

    number: int
    sha256: str | None

    def as_bytes(self) -> bytes:
        """The content of the file HEAD."""
        return to_json({"commit": self.number, "sha256": self.sha256})


#: Before the first commit.
NOTHING = Head(0, None)


class Store:
    """The directory of a workspace.

    Parameters
    ----------
    path : Path
        An existing workspace.

    Attributes
    ----------
    about : dict
        Content of workspace.json.

    Raises
    ------
    MissingFileError
        There is no workspace.
    WorkspaceDamaged
        There was one.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._checked: set[tuple[Path, str]] = set()
        about = path / ABOUT
        if not about.is_file():
            raise MissingFileError(
                f"There is no workspace at {path}; create one with init, or pass the path of an existing one."
            )
        self.about = from_json(about.read_bytes(), about)
        if self.about.get("format") != FORMAT:
            raise InputError(f"{about} is not a vbcgcd workspace file.")
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
        except (OSError, KeyError, TypeError, ValueError) as error:
            raise WorkspaceDamaged(f"{path} is damaged or missing ({error}); {RESTORE}.") from None

    def folder(self, number: int) -> Path:
        """The folder of a commit."""
        return self.path / COMMITS / f"{number:06d}"

    def commits(self, head: Head, *, after: Head = NOTHING) -> list[Commit]:
        """The commits from ``after`` (not included) to ``head``, their chain of digests checked."""
        commits: list[Commit] = []
        number, expected = head.number, head.sha256
        while number > after.number:
            path = self.folder(number) / RECORD
            try:
                data = path.read_bytes()
            except OSError as error:
                raise WorkspaceDamaged(f"{path} is missing ({error.strerror}); {RESTORE}.") from None
            if digest(data) != expected:
                raise WorkspaceDamaged(f"{path} was changed after it was written; {RESTORE}.")
            commit = Commit.from_json(from_json(data, path), path)
            self._check_sizes(commit)
            commits.append(commit)
            number, expected = number - 1, commit.parent
        if expected != after.sha256:
            raise WorkspaceDamaged(f"The history of {self.path} was changed after it was written; {RESTORE}.")
        return commits[::-1]

    def file(self, commit: Commit, name: str) -> Path:
        """Path of a file of a commit, its content checked."""
        path = self.folder(commit.number) / name
        if (path, commit.files[name].sha256) not in self._checked:
            try:
                sha256 = file_digest(path)
            except OSError as error:
                raise WorkspaceDamaged(f"{path} cannot be read ({error.strerror}); {RESTORE}.") from None
            if sha256 != commit.files[name].sha256:
                raise WorkspaceDamaged(f"{path} was changed after it was written; {RESTORE}.")
            self._checked.add((path, sha256))
        return path

    def verify(self) -> int:
        """Check every byte of every commit; returns the number of files."""
        self._checked.clear()
        commits = self.commits(self.head())
        for commit in commits:
            for name in commit.files:
                self.file(commit, name)
        return sum(1 + len(commit.files) for commit in commits) + 2

    def check_target(self, path: Path) -> None:
        """Raise unless a user's file can be written to ``path`` without harm to the workspace."""
        if path.is_dir():
            raise InputError(f"Cannot write {path}: it is a folder; give the name of a file.")
        if not path.parent.is_dir():
            raise MissingFileError(f"Cannot write {path}: there is no folder {path.parent}; create it first.")
        whole = Path(os.path.realpath(self.path))
        own = {name.casefold() for name in (ABOUT, HEAD, LOCAL, LOCK, COMMITS)}  # some disks ignore case
        # The name itself, which would be replaced, and its target if it is a link.
        for place in (Path(os.path.realpath(path.parent)) / path.name, Path(os.path.realpath(path))):
            if place.is_relative_to(whole) and place.relative_to(whole).parts[0].casefold() in own:
                raise InputError(f"{path} belongs to the workspace itself; choose another file.")

    @contextmanager
    def writer(self, command: str, *, timeout: float = 0.0) -> Iterator[None]:
        """Hold the lock; what killed writers left behind is removed."""
        with WriteLock(self.path / LOCK, command, timeout=timeout):
            with disk_errors(self.path):
                self._sweep()
            yield

    def append(self, draft: Draft, parent: Head) -> tuple[Commit, Head]:
        """Write a commit after ``parent``; only inside `writer`."""
        with disk_errors(self.path):
            return self._write(parent, draft)

    def _write(self, parent: Head, draft: Draft) -> tuple[Commit, Head]:
        number = parent.number + 1
        aside = self.path / COMMITS / aside_name()
        try:
            aside.mkdir()
            commit = self._write_files(aside, number, parent, draft)
            data = to_json(commit.as_json())
            write_synced(aside / RECORD, data)
            sync_folder(aside)
            if parent != NOTHING and self.head() != parent:
                raise WorkspaceBusy(
                    f"Another process changed {self.path} without holding its lock. This command changed "
                    "nothing; run it again."
                )
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

    def _write_files(self, aside: Path, number: int, parent: Head, draft: Draft) -> Commit:
        """Write the files of a commit; returns its record."""
        marks = {}
        for name, content in draft.files.items():
            data = content.as_bytes()
            write_synced(aside / name, data)
            marks[name] = FileMark(len(data), digest(data))
        return Commit(
            number,
            draft.command,
            _now(),
            parent.sha256,
            draft.parameters,
            draft.changes,
            draft.summary if draft.record is None else summary_of(draft.record),
            marks,
            vbcgcd.__version__,
        )

    def _check_sizes(self, commit: Commit) -> None:
        for name, mark in commit.files.items():
            path = self.folder(commit.number) / name
            try:
                size = path.stat().st_size
            except OSError as error:
                raise WorkspaceDamaged(f"{path} is missing ({error.strerror}); {RESTORE}.") from None
            if size != mark.bytes:
                raise WorkspaceDamaged(f"{path} has {size} bytes instead of {mark.bytes}; {RESTORE}.")

    def _sweep(self) -> None:
        last = self.head().number
        for path in (*(self.path / COMMITS).iterdir(), *self.path.glob(".new-*")):
            if ASIDE.fullmatch(path.name) or (path.name.isdigit() and int(path.name) > last):
                shutil.rmtree(path)
        for path in self.path.glob(f".{HEAD}.*"):
            path.unlink()


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
