"""Files that visitors send: stored under names of our own, and never able to name other files.

A table could name pictures on this machine, so only texts and vectors are read from tables, and pictures are
sent as themselves.
"""

from __future__ import annotations

import re
import secrets
import shutil
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

from vbcgcd.errors import InputError

#: Folder of a workspace in which accepted uploads are kept, so that their items can be shown later.
FOLDER = "uploads"
#: How names there begin: marks of uploads that no session has used yet, and copies of the workspace.
WAITING, PREVIEW = ".waiting-", ".preview-"
TABLES = (".csv", ".tsv", ".jsonl", ".json", ".txt", ".parquet", ".npy", ".npz")
PICTURES = (".bmp", ".gif", ".jpg", ".jpeg", ".png", ".ppm", ".tif", ".tiff", ".webp")
#: Files in one upload.
MOST_FILES = 20_000
#: Seconds after which an upload that no session has used is what a server left that was killed.
ABANDONED = 86_400.0

__all__ = ["FOLDER", "PICTURES", "PREVIEW", "TABLES", "Upload", "Uploads", "safe_name"]


def safe_name(name: str) -> str:
    r"""The last part of a name, of letters, digits, dots, hyphens and underscores alone.

    Examples
    --------
    >>> safe_name("../../etc/passwd.csv"), safe_name("C:\\mail box.CSV"), safe_name(".csv")
    ('passwd.csv', 'mail_box.csv', 'file.csv')
    """
    last = re.split(r"[\\/]", name)[-1]
    stem, _, ending = last.rpartition(".")
    stem = re.sub(r"[^A-Za-z0-9_-]+", "_", stem).strip("_-")[:60] or "file"
    return f"{stem}.{re.sub(r'[^a-z0-9]', '', ending.lower())[:10]}"


@dataclass(frozen=True)
class Upload:
    """What a visitor has sent.

    Parameters
    ----------
    id : str
    folder : Path
    kind : {"text", "embedding", "image"}
        What it may hold.
    """

    id: str
    folder: Path
    kind: str

    @property
    def data(self) -> Path:
        """The table, or the folder of pictures."""
        if self.kind == "image":
            return self.folder
        files = [path for path in self.folder.iterdir() if not path.name.startswith(".")]
        if not files:
            raise InputError("Nothing was sent yet; send a file first.")
        return files[0]


class Uploads:
    """The uploads of a server.

    Parameters
    ----------
    folder : Path
        Of the workspace.
    most_bytes : int
        Of one upload.
    """

    def __init__(self, folder: Path, most_bytes: int) -> None:
        self.root, self.most_bytes = folder / FOLDER, most_bytes
        self._known: dict[str, Upload] = {}
        self._bytes: dict[str, int] = {}
        self._files: dict[str, int] = {}
        self._open: dict[str, int] = {}
        self._closed: set[str] = set()

    def begin(self, kind: str | None) -> Upload:
        """A place for the files of one upload."""
        if kind is None:
            raise InputError(
                "This workspace has learned nothing yet; run 'vbcgcd learn' with labelled items."
            )
        self._clear_abandoned()
        name = secrets.token_hex(8)
        upload = Upload(name, self.root / name, kind)
        upload.folder.mkdir(parents=True, mode=0o700)
        self._mark(name).mkdir()
        self._known[name], self._bytes[name], self._files[name] = upload, 0, 0
        return upload

    def get(self, name: str) -> Upload:
        """An upload by its id."""
        if name not in self._known:
            raise InputError("There is no such upload any more; send the file again.")
        return self._known[name]

    def close_for(self, name: str) -> Upload:
        """An upload that takes no more files from now on: what was previewed is what is accepted."""
        upload = self.get(name)
        if self._open.get(name):
            raise InputError("The file is still being sent; wait until it is there.")
        self._closed.add(name)
        return upload

    async def add(self, upload: Upload, name: str, chunks: AsyncIterator[bytes]) -> str:
        """Store a file of an upload piece by piece; returns its name here."""
        if upload.id in self._closed:
            raise InputError("This upload is being worked on and takes no more files; begin another one.")
        stored = safe_name(name)
        allowed = PICTURES if upload.kind == "image" else TABLES
        if Path(stored).suffix not in allowed:
            what = "pictures" if upload.kind == "image" else "tables"
            raise InputError(
                f"Unsupported file type {Path(stored).suffix!r}; this workspace takes {what}: "
                f"{', '.join(allowed)}."
            )
        self._files[upload.id] += 1
        if self._files[upload.id] > (MOST_FILES if upload.kind == "image" else 1):
            raise InputError("One table at a time, please; or up to 20,000 pictures.")
        if upload.kind == "image":
            stored = f"{self._files[upload.id]:05}-{stored}"
        path = upload.folder / stored
        self._open[upload.id] = self._open.get(upload.id, 0) + 1
        try:
            with path.open("xb") as file:
                async for chunk in chunks:
                    self._bytes[upload.id] += len(chunk)
                    if self._bytes[upload.id] > self.most_bytes:
                        raise InputError(
                            f"Uploads may have up to {self.most_bytes // 2**20} MB; use the command line "
                            "for more."
                        )
                    file.write(chunk)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        finally:
            self._open[upload.id] -= 1
        return stored

    def drop(self, name: str) -> None:
        """Remove an upload with its files."""
        upload = self._known.get(name)
        if upload is not None:
            shutil.rmtree(upload.folder, ignore_errors=True)
            self.keep(name)

    def keep(self, name: str) -> None:
        """Let the files of an upload stay: a session has used them."""
        for values in (self._known, self._bytes, self._files, self._open):
            values.pop(name, None)
        self._closed.discard(name)
        shutil.rmtree(self._mark(name), ignore_errors=True)

    def clear_previews(self, name: str) -> None:
        """Remove copies of the workspace that previews of an upload left because they were stopped."""
        for folder in self.root.glob(f"{PREVIEW}{name}-*"):
            shutil.rmtree(folder, ignore_errors=True)

    def _mark(self, name: str) -> Path:
        """An empty folder that is there as long as no session has used an upload."""
        return self.root / f"{WAITING}{name}"

    def _clear_abandoned(self) -> None:
        for mark in self.root.glob(f"{WAITING}*"):
            name = mark.name.removeprefix(WAITING)
            if name not in self._known and time.time() - mark.stat().st_mtime > ABANDONED:
                self.clear_previews(name)
                shutil.rmtree(self.root / name, ignore_errors=True)
                shutil.rmtree(mark, ignore_errors=True)

    def close(self) -> None:
        """Remove what no session has used."""
        for name in list(self._known):
            self.drop(name)
