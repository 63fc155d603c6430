"""Passes over all rows: what one block makes of the known and of the novel categories.

Every function here takes one block and what all blocks share, and returns arrays of the block's rows and sums
over them. They change nothing, so that blocks can be computed in any order, by anybody.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vbcgcd.discovery.knowledge import Knowledge
from vbcgcd.discovery.known_side import BLOCK_VALUES, log_sum_exp, usual_sharpnesses
from vbcgcd.discovery.large.components import Belonging, Components, sums_of, to_components
from vbcgcd.discovery.large.sampling import row_hashes

Array = NDArray[Any]

#: Rows of a block.
BLOCK_ROWS = 4096
#: Novel categories remembered for each row.
REMEMBERED = 4
#: A category is remembered for a row that belongs to it with at least this probability.
LEAST_PROBABILITY = 1e-4

__all__ = ["BLOCK_ROWS", "Block", "Expectation", "Expected", "Known", "scan_known"]


class Block(NamedTuple):
    """Rows one after the other: the number of the first, embeddings, and what is known of them by now."""

    first: int
    rows: Array
    known: Known | None = None
    member: Member | None = None
    weight: Array | None = None


class Known(NamedTuple):
    """What the known categories make of each row.

    Attributes
    ----------
    best, second : float32 array (n,)
        Similarity to the best and the second best category; -inf where there is no second.
    log_sums : float32 array (n, 2)
        Log-sum-exp of similarities at the calibrated sharpness and at that of a search.
    hashes : uint64 array (n,)
        Pseudo-random numbers that depend on the row alone.
    category : int32 array (n,)
        The best category.
    """

    best: Array
    second: Array
    log_sums: Array
    hashes: Array
    category: Array

    def at(self, rows: Any) -> Known:
        """Those of some rows."""
        return Known(*(values[rows] for values in self))


class Member(NamedTuple):
    """Which novel categories each row belongs to: at most a few (n, T), -1 for none, and how probably."""

    category: Array
    probability: Array

    def at(self, rows: Any) -> Member:
        """Those of some rows."""
        return Member(self.category[rows], self.probability[rows])

    @classmethod
    def none(cls, n_rows: int) -> Member:
        """No row belongs to any."""
        return cls(np.full((n_rows, REMEMBERED), -1, np.int32), np.zeros((n_rows, REMEMBERED), np.float32))

    def dense(self, number: int) -> Array:
        """Probabilities of so many categories, array (n, K)."""
        out = np.zeros((len(self.category), number), np.float32)
        row, place = np.nonzero(self.category >= 0)
        category = self.category[row, place]
        inside = category < number
        out[row[inside], category[inside]] = self.probability[row, place][inside]
        return out


def scan_known(knowledge: Knowledge, block: Block) -> Known:
    """What the known categories make of a block."""
    geometry, means, counts = knowledge.novelty.geometry, knowledge.posterior.mean, knowledge.counts
    rows = geometry.prepared(knowledge.reduced(block.rows, block.first))
    n = len(rows)
    best, second, sums = np.empty(n, np.float32), np.empty(n, np.float32), np.empty((n, 2), np.float32)
    category = np.empty(n, np.int32)
    step = max(1, BLOCK_VALUES // len(means))
    for start in range(0, n, step):
        part = slice(start, start + step)
        similarity = geometry.corrected(geometry.similarity(rows[part], means), counts)
        for i, sharpness in enumerate(usual_sharpnesses(geometry)):
            sums[part, i] = log_sum_exp(np.float32(sharpness) * similarity)
        category[part] = similarity.argmax(axis=1)
        place = np.arange(len(similarity)), category[part]
        best[part] = similarity[place]
        similarity[place] = -np.inf
        second[part] = similarity.max(axis=1)
    return Known(best, second, sums, row_hashes(block.rows), category)


class Expected(NamedTuple):
    """What a block makes of the novel categories.

    Attributes
    ----------
    member : Member
    best, second : float32 array (n,)
        Similarity to the best and the second best of them.
    sums, counts : arrays (K, D), (K,)
        Of the rows that belong to each.
    """

    member: Member
    best: Array
    second: Array
    sums: Array
    counts: Array


@dataclass(frozen=True, eq=False)
class Expectation:
    """One step of EM over all rows, at the calibrated sharpness, as a function of a block.

    Parameters
    ----------
    knowledge : Knowledge
    components : Components
        The novel categories.
    """

    knowledge: Knowledge
    components: Components

    def __call__(self, block: Block) -> Expected:
        """What a block makes of them."""
        geometry, number = self.knowledge.novelty.geometry, len(self.components)
        rows = geometry.prepared(self.knowledge.reduced(block.rows, block.first))
        weight = np.ones(len(rows), np.float32) if block.weight is None else block.weight
        before = self._belonging(block, weight)
        similarity = to_components(geometry, rows, self.components, before, corrected=True)
        member = self._member(similarity, block)
        belonging = Belonging.of(member.dense(number), weight)
        top = np.full((2, len(rows)), -np.inf, np.float32)
        chosen = similarity.argmax(axis=1)
        top[0] = similarity[np.arange(len(rows)), chosen]
        similarity[np.arange(len(rows)), chosen] = -np.inf
        top[1] = similarity.max(axis=1)
        return Expected(member, top[0], top[1], *sums_of(rows, belonging, number))

    def _belonging(self, block: Block, weight: Array) -> Belonging:
        assert block.member is not None
        row, place = np.nonzero(block.member.category >= 0)
        share = block.member.probability[row, place] * weight[row]
        return Belonging(row, block.member.category[row, place], share)

    def _member(self, similarity: Array, block: Block) -> Member:
        assert block.known is not None
        sharpness, share = np.float32(self.knowledge.novelty.geometry.sharpness), self.components.share
        scores = sharpness * similarity + np.float32(np.log(share / similarity.shape[1]))
        log_known = np.float32(np.log(1 - share) - np.log(len(self.knowledge.posterior)))
        known = block.known.log_sums[:, 0] + log_known
        top = np.maximum(scores.max(axis=1), known)
        parts = np.exp(scores - top[:, None])
        parts /= (parts.sum(axis=1) + np.exp(known - top))[:, None]
        few = min(REMEMBERED, parts.shape[1])
        chosen = np.argpartition(-parts, few - 1, axis=1)[:, :few]
        probability = np.take_along_axis(parts, chosen, axis=1)
        out = Member.none(len(parts))
        enough = probability >= LEAST_PROBABILITY
        out.category[:, :few] = np.where(enough, chosen, -1)
        out.probability[:, :few] = np.where(enough, probability, 0)
        return out
