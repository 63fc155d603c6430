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

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

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

__all__ = ["FLAGGED", "CalibratedGeometry", "Geometry", "Novelty", "calibrate_geometry", "is_flagged"]


@dataclass(frozen=True)
class Geometry:
    """Similarity of rows and means, in nats.

    Parameters
    ----------
    kind : {"direction", "distance"}
        Cosine, or the tied Gaussian of unit covariance.
    sharpness : float
        What the similarity is multiplied with.
    """

    kind: Literal["direction", "distance"]
    sharpness: float

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


class CalibratedGeometry(NamedTuple):
    """The chosen geometry, and how similar known rows that were left out are to their best category."""

    geometry: Geometry
    best_similarity: Array


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
            return CalibratedGeometry(Geometry("distance", 1.0), np.array([-means.shape[1], 0.0]))
        return CalibratedGeometry(Geometry("direction", 10.0), np.array([0.0, 1.0]))
    candidates = {}
    for name, similarity in left_out_similarities(means, sizes, left_out).items():
        own = similarity[np.arange(len(left_out.labels)), left_out.labels]
        # Where labelled categories never mix, any sharpness will do; the density of the rows bounds it.
        highest = np.log(_concentration(float(own.mean()), means.shape[1])) if name == "direction" else 0.0
        losses, sharpness = tempered_cross_entropy(similarity, left_out.labels, highest=highest)
        candidates[name] = losses, sharpness, similarity.max(axis=1)
    harm = candidates["direction"][0] - candidates["distance"][0]
    clearly = harm.mean() > 2 * harm.std() / np.sqrt(len(harm))
    chosen = kind if kind != "auto" else ("distance" if clearly else "direction")
    _, sharpness, best = candidates[chosen]
    return CalibratedGeometry(Geometry(chosen, sharpness), np.sort(best))  # type: ignore[arg-type]


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
    """

    geometry: Geometry
    quantiles: Array

    @classmethod
    def calibrate(cls, geometry: Geometry, best_similarity: Array) -> Novelty:
        """From the best similarities of labelled rows that were left out."""
        levels = np.linspace(0, 1, min(QUANTILES, max(len(best_similarity), 2)))
        return cls(geometry, np.quantile(best_similarity, levels))

    def score(self, rows: Array, known_means: Array) -> Array:
        """One minus the p-value of each row under its best known category, array (N,): high is novel."""
        out = np.empty(len(rows))
        for start in range(0, len(rows), CHUNK_ROWS):
            part = self.geometry.prepared(rows[start : start + CHUNK_ROWS])
            out[start : start + CHUNK_ROWS] = self.geometry.similarity(part, known_means).max(axis=1)
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
