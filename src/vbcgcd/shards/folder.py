"""A folder that shards are written to: whole at the end, and continued where it was left.

Each shard appears complete or not at all and says which job wrote it from which file. The manifest is
written last; until then the folder says that it is unfinished, and no reader takes it for the whole.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vbcgcd import __version__
from vbcgcd.archive import atomic_file
from vbcgcd.errors import DiskError, InputError, MissingFileError
from vbcgcd.items.parquet import pyarrow_module
from vbcgcd.marks import MANIFEST, UNFINISHED, read_mark, write_mark
from vbcgcd.shards.dataset import Shard, ShardedData

#: Where a shard says which job wrote it, from which file, and what is in it.
JOB, SOURCE, SUMMARY = b"vbcgcd.job", b"vbcgcd.source", b"vbcgcd.summary"

__all__ = ["JobFolder", "Manifest", "Target", "Written", "read_manifest"]


@dataclass(frozen=True)
class Written:
    """A shard that was written.

    Parameters
    ----------
    name : str
        Its path in the folder.
    rows, bytes : int
    source : str
        Size and time of the file that it was made from.
    summary : dict
        What the job counts in it.
    """

    name: str
    rows: int
    bytes: int
    source: str
    summary: Mapping[str, Any]


@dataclass(frozen=True)
class Manifest:
    """What a job wrote, all of it.

    Parameters
    ----------
    folder : Path
    job : dict
        The command and everything that its answers depend on.
    shards : tuple of Written
    done : int
        Shards of these that the last run wrote; the others were there before.
    """

    folder: Path
    job: Mapping[str, Any]
    shards: tuple[Written, ...]
    done: int = 0

    @property
    def rows(self) -> int:
        """Rows of all shards."""
        return sum(shard.rows for shard in self.shards)

    def total(self, name: str) -> dict[str, int]:
        """A count of the summaries, added up over all shards."""
        counts: dict[str, int] = {}
        for shard in self.shards:
            for key, n in (shard.summary.get(name) or {}).items():
                counts[key] = counts.get(key, 0) + n
        return counts


@dataclass(frozen=True)
class Target:
    """Where and as what a worker writes its shards."""

    folder: str
    job: str

    def write(self, shard: Shard, table: Any, summary: Mapping[str, Any]) -> Written:
        """Write the table that was made from a shard; the file appears complete or not at all."""
        parquet = pyarrow_module("pyarrow.parquet")
        path = Path(self.folder, shard.name)
        said = dict(table.schema.metadata or {})
        said |= {JOB: self.job.encode(), SOURCE: shard.mark.encode(), SUMMARY: json.dumps(summary).encode()}
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with atomic_file(path) as out:
                parquet.write_table(table.replace_schema_metadata(said), out, compression="zstd")
            size = path.stat().st_size
        except OSError as error:
            raise DiskError.writing(path, error) from None
        return Written(shard.name, table.num_rows, size, shard.mark, summary)


class JobFolder:
    """The output of one job.

    Parameters
    ----------
    folder : Path
        New, empty, or with the unfinished output of the same job.
    job : dict
        The command and everything that its answers depend on, as plain values.
    data : ShardedData
        What it reads.
    """

    def __init__(self, folder: Path, job: Mapping[str, Any], data: ShardedData) -> None:
        self.folder, self.data = Path(os.path.abspath(folder)), data
        self.job = {**job, "vbcgcd": __version__}
        self.digest = hashlib.sha256(json.dumps(self.job, sort_keys=True).encode()).hexdigest()[:32]
        self._check_place()

    @property
    def target(self) -> Target:
        """What workers need to know of it."""
        return Target(str(self.folder), self.digest)

    def begin(self) -> tuple[list[Shard], list[Written]]:
        """Shards that are still to do, and those that are done."""
        self._check_job()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DiskError.writing(self.folder, error) from None
        done = {shard.name: found for shard in self.data.shards if (found := self._done(shard)) is not None}
        missing = [shard for shard in self.data.shards if shard.name not in done]
        if missing or not (self.folder / MANIFEST).exists():
            write_mark(self.folder / UNFINISHED, {"job": self.job, "digest": self.digest})
            (self.folder / MANIFEST).unlink(missing_ok=True)
        return missing, list(done.values())

    def finish(self, before: Sequence[Written], written: Sequence[Written]) -> Manifest:
        """Write the manifest: from now on the folder is whole."""
        place = {shard.name: i for i, shard in enumerate(self.data.shards)}
        shards = tuple(sorted((*before, *written), key=lambda shard: place[shard.name]))
        if (self.folder / UNFINISHED).exists():
            self._sweep({shard.name for shard in shards})
            rows = [vars(shard) for shard in shards]
            total = sum(shard.rows for shard in shards)
            mark = {"job": self.job, "digest": self.digest, "rows": total, "shards": rows}
            write_mark(self.folder / MANIFEST, mark)
            (self.folder / UNFINISHED).unlink()
        return Manifest(self.folder, self.job, shards, len(written))

    def _check_place(self) -> None:
        source = self.data.folder
        if self.folder == source or source in self.folder.parents or self.folder in source.parents:
            raise InputError(
                f"{self.folder} and the data in {source} are in each other's way; choose another folder.",
                option="output",
            )
        if self.folder.exists() and not self.folder.is_dir():
            raise InputError(f"{self.folder} is a file; the output is a folder.", option="output")
        if not self.folder.parent.is_dir():
            raise MissingFileError(
                f"Cannot write {self.folder}: there is no folder {self.folder.parent}; create it first.",
                option="output",
            )

    def _check_job(self) -> None:
        marks = [self.folder / MANIFEST, self.folder / UNFINISHED]
        if self.folder.is_dir() and [path.name for path in self.folder.iterdir()] == [UNFINISHED]:
            return  # a job that failed before its first shard left nothing to mix up
        said = [read_mark(mark) for mark in marks if mark.exists()]
        if not said and self.folder.is_dir() and any(self.folder.iterdir()):
            raise InputError(
                f"{self.folder} is not empty and was not written by this command; choose another folder.",
                option="output",
            )
        other = next((mark for mark in said if mark.get("digest") != self.digest), None)
        if other is not None:
            before: Mapping[str, Any] = other.get("job") or {}
            differ = sorted(k for k in {*before, *self.job} if before.get(k) != self.job.get(k))
            raise InputError(
                f"{self.folder} holds the output of another run: {', '.join(differ)} differed. Choose "
                "another folder, or delete this one.",
                option="output",
            )

    def _done(self, shard: Shard) -> Written | None:
        """The output for a shard, where this job wrote it from the file as it is now."""
        path = self.folder / shard.name
        if not path.is_file():
            return None
        said, rows = _footer(path)
        if said.get(JOB) != self.digest.encode() or said.get(SOURCE) != shard.mark.encode():
            return None
        return Written(
            shard.name, rows, path.stat().st_size, shard.mark, json.loads(said.get(SUMMARY, b"{}"))
        )

    def _sweep(self, names: set[str]) -> None:
        """Remove what lost workers left behind, and output for shards that are no longer in the data."""
        for path in [path for path in self.folder.rglob("*") if path.is_file()]:
            name = path.relative_to(self.folder).as_posix()
            left_behind = path.name.startswith(".") and ".parquet." in path.name
            ours = path.suffix == ".parquet" and name not in names and JOB in _footer(path)[0]
            if left_behind or ours:
                path.unlink(missing_ok=True)


def _footer(path: Path) -> tuple[dict[bytes, bytes], int]:
    """What a Parquet file says about itself, and its rows; nothing where it cannot be read."""
    parquet = pyarrow_module("pyarrow.parquet")
    try:
        with path.open("rb") as file:
            metadata = parquet.ParquetFile(file).metadata
            return dict(metadata.metadata or {}), int(metadata.num_rows)
    except Exception:  # not ours, then
        return {}, 0


def read_manifest(folder: str | os.PathLike[str]) -> Manifest:
    """What a job wrote into a folder.

    Raises
    ------
    InputError
        The folder has no manifest: it is unfinished, or no job wrote it.
    """
    place = Path(folder)
    if not (place / MANIFEST).exists():
        unfinished = (place / UNFINISHED).exists()
        reason = "is unfinished: run the command that writes it again" if unfinished else "has no manifest"
        raise InputError(f"{place} {reason}.")
    said = read_mark(place / MANIFEST)
    return Manifest(place, said["job"], tuple(Written(**shard) for shard in said["shards"]))
