"""How alike a row and a category are, and the novelty that follows from it.

In whitened space of many dimensions the length of a row says little about its category and the angle to the
category's mean nearly everything, so the default measure is the cosine, as a softmax with a concentration:

    p(category k | row z) = softmax_k(sharpness cos(z, m_k))

In few dimensions lengths matter, and the measure is the tied Gaussian instead, -|z - m_k|^2 / 2. Which of
the two, and how sharp, is decided in the base session (see `vbcgcd.discovery.calibrate`).

Novelty says how badly the best known category explains a row. Its statistic is the similarity to that
category; the distribution for known rows is measured at ``fit`` on labelled rows that are left out, and kept
as quantiles, so that the score of a held-out known row is uniform on [0, 1] and a threshold of ``1 - alpha``
rejects a share ``alpha`` of them. How the novelty of strangers is distributed is measured too, by pretending
that the row's own category were not known, and so a row can be told how probably it belongs nowhere.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from vbcgcd.bayes.leave_one_out import others_of_each_row
from vbcgcd.bayes.threads import one_thread
from vbcgcd.devices import HeldRows

Array = NDArray[Any]

#: Most quantiles that are kept of the calibration rows.
QUANTILES = 513
#: Rows with a novelty above this are flagged: one in twenty of those of known categories is.
FLAGGED = 0.95
#: Rows compared at a time.
CHUNK_ROWS = 8192

#: The square of a larger number takes up all digits of single precision.
FAR = 1e4
#: Lengths below this are zero.
TINY = 1e-12
#: Squared length and weight of the other rows of a cluster, at least: an empty cluster has no mean.
SHORTEST_SUM, LIGHTEST_CLUSTER = 1e-6, 1e-3
#: The fewest rows that a mean is taken to have.
FEWEST = 0.5
#: The fewest other rows that the mean of a cluster is taken to have.
FEWEST_OTHERS = 1.0
#: How the novelty of strangers is distributed, Beta(a, 1): bounds of a, and a where nothing can be left out.
ALERTNESS_BOUNDS, USUAL_ALERTNESS = (1.0, 50.0), 4.0
#: Steps in which the share of strangers is estimated, where it starts, and its bounds.
STRANGER_STEPS, STRANGER_START, STRANGER_BOUNDS = 50, 0.05, (0.001, 0.9)

__all__ = ["FLAGGED", "Geometry", "Novelty", "attenuation", "is_flagged"]


@dataclass(frozen=True)
class Geometry:
    """Similarity of rows and means, in nats.

    Parameters
    ----------
    kind : {"direction", "distance"}
        Cosine, or the tied Gaussian of unit covariance.
    sharpness : float
        What the similarity is multiplied with.
    within : float or None
        What single rows say about their category: the mean cosine of two of its rows (direction), or the mean
        squared distance of a row to the mean of all that could come (distance). The mean of few rows is
        noisy, and `corrected` allows for it; None takes means as exact.
    """

    kind: Literal["direction", "distance"]
    sharpness: float
    within: float | None = None

    def prepared(self, rows: Array) -> Array:
        """Rows in the form in which `similarity` wants them, float32; distances of far rows need float64."""
        if self.kind == "direction":
            return _unit(np.asarray(rows, dtype=np.float32))
        far = rows.size and max(rows.max(), -rows.min()) > FAR
        return np.asarray(rows, dtype=np.float64 if far else np.float32)

    def similarity(self, rows: Array, means: Array) -> Array:
        """Similarity of each prepared row to each mean, not yet multiplied, array (N, K)."""
        means = np.asarray(means, dtype=rows.dtype)
        if self.kind == "direction":
            return np.asarray(rows @ _unit(means).T)
        distance = np.einsum("nd,nd->n", rows, rows)[:, None] + np.einsum("kd,kd->k", means, means)
        return np.asarray(rows @ means.T - 0.5 * distance)

    def corrected(self, similarity: Array, counts: Array) -> Array:
        """Similarity as it would be on average to exact means, from that to means of so many rows.

        Parameters
        ----------
        similarity : array (N, K) or (N,)
        counts : array that broadcasts
            Rows of which each mean was taken.
        """
        if self.within is None:
            return similarity
        counts = np.maximum(np.asarray(counts, dtype=similarity.dtype), FEWEST)
        if self.kind == "direction":
            return np.asarray(similarity / attenuation(self.within, counts).astype(similarity.dtype))
        return np.asarray(similarity + (0.5 * self.within / counts).astype(similarity.dtype))

    def gaps(self, means: Array, counts: Array, others: Array, other_counts: Array) -> Array:
        """Nats per row that tell groups apart from others, array (S, K).

        The mean of few rows is noisy, so likeness is that of the exact means, as far as it can be estimated;
        groups that are alike have gaps around zero.

        Parameters
        ----------
        means : array (S, D)
        counts : array (S,)
            Rows of which each mean was taken.
        others : array (K, D)
        other_counts : array (K,)
        """
        counts = np.asarray(counts)[:, None]
        similarity = self.similarity(self.prepared(means), others)
        both = self.corrected(self.corrected(similarity, other_counts), counts)
        if self.kind == "direction":
            # Two rows of a category have the cosine `within` on average, a row and the exact mean its root.
            return np.asarray(self.sharpness * np.sqrt(self.within or 1.0) * (1 - both))
        return np.asarray(-self.sharpness * both)

    def left_out_similarity(
        self,
        rows: Array,
        weight: Array,
        *,
        corrected: bool = False,
        held: HeldRows | None = None,
        own: Array | None = None,
    ) -> Array:
        """Similarity of each row to the weighted mean of the *other* rows in each cluster, array (N, K).

        Parameters
        ----------
        rows : prepared rows (N, D)
        weight : array (N, K)
            Weight of each row in each cluster.
        corrected : bool
            Whether it is `corrected` for the number of other rows.
        held : HeldRows, optional
            The same rows on a device, which computes their products.
        own : array (N, 1), optional
            Squared lengths of the rows, where they are known already.
        """
        product, length, own = others_of_each_row(rows, weight, held, own)
        others = weight.sum(axis=0) - weight
        return self.to_others(product, length, own, others, corrected=corrected)

    def to_others(
        self, product: Array, length: Array, own: Array, others: Array, *, corrected: bool
    ) -> Array:
        """Similarity of rows to clusters without them, from sums over the other rows; arrays that broadcast.

        Parameters
        ----------
        product : array
            Of the row and the weighted sum of the other rows.
        length : array
            Squared length of that sum.
        own : array
            Squared length of the row.
        others : array
            Weight of the other rows.
        corrected : bool
            Whether it is `corrected` for the number of other rows.
        """
        if self.kind == "direction":
            similarity = np.asarray(product / np.sqrt(np.maximum(length, SHORTEST_SUM)))
        else:
            many = np.maximum(others, LIGHTEST_CLUSTER)
            similarity = np.asarray(product / many - 0.5 * (own + np.maximum(length, 0) / many**2))
        return self.corrected(similarity, np.maximum(others, FEWEST_OTHERS)) if corrected else similarity


def attenuation(cosine: float, counts: Array) -> Array:
    """Cosine between the mean of so many rows and the exact mean, where two rows have this mean cosine."""
    return np.asarray(np.sqrt(counts * cosine / (1 + (counts - 1) * cosine)))


def _unit(rows: Array) -> Array:
    length = np.sqrt(np.einsum("nd,nd->n", rows, rows))[:, None]
    return np.asarray(rows / np.maximum(length, TINY))


def is_flagged(novelty: Array) -> Array:
    """Whether rows look novel: above the limit that one in twenty rows of known categories exceeds."""
    return np.asarray(~(np.asarray(novelty) <= FLAGGED))


@dataclass(frozen=True)
class Novelty:
    """Calibrated novelty score.

    Parameters
    ----------
    geometry : Geometry
    quantiles : array (Q,)
        Rising quantiles of the best similarity of left-out known rows.
    alertness : float or None
        Novelty of rows whose category is not known has the density a u^(a - 1), a = alertness: at 1 strangers
        look like anybody else. None where it was not measured.
    """

    geometry: Geometry
    quantiles: Array
    alertness: float | None = None

    @classmethod
    def calibrate(
        cls, geometry: Geometry, best_similarity: Array, strange_similarity: Array | None = None
    ) -> Novelty:
        """From labelled rows that were left out.

        Parameters
        ----------
        geometry : Geometry
        best_similarity : array (M,)
            Similarity to the best category.
        strange_similarity : array (M,), optional
            That to the best of the others, as if the row's own were not known.
        """
        levels = np.linspace(0, 1, min(QUANTILES, max(len(best_similarity), 2)))
        novelty = cls(geometry, np.quantile(best_similarity, levels))
        if strange_similarity is None:
            return novelty
        alertness = USUAL_ALERTNESS
        if len(strange_similarity) >= 2:
            scores = np.clip(1 - novelty.p_value(strange_similarity), TINY, 1 - TINY)
            alertness = float(np.clip(-1 / np.log(scores).mean(), *ALERTNESS_BOUNDS))
        return replace(novelty, alertness=alertness)

    def stranger_share(self, novelty: Array, weight: Array | None = None) -> float:
        """Share of rows that belong to no category, by maximum likelihood from their novelty scores."""
        if weight is not None and not weight.any():
            return STRANGER_BOUNDS[0]
        share = STRANGER_START
        for _ in range(STRANGER_STEPS):
            share = float(np.average(self.strangeness(novelty, share), weights=weight))
            share = float(np.clip(share, *STRANGER_BOUNDS))
        return share

    def strangeness(self, novelty: Array, share: float = STRANGER_START) -> Array:
        """Probability that each row belongs to no category, array (N,), where such rows have this share."""
        if self.alertness is None:
            return np.zeros(len(novelty))
        density = self.alertness * np.maximum(novelty, TINY) ** (self.alertness - 1)
        return np.asarray(share * density / (share * density + 1 - share))

    @one_thread()
    def score(self, rows: Array, known_means: Array, counts: Array) -> Array:
        """One minus the p-value of each row under its best known category, array (N,): high is novel.

        Parameters
        ----------
        rows : array (N, D)
        known_means : array (K, D)
        counts : array (K,)
            Rows of which each mean was taken.
        """
        out = np.empty(len(rows))
        for start in range(0, len(rows), CHUNK_ROWS):
            part = self.geometry.prepared(rows[start : start + CHUNK_ROWS])
            similarity = self.geometry.similarity(part, known_means)
            out[start : start + CHUNK_ROWS] = self.geometry.corrected(similarity, counts).max(axis=1)
        return 1 - self.p_value(out)

    def p_value(self, similarity: Array) -> Array:
        """Share of known rows that are less similar to their best category.

        Beyond the least similar one seen, the tail falls exponentially, so that the ranking goes on.
        """
        q = self.quantiles
        ranks = np.linspace(0, 1, len(q))
        floor = 1 / (2 * len(q))
        inside = np.interp(similarity, q, floor + (1 - floor) * ranks)
        tail = q[: max(len(q) // 10, 2)]
        scale = max(float(tail[-1] - tail[0]) / 2, 1e-9)
        below = floor * np.exp(np.minimum((similarity - q[0]) / scale, 0.0))
        return np.where(similarity < q[0], below, inside)
