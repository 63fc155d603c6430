"""What a session says about each category beyond its posterior: where its items lay, how wide, how divided.

These are a few numbers for each category, no rows. Posteriors of known categories stay as they are, so they
cannot tell whether what comes now still lies where it used to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.bayes.threads import one_thread
from vbcgcd.discovery.geometry import Geometry

Array = NDArray[Any]
#: Rows of a category of which halves are sought, at least and at most.
FEWEST, MOST = 8, 512
#: Steps of the search for the direction along which rows scatter most, and of the halves along it.
POWER_STEPS, HALVING_STEPS = 8, 12
#: Rows of the smaller half, at least.
FEWEST_HALF = 2

__all__ = ["Traces", "halves", "traces_of"]


@dataclass(frozen=True, eq=False)
class Traces:
    """What the items of a session say about their categories, arrays (K,).

    Parameters
    ----------
    category : int array
    count : int array
        Items of the session.
    shift : float32 array
        Squared distance of their mean to the mean of the category, for each dimension.
    spread : float32 array
        Their variance, mean over the dimensions; NaN of a single item.
    halves : float32 array
        Nats by which two halves of them differ for each item; see `halves`. NaN of few items.
    smaller : float32 array
        Share of the smaller half; NaN likewise.
    """

    category: Array
    count: Array
    shift: Array
    spread: Array
    halves: Array
    smaller: Array


@one_thread()
def traces_of(rows: Array, codes: Array, means: Array, geometry: Geometry) -> Traces:
    """The traces of a session, for the categories that have items in it.

    Parameters
    ----------
    rows : array (N, D)
        Reduced embeddings.
    codes : int array (N,)
        Position of each row's category; -1 for none.
    means : array (K, D)
        Posterior means.
    geometry : Geometry
    """
    order = np.argsort(codes, kind="stable")
    order = order[codes[order] >= 0]
    different, starts = np.unique(codes[order], return_index=True)
    values = np.full((len(different), 5), np.nan)
    for k, members in enumerate(np.split(order, starts[1:]) if len(different) else []):
        own = rows[members].astype(np.float64)
        center = own.mean(axis=0)
        gap = center - means[different[k]]
        values[k, :2] = len(own), float(gap @ gap) / own.shape[1]
        if len(own) > 1:
            values[k, 2] = float(((own - center) ** 2).sum()) / ((len(own) - 1) * own.shape[1])
        if len(own) >= FEWEST:
            values[k, 3:] = halves(own[:MOST], geometry)
    count, *rest = values.T
    return Traces(
        different.astype(np.int64), count.astype(np.int64), *(part.astype(np.float32) for part in rest)
    )


def halves(rows: Array, geometry: Geometry) -> tuple[float, float]:
    """How much two halves of rows differ, in nats for each row, and the share of the smaller.

    Halves that are sought always differ. So they are sought in every other dimension and judged in the rest,
    and the other way round: in a whitened space the dimensions of one Gaussian know nothing of each other,
    and its halves differ by nothing on average.

    Parameters
    ----------
    rows : array (N, D)
    geometry : Geometry

    Returns
    -------
    (float, float)
        NaN where there are no two halves.
    """
    even, odd = rows[:, ::2], rows[:, 1::2]
    judged = []
    for sought, rest in ((even, odd), (odd, even)):
        if sought.shape[1] and rest.shape[1]:
            upper = _halved(sought, geometry)
            if min(upper.sum(), (~upper).sum()) >= FEWEST_HALF:
                judged.append((_difference(rest, upper, geometry, rows.shape[1]), _smaller(upper)))
    if not judged:
        return np.nan, np.nan
    difference, smaller = np.mean(judged, axis=0)
    return float(difference), float(smaller)


def _smaller(upper: Array) -> float:
    return float(min(upper.mean(), 1 - upper.mean()))


def _halved(rows: Array, geometry: Geometry) -> Array:
    """Two-means along the direction of largest scatter, bool array (N,)."""
    rows = geometry.prepared(rows).astype(np.float64)
    about = rows - rows.mean(axis=0)
    direction = about[np.einsum("nd,nd->n", about, about).argmax()]
    for _ in range(POWER_STEPS):
        direction = about.T @ (about @ direction)
        direction = direction / max(float(np.linalg.norm(direction)), 1e-12)
    upper = np.asarray(about @ direction > 0)
    for _ in range(HALVING_STEPS):
        if upper.all() or not upper.any():
            break
        means = np.stack([rows[upper].mean(axis=0), rows[~upper].mean(axis=0)])
        similarity = geometry.similarity(rows, means)
        again = similarity[:, 0] > similarity[:, 1]
        if (again == upper).all():
            break
        upper = again
    return upper


def _difference(rows: Array, upper: Array, geometry: Geometry, dim: int) -> float:
    """Nats by which the exact means of two groups differ, without the noise of few rows."""
    one, other = (geometry.prepared(rows[part]).astype(np.float64) for part in (upper, ~upper))
    if geometry.kind == "direction":
        pairs, within = 0.0, 0.0
        for part in (one, other):
            total = part.sum(axis=0)
            pairs += len(part) * (len(part) - 1)
            within += float(total @ total) - float((part**2).sum())
        across = float(one.mean(axis=0) @ other.mean(axis=0))
        return geometry.sharpness * (within / pairs - across)
    gap = one.mean(axis=0) - other.mean(axis=0)
    noise = sum(float(part.var(axis=0).sum()) / (len(part) - 1) for part in (one, other))
    return geometry.sharpness * 0.5 * (float(gap @ gap) - noise) * dim / rows.shape[1]
