"""A mixture of known and novel categories in the calibrated geometry: its likelihood and its EM steps.

    p(row) = (1 - share) mean_known exp(s(row, k)) + share mean_novel exp(s(row, c))

Known categories are frozen. Novel ones are the weighted means of the rows that belong to them, and a row is
left out of the mean it is compared with, so that a cluster cannot hold on to a row merely by containing it.
The share of novel rows is estimated along with them: neither "all rows are novel" nor a gate decides first.
Solutions are compared by their likelihood, less a price on sizes more uneven than those of the labelled
categories. `vbcgcd.discovery.search` looks for good ones.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from vbcgcd.bayes.leave_one_out import squared_lengths
from vbcgcd.devices import HeldRows, hold
from vbcgcd.discovery.geometry import Geometry
from vbcgcd.discovery.known_side import KnownSide, log_sum_exp

Array = NDArray[Any]

#: Price of uneven sizes, in multiples of the nats that they cost a coder who expects even ones. Chosen by
#: accuracy on streams: three gains half a point where novel categories are even and loses five where they
#: are not.
EVENNESS_PRICE = 1.0
#: The share of novel rows stays inside these bounds, so that neither side of the mixture can vanish.
SHARE_BOUNDS = (0.005, 0.995)
#: EM stops when the responsibilities of a row move by less than this on average.
EM_TOLERANCE = 2e-3
#: Smaller responsibilities than this are left out of what is kept.
NEGLIGIBLE = 1e-4
#: The part of one category in the likelihood of a row is at most 1 minus this: its logarithm stays finite.
TINY_PART = 1e-9

__all__ = ["Mixture", "MixtureState"]


class MixtureState(NamedTuple):
    """Responsibilities of the novel categories (N, K), log-likelihood, price, and share of novel rows."""

    responsibility: Array
    log_likelihood: float
    price: float
    share: float

    @property
    def objective(self) -> float:
        """What a search maximises."""
        return self.log_likelihood - self.price

    def packed(self) -> MixtureState:
        """To be kept beside many others: responsibilities as a sparse array, without the negligible ones."""
        some = np.where(self.responsibility > NEGLIGIBLE, self.responsibility, 0)
        return self._replace(responsibility=scipy.sparse.csr_array(some))

    def unpacked(self) -> MixtureState:
        """With responsibilities as an ordinary array, whatever they were kept as."""
        if isinstance(self.responsibility, np.ndarray):
            return self
        return self._replace(responsibility=self.responsibility.toarray())


@dataclass(frozen=True, eq=False)
class Mixture:
    """Rows of one session against frozen known categories, at one sharpness.

    Parameters
    ----------
    geometry : Geometry
    rows : array (N, D)
        Reduced embeddings, prepared by the geometry.
    known_side : KnownSide
        The same rows and the known categories.
    weight : float32 array (N,)
        Weight of each row.
    size_spread : float
        Squared coefficient of variation of the labelled categories' sizes: that much unevenness is free.
    sharpness : float
        What similarities are multiplied with.
    corrects : bool
        Whether similarities to novel categories allow for the noise of means of few rows, as those to known
        ones do; see `corrected`.
    held : HeldRows, optional
        The prepared rows on a device, where the products of each step are computed; NumPy without it.
    """

    geometry: Geometry
    rows: Array
    known_side: KnownSide
    weight: Array
    size_spread: float
    sharpness: np.float32
    corrects: bool = False
    held: HeldRows | None = None

    #: Whether searches are to take less trouble, for many rows and categories.
    quick: ClassVar[bool] = False

    @classmethod
    def of(
        cls,
        rows: Array,
        known_means: Array,
        geometry: Geometry,
        *,
        counts: Array | None = None,
        weight: Array | None = None,
        size_spread: float = 0.0,
        device: str | None = None,
    ) -> Mixture:
        """The mixture of reduced embeddings (N, D) and known means (Kk, D) at the calibrated sharpness.

        Parameters
        ----------
        rows, known_means : array
        geometry : Geometry
        counts : array (Kk,), optional
            Rows of which each known mean was taken; without it they are taken as exact.
        weight : array (N,), optional
            Weight of each row.
        size_spread : float
            See above.
        device : str, optional
            See `vbcgcd.devices.resolve`.
        """
        prepared = geometry.prepared(rows)
        return cls(
            geometry,
            prepared,
            KnownSide(geometry, prepared, known_means, counts),
            np.ones(len(rows), np.float32) if weight is None else weight.astype(np.float32),
            size_spread,
            np.float32(geometry.sharpness),
            held=hold(prepared, device),
        )

    def at(self, sharpness: float) -> Mixture:
        """The same rows and categories at another sharpness."""
        return replace(self, sharpness=np.float32(sharpness))

    def corrected(self) -> Mixture:
        """The same mixture, with similarities to novel categories that allow for the noise of their means.

        Small categories need it: without it their rows prefer a large one that is only somewhat alike. The
        search for large ones, which begins with a crowd of tiny clusters, must do without: there the noise
        itself would win.
        """
        return replace(self, corrects=True)

    def left_out_similarity(self, responsibility: Array) -> Array:
        """Similarity of each row to the novel categories without it, array (N, K)."""
        weight = responsibility * self.weight[:, None]
        return self.geometry.left_out_similarity(
            self.rows,
            weight,
            corrected=self.corrects,
            held=self.held,
            own=None if self.held is not None else self.own,
        )

    def part(self, rows: Array, similarity: Array | None = None) -> Mixture:
        """Some of the rows; categories with these similarities (N, K) are known as well."""
        known = self.known_side.part(rows, similarity)
        held = None if self.held is None else self.held.part(rows)
        return replace(self, rows=known.rows, known_side=known, weight=self.weight[rows], held=held)

    @functools.cached_property
    def total(self) -> float:
        """Weight of all rows."""
        return float(self.weight.sum())

    @functools.cached_property
    def own(self) -> Array:
        """Squared length of each row, array (N, 1)."""
        return squared_lengths(self.rows)

    @functools.cached_property
    def known(self) -> Array:
        """Log-likelihood of each row under the known categories alone, array (N,)."""
        return self.known_side.log_sum(float(self.sharpness)) - np.float32(np.log(self.n_known))

    @property
    def n_known(self) -> int:
        """Number of known categories."""
        return len(self.known_side)

    @property
    def is_group(self) -> bool:
        """Whether the rows are only a part of those that will be judged together."""
        return self.known_side.present is not None

    @property
    def best_known(self) -> Array:
        """Similarity of each row to its best known category, array (N,)."""
        return self.known_side.best

    @property
    def known_similarity(self) -> Array:
        """Similarity of each row to each known category, array (N, Kk): to look at few rows only."""
        return self.known_side.similarity()

    @property
    def known_log_likelihood(self) -> float:
        """Log-likelihood of all rows if no category is novel."""
        return float(self.weight.astype(np.float64) @ self.known)

    def em(
        self, responsibility: Array, share: float, steps: int, tolerance: float = EM_TOLERANCE
    ) -> MixtureState:
        """At most so many steps of expectation-maximisation with frozen known categories."""
        likelihood = -np.inf
        for _ in range(steps):
            similarity = self.left_out_similarity(responsibility)
            update, likelihood = self.expectation(similarity, share)
            change = float(np.abs(update - responsibility).sum()) / len(update)
            responsibility = update
            share = float(np.clip((update.sum(axis=1) @ self.weight) / self.total, *SHARE_BOUNDS))
            if change < tolerance:
                break
        return MixtureState(responsibility, likelihood, self.price(responsibility), share)

    def expectation(self, similarity: Array, share: float) -> tuple[Array, float]:
        """Responsibilities for similarities (N, K) to the novel categories, and the log-likelihood."""
        scores = self.sharpness * similarity + np.float32(np.log(share / similarity.shape[1]))
        known = self.known + np.float32(np.log(1 - share))
        top = np.maximum(scores.max(axis=1), known)
        parts = np.exp(scores - top[:, None])
        total = parts.sum(axis=1) + np.exp(known - top)
        log_likelihood = float(self.weight.astype(np.float64) @ (np.log(total) + top))
        return parts / total[:, None], log_likelihood

    def parts(self, state: MixtureState) -> tuple[Array, Array, Array]:
        """Left-out similarities (N, K), log-likelihood of each row, and the part each category has in it."""
        similarity = self.left_out_similarity(state.responsibility)
        scores = self.sharpness * similarity.astype(np.float64)
        scores += np.log(state.share / similarity.shape[1])
        total = np.logaddexp(self.known + np.log(1 - state.share), log_sum_exp(scores))
        return similarity, total, np.minimum(np.exp(scores - total[:, None]), 1 - TINY_PART)

    def deletion_losses(self, part: Array) -> Array:
        """Log-likelihood lost without each category, array (K,), from its part in each row (N, K)."""
        return np.asarray(-(self.weight @ np.log1p(-part)))

    def price(self, responsibility: Array) -> float:
        """Price of the unevenness of the novel sizes beyond that of the labelled categories, in nats."""
        sizes = self.weight.astype(np.float64) @ responsibility
        n, k = sizes.sum(), len(sizes)
        if n <= 0:
            return 0.0
        p = sizes / n
        unevenness = n * (np.log(k) + (p * np.log(p + 1e-12)).sum() - 0.5 * self.size_spread)
        return EVENNESS_PRICE * max(0.0, float(unevenness))
