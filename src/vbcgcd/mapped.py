"""Rows of an array that stay in their file: they are mapped, and checked before they are used."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

Array = NDArray[Any]
#: Called with the first byte of a file and the one after the last that are going to be used; it may raise.
Check = Callable[[int, int], None]

#: Bytes from which on an array stays in its file, and a file of a workspace has digests of its parts.
LARGE = 2**24

__all__ = ["LARGE", "Check", "MappedRows"]


class MappedRows:
    """The rows of an array (N, W) in a file.

    Indexing gives read-only arrays that the operating system reads from the file as they are used. Whatever
    takes it as an array gets all rows. It is no array itself, so that no row can be used unchecked.

    Parameters
    ----------
    path : Path
    dtype : dtype
    shape : (int, int)
    offset : int
        First byte of the array in the file.
    check : callable, optional
        Called with the bytes of rows before they are used for the first time.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "rows")
    >>> _ = path.write_bytes(np.arange(6.0).tobytes())
    >>> rows = MappedRows(path, "float64", (3, 2), 0)
    >>> rows[1]
    array([2., 3.])
    >>> del rows; folder.cleanup()
    """

    def __init__(
        self,
        path: Path,
        dtype: DTypeLike,
        shape: tuple[int, ...],
        offset: int,
        check: Check | None = None,
    ) -> None:
        mapped = np.memmap(path, dtype=dtype, mode="r", offset=offset, shape=shape)
        self._rows, self._offset, self._check = np.asarray(mapped), offset, check
        self._width = self._rows[:1].nbytes

    @property
    def shape(self) -> tuple[int, ...]:
        """(N, W)."""
        return self._rows.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the numbers."""
        return self._rows.dtype

    @property
    def nbytes(self) -> int:
        """Bytes in the file."""
        return self._rows.nbytes

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Array:
        if self._check is not None:
            self._checked(index[0] if isinstance(index, tuple) else index)
        rows: Array = self._rows[index]
        return rows

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Array:
        return np.array(self[:], dtype=dtype, copy=copy)

    def _checked(self, index: Any) -> None:
        """Check the rows that an index takes, neighbouring ones together."""
        assert self._check is not None
        if isinstance(index, int | np.integer):
            first = int(index) % len(self)
            runs = [(first, first + 1)]
        else:
            rows = np.unique(np.arange(len(self))[index])
            breaks = np.flatnonzero(np.diff(rows) > 1) + 1
            runs = [(int(run[0]), int(run[-1]) + 1) for run in np.split(rows, breaks) if len(run)]
        for first, stop in runs:
            self._check(self._offset + first * self._width, self._offset + stop * self._width)
