"""What the cells of a column hold: vectors, numbers, pictures or texts; and the vectors themselves."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from vbcgcd.errors import InputError
from vbcgcd.items.items import as_floats, is_missing
from vbcgcd.items.tables import Block, Cells, TableFile

Array = NDArray[Any]
Nature = Literal["vector", "number", "picture", "text", "empty", "other"]

PICTURES = frozenset({".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp"})

__all__ = [
    "PICTURES",
    "Nature",
    "is_picture",
    "nature_of",
    "parse_vector",
    "vectors_of",
]


def is_picture(name: str) -> bool:
    """Whether a file name has the extension of a picture."""
    return os.path.splitext(name)[1].lower() in PICTURES


def nature_of(cells: Cells, *, typed: bool) -> Nature:
    """What the cells that are not missing have in common.

    Parameters
    ----------
    cells : list or array (n,) or (n, d)
        The cells of one column.
    typed : bool
        Whether the source distinguishes numbers from strings; in CSV it does not, and strings that read as
        numbers are numbers.

    Returns
    -------
    {"vector", "number", "picture", "text", "empty", "other"}
        Lists of numbers (or their JSON), numbers, names of picture files, other strings, nothing, the rest.

    Examples
    --------
    >>> nature_of(["0.5", "2", ""], typed=False)
    'number'
    >>> nature_of(["0.5", "two"], typed=False)
    'text'
    >>> nature_of(["a/1.png", "b/2.JPG"], typed=False)
    'picture'
    >>> nature_of([[0.5, 1.0], [0.0, 2.0]], typed=True)
    'vector'
    """
    if isinstance(cells, np.ndarray):
        return "vector" if cells.ndim == 2 else "number"
    present = [cell for cell in cells if not is_missing(cell)]
    if not present:
        return "empty"
    if all(isinstance(cell, str) for cell in present):
        return _nature_of_strings(present, typed)
    if all(parse_vector(cell) is not None for cell in present):
        return "vector"
    if all(isinstance(cell, int | float) and not isinstance(cell, bool) for cell in present):
        return "number"
    return "other"


def _nature_of_strings(cells: list[str], typed: bool) -> Nature:
    if not typed and all(_is_number(cell) for cell in cells):
        return "number"
    if all(is_picture(cell.strip()) for cell in cells):
        return "picture"
    if all(parse_vector(cell) is not None for cell in cells):
        return "vector"
    return "text"


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def parse_vector(cell: Any) -> list[float] | Array | None:
    """The numbers in one cell, a list or the JSON of one; None for anything else."""
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


def vectors_of(block: Block, names: Sequence[str], table: TableFile) -> Array:
    """Embeddings (n, d) of a block, from one column of vectors or from d columns of numbers."""
    if len(names) == 1:
        return _from_vectors(block, names[0], table)
    columns = [_numbers(block.columns[name], name, block, table) for name in names]
    return as_floats(np.stack(columns, axis=1))


def _from_vectors(block: Block, name: str, table: TableFile) -> Array:
    cells = block.columns[name]
    if isinstance(cells, np.ndarray) and cells.ndim == 2:
        return as_floats(cells)
    rows: list[Any] = []
    for place, cell in zip(block.places, cells, strict=True):
        row = parse_vector(cell)
        where = f"Column {name!r} of {table.path}, {table.unit} {place}"
        if row is None:
            raise InputError(f"{where}: {_quote(cell)} is not a list of numbers such as [0.1, 0.2, ...].")
        if rows and len(row) != len(rows[0]):
            raise InputError(f"{where}: {len(row)} numbers, but the rows before have {len(rows[0])}.")
        rows.append(row)
    try:
        return np.array(rows, dtype=np.float64)
    except OverflowError:
        raise InputError(f"Column {name!r} of {table.path} holds numbers too large for a float.") from None


def _numbers(cells: Cells, name: str, block: Block, table: TableFile) -> Array:
    """Numbers (n,) of one column."""
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "fiu" and cells.ndim == 1:
        return cells
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
                f"Column {name!r} of {table.path}, {table.unit} {place}: {_quote(cell)} is not a number."
            ) from None
    return np.array([float(cell) for cell in cells])


def _quote(cell: Any) -> str:
    empty = cell is None or (isinstance(cell, str) and not cell.strip())
    return "an empty cell" if empty else repr(cell)[:40]
