"""Rows of arrays, in memory or mapped from a file of NumPy."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.blocks.protocol import NUMBERS, check_block
from vbcgcd.errors import InputError, reason_of
from vbcgcd.marks import check_unchanged, file_mark

Array = NDArray[Any]

#: Rows of a piece.
PIECE_ROWS = 4096

__all__ = ["ArrayBlocks", "NpyBlocks"]


@dataclass(frozen=True, eq=False)
class ArrayBlocks:
    """The rows of an array (N, d), such as `numpy.memmap`."""

    array: Array

    def __post_init__(self) -> None:
        if self.array.ndim != 2 or not self.array.size:
            raise InputError(f"Rows must be an array (rows, columns), got the shape {self.array.shape}.")

    def __len__(self) -> int:
        return len(self.array)

    @property
    def width(self) -> int:
        """Number of columns."""
        return int(self.array.shape[1])

    def pieces(self) -> Iterator[Array]:
        """All rows in order."""
        for start in range(0, len(self), PIECE_ROWS):
            yield self.array[start : start + PIECE_ROWS]

    def take(self, rows: Array) -> Array:
        """The rows with these numbers."""
        return check_block(self.array[rows], self.width)


class NpyBlocks:
    """The rows of a file of NumPy (.npy).

    It is opened anew for each pass: a mapping that lasts would keep the whole file in memory, as far as the
    system counts it.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._mark = file_mark(self.path)
        array = self._mapped()
        if array.ndim != 2 or not array.size or array.dtype.kind not in NUMBERS:
            raise InputError(
                f"{self.path} holds values of shape {array.shape} and type {array.dtype}; write an array "
                "(rows, columns) of numbers."
            )
        self._shape = array.shape

    def _mapped(self) -> Array:
        check_unchanged(self.path, self._mark)
        try:
            return np.asarray(np.load(self.path, mmap_mode="r", allow_pickle=False))
        except (OSError, ValueError, EOFError) as error:
            reason = reason_of(error)
            if "ickle" in reason or "Python objects" in reason:  # NumPy's advice would be to trust the file
                reason = "it holds Python objects, or no array at all"
            raise InputError(
                f"{self.path} cannot be read as an array of NumPy: {reason}. Write it with numpy.save, as "
                "numbers."
            ) from None

    def __len__(self) -> int:
        return int(self._shape[0])

    @property
    def width(self) -> int:
        """Number of columns."""
        return int(self._shape[1])

    def pieces(self) -> Iterator[Array]:
        """All rows in order."""
        for start in range(0, len(self), PIECE_ROWS):
            yield check_block(
                np.array(self._mapped()[start : start + PIECE_ROWS]), self.width, start, source=self.path
            )

    def take(self, rows: Array) -> Array:
        """The rows with these numbers."""
        out = [np.array(self._mapped()[rows[i : i + PIECE_ROWS]]) for i in range(0, len(rows), PIECE_ROWS)]
        return check_block(np.concatenate(out) if out else self._mapped()[:0], self.width)
