"""Embeddings from cells: numbers in equal rows, all finite."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.errors import InputError
from vbcgcd.items.tables import Block, Table

Array = NDArray[Any]

__all__ = ["as_floats", "check_finite", "parse_vector", "vectors_of"]


def parse_vector(cell: Any) -> list[float] | Array | None:
    """Numbers of one cell: a list, or the JSON of one; None where it is neither."""
    if isinstance(cell, str):
        if not cell.lstrip().startswith("["):
            return None
        try:
            cell = json.loads(cell)
        except (ValueError, RecursionError):
            return None
    if isinstance(cell, np.ndarray):
        return cell
    if not isinstance(cell, list) or not cell:
        return None
    return cell if set(map(type, cell)) <= {int, float} else None


def vectors_of(block: Block, names: Sequence[str], table: Table) -> Array:
    """Embeddings (n, d) of a block: from one column of vectors, or from d columns of numbers."""
    if len(names) == 1:
        return _from_column(block, names[0], table)
    return _from_columns(block, names, table)


def _from_column(block: Block, name: str, table: Table) -> Array:
    cells = block.columns[name]
    if isinstance(cells, np.ndarray) and cells.ndim == 2:
        return as_floats(cells)
    rows: list[Any] = []
    for place, cell in zip(block.places, cells, strict=True):
        row = parse_vector(cell)
        where = f"Column {name!r} of {table.path}, {table.unit} {place}"
        if row is None:
            raise InputError(f"{where}: {_shown(cell)} is not a list of numbers such as [0.1, 0.2, ...].")
        if rows and len(row) != len(rows[0]):
            raise InputError(f"{where}: {len(row)} numbers, the rows before have {len(rows[0])}.")
        rows.append(row)
    try:
        return np.array(rows, dtype=np.float64)
    except OverflowError:
        raise InputError(f"Column {name!r} of {table.path} holds numbers too large for a float.") from None


def _from_columns(block: Block, names: Sequence[str], table: Table) -> Array:
    columns = []
    for name in names:
        cells = block.columns[name]
        if not (isinstance(cells, np.ndarray) and cells.dtype.kind in "fiu" and cells.ndim == 1):
            cells = _numbers(cells, name, block, table)
        columns.append(cells)
    return as_floats(np.stack(columns, axis=1))


def _numbers(cells: Any, name: str, block: Block, table: Table) -> Array:
    try:
        if not table.typed or set(map(type, cells)) <= {int, float}:
            return np.array(cells, dtype=np.float64)
    except (ValueError, OverflowError):
        pass
    for place, cell in zip(block.places, cells, strict=True):
        try:
            if table.typed and not isinstance(cell, int | float):
                raise ValueError
            float(cell)
        except (ValueError, OverflowError):
            raise InputError(
                f"Column {name!r} of {table.path}, {table.unit} {place}: {_shown(cell)} is not a number."
            ) from None
    return np.array([float(cell) for cell in cells])


def as_floats(rows: Array) -> Array:
    """Numbers (N, d) as floats; floats keep their type."""
    return rows if rows.dtype.kind == "f" else rows.astype(np.float64)


def check_finite(rows: Array, references: Sequence[str], source: str) -> None:
    """Raise where an embedding (N, d) holds NaN or infinity."""
    for first in range(0, len(rows), 4096):
        good = np.isfinite(rows[first : first + 4096]).all(axis=1)
        if not good.all():
            row = first + int(np.argmin(good))
            column = int(np.argmin(np.isfinite(rows[row])))
            n_bad = sum(
                int((~np.isfinite(rows[i : i + 4096]).all(axis=1)).sum()) for i in range(0, len(rows), 4096)
            )
            raise InputError(
                f"{source} holds NaN or infinity in {n_bad} of {len(rows)} embeddings, first in item "
                f"{references[row]!r}, position {column}; remove these rows or embed them again."
            )


def _shown(cell: Any) -> str:
    empty = cell is None or (isinstance(cell, str) and not cell.strip())
    return "an empty cell" if empty else repr(cell)[:40]
