"""The start of a session: a mixture of known and novel categories in the calibrated geometry, and its search.

    p(row) = (1 - share) mean_known exp(s(row, k)) + share mean_novel exp(s(row, c))

Known categories are frozen. Novel ones are the weighted means of the rows that belong to them, and a row is
left out of the mean it is compared with, so that a cluster cannot hold on to a row merely by containing it.
The share of novel rows is estimated along with them: neither "all is new" nor a gate decides beforehand.
Solutions are compared by their likelihood, less a price on sizes more uneven than those of the labelled
categories, and improved by swaps: the cheapest novel category is deleted and one is put where rows are badly
explained.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vbcgcd.discovery.geometry import Geometry

Array = NDArray[Any]

#: The search runs at this fraction of the calibrated sharpness, where fewer local optima are.
SEARCH_SHARPNESS = 0.75
#: Price of uneven sizes, in multiples of the nats that they cost a coder who expects even ones. Three gains
#: half a point where novel categories are even and loses five where they are not.
EVENNESS_PRICE = 1.0
RESTARTS, KEPT, SWAPS = 8, 2, 20
SHARE_BOUNDS = (0.005, 0.995)

__all__ = ["Mixture", "MixtureState"]


class MixtureState(NamedTuple):
    """Responsibilities of the novel categories (N, K), log-likelihood, price, and share of novel rows."""

    responsibility: Array
    log_likelihood: float
    price: float
    share: float

    @property
    def objective(self) -> float:
        """What the search maximises."""
        return self.log_likelihood - self.price


class Mixture:
    """Rows of one session against frozen known categories.

    Parameters
    ----------
    rows : array (N, D)
        Reduced embeddings.
    known_means : array (Kk, D)
    geometry : Geometry
    weight : array (N,), optional
        Weight of each row.
    size_spread : float
        Squared coefficient of variation of the labelled categories' sizes: as much unevenness is free.
    """

    def __init__(
        self,
        rows: Array,
        known_means: Array,
        geometry: Geometry,
        *,
        weight: Array | None = None,
        size_spread: float = 0.0,
    ) -> None:
        self.geometry = geometry
        self.rows = geometry.prepared(rows)
        self.weight = np.ones(len(rows), np.float32) if weight is None else weight.astype(np.float32)
        self.total = float(self.weight.sum())
        self.size_spread = size_spread
        self._known_similarity = geometry.similarity(self.rows, known_means)
        self._set_sharpness(geometry.sharpness)

    def search(
        self, n_novel: int, rng: np.random.Generator, start: MixtureState | None = None
    ) -> MixtureState:
        """The best mixture with ``n_novel`` novel categories that restarts and swaps find.

        Parameters
        ----------
        n_novel : int
        rng : Generator
        start : MixtureState, optional
            A mixture of that size that is already there.
        """
        self.cool()
        starts = [] if start is None else [start]
        starts += [self.em(self.seed(n_novel, rng), 0.5, 6) for _ in range(RESTARTS)]
        starts = sorted(starts, key=lambda s: -s.objective)[:KEPT]
        best = max((self.em(s.responsibility, s.share, 40) for s in starts), key=lambda s: s.objective)
        return self.finish(self.improve(best, rng, SWAPS + 2 * n_novel))

    def cool(self) -> None:
        """Lower the sharpness for a search."""
        self._set_sharpness(SEARCH_SHARPNESS * self.geometry.sharpness)

    @property
    def known_log_likelihood(self) -> float:
        """Log-likelihood if nothing is new."""
        return float(self.weight.astype(np.float64) @ self.known)

    def deletion_losses(self, state: MixtureState) -> tuple[Array, Array]:
        """Left-out similarities, array (N, K), and the likelihood lost without each category, array (K,)."""
        similarity, _, part = self._parts(state)
        return similarity, -(self.weight @ np.log1p(-part))

    def improve(self, state: MixtureState, rng: np.random.Generator, n_swaps: int) -> MixtureState:
        """Try swaps, keep those that raise the objective."""
        for _ in range(n_swaps):
            tried = self.em(self._swap(state, rng), state.share, 8)
            if tried.objective > state.objective - 0.002 * abs(state.objective):
                tried = self.em(tried.responsibility, tried.share, 30)
            if tried.objective > state.objective + 1:
                state = tried
        return state

    def finish(self, state: MixtureState) -> MixtureState:
        """Last steps at the calibrated sharpness."""
        self._set_sharpness(self.geometry.sharpness)
        return self.em(state.responsibility, state.share, 40)

    def em(self, responsibility: Array, share: float, steps: int, tolerance: float = 2e-3) -> MixtureState:
        """Expectation-maximisation with frozen known categories."""
        likelihood = -np.inf
        for _ in range(steps):
            similarity = self.geometry.left_out_similarity(self.rows, responsibility * self.weight[:, None])
            new, likelihood = self.expectation(similarity, share)
            moved = float(np.abs(new - responsibility).sum()) / len(new)
            responsibility = new
            share = float(np.clip((new.sum(axis=1) @ self.weight) / self.total, *SHARE_BOUNDS))
            if moved < tolerance:
                break
        return MixtureState(responsibility, likelihood, self._price(responsibility), share)

    def _set_sharpness(self, sharpness: float) -> None:
        self.sharpness = np.float32(sharpness)
        self.known = _log_sum_exp(self.sharpness * self._known_similarity) - np.float32(
            np.log(self._known_similarity.shape[1])
        )

    def expectation(self, similarity: Array, share: float) -> tuple[Array, float]:
        """Responsibilities for given similarities, and the log-likelihood."""
        scores = self.sharpness * similarity + np.float32(np.log(share / similarity.shape[1]))
        known = self.known + np.float32(np.log(1 - share))
        top = np.maximum(scores.max(axis=1), known)
        parts = np.exp(scores - top[:, None])
        total = parts.sum(axis=1) + np.exp(known - top)
        log_likelihood = float(self.weight.astype(np.float64) @ (np.log(total) + top))
        return parts / total[:, None], log_likelihood

    def _price(self, responsibility: Array) -> float:
        sizes = self.weight.astype(np.float64) @ responsibility
        n, k = sizes.sum(), len(sizes)
        if n <= 0:
            return 0.0
        p = sizes / n
        unevenness = n * (np.log(k) + (p * np.log(p + 1e-12)).sum() - 0.5 * self.size_spread)
        return EVENNESS_PRICE * max(0.0, float(unevenness))

    def seed(self, n_novel: int, rng: np.random.Generator, trials: int = 4, share: float = 0.5) -> Array:
        """Responsibilities of novel categories placed one by one at badly explained rows."""
        explained = self.known.astype(np.float64) + np.log(1 - share)
        chosen = np.empty((len(self.rows), n_novel), np.float32)
        for c in range(n_novel):
            candidates = rng.choice(len(self.rows), trials, p=self._surprise(explained))
            similarity = self._to_rows(candidates)
            scores = self.sharpness * similarity.astype(np.float64) + np.log(share / n_novel)
            gained = np.logaddexp(explained[:, None], scores)
            best = int((self.weight @ gained).argmax())
            explained, chosen[:, c] = gained[:, best], similarity[:, best]
        return self.expectation(chosen, share)[0]

    def _surprise(self, explained: Array) -> Array:
        """Probabilities of drawing a row that is badly explained (tempered: outliers are not all)."""
        least = explained[self.weight > 0].min()
        p = np.exp(-0.1 * np.maximum(explained - least, 0.0)) * self.weight
        return np.asarray(p / p.sum())

    def _to_rows(self, chosen: Array) -> Array:
        """Similarity to single rows; a row is as similar to itself as the nearest other is."""
        similarity = self.geometry.similarity(self.rows, self.rows[chosen])
        itself = chosen, np.arange(len(chosen))
        similarity[itself] = -np.inf
        similarity[itself] = similarity.max(axis=0) if len(self.rows) > 1 else 0.0
        return similarity

    def _swap(self, state: MixtureState, rng: np.random.Generator, trials: int = 8) -> Array:
        """Delete a novel category that is cheap to lose, put one where rows are badly explained."""
        n_novel = state.responsibility.shape[1]
        similarity, total, part = self._parts(state)
        loss = -(self.weight @ np.log1p(-part))
        cheap = np.exp(-2 * (loss - loss.min()) / (loss.std() + 1e-9))
        out = int(rng.choice(n_novel, p=cheap / cheap.sum()))
        without = total + np.log1p(-part[:, out])
        seeds = rng.choice(len(self.rows), min(trials, len(self.rows)), p=self._surprise(without))
        new = self._neighbourhoods(seeds, int(state.share * len(self.rows) / n_novel / 8))
        gained = np.logaddexp(without[:, None], self.sharpness * new + np.log(state.share / n_novel))
        similarity[:, out] = new[:, int((self.weight @ gained).argmax())]
        return self.expectation(similarity, state.share)[0]

    def _parts(self, state: MixtureState) -> tuple[Array, Array, Array]:
        """Left-out similarities (N, K), log-likelihood of each row, and the part each category has in it."""
        similarity = self.geometry.left_out_similarity(self.rows, state.responsibility * self.weight[:, None])
        scores = self.sharpness * similarity.astype(np.float64)
        scores += np.log(state.share / similarity.shape[1])
        total = np.logaddexp(self.known + np.log(1 - state.share), _log_sum_exp(scores))
        return similarity, total, np.minimum(np.exp(scores - total[:, None]), 1 - 1e-9)

    def _neighbourhoods(self, seeds: Array, size: int) -> Array:
        """Similarity to the mean of the rows nearest to each seed."""
        size = min(max(size, 3), len(self.rows))
        nearest = np.argpartition(-self.geometry.similarity(self.rows, self.rows[seeds]), size - 1, axis=0)
        means = self.rows[nearest[:size]].mean(axis=0)
        return self.geometry.similarity(self.rows, means)


def _log_sum_exp(scores: Array) -> Array:
    top = scores.max(axis=1)
    return np.asarray(np.log(np.exp(scores - top[:, None]).sum(axis=1)) + top)
