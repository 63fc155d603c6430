"""What a source of rows offers, and its rows in blocks of one size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from vbcgcd.errors import InputError

Array = NDArray[Any]

#: Kinds of types that are numbers: floats, integers, and truth values as 0 and 1.
NUMBERS = "fiub"
#: Rows of a block where all are loaded in the end.
LOADED_ROWS = 65_536

__all__ = ["NUMBERS", "RowBlocks", "check_block", "in_blocks", "loaded"]


@runtime_checkable
class RowBlocks(Protocol):
    """Rows that can be read block by block, as often as needed, and singly by their numbers.

    A class of your own with these four members can be given to `CategoryDiscoverer.discover`.
    """

    def __len__(self) -> int:
        """Number of rows."""

    @property
    def width(self) -> int:
        """Number of columns."""

    def pieces(self) -> Iterator[Array]:
        """All rows in order, in pieces (n, width) of whatever length is convenient."""

    def take(self, rows: Array) -> Array:
        """The rows with these rising numbers, array (n, width)."""


def in_blocks(source: RowBlocks, size: int) -> Iterator[tuple[int, Array]]:
    """The rows in blocks of one size, whatever the pieces of the source: number of the first row, and rows.

    Only the last block is smaller. Values are float32 or float64, and finite.

    Raises
    ------
    InputError
        A value is not finite, or the source has more or fewer rows or columns than it said.
    """
    start, waiting, held = 0, list[Array](), 0
    for piece in source.pieces():
        piece = check_block(piece, source.width, start + held)
        while held + len(piece) >= size:
            used = size - held
            yield start, _joined([*waiting, piece[:used]])
            start, waiting, held, piece = start + size, [], 0, piece[used:]
        if len(piece):
            waiting, held = [*waiting, piece], held + len(piece)
    if held:
        yield start, _joined(waiting)
    if start + held != len(source):
        raise InputError(
            f"The source of rows announced {len(source)} rows and gave {start + held}; it must not change "
            "while it is read."
        )


def loaded(rows: Any) -> Array:
    """All rows of a source, array (N, d)."""
    from vbcgcd.blocks.opening import open_rows

    return np.concatenate([part for _, part in in_blocks(open_rows(rows), LOADED_ROWS)])


def check_block(rows: Any, width: int, first: int = 0, *, source: Any = None) -> Array:
    """Float array (n, width) of finite values; its first row and the file of its rows are for the error."""
    rows = np.asarray(rows)
    of = "" if source is None else f" of {source}"
    if rows.ndim != 2 or rows.shape[1] != width:
        raise InputError(f"Rows{of} from {first} on have the shape {rows.shape}; expected {width} columns.")
    if rows.dtype.kind not in NUMBERS:
        raise InputError(f"Rows{of} must be numbers, got values of type {rows.dtype}.")
    if rows.dtype not in (np.float32, np.float64):
        rows = rows.astype(np.float32 if rows.dtype == np.float16 else np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(rows.sum()):
            return rows
    bad = np.argwhere(~np.isfinite(rows))
    if len(bad):
        raise InputError(
            f"Row {first + bad[0, 0]}{of} contains NaN or infinity in column {bad[0, 1]}; remove such rows "
            "or fill in the missing values."
        )
    return rows


def _joined(parts: list[Array]) -> Array:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
