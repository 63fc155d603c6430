"""The geometry of a space, calibrated on labelled rows that are left out of their category's mean.

They are left out of the pooled covariance that whitened the space as well (a rank-one change of the inner
product). The mean of few rows is noisy, and that is allowed for, so that categories with few labels are not
taken for strangers. The margin is the unit of what a novel category is worth: it follows from how far apart
the labelled categories are.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from vbcgcd.bayes.calibration import tempered_cross_entropy
from vbcgcd.bayes.leave_one_out import LeftOut, downdate, mean_correction
from vbcgcd.discovery.geometry import FEWEST, TINY, Geometry, attenuation

Array = NDArray[Any]
Kind = Literal["direction", "distance"]

#: Up to so many dimensions lengths tell categories apart as well as directions do.
FEW_DIMENSIONS = 8
#: The distance is that of a Gaussian, whose sharpness is 1. Below this one its lengths mislead; see
#: `calibrate_geometry`.
LEAST_GAUSSIAN = 0.5
#: Bounds of the mean cosine of two rows of a category.
COHESION_BOUNDS = (0.01, 0.99)
#: The margin as a share of the labelled categories' contrast.
#: Chosen by looking at streams of four datasets.
MARGIN = 0.12
#: Means of few rows make known categories look like novel ones: the margin grows by this over their rows.
CAUTION = 2.0
#: The largest margin: no row can be worth more than about twenty nats (`vbcgcd.discovery.mixture.TINY_PART`),
#: and a small category needs several margins: with a larger one it could not be found, however far apart the
#: categories are.
HIGHEST_MARGIN = 3.5

__all__ = [
    "CalibratedGeometry",
    "LeftOutSimilarity",
    "calibrate_geometry",
    "calibrate_kind",
    "left_out_similarities",
    "usual_margin",
]


class CalibratedGeometry(NamedTuple):
    """What labelled rows that were left out say.

    Attributes
    ----------
    geometry : Geometry
    best_similarity : array (M,)
        Corrected similarity of each to its best category.
    margin : float
        Unit of what a category is worth: nats per row by which it explains its rows better than any other.
    strange_similarity : array (M,)
        Corrected similarity of each to the best of the other categories, as if its own were not known.
    """

    geometry: Geometry
    best_similarity: Array
    margin: float
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
        return np.asarray(
            np.broadcast_to(values, self.similarity.shape)[np.arange(len(self.labels)), self.labels]
        )


def calibrate_geometry(
    means: Array, sizes: Array, left_out: LeftOut, kind: str = "auto"
) -> CalibratedGeometry:
    """Choose kind and sharpness by the leave-one-out cross-entropy of labelled rows.

    Labelled rows alone may speak for distances that are useless for what is novel. A projection made to part
    labelled categories leaves little of the length of others, so that by distance all of these lie together
    near the centre. Then rows are no Gaussian clouds around their means: the best sharpness of the distance
    is far below 1, and directions are compared instead.

    Parameters
    ----------
    means : array (K, D)
        Of the labelled categories, in reduced space.
    sizes : array (K,)
        Their numbers of rows.
    left_out : LeftOut
        Rows of categories with at least two rows.
    kind : {"auto", "direction", "distance"}
        "auto" takes the cosine unless the distance is clearly better and about as sharp as a Gaussian, there
        are few dimensions, or a single category.

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
            geometry, best, contrast = Geometry("distance", 1.0), [-means.shape[1], 0.0], means.shape[1]
        else:
            geometry, best, contrast = Geometry("direction", 10.0), [0.0, 1.0], 10
        return CalibratedGeometry(geometry, np.array(best), usual_margin(contrast), np.empty(0))
    counts = np.broadcast_to(sizes, (len(left_out.labels), len(sizes))).copy()
    counts[np.arange(len(counts)), left_out.labels] -= left_out.own
    similarities = left_out_similarities(means, sizes, left_out)
    kinds: tuple[Kind, Kind] = ("direction", "distance")
    candidates: dict[str, tuple[Array, CalibratedGeometry]] = {
        name: calibrate_kind(
            name, LeftOutSimilarity(similarities[name], left_out.labels, counts), means.shape[1]
        )
        for name in kinds
    }
    harm = candidates["direction"][0] - candidates["distance"][0]
    clearly = harm.mean() > 2 * harm.std() / np.sqrt(len(harm))
    gaussian = candidates["distance"][1].geometry.sharpness >= LEAST_GAUSSIAN
    chosen = kind if kind != "auto" else ("distance" if clearly and gaussian else "direction")
    return candidates[chosen][1]


