"""Which category each row of a large session belongs to, and how probably: a few categories for each row."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from vbcgcd.discovery.knowledge import Knowledge
from vbcgcd.discovery.large.scan import Block
from vbcgcd.discovery.top import top_probabilities

Array = NDArray[Any]

#: Known categories whose probability is kept for each row.
SHORT_LIST = 8
#: A row that is novel with more than this probability has no known category.
SURELY_NOVEL = 0.999
#: Rows of a block: each category is read once for many rows.
BLOCK_ROWS = 16_384
#: Probabilities of rows x categories are kept as an ordinary array up to this size, and else as a sparse one.
DENSE_VALUES = 50_000_000

__all__ = ["BLOCK_ROWS", "DENSE_VALUES", "SHORT_LIST", "BestKnown", "Candidates", "together"]


class Candidates(NamedTuple):
    """The most probable known categories of each row (n, m), -1 for none, and their probabilities."""

    category: Array
    probability: Array


@dataclass(frozen=True, eq=False)
class BestKnown:
    """The most probable known categories of the rows of a block that are not surely novel.

    Parameters
    ----------
    knowledge : Knowledge
    wanted : bool array (N,)
        Rows for which they are looked for.
    """

    knowledge: Knowledge
    wanted: Array

    def __call__(self, block: Block) -> Candidates:
        """Of one block."""
        few = min(SHORT_LIST, len(self.knowledge.posterior))
        out = Candidates(
            np.full((len(block.rows), few), -1, np.int32), np.zeros((len(block.rows), few), np.float32)
        )
        chosen = np.flatnonzero(self.wanted[block.first : block.first + len(block.rows)])
        if len(chosen):
            reduced = self.knowledge.reduced(block.rows[chosen], block.first)
            top = top_probabilities(self.knowledge, reduced, few)
            out.category[chosen], out.probability[chosen] = top.categories, np.exp(top.log_probability)
        return out


def together(category: Array, probability: Array, number: int) -> Any:
    """Probabilities of all categories from those of a few for each row (N, m).

    Returns
    -------
    float32 array (N, K), or beyond `DENSE_VALUES` a `scipy.sparse.csr_array` of that shape
    """
    row, place = np.nonzero(category >= 0)
    column, value = category[row, place], probability[row, place].astype(np.float32)
    shape = len(category), number
    if shape[0] * shape[1] <= DENSE_VALUES:
        out = np.zeros(shape, np.float32)
        np.add.at(out, (row, column), value)
        return out
    return scipy.sparse.csr_array((value, (row, column)), shape)
