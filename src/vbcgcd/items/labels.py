"""Labels as sources hold them, turned into integers or strings."""

from __future__ import annotations

import math
import numbers
import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.errors import InputError

Array = NDArray[Any]

#: A label longer than this is a text in the wrong column.
LONGEST = 1000
_WHOLE = re.compile(r"0|-?[1-9][0-9]{0,17}")

__all__ = ["as_labels", "is_missing"]


def is_missing(value: Any) -> bool:
    """True for None, NaN and blank strings."""
    if isinstance(value, str):
        return not value.strip()
    return value is None or (isinstance(value, numbers.Real) and math.isnan(value))


def as_labels(values: Sequence[Any] | Array, *, source: str, typed: bool = True) -> Array:
    """Labels of one kind from the cells of a column.

    Strings lose the blanks around them; floats that are whole become integers; truth values become ``"true"``
    and ``"false"``. In a source without types (CSV) a column where every label is written as a whole number
    without leading zeros becomes integers.

    Parameters
    ----------
    values : sequence (N,)
    source : str
        Named in errors.
    typed : bool
        The source tells numbers from strings.

    Returns
    -------
    array (N,)
        int64 or strings; object with None where a label is missing.

    Raises
    ------
    InputError
        Integers beside strings, or values that are neither.
    """
    cells = values.tolist() if isinstance(values, np.ndarray) else values
    labels = [None if is_missing(cell) else _label(cell, row, source) for row, cell in enumerate(cells)]
    present = [label for label in labels if label is not None]
    if not typed and present and all(_WHOLE.fullmatch(str(label)) for label in present):
        labels = [None if label is None else int(label) for label in labels]
    kinds = {type(label) for label in labels if label is not None}
    if len(kinds) > 1:
        one = next(label for label in labels if isinstance(label, int))
        other = next(label for label in labels if isinstance(label, str))
        raise InputError(
            f"The labels of {source} mix numbers ({one}) and strings ({other!r}); write all in one way."
        )
    if len(present) < len(labels):
        mixed = np.empty(len(labels), dtype=object)
        mixed[:] = labels
        return mixed
    return np.array(labels, dtype=np.int64 if kinds == {int} else None)


def _label(cell: Any, row: int, source: str) -> int | str:
    if isinstance(cell, bool | np.bool_):
        return "true" if cell else "false"
    if isinstance(cell, str):
        if len(cell) > LONGEST:
            raise InputError(
                f"The label of row {row} of {source} has {len(cell)} characters; this looks like a text, "
                "say which column holds the labels with label=."
            )
        return cell.strip()
    if isinstance(cell, int | np.integer) and abs(int(cell)) < 2**63:
        return int(cell)
    if isinstance(cell, float | np.floating) and float(cell).is_integer() and abs(float(cell)) < 2**63:
        return int(cell)
    raise InputError(
        f"The label of row {row} of {source} is {str(cell)[:40]!r} ({type(cell).__name__}); labels are "
        "strings or whole numbers."
    )
