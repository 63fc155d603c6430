"""What each row of a session taught: which category by what weight, and which seedling it belongs to."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.discovery.leftovers import Leftovers
from vbcgcd.record import Lessons

Array = NDArray[Any]

__all__ = ["lessons_of"]


def lessons_of(
    weight: Array, known: Array, n_known: int, leftovers: Leftovers | None, back: Array
) -> Lessons:
    """The lessons of a session, in the order in which its rows came.

    Parameters
    ----------
    weight : array (N, K)
        What each row counts for in the statistics of each novel category.
    known : int array (N,)
        The known category that each row taught, with weight 1; -1 for none.
    n_known : int
        Number of known categories: the novel ones follow them.
    leftovers : Leftovers or None
    back : int array (N,)
        Where each row that came is among the rows of the session.
    """
    weight, known = weight[back], known[back]
    row, novel = np.nonzero(weight)
    sure = np.flatnonzero(known >= 0)
    rows, categories = np.concatenate([row, sure]), np.concatenate([n_known + novel, known[sure]])
    weights = np.concatenate([weight[row, novel].astype(np.float64), np.ones(len(sure))])
    order = np.lexsort((categories, rows))
    home, lineage, grown = np.full(len(weight), -1), np.empty(0, dtype=np.int64), dict[int, int]()
    if leftovers is not None:
        home, lineage = leftovers.home, leftovers.lineage
        grown = {n_known + k: seedling for k, seedling in leftovers.past.items()}
    return Lessons(rows[order], categories[order], weights[order], home[back], lineage, grown)
