"""The mixture of a sample with many rows and categories: the same steps, block by block and on threads."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vbcgcd.discovery.large.components import Belonging, Components, to_components
from vbcgcd.discovery.large.scheduling import over_blocks
from vbcgcd.discovery.mixture import EM_TOLERANCE, SHARE_BOUNDS, Mixture, MixtureState

Array = NDArray[Any]

#: Rows of a block.
BLOCK_ROWS = 2048

__all__ = ["QuickMixture"]


class _Step(NamedTuple):
    """What one block makes of a step: responsibilities, log-likelihood, change, and sums of the next step."""

    responsibility: Array
    log_likelihood: float
    change: float
    sums: Array
    counts: Array


@dataclass(frozen=True, eq=False)
class QuickMixture(Mixture):
    """A `vbcgcd.discovery.mixture.Mixture` for which searches take less trouble."""

    quick: ClassVar[bool] = True

    def left_out_similarity(self, responsibility: Array) -> Array:
        """Similarity of each row to the novel categories without it, array (N, K)."""
        if self.held is not None:  # a device has no use for blocks
            return super().left_out_similarity(responsibility)
        components = self._components(responsibility)
        out = np.empty(responsibility.shape, self.rows.dtype)

        def fill(block: slice) -> None:
            out[block] = self._similarity(block, responsibility, components)

        for _ in self._over(fill, responsibility.shape[1]):
            pass
        return out

    def em(
        self, responsibility: Array, share: float, steps: int, tolerance: float = EM_TOLERANCE
    ) -> MixtureState:
        """At most so many steps of expectation-maximisation with frozen known categories."""
        if self.held is not None:
            return super().em(responsibility, share, steps, tolerance)
        components, likelihood = self._components(responsibility), -np.inf
        for _ in range(steps):
            step = partial(self._step, responsibility, components, share)
            done = list(self._over(step, responsibility.shape[1]))
            responsibility = np.concatenate([block.responsibility for block in done])
            likelihood = sum(block.log_likelihood for block in done)
            sums = sum((block.sums for block in done[1:]), done[0].sums)
            counts = sum((block.counts for block in done[1:]), done[0].counts)
            share = float(np.clip(counts.sum() / self.total, *SHARE_BOUNDS))
            components = Components(sums, counts, share)
            if sum(block.change for block in done) / len(responsibility) < tolerance:
                break
        return MixtureState(responsibility, likelihood, self.price(responsibility), share)

    def _step(self, before: Array, components: Components, share: float, block: slice) -> _Step:
        similarity = self._similarity(block, before, components)
        scores = self.sharpness * similarity + np.float32(np.log(share / len(components)))
        known = self.known[block] + np.float32(np.log(1 - share))
        top = np.maximum(scores.max(axis=1), known)
        parts = np.exp(scores - top[:, None])
        total = parts.sum(axis=1) + np.exp(known - top)
        parts /= total[:, None]
        likelihood = float(self.weight[block].astype(np.float64) @ (np.log(total) + top))
        sums = self._sums(block, parts)
        return _Step(parts, likelihood, float(np.abs(parts - before[block]).sum()), *sums)

    def _similarity(self, block: slice, responsibility: Array, components: Components) -> Array:
        belonging = Belonging.of(responsibility[block], self.weight[block])
        return to_components(self.geometry, self.rows[block], components, belonging, corrected=self.corrects)

    def _components(self, responsibility: Array) -> Components:
        def part(block: slice) -> tuple[Array, Array]:
            return self._sums(block, responsibility[block])

        done = list(self._over(part, responsibility.shape[1]))
        return Components(sum(s for s, _ in done), sum(n for _, n in done), SHARE_BOUNDS[0])

    def _sums(self, block: slice, responsibility: Array) -> tuple[Array, Array]:
        weight = responsibility * self.weight[block, None]
        sums = (weight.T @ self.rows[block]).astype(np.float64)
        return sums, weight.sum(axis=0, dtype=np.float64)

    def _over(self, function: Any, number: int) -> Any:
        """Results of a function of each block of rows."""
        _ = self.known  # computed once, and not by each thread
        blocks = [slice(start, start + BLOCK_ROWS) for start in range(0, len(self.rows), BLOCK_ROWS)]
        return over_blocks(function, blocks, work=BLOCK_ROWS * number * self.rows.shape[1])
