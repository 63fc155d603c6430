"""The rows of one session, and which of them are found to be novel: what the steps of a session share."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vbcgcd.bayes import Posterior, statistics_by_responsibility
from vbcgcd.discovery.distinct import Returned
from vbcgcd.discovery.knowledge import Knowledge
from vbcgcd.discovery.mixture import Mixture
from vbcgcd.discovery.strategies import Densities
from vbcgcd.discovery.worth import Stream
from vbcgcd.record import CountCurve, Step

Array = NDArray[Any]

__all__ = ["Discovery", "SessionRows", "timed_step"]


@contextmanager
def timed_step(name: str, progress: Callable[[str], None], steps: list[Step]) -> Iterator[dict[str, Any]]:
    """Announce a step, gather its details in the dict, and append it with its time to those that are done."""
    progress(name)
    details: dict[str, Any] = {}
    start = time.perf_counter()
    yield details
    steps.append(Step(name, time.perf_counter() - start, details))


class Discovery(NamedTuple):
    """Responsibilities and teaching weights of the novel categories (N, K), their share, and the count.

    ``returned`` are rows of categories that were found before and came back.
    """

    responsibility: Array
    teaching: Array
    share: float
    curve: CountCurve | None
    returned: Returned


@dataclass(frozen=True, eq=False)
class SessionRows:
    """The rows of one session with what several steps ask for.

    Parameters
    ----------
    rows : array (N, D)
        Reduced embeddings.
    knowledge : Knowledge
        Before the session.
    weight : array (N,) or None
    progress : callable
        Called with the name of each step as it begins.
    steps : list of Step
        Those that are done.
    fit : callable, optional
        Gives the posteriors of novel categories that are taught with weights (N, K), as the session will in
        the end: aligned where it aligns. Exact ones by default.
    given_mixture : Mixture, optional
        That of the rows, where it is at hand.
    """

    rows: Array
    knowledge: Knowledge
    weight: Array | None
    progress: Callable[[str], None]
    steps: list[Step] = field(default_factory=list)
    fit: Callable[[Array], Posterior | None] | None = None
    given_mixture: Mixture | None = None

    def step(self, name: str) -> AbstractContextManager[dict[str, Any]]:
        """Announce and time a step; its details are gathered in the dict."""
        return timed_step(name, self.progress, self.steps)

    @functools.cached_property
    def known_density(self) -> Array:
        """Log-density of each row under each known category, array (N, Kk)."""
        return self.knowledge.classifier.log_density(self.rows, self.knowledge.posterior)

    @functools.cached_property
    def mixture(self) -> Mixture:
        """The rows against the known categories, at the calibrated sharpness."""
        known = self.knowledge
        if self.given_mixture is not None:
            return self.given_mixture
        return Mixture.of(
            self.rows,
            known.posterior.mean,
            known.novelty.geometry,
            counts=known.counts,
            weight=self.weight,
            size_spread=known.size_spread,
            device=known.classifier.device,
        )

    def stream(self, rng: np.random.Generator) -> Stream:
        """The rows with what categories are judged by."""
        return self.knowledge.stream(self.mixture, rng)

    @property
    def densities(self) -> Densities:
        """What a strategy of relabelling may ask for."""
        return Densities(lambda: self.known_density, self._novel_density)

    def weighted(self, responsibility: Array) -> Array:
        """Responsibilities (N, K) times the weight of each row."""
        return responsibility if self.weight is None else responsibility * self.weight[:, None]

    def _novel_density(self, responsibility: Array) -> Array:
        """Log-density under provisional novel posteriors fitted to ``responsibility``."""
        known, weight = self.knowledge, self.weighted(responsibility)
        posterior = None if self.fit is None else self.fit(weight)
        if posterior is None:
            statistics = statistics_by_responsibility(
                self.rows, weight, structure=known.prior.structure, device=known.classifier.device
            )
            posterior = known.posterior_of(statistics)
        return known.classifier.log_density(self.rows, posterior)
