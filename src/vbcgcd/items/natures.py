"""What a column holds, judged by its cells."""

from __future__ import annotations

import os
from typing import Literal

import numpy as np

from vbcgcd.items.labels import is_missing
from vbcgcd.items.tables import Cells
from vbcgcd.items.vectors import parse_vector

Nature = Literal["vector", "number", "picture", "text", "empty", "other"]

PICTURES = frozenset({".bmp", ".gif", ".jpeg", ".jpg", ".pgm", ".png", ".ppm", ".tif", ".tiff", ".webp"})

__all__ = ["PICTURES", "Nature", "is_picture", "nature_of"]


def is_picture(name: str) -> bool:
    """The name ends as names of pictures do."""
    return os.path.splitext(name)[1].lower() in PICTURES


def nature_of(cells: Cells, *, typed: bool) -> Nature:
    """What the cells that are not missing have in common.

    Parameters
    ----------
    cells : list or array (n,) or (n, d)
    typed : bool
        Strings are strings; otherwise (CSV) strings that read as numbers are numbers.

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
