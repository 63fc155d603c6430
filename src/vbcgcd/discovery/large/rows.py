"""All rows of a large session, block by block, with the few numbers that are kept of each."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.blocks import RowBlocks, in_blocks
from vbcgcd.devices import hold
from vbcgcd.discovery.knowledge import Knowledge
from vbcgcd.discovery.known_side import KnownSide, usual_sharpnesses
from vbcgcd.discovery.large.components import Components
from vbcgcd.discovery.large.quick import QuickMixture
from vbcgcd.discovery.large.sampling import told_apart
from vbcgcd.discovery.large.scan import BLOCK_ROWS, Block, Expectation, Known, Member, scan_known
from vbcgcd.discovery.large.scheduling import is_elsewhere, over_blocks
from vbcgcd.discovery.mixture import SHARE_BOUNDS
from vbcgcd.discovery.rows import SessionRows, timed_step
from vbcgcd.record import Step

Array = NDArray[Any]

__all__ = ["LargeRows", "Refined"]


@dataclass(frozen=True, eq=False)
class Refined:
    """Novel categories fitted to all rows.

    Parameters
    ----------
    components : Components
    member : Member
        The few that each row belongs to.
    best, second : float32 array (N,)
        Similarity to the best and second best of them; -inf where there is none.
    """

    components: Components
    member: Member
    best: Array
    second: Array


@dataclass(frozen=True, eq=False)
class LargeRows:
    """The rows of a large session.

    Parameters
    ----------
    source : RowBlocks
    knowledge : Knowledge
        Before the session.
    weight : array (N,) or None
    progress : callable
        Called with the name of each step as it begins.
    steps : list of Step
        Those that are done.
    """

    source: RowBlocks
    knowledge: Knowledge
    weight: Array | None
    progress: Callable[[str], None]
    steps: list[Step] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.source)

    def step(self, name: str) -> AbstractContextManager[dict[str, Any]]:
        """Announce and time a step; its details are gathered in the dict."""
        return timed_step(name, self.progress, self.steps)

    @functools.cached_property
    def known(self) -> Known:
        """What the known categories make of each row."""
        work = BLOCK_ROWS * self.knowledge.posterior.mean.size
        parts = list(over_blocks(partial(scan_known, self.knowledge), self.blocks(), work=work))
        known = Known(*(np.concatenate(column) for column in zip(*parts, strict=True)))
        return known._replace(hashes=told_apart(known.hashes))

    @functools.cached_property
    def novelty(self) -> Array:
        """Novelty of each row under the known categories, array (N,)."""
        return 1 - self.knowledge.novelty.p_value(self.known.best)

    def blocks(
        self, known: Known | None = None, member: Member | None = None, size: int = BLOCK_ROWS
    ) -> Iterator[Block]:
        """All rows in order, with what is known of them."""
        for first, rows in self._pieces(size):
            part = slice(first, first + len(rows))
            yield Block(
                first,
                rows,
                None if known is None else known.at(part),
                None if member is None else member.at(part),
                None if self.weight is None else self.weight[part].astype(np.float32),
            )

    def _pieces(self, size: int) -> Iterator[tuple[int, Any]]:
        """Blocks of rows, or only where they are, for those who read them elsewhere."""
        places = getattr(self.source, "places", None)
        if places is not None and is_elsewhere():
            return iter(places(size))
        return in_blocks(self.source, size)

    def refined(self, components: Components, steps: int, before: Refined | None = None) -> Refined:
        """Novel categories after so many steps of EM over all rows."""
        n, total = len(self), len(self) if self.weight is None else float(self.weight.sum())
        member = Member.none(n) if before is None else before.member
        best, second = (np.full(n, -np.inf, np.float32) for _ in range(2))
        work = BLOCK_ROWS * self.knowledge.posterior.mean.shape[1] * (self.source.width + len(components))
        for _ in range(steps if len(components) else 0):
            done, at, after = Expectation(self.knowledge, components), 0, Member.none(n)
            sums, counts = np.zeros(components.sums.shape), np.zeros(len(components))
            for block in over_blocks(done, self.blocks(self.known, member), work=work):
                part = slice(at, at + len(block.best))
                after.category[part], after.probability[part] = block.member
                best[part], second[part] = block.best, block.second
                sums += block.sums
                counts += block.counts
                at = part.stop
            member = after
            components = Components(sums, counts, float(np.clip(counts.sum() / total, *SHARE_BOUNDS)))
        return Refined(components, member, best, second)

    def sample(self, rows: Array, weight: Array) -> tuple[Array, SessionRows]:
        """Some rows as those of an ordinary session, and their numbers in its order."""
        order = rows[np.argsort(self.known.hashes[rows], kind="stable")]
        weight = weight[np.argsort(self.known.hashes[rows], kind="stable")]
        back = np.argsort(order)
        taken = self.source.take(order[back])
        reduced = self.knowledge.reduced(taken)[np.argsort(back)]
        known, geometry = self.knowledge, self.knowledge.novelty.geometry
        prepared = geometry.prepared(reduced)
        seen = self.known.at(order)
        held = {s: seen.log_sums[:, i] for i, s in enumerate(usual_sharpnesses(geometry))}
        mixture = QuickMixture(
            geometry,
            prepared,
            KnownSide(
                geometry, prepared, known.posterior.mean, known.counts, None, {"best": seen.best, **held}
            ),
            weight.astype(np.float32),
            known.size_spread,
            np.float32(geometry.sharpness),
            held=hold(prepared, known.classifier.device),
        )
        here = SessionRows(reduced, known, weight, self.progress, self.steps, given_mixture=mixture)
        return order, here
