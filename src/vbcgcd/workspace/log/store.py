"""The directory: numbered commits that are only ever appended, and HEAD, which names the last one.

::

    workspace.json     format, version, when it was made
    HEAD               number and digest of the last commit, and the digest of workspace.json
    .lock, .turn       held by a writer
    commits/000001/    commit.json and the files of the commit
    packs/             what many commits hold, side by side: quicker to read, and made again if it is lost
    set-aside/         commits that do not continue the history

Each record holds the digests of its files and of the record before it, so that HEAD vouches for everything.
`vbcgcd.workspace.log.writing` says how a commit comes to count. One whole commit beyond HEAD counts: its
writer was stopped before it moved HEAD. More than one means that HEAD is older than the commits, from a
backup for example; then HEAD decides.
"""

from __future__ import annotations

import errno
import os
import re
import uuid
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import vbcgcd
from vbcgcd.errors import DiskError, InputError, MissingFileError, WorkspaceDamaged, WorkspaceWarning
from vbcgcd.workspace.log import writing
from vbcgcd.workspace.log.asides import SET_ASIDE
from vbcgcd.workspace.log.blocks import BlockCheck, Blocks
from vbcgcd.workspace.log.commits import (
    ABOUT,
    COMMITS,
    FORMAT,
    HEAD,
    LOCAL,
    LOCK,
    RECORD,
    VERSION,
    Commit,
    Draft,
    check_version,
)
from vbcgcd.workspace.log.disk import (
    RESTORE,
    digest,
    exists,
    file_digest,
    from_json,
    make_folder,
    read_file,
    to_json,
    unreadable,
    write_synced,
)
from vbcgcd.workspace.log.files import BLOCKS, DECORATIVE, IN_PARTS
from vbcgcd.workspace.log.folder import build_folder, open_created
from vbcgcd.workspace.log.head import NOTHING, Head, read_head
from vbcgcd.workspace.log.lock import WriteLock
from vbcgcd.workspace.log.packs import PACKS, Packs
from vbcgcd.workspace.log.turn import TURN

_NUMBER = re.compile("[0-9]{6,12}")

