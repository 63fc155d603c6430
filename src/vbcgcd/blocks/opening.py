"""Which source of rows a path or an array is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from vbcgcd.blocks.arrays import ArrayBlocks, NpyBlocks
from vbcgcd.blocks.protocol import RowBlocks
from vbcgcd.errors import InputError
from vbcgcd.marks import check_whole

ENDINGS = (".npy", ".parquet", ".arrow", ".feather")

__all__ = ["is_source", "open_rows"]


def is_source(rows: Any) -> bool:
    """Whether these are rows to be read block by block: a path or a `RowBlocks`, and no array."""
    return isinstance(rows, str | os.PathLike | RowBlocks)


def open_rows(rows: Any, *, column: str | None = None) -> RowBlocks:
    """A source of rows from a path or an array.

    Parameters
    ----------
    rows : path, array (N, d) or RowBlocks
        A file ``.npy``, ``.parquet``, ``.arrow`` or ``.feather``, or a folder of Parquet files, or of Arrow
        files, which are read in the order of their names.
    column : str, optional
        The column of vectors of a table; by default the only one, or the one called "embedding" or "vector",
        or, without any, all columns of numbers.

    Raises
    ------
    InputError
        There is no such file, it cannot be read, or the files of a folder do not agree.

    Examples
    --------
    >>> import numpy as np
    >>> source = open_rows(np.zeros((5, 3)))
    >>> len(source), source.width
    (5, 3)
    """
    if isinstance(rows, np.ndarray):
        return ArrayBlocks(rows)
    if not isinstance(rows, str | os.PathLike):
        if isinstance(rows, RowBlocks):
            return rows
        raise InputError(f"Rows must be a path, an array or a RowBlocks, got {type(rows).__name__}.")
    if not os.fspath(rows):
        raise InputError("The path of the rows is empty; give a file or a folder ('.' is the present one).")
    path = Path(rows)
    if not path.exists():
        raise InputError(
            f"{path} does not exist; give a file {', '.join(ENDINGS)} or a folder of Parquet files."
        )
    paths = [path]
    if path.is_dir():
        check_whole(path)
        paths = sorted(
            p for p in path.iterdir() if p.suffix.lower() in ENDINGS[1:] and not p.name.startswith((".", "_"))
        )
    kinds = {p.suffix.lower() for p in paths}
    if kinds == {".npy"}:
        return NpyBlocks(path)
    from vbcgcd.blocks.tables import ArrowBlocks, ParquetBlocks

    if kinds == {".parquet"}:
        return ParquetBlocks(paths, column)
    if kinds and kinds <= {".arrow", ".feather"}:
        return ArrowBlocks(paths, column)
    raise InputError(
        f"{path} holds no rows that can be read block by block; give a file {', '.join(ENDINGS)} or a folder "
        "of Parquet files."
    )
