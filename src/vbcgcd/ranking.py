"""The best columns of probabilities that may be sparse."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

__all__ = ["Ranking", "is_sparse", "ranking"]


class Ranking(NamedTuple):
    """Of each row (N,): the value in its own column, the best column, the best other one and its value, and
    the sum of all.

    Columns are -1, and their values 0, where there is nothing above 0.
    """

    own: Array
    best: Array
    other: Array
    other_value: Array
    total: Array


def is_sparse(probabilities: Any) -> bool:
    """Whether probabilities are a sparse array."""
    return hasattr(probabilities, "tocsr")


def ranking(probabilities: Any, own: Array) -> Ranking:
    """The best columns of each row of a sparse array (N, K), beside its own column.

    Parameters
    ----------
    probabilities : scipy.sparse array (N, K)
    own : int array (N,)
        A column for each row; -1 for none.

    Examples
    --------
    >>> import numpy as np, scipy
    >>> ranking(scipy.sparse.csr_array([[0.1, 0.0, 0.9]]), np.array([0])).other
    array([2])
    """
    table = probabilities.tocsr()
    counts = np.diff(table.indptr)
    width = max(int(counts.max(initial=0)), 1)
    column, value = np.full((len(counts), width), -1), np.zeros((len(counts), width), table.dtype)
    filled = np.arange(width) < counts[:, None]
    column[filled], value[filled] = table.indices, table.data
    mine = (column == own[:, None]) & (own[:, None] >= 0)
    others = np.where(mine, 0, value)
    return Ranking(
        np.where(mine, value, 0).sum(axis=1),
        _best(column, value)[0],
        *_best(column, others),
        np.asarray(value.sum(axis=1, dtype=np.float64)),
    )


def _best(column: Array, value: Array) -> tuple[Array, Array]:
    place = value.argmax(axis=1)
    at = np.arange(len(value)), place
    return np.where(value[at] > 0, column[at], -1), value[at]
