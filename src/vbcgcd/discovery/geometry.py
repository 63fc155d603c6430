"""How alike a row and a category are, calibrated on labelled rows, and the novelty that follows from it.

In whitened space of many dimensions the length of a row says little about its category and the angle to the
category's mean nearly everything, so the default measure is the cosine, as a softmax with a concentration:

    p(category k | row z) = softmax_k(sharpness cos(z, m_k))

In few dimensions lengths matter, and the measure is the tied Gaussian instead, -|z - m_k|^2 / 2. Which of
the two, and how sharp, is decided by labelled rows that are left out of their category's mean and of the
pooled covariance that whitened the space (a rank-one change of the inner product).

Novelty says how badly the best known category explains a row. Its statistic is the similarity to that
category; the distribution for known rows is measured at ``fit`` on labelled rows that are left out, and kept
as quantiles, so that the score of a held-out known row is uniform on [0, 1] and a threshold of ``1 - alpha``
rejects a share ``alpha`` of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from vbcgcd.bayes.calibration import tempered_cross_entropy
from vbcgcd.bayes.leave_one_out import LeftOut, downdate, mean_correction, others_of_each_row

Array = NDArray[Any]

#: Most quantiles that are kept of the calibration rows.
QUANTILES = 513
#: Rows with a novelty above this are flagged: one in twenty of those of known categories is.
FLAGGED = 0.95
#: Rows compared at a time.
CHUNK_ROWS = 8192

#: Lengths below this are zero.
TINY = 1e-12
#: Squared length and weight of the other rows of a cluster, at least: an empty cluster has no mean.
SHORTEST_SUM, LIGHTEST_CLUSTER = 1e-6, 1e-3
#: Up to so many dimensions lengths tell categories apart as well as directions do.
FEW_DIMENSIONS = 8
#: Bounds of the mean cosine of two rows of a category, and the fewest rows that a mean is taken to have.
COHESION_BOUNDS, FEWEST = (0.01, 0.99), 0.5
#: A category must explain its rows better than others by this share of the labelled categories' contrast.
#: Chosen by looking at streams of four datasets (docs/method.md shows class orders that were not looked at).
MARGIN = 0.115
#: Means of few rows make known categories look like novel ones: the margin grows by this over their rows.
CAUTION = 2.0
#: Later passes ask for this share of the margin where left-out rows are all predicted without doubt, and for
#: all of it where their cross-entropy is a nat or more.
LEAST_EASE = 0.7
#: How the novelty of strangers is distributed, Beta(a, 1): bounds of a, and a where nothing can be left out.
ALERTNESS_BOUNDS, USUAL_ALERTNESS = (1.0, 50.0), 4.0
#: Steps in which the share of strangers is estimated, where it starts, and its bounds.
STRANGER_STEPS, STRANGER_START, STRANGER_BOUNDS = 50, 0.05, (0.001, 0.9)

__all__ = [
    "FLAGGED",
    "CalibratedGeometry",
    "Geometry",
    "LeftOutSimilarity",
    "Margins",
    "Novelty",
    "calibrate_geometry",
    "calibrate_kind",
    "is_flagged",
    "usual_margins",
]


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
        """Rows in the form in which `similarity` wants them, float32."""
        rows = np.asarray(rows, dtype=np.float32)
        return _unit(rows) if self.kind == "direction" else rows

    def similarity(self, rows: Array, means: Array) -> Array:
        """Similarity of each prepared row to each mean, not yet multiplied, array (N, K)."""
        means = np.asarray(means, dtype=np.float32)
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
            return np.asarray(similarity / _attenuation(self.within, counts).astype(similarity.dtype))
        return np.asarray(similarity + (0.5 * self.within / counts).astype(similarity.dtype))

    def left_out_similarity(self, rows: Array, weight: Array) -> Array:
        """Similarity of each row to the weighted mean of the *other* rows in each cluster, array (N, K).

        Parameters
        ----------
        rows : prepared rows (N, D)
        weight : array (N, K)
            Weight of each row in each cluster.
        """
        product, length, own = others_of_each_row(rows, weight)
        if self.kind == "direction":
            return np.asarray(product / np.sqrt(np.maximum(length, SHORTEST_SUM)))
        others = np.maximum(weight.sum(axis=0) - weight, LIGHTEST_CLUSTER)
        return np.asarray(product / others - 0.5 * (own + np.maximum(length, 0) / others**2))


class Margins(NamedTuple):
    """Nats per row by which a category must explain its rows better than any other does.

    Attributes
    ----------
    first : float
        In the first pass of a session, where all have the same size.
    later : float
        Where each has its own: less, the better labelled categories can be told apart.
    """

    first: float
    later: float


class CalibratedGeometry(NamedTuple):
    """What labelled rows that were left out say.

    Attributes
    ----------
    geometry : Geometry
    best_similarity : array (M,)
        Corrected similarity of each to its best category.
    margins : Margins
    strange_similarity : array (M,)
        Corrected similarity of each to the best of the other categories, as if its own were not known.
    """

    geometry: Geometry
    best_similarity: Array
    margins: Margins
    strange_similarity: Array


class LeftOutSimilarity(NamedTuple):
    """Similarity (M, K) of rows to means that have not seen them, their labels, and the rows of each mean."""

    similarity: Array
    labels: Array
    counts: Array

    @property
    def own(self) -> Array:
        """Similarity of each row to its own category, array (M,)."""
        return self._of_own(self.similarity)

    @property
    def own_counts(self) -> Array:
        """Rows in the mean of each row's own category, array (M,)."""
        return self._of_own(self.counts)

    def _of_own(self, values: Array) -> Array:
        return np.asarray(np.broadcast_to(values, self.similarity.shape)[np.arange(len(self.labels)), self.labels])


