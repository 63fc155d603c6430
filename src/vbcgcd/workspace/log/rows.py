"""Assigned items and coarse positions of many commits side by side, as packs hold them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.archive import archive_bytes, read_archive
from vbcgcd.workspace.log.files import SAMPLE_KIND, SAMPLE_VERSION, Assignments, Sample
from vbcgcd.workspace.log.parquet import check_pyarrow, numbers_of, parquet_bytes, parquet_columns

Array = NDArray[Any]

__all__ = ["Positions", "Rows"]


@dataclass(frozen=True, eq=False)
class Rows:
    """Assigned items of several commits.

    Parameters
    ----------
    commit : int array (N,)
        The commit that assigned each item, not falling.
    table : Assignments
        The items, in the order of their commits.
    """

    commit: Array
    table: Assignments

    @classmethod
    def of(cls, commit: int, table: Assignments) -> Rows:
        """Those of one commit."""
        return cls(np.full(len(table), commit, dtype=np.int64), table)

    @classmethod
    def joined(cls, parts: Sequence[Rows]) -> Rows:
        """Several parts as one."""
        arrow = check_pyarrow()
        columns = [part.table.columns() for part in parts]
        chunks = [arrow.chunked_array(part["reference"]).chunks for part in columns]
        reference = arrow.chunked_array([c for part in chunks for c in part], arrow.string())
        numbers = ("category", "probability", "second", "second_probability", "novelty")
        arrays = {name: np.concatenate([getattr(part.table, name) for part in parts]) for name in numbers}
        return cls(
            np.concatenate([part.commit for part in parts]), Assignments(reference=reference, **arrays)
        )

    def only(self, commits: Array) -> Rows:
        """The items of some commits."""
        keep = np.isin(self.commit, commits)
        if keep.all():
            return self
        columns = self.table.columns()
        mask = check_pyarrow().array(keep)
        table = Assignments.from_columns({name: column.filter(mask) for name, column in columns.items()})
        return replace(self, commit=self.commit[keep], table=table)

    def as_bytes(self) -> bytes:
        """A Parquet table."""
        commit = check_pyarrow().array(self.commit)
        return parquet_bytes({"commit": commit, **self.table.columns()})

    @classmethod
    def from_bytes(cls, data: bytes) -> Rows:
        """From `as_bytes`."""
        columns = parquet_columns(data)
        return cls(numbers_of(columns["commit"]), Assignments.from_columns(columns))


@dataclass(frozen=True, eq=False)
class Positions:
    """Coarse positions of some items of several commits.

    Parameters
    ----------
    commit : int array (M,)
    sample : Sample
        Rows in the table of the commit, and positions.
    """

    commit: Array
    sample: Sample

    @classmethod
    def of(cls, commit: int, sample: Sample) -> Positions:
        """Those of one commit."""
        return cls(np.full(len(sample.rows), commit, dtype=np.int64), sample)

    @classmethod
    def joined(cls, parts: Sequence[Positions]) -> Positions:
        """Several parts as one."""
        rows = np.concatenate([part.sample.rows for part in parts])
        sketch = np.concatenate([part.sample.sketch for part in parts])
        return cls(np.concatenate([part.commit for part in parts]), Sample(rows, sketch))

    def only(self, commits: Array) -> Positions:
        """The positions of some commits."""
        keep = np.isin(self.commit, commits)
        return Positions(self.commit[keep], Sample(self.sample.rows[keep], self.sample.sketch[keep]))

    def as_bytes(self) -> bytes:
        """A safetensors archive."""
        arrays = {"commit": self.commit, "rows": self.sample.rows, "sketch": self.sample.sketch}
        return archive_bytes(SAMPLE_KIND, SAMPLE_VERSION, arrays, {})

    @classmethod
    def read(cls, path: Path) -> Positions:
        """From a file that holds `as_bytes`."""
        arrays, _ = read_archive(path, SAMPLE_KIND, SAMPLE_VERSION)
        return cls(arrays["commit"], Sample(arrays["rows"], arrays["sketch"]))
