"""Which item belongs to which category, session by session, as Parquet; and coarse positions for maps."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.archive import read_archive, write_archive
from vbcgcd.errors import InputError

Array = NDArray[Any]
TABLE, SAMPLE = "assignments.parquet", "sample.safetensors"
#: Leading reduced dimensions that a coarse position keeps.
SKETCH = 16
SAMPLE_KIND, SAMPLE_VERSION = "vbcgcd-sample", 1

__all__ = [
    "SAMPLE",
    "SKETCH",
    "TABLE",
    "Assignments",
    "check_pyarrow",
    "read_assignments",
    "read_sample",
    "write_assignments",
    "write_sample",
]


@dataclass(frozen=True, eq=False)
class Assignments:
    """The items of one session.

    Parameters
    ----------
    reference : list of str (N,), or a column of Arrow
    category : int array (N,)
    probability, second_probability, novelty : float32 array (N,)
    second : int array (N,)
        The next best category; -1 for none.
    """

    reference: Any
    category: Array
    probability: Array
    second: Array
    second_probability: Array
    novelty: Array

    def __len__(self) -> int:
        return len(self.category)

    @property
    def margin(self) -> Array:
        """How much more probable the category is than the next, array (N,)."""
        return np.asarray(self.probability - self.second_probability)

    def name_of(self, row: int) -> str:
        """Reference of one item."""
        found = self.reference[int(row)]
        return found if isinstance(found, str) else str(found.as_py())


def check_pyarrow(module: str = "pyarrow") -> Any:
    """The module, or one clear error."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise InputError(
            "A workspace keeps its assignments as Parquet, which needs the package pyarrow; install it with "
            "pip install 'vbcgcd[tables]'."
        ) from None


def write_assignments(path: Path, assignments: Assignments) -> None:
    """Write a table with one row for each item."""
    arrow, parquet = check_pyarrow(), check_pyarrow("pyarrow.parquet")
    table = arrow.table(
        {
            "reference": arrow.array(assignments.reference, arrow.string()),
            "category": arrow.array(assignments.category, arrow.int64()),
            "probability": arrow.array(assignments.probability, arrow.float32()),
            "second": arrow.array(assignments.second, arrow.int64()),
            "second_probability": arrow.array(assignments.second_probability, arrow.float32()),
            "novelty": arrow.array(assignments.novelty, arrow.float32()),
        }
    )
    parquet.write_table(table, path, compression="zstd")


def read_assignments(path: Path) -> Assignments:
    """What `write_assignments` wrote."""
    parquet = check_pyarrow("pyarrow.parquet")
    table = parquet.read_table(path)
    numbers = {name: table[name].to_numpy() for name in table.column_names if name != "reference"}
    return Assignments(reference=table["reference"], **numbers)


def write_sample(path: Path, rows: Array, reduced: Array) -> None:
    """Keep the leading dimensions of some reduced embeddings.

    Parameters
    ----------
    path : Path
    rows : int array (M,)
        Their rows in the assignments.
    reduced : array (M, D)
    """
    arrays: dict[str, Array] = {
        "rows": rows.astype(np.int64),
        "sketch": reduced[:, :SKETCH].astype(np.float32),
    }
    write_archive(path, SAMPLE_KIND, SAMPLE_VERSION, arrays, {})


def read_sample(path: Path) -> tuple[Array, Array]:
    """Rows (M,) and sketches (M, at most 16)."""
    arrays, _ = read_archive(path, SAMPLE_KIND, SAMPLE_VERSION)
    return arrays["rows"], arrays["sketch"]