def calibrate_geometry(
    means: Array, sizes: Array, left_out: LeftOut, kind: str = "auto"
) -> CalibratedGeometry:
    """Choose kind and sharpness by the leave-one-out cross-entropy of labelled rows.

    Parameters
    ----------
    means : array (K, D)
        Of the labelled categories, in reduced space.
    sizes : array (K,)
        Their numbers of rows.
    left_out : LeftOut
        Rows of categories with at least two rows.
    kind : {"auto", "direction", "distance"}
        "auto" takes the cosine unless the distance is clearly better, there are few dimensions, or a single
        category.

    Returns
    -------
    CalibratedGeometry
    """
    if kind == "auto" and (len(means) == 1 or means.shape[1] <= FEW_DIMENSIONS):
        kind = (
            "distance"  # a single category, at the centre, has no direction; in few dimensions length counts
        )
    if len(left_out.rows) < 2:
        if kind == "distance":
            geometry = Geometry("distance", 1.0)
            return CalibratedGeometry(geometry, np.array([-means.shape[1], 0.0]), usual_margins(means.shape[1]), np.empty(0))
        return CalibratedGeometry(Geometry("direction", 10.0), np.array([0.0, 1.0]), usual_margins(10.0), np.empty(0))
    counts = np.broadcast_to(sizes, (len(left_out.labels), len(sizes))).copy()
    counts[np.arange(len(counts)), left_out.labels] -= 1
    candidates = {
        name: calibrate_kind(
            name, LeftOutSimilarity(similarity, left_out.labels, counts), means.shape[1]  # type: ignore[arg-type]
        )
        for name, similarity in left_out_similarities(means, sizes, left_out).items()
    }
    harm = candidates["direction"][0] - candidates["distance"][0]
    clearly = harm.mean() > 2 * harm.std() / np.sqrt(len(harm))
    chosen = kind if kind != "auto" else ("distance" if clearly else "direction")
    return candidates[chosen][1]


def calibrate_kind(
    kind: Literal["direction", "distance"], left_out: LeftOutSimilarity, dim: int
) -> tuple[Array, CalibratedGeometry]:
    """Cross-entropy of each row at the best sharpness of one kind, and that geometry.

    Parameters
    ----------
    kind : {"direction", "distance"}
    left_out : LeftOutSimilarity
    dim : int
    """
    geometry = Geometry(kind, 1.0, _within(kind, left_out.own, left_out.own_counts))
    similarity = geometry.corrected(left_out.similarity, left_out.counts)
    corrected = left_out._replace(similarity=similarity)
    # Where labelled categories never mix, any sharpness will do; the density of the rows bounds it.
    mean_own = float(corrected.own.mean())
    highest = np.log(_concentration(mean_own, dim)) if kind == "direction" else 0.0
    losses, sharpness = tempered_cross_entropy(similarity, left_out.labels, highest=highest)
    if kind == "direction":
        # The correction makes the noise of a mean larger too; clusters of many rows do not have it.
        sharpness /= float(_attenuation(geometry.within or 1.0, left_out.own_counts).mean())
    caution = 1 + CAUTION * float((1 / np.maximum(left_out.own_counts, FEWEST)).mean())
    first = MARGIN * caution * sharpness * _contrast(geometry, corrected)
    ease = LEAST_EASE + (1 - LEAST_EASE) * min(float(losses.mean()), 1.0)
    strange = similarity.copy()
    strange[np.arange(len(strange)), left_out.labels] = -np.inf
    strange = strange.max(axis=1)
    return losses, CalibratedGeometry(
        replace(geometry, sharpness=sharpness),
        np.sort(similarity.max(axis=1)),
        Margins(first, ease * first),
        strange[np.isfinite(strange)],
    )