__all__ = ["NOTHING", "Head", "Store"]


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
    about_digest : str
    packs : Packs

    Raises
    ------
    MissingFileError
        There is no workspace.
    WorkspaceDamaged
        There was one.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.packs = path, Packs(path)
        self._checked: set[tuple[Path, str]] = set()
        self._whole: set[Head] = set()
        self._warned: set[str] = set()
        about = path / ABOUT
        try:
            data = about.read_bytes()
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.EISDIR):
                raise unreadable(about, error) from None
            raise MissingFileError(
                f"There is no workspace at {path}; create one with init, or pass the path of an existing one."
            ) from None
        self.about_digest = digest(data)
        if exists(path / HEAD) and read_head(path)[1] not in (None, self.about_digest):
            raise WorkspaceDamaged(f"{about} was changed after it was written; {RESTORE}.")
        self.about = from_json(data, about)
        if self.about.get("format") != FORMAT:
            raise InputError(f"{about} is not a vbcgcd workspace file.")
        check_version(self.about.get("version"), about)

    @classmethod
    def create(cls, path: Path, draft: Draft) -> Store:
        """A new workspace whose first commit is ``draft``; it appears complete or not at all."""

        def fill(folder: Path) -> None:
            write_synced(folder / ABOUT, about_bytes(_now(), vbcgcd.__version__))
            make_folder(folder / COMMITS)
            try:
                writing.write_commit(cls(folder), NOTHING, draft)
            except DiskError as error:  # the folder goes, whatever was done in it
                raise error.cause or error from None

        build_folder(path, fill)
        return open_created(path, lambda: cls(path))

    def head(self, *, quiet: bool = False) -> Head:
        """The last commit that counts; unless ``quiet``, a warning tells of newer ones that do not."""
        named = self.named()
        while True:
            child = self.child(named)
            if child is None:
                return named
            if not exists(self.folder(child.number + 1)):
                return child
            again = self.named()
            if again == named:
                if not quiet:
                    self._tell_newer(named)
                return named
            named = again

    def named(self) -> Head:
        """The commit that HEAD names."""
        return read_head(self.path)[0]

    def child(self, parent: Head) -> Head | None:
        """The whole commit that continues ``parent``; None if there is none."""
        folder = self.folder(parent.number + 1)
        if not exists(folder):
            return None
        try:
            data = read_file(folder / RECORD)
            head = Head(parent.number + 1, digest(data))
            if head not in self._whole:
                commit = Commit.from_record(data, folder / RECORD)
                self._check_files(commit, skip=DECORATIVE)
                if commit.number != head.number or commit.parent != parent.sha256:
                    return None
                self._whole.add(head)
        except (WorkspaceDamaged, InputError):
            return None
        return head

    def folder(self, number: int) -> Path:
        """The folder of a commit."""
        return self.path / COMMITS / f"{number:06d}"

    def numbers(self) -> list[int]:
        """Numbers of all folders of commits, rising, whether they count or not."""
        try:
            names = os.listdir(self.path / COMMITS)
        except OSError as error:
            raise unreadable(self.path / COMMITS, error) from None
        return sorted(int(name) for name in names if _NUMBER.fullmatch(name))

    def commits(self, head: Head, *, after: Head = NOTHING) -> list[Commit]:
        """The commits from ``after`` (not included) to ``head``, their chain of digests checked."""
        commits: list[Commit] = []
        number, expected = head.number, head.sha256
        packed: Mapping[int, bytes] = {}
        while number > after.number:
            if number not in packed:
                packed = self.packs.records(number)
            commit = self._commit(number, expected, packed.get(number, b""))
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
                raise unreadable(path, error) from None
            if sha256 != commit.files[name].sha256:
                raise WorkspaceDamaged(f"{path} was changed after it was written; {RESTORE}.")
            self._checked.add((path, sha256))
        return path

    def opened(self, commit: Commit, name: str) -> tuple[Path, BlockCheck | None]:
        """Path of a file of a commit; its content checked, or what checks the parts of a large one."""
        if name not in IN_PARTS or BLOCKS not in commit.files:
            return self.file(commit, name), None
        digests = Blocks.read(self.file(commit, BLOCKS)).digests
        if name not in digests:
            return self.file(commit, name), None
        path = self.folder(commit.number) / name
        return path, BlockCheck(path, commit.files[name], digests[name])

    def verify(self) -> int:
        """Check every byte of every commit; returns the number of files.

        A file that only a report shows may be missing: a warning tells so.
        """
        self._checked.clear()
        head = self.head()
        commits = self.commits(head)
        n_files = 2
        for commit, digested in zip(commits, [*(c.parent for c in commits[1:]), head.sha256], strict=True):
            path = self.folder(commit.number) / RECORD
            if digest(read_file(path)) != digested:
                raise WorkspaceDamaged(f"{path} was changed after it was written; {RESTORE}.")
            lost = {name for name in commit.files if name in DECORATIVE and not self._has(commit, name)}
            self._check_files(commit, skip=lost)
            for name in sorted(lost):
                self.tell_lost(commit, name)
            n_files += 1 + len(commit.files) - len(lost)
        return n_files

    def tell_lost(self, commit: Commit, name: str) -> None:
        """Warn, once, that a file is missing or damaged without which every answer is the same."""
        self.tell(
            f"{self.folder(commit.number) / name} is missing or damaged. Only reports show it; answers are "
            "the same without it."
        )

    def check_target(self, path: Path) -> None:
        """Raise unless a user's file can be written to ``path`` without harm to the workspace."""
        if path.is_dir():
            raise InputError(f"Cannot write {path}: it is a folder; give the name of a file.")
        if not path.parent.is_dir():
            raise MissingFileError(f"Cannot write {path}: there is no folder {path.parent}; create it first.")
        whole = Path(os.path.realpath(self.path))
        names = (ABOUT, HEAD, LOCAL, LOCK, TURN, COMMITS, PACKS, SET_ASIDE)
        own = {name.casefold() for name in names}  # some disks ignore case
        # The name itself, which would be replaced, and its target if it is a link.
        for place in (Path(os.path.realpath(path.parent)) / path.name, Path(os.path.realpath(path))):
            if place.is_relative_to(whole) and place.relative_to(whole).parts[0].casefold() in own:
                raise InputError(f"{path} belongs to the workspace itself; choose another file.")

    @contextmanager
    def writer(self, command: str, *, timeout: float = 0.0) -> Iterator[None]:
        """Hold the lock; HEAD is brought up to date, and what killed writers left behind is removed."""
        with WriteLock(self.path / LOCK, command, timeout=timeout) as lock:
            writing.prepare(self, lock)
            yield

    def append(self, draft: Draft, parent: Head) -> tuple[Commit, Head]:
        """Write a commit after ``parent``; only inside `writer`."""
        return writing.write_commit(self, parent, draft)

    def _commit(self, number: int, expected: str | None, packed: bytes) -> Commit:
        """A commit from its packed record, or from its own if that is of another history."""
        path = self.folder(number) / RECORD
        if digest(packed) == expected:
            return Commit.from_record(packed, path)
        data = read_file(path)
        if digest(data) != expected:
            raise WorkspaceDamaged(f"{path} was changed after it was written; {RESTORE}.")
        commit = Commit.from_record(data, path)
        self._check_sizes(commit)
        return commit

    def _has(self, commit: Commit, name: str) -> bool:
        return exists(self.folder(commit.number) / name)

    def _check_files(self, commit: Commit, *, skip: frozenset[str] | set[str]) -> None:
        for name in commit.files:
            if name not in skip:
                self.file(commit, name)

    def _check_sizes(self, commit: Commit) -> None:
        """Notice on opening that a file was cut off, except one that only a report shows."""
        for name, mark in commit.files.items():
            if name in DECORATIVE:
                continue
            path = self.folder(commit.number) / name
            try:
                size = path.stat().st_size
            except OSError as error:
                raise unreadable(path, error) from None
            if size != mark.bytes:
                raise WorkspaceDamaged(f"{path} has {size} bytes instead of {mark.bytes}; {RESTORE}.")

    def _tell_newer(self, head: Head) -> None:
        self.tell(
            f"HEAD of {self.path} names commit {head.number}, but there are commits up to "
            f"{self.numbers()[-1]}, as after HEAD was restored from a backup. Commit {head.number} is in "
            "effect; run repair to return to the last whole commit. The next command that writes sets the "
            "newer ones aside."
        )

    def tell(self, message: str) -> None:
        """Warn the owner of the workspace, once."""
        if message not in self._warned:
            self._warned.add(message)
            warnings.warn(message, WorkspaceWarning, stacklevel=2)


def about_bytes(created: str, release: str) -> bytes:
    """The content of workspace.json."""
    about = {"format": FORMAT, "version": VERSION, "created": created, "release": release}
    return to_json({**about, "id": uuid.uuid4().hex})


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
