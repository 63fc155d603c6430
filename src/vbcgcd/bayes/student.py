"""The Student-t predictive of a Normal-inverse-Wishart posterior, term by term.

A new row of a category with posterior (m, kappa, nu, Psi) is distributed, independently in each block of
b dimensions, as a Student-t with nu - b + 1 degrees of freedom and scale Psi (kappa + 1) / (kappa freedom):

    log p = log Gamma((freedom + b) / 2) - log Gamma(freedom / 2) - b / 2 log pi
            - 1/2 log det(Psi spread) - (freedom + b) / 2 log(1 + distance / spread)

with spread = (kappa + 1) / kappa and the squared distance taken in the metric of Psi.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

Array = NDArray[Any]

__all__ = ["StudentTerms", "log_gamma_ratio", "student_terms"]


@dataclass(frozen=True)
class StudentTerms:
    """Log-densities under K categories: ``constant - volume - slope sum_b log(1 + distance_b / spread)``.

    The sum runs over the blocks of dimensions. All terms are arrays (K,).
    """

    constant: Array
    volume: Array
    slope: Array
    spread: Array


def log_gamma_ratio(freedom: Array, block: int) -> Array:
    """Log Gamma((freedom + block) / 2) - log Gamma(freedom / 2)."""
    return np.asarray(gammaln((freedom + block) / 2) - gammaln(freedom / 2))


def student_terms(
    kappa: Array, nu: Array, log_det_scale: Array, *, dim: int, block: int, log_determinant: bool
) -> StudentTerms:
    """Terms of the Student-t predictive.

    Parameters
    ----------
    kappa, nu, log_det_scale : array (K,)
        Of the posteriors: kappa, nu and log det Psi over all dimensions.
    dim : int
        Number of dimensions.
    block : int
        Dimensions of one block.
    log_determinant : bool
        False leaves out the volume of the whole scale matrix, Psi spread / freedom.
    """
    freedom, spread = nu - block + 1, (kappa + 1) / kappa
    constant = (dim // block) * (log_gamma_ratio(freedom, block) - 0.5 * block * np.log(np.pi))
    volume = log_det_scale + dim * np.log(spread) if log_determinant else dim * np.log(freedom)
    return StudentTerms(constant, 0.5 * volume, 0.5 * (freedom + block), spread)