def usual_margins(contrast: float) -> Margins:
    """Margins where labelled rows do not tell more than this contrast, in nats."""
    return Margins(MARGIN * contrast, MARGIN * contrast)


def _within(kind: str, own: Array, counts: Array) -> float:
    """`Geometry.within` that explains how similar rows are to the means of so many others."""
    if kind == "distance":
        return max(float(-2 * own.mean() / (1 + 1 / counts).mean()), TINY)

    def excess(r: float) -> float:
        return float((np.sqrt(r) * _attenuation(r, counts)).mean() - own.mean())

    low, high = COHESION_BOUNDS
    if excess(low) >= 0:
        return low
    return high if excess(high) <= 0 else float(brentq(excess, low, high))


def _attenuation(cosine: float, counts: Array) -> Array:
    """Cosine between the mean of so many rows and the exact mean, where two rows have this mean cosine."""
    return np.asarray(np.sqrt(counts * cosine / (1 + (counts - 1) * cosine)))


def _contrast(geometry: Geometry, left_out: LeftOutSimilarity) -> float:
    """How much more similar rows are to their own category than to others, in the units of margins.

    It is divided by the root of the cohesion, the share of a row's length that its category explains:
    measured on four kinds of embeddings, what parts two real categories grows more slowly than the contrast.
    """
    similarity, within = left_out.similarity, geometry.within or 1.0
    n_categories = similarity.shape[1]
    if n_categories < 2:
        return within  # nothing to compare with: another category is thought to be as far as the rows reach
    finite = np.where(np.isfinite(similarity), similarity, 0.0)
    others = (finite.sum(axis=1) - left_out.own) / np.maximum(np.isfinite(similarity).sum(axis=1) - 1, 1)
    contrast = max(float((left_out.own - others).mean()), TINY)
    if geometry.kind == "direction":
        return contrast / float(np.sqrt(np.sqrt(within)))
    return contrast / float(np.sqrt(np.sqrt(contrast / (contrast + within))))


def left_out_similarities(means: Array, sizes: Array, left_out: LeftOut) -> dict[str, Array]:
    """Similarity of each row to each category, the row itself left out, arrays (M, K), for both kinds.

    The pooled covariance, I in this space, loses the row as well (see `vbcgcd.bayes.leave_one_out`).
    """
    z, own = left_out.rows.astype(np.float64), left_out.labels
    index = np.arange(len(z))
    correction = mean_correction(sizes)[own]
    r = z - means[own]
    gain = downdate(left_out.pooled_weight * correction, (r**2).sum(1)).gain
    zm, rm, zr = z @ means.T, r @ means.T, np.einsum("nd,nd->n", z, r)
    zz, mm = (z**2).sum(1), np.broadcast_to((means**2).sum(1), zm.shape).copy()
    moved = z - correction[:, None] * r
    zm[index, own] = np.einsum("nd,nd->n", z, moved)
    rm[index, own] = np.einsum("nd,nd->n", r, moved)
    mm[index, own] = (moved**2).sum(1)
    product = zm + gain[:, None] * zr[:, None] * rm
    mean_norm = mm + gain[:, None] * rm**2
    row_norm = zz + gain * zr**2
    cosine = product / np.sqrt(np.maximum(row_norm[:, None] * mean_norm, TINY))
    return {"direction": cosine, "distance": product - 0.5 * (row_norm[:, None] + mean_norm)}


def _concentration(cosine: float, dim: int) -> float:
    """Concentration of a von Mises-Fisher density whose rows have this mean cosine to its direction."""
    cosine = min(max(cosine, 0.05), 0.999)
    return max(cosine * (dim - cosine**2) / (1 - cosine**2), 1.0)


def _unit(rows: Array) -> Array:
    length = np.sqrt(np.einsum("nd,nd->n", rows, rows))[:, None]
    return np.asarray(rows / np.maximum(length, TINY))


def is_flagged(novelty: Array) -> Array:
    """Whether rows look novel: above the limit that one in twenty rows of known categories exceeds."""
    return np.asarray(np.asarray(novelty) > FLAGGED)


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
