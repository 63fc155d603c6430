"""Folders of Parquet shards, work for engines, and embedders that workers can import."""

import os
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from vbcgcd import CategoryDiscoverer
from vbcgcd.shards import open_shards

WIDTH, KINDS = 8, 4
#: A folder with an embedder that is called "letters", as in an installed package.
SITE = str(Path(__file__).parent / "site")


@dataclass(frozen=True)
class Times:
    """Multiply, after a while."""

    factor: int
    seconds: float = 0.0

    def load(self):
        return self.run

    def run(self, block):
        time.sleep(self.seconds)
        return self.factor * block


@dataclass(frozen=True)
class Fails:
    """Raise an error at one block."""

    at: int
    error: Exception

    def load(self):
        return self.run

    def run(self, block):
        if block == self.at:
            raise self.error
        return block


@dataclass(frozen=True)
class FailsToLoad:
    """Raise an error before the first block."""

    error: Exception

    def load(self):
        raise self.error


@dataclass(frozen=True)
class DiesOnce:
    """End the whole process at one block, the first time or every time."""

    at: int
    mark: str = ""

    def load(self):
        return self.run

    def run(self, block):
        if block == self.at and not (self.mark and os.path.exists(self.mark)):
            if self.mark:
                open(self.mark, "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        return block


@dataclass(frozen=True)
class Threads:
    """How many threads BLAS may use."""

    def load(self):
        return lambda block: os.environ.get("OMP_NUM_THREADS")


class Unreadable(Exception):
    """Can be pickled, but not read back."""

    def __init__(self, one, two):
        super().__init__("both")


@dataclass(frozen=True)
class FailsUnreadably:
    """Raise an error that cannot be sent."""

    def load(self):
        return self.run

    def run(self, block):
        raise Unreadable(1, 2)


def rows_of(n, seed=0):
    """Rows and labels of four categories, float32 (n, 8)."""
    rng = np.random.default_rng(seed)
    centers = 4 * np.random.default_rng(7).normal(size=(KINDS, WIDTH))
    codes = rng.integers(KINDS, size=n)
    rows = (centers[codes] + rng.normal(size=(n, WIDTH))).astype(np.float32)
    return rows, np.array(["ant", "bee", "cat", "dog"])[codes]


def vectors(rows):
    """Rows as a column of Arrow."""
    flat = pa.array(np.ascontiguousarray(rows).reshape(-1))
    return pa.FixedSizeListArray.from_arrays(flat, rows.shape[1])


def write_lake(folder, rows, labels=None, *, n_shards=5, group=50, **more):
    """Shards of these rows; ids do not depend on how they are cut."""
    folder.mkdir(parents=True)
    for i, part in enumerate(np.array_split(np.arange(len(rows)), n_shards)):
        columns = {"id": [f"r{row}" for row in part], "embedding": vectors(rows[part])}
        if labels is not None:
            columns["label"] = pa.array([labels[row] for row in part])
        columns |= {name: pa.array([values[row] for row in part]) for name, values in more.items()}
        pq.write_table(pa.table(columns), folder / f"part-{i:03}.parquet", row_group_size=group)
    return folder


def write_texts(folder, n, *, n_shards=6):
    """Shards of texts; every seventh is empty."""
    folder.mkdir(parents=True)
    for i, part in enumerate(np.array_split(np.arange(n), n_shards)):
        texts = ["" if row % 7 == 3 else f"text number {row}" for row in part]
        table = pa.table({"id": [f"t{row}" for row in part], "text": texts})
        pq.write_table(table, folder / f"part-{i:03}.parquet")
    return folder


def read_lake(folder):
    """All rows of a folder of shards, in order."""
    names = sorted(path for path in folder.rglob("*.parquet") if path.name[0] not in "._")
    return pa.concat_tables([pq.read_table(path).replace_schema_metadata() for path in names])


def fitted_model():
    """A model of the four categories."""
    rows, labels = rows_of(200, seed=1)
    return CategoryDiscoverer().fit(rows, labels)


def columns_of(folder, **options):
    """Open shards with embeddings."""
    return open_shards(folder, kind="embedding", **options)