def calibrate_kind(kind: Kind, left_out: LeftOutSimilarity, dim: int) -> tuple[Array, CalibratedGeometry]:
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
        sharpness /= float(attenuation(geometry.within or 1.0, left_out.own_counts).mean())
    caution = 1 + CAUTION * float((1 / np.maximum(left_out.own_counts, FEWEST)).mean())
    margin = min(MARGIN * caution * sharpness * _contrast(geometry, corrected), HIGHEST_MARGIN)
    strange = similarity.copy()
    strange[np.arange(len(strange)), left_out.labels] = -np.inf
    strange = strange.max(axis=1)
    return losses, CalibratedGeometry(
        replace(geometry, sharpness=sharpness),
        np.sort(similarity.max(axis=1)),
        margin,
        strange[np.isfinite(strange)],
    )


def usual_margin(contrast: float) -> float:
    """The margin where labelled rows do not tell more than this contrast, in nats."""
    return min(MARGIN * contrast, HIGHEST_MARGIN)


def _within(kind: str, own: Array, counts: Array) -> float:
    """`Geometry.within` that explains how similar rows are to the means of so many others."""
    if kind == "distance":
        return max(float(-2 * own.mean() / (1 + 1 / counts).mean()), TINY)

    def excess(r: float) -> float:
        return float((np.sqrt(r) * attenuation(r, counts)).mean() - own.mean())

    low, high = COHESION_BOUNDS
    if excess(low) >= 0:
        return low
    return high if excess(high) <= 0 else float(scipy.optimize.brentq(excess, low, high))


def _contrast(geometry: Geometry, left_out: LeftOutSimilarity) -> float:
    """How much more similar rows are to their own category than to others, in the units of the margin.

    It is divided by the root of the cohesion, the share of a row's length that its category explains:
    measured on four kinds of embeddings, what parts two real categories grows more slowly than the contrast.
    """
    similarity, within = left_out.similarity, geometry.within or 1.0
    n_categories = similarity.shape[1]
    if n_categories < 2:
        return within  # nothing to compare with: another category is thought to be as far as the rows reach
    finite = np.where(np.isfinite(similarity), similarity, 0.0)
    others = (finite.sum(axis=1) - left_out.own) / np.maximum(np.isfinite(similarity).sum(axis=1) - 1, 1)
    # Rows are centred on the labelled categories: the fewer there are, the more opposite they look.
    contrast = max(float((left_out.own - others).mean()), TINY) * (1 - 1 / n_categories)
    if geometry.kind == "direction":
        return contrast / float(np.sqrt(np.sqrt(within)))
    return contrast / float(np.sqrt(np.sqrt(contrast / (contrast + within))))


def left_out_similarities(means: Array, sizes: Array, left_out: LeftOut) -> dict[str, Array]:
    """Similarity of each row to each category, the row itself left out, arrays (M, K), for both kinds.

    The pooled covariance, I in this space, loses the row as well (see `vbcgcd.bayes.leave_one_out`).
    """
    z, own = left_out.rows.astype(np.float64), left_out.labels
    index = np.arange(len(z))
    correction = mean_correction(sizes[own], left_out.own)
    r = z - means[own]
    gain = downdate(left_out.pooled_weight * left_out.own * correction, (r**2).sum(1)).gain
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
