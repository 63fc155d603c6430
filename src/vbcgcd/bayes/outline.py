"""What a proposal needs to know about categories: means, widths, and a shape that their covariances share."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.bayes.posterior import Posterior, factor_work
from vbcgcd.bayes.scoring import DistanceToScore
from vbcgcd.bayes.threads import in_parallel

Array = NDArray[Any]

#: Categories from which the shared shape is taken.
SHAPE_CATEGORIES = 16
#: Beyond this size of a coordinate, single precision loses the differences of squares.
FAR = 1e4
#: Relative rounding error of squared lengths in single precision, with room to spare.
ROUNDING = 1e-5
#: Lengths below this are zero.
TINY = 1e-12

__all__ = ["Outline", "outline_of"]


@dataclass(frozen=True, eq=False)
class Outline:
    """Categories as a proposal sees them: Psi_k is about ``trace_k / D diag(root^2)``.

    Parameters
    ----------
    posterior : Posterior
    root : array (D,)
        Roots of the diagonal that the scale matrices share, whose squares have the mean 1.
    means : float32 array (K, D)
        Means divided by the roots.
    trace : array (K,)
        Trace of each Psi.
    """

    posterior: Posterior
    root: Array
    means: Array
    trace: Array

    @functools.cached_property
    def squares(self) -> Array:
        """Squared lengths of the means, array (K,)."""
        return np.einsum("kd,kd->k", self.means, self.means, dtype=np.float64)

    @functools.cached_property
    def precision(self) -> Array:
        """Weight of a squared distance in the units of the roots under the plug-in covariance, array (K,)."""
        return np.asarray(self.posterior.plugin_weight * self.posterior.dim / self.trace)

    @functools.cached_property
    def widest(self) -> Array:
        """No eigenvalue of Psi is larger, array (K,).

        The largest of D numbers is at most sqrt(D - 1) standard deviations above their mean, and the mean
        square of the eigenvalues is that of the Frobenius norm.
        """
        form, dim = self.posterior.form, self.posterior.dim

        def square(k: int) -> float:
            scale = form.square(form.scale(self.posterior.factor[k]))
            return float(np.einsum("ij,ij->", scale, scale))

        items = range(len(self.trace))
        squares = np.array(list(in_parallel(square, items, work=factor_work(form))))
        mean = self.trace / dim
        variance = np.maximum(squares / dim - mean**2, 0.0)
        return np.asarray((mean + np.sqrt((dim - 1) * variance)) * (1 + ROUNDING))

    def likeness(self, rows: Array, scoring: DistanceToScore) -> tuple[Array, Array, Array]:
        """Log-densities under the shared shape, likeness by direction, and squared distances, arrays (N, K).

        Squared distances are in the units of the roots.
        """
        far = rows.size and max(rows.max(), -rows.min()) > FAR
        dtype = np.dtype(np.float64 if far else np.float32)
        scaled: Array = (rows / self.root).astype(dtype)
        product = scaled @ self.means.T.astype(dtype, copy=False)
        along = product / np.sqrt(np.maximum(self.squares, TINY)).astype(dtype)
        product *= -2
        product += self.squares.astype(dtype)
        product += np.einsum("nd,nd->n", scaled, scaled)[:, None]
        near = product * (self.posterior.dim / self.trace).astype(dtype)
        if scoring.spread is not None:
            np.log1p(np.maximum(near, 0, out=near) / scoring.spread.astype(dtype), out=near)
        near *= -scoring.slope.astype(dtype)
        near += scoring.constant.astype(dtype)
        return near, along, product

    def bound_outside(self, rows: Array, square: Array, listed: Array, scoring: DistanceToScore) -> Array:
        """No category but the listed ones has a higher log-density, array (N,).

        (z - m)^T Psi^-1 (z - m) is at least |z - m|^2 divided by the largest eigenvalue of Psi.

        Parameters
        ----------
        rows : array (N, D)
        square : array (N, K)
            Squared distances in the units of the roots.
        listed : int array (N, C)
        scoring : DistanceToScore
        """
        length = np.einsum("nd,nd->n", rows / self.root, rows / self.root, dtype=np.float64)
        least = square - ROUNDING * (length[:, None] + self.squares)
        least = np.maximum(least, 0.0) * (float(self.root.min()) ** 2 / self.widest)
        upper = scoring(least)
        np.put_along_axis(upper, listed, -np.inf, axis=1)
        return np.asarray(upper.max(axis=1))


def outline_of(posterior: Posterior) -> Outline:
    """The outline of categories, computed once and kept with them."""
    kept: Outline | None = posterior.__dict__.get("_outline")
    if kept is None:
        kept = _outline(posterior)
        object.__setattr__(posterior, "_outline", kept)
    return kept


def _outline(posterior: Posterior) -> Outline:
    form, n_categories = posterior.form, len(posterior)
    trace = posterior.trace_scale
    some = np.unique(np.linspace(0, n_categories - 1, SHAPE_CATEGORIES).round().astype(int))
    diagonals = form.diagonals(np.stack([form.scale(posterior.factor[k]) for k in some]))
    shape = (diagonals / trace[some, None]).mean(axis=0) * posterior.dim
    root = np.sqrt(np.maximum(shape, TINY))
    return Outline(posterior, root, (posterior.mean / root).astype(np.float32), trace)
