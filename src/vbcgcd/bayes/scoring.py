"""Log-densities as functions of squared distances: the plug-in Gaussian and the Student-t predictive.

The Student-t predictive: a new row of a category with posterior (m, kappa, nu, Psi) is distributed,
independently in each block of b dimensions, with nu - b + 1 degrees of freedom and scale
Psi (kappa + 1) / (kappa freedom):

    log p = log Gamma((freedom + b) / 2) - log Gamma(freedom / 2) - b / 2 log pi
            - 1/2 log det(Psi spread) - (freedom + b) / 2 log(1 + distance / spread)

with spread = (kappa + 1) / kappa and the squared distance taken in the metric of Psi.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy
from numpy.typing import NDArray

from vbcgcd.bayes.posterior import Posterior

if TYPE_CHECKING:
    from vbcgcd.bayes.classifier import Classifier

Array = NDArray[Any]

#: The exponential function of more than this overflows.
LARGEST_EXPONENT = 700

__all__ = ["DistanceToScore", "StudentTerms", "log_gamma_ratio", "student_of", "student_terms"]


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
    return np.asarray(scipy.special.gammaln((freedom + block) / 2) - scipy.special.gammaln(freedom / 2))


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


@dataclass(frozen=True)
class DistanceToScore:
    """Log-density as a falling function of the squared distance in the metric of Psi, category by category.

    ``constant - slope distance`` for the plug-in Gaussian, ``constant - slope log(1 + distance / spread)``
    for the Student-t predictive.
    """

    constant: Array
    slope: Array
    spread: Array | None

    @classmethod
    def of(cls, rule: Classifier, posterior: Posterior) -> DistanceToScore:
        """As this classifier scores these categories."""
        if rule.predictive == "student":
            terms = student_of(rule, posterior)
            return cls(terms.constant - terms.volume, terms.slope, terms.spread)
        constant = np.full(len(posterior), -0.5 * posterior.dim * np.log(2 * np.pi))
        if rule.log_determinant:
            constant = constant - 0.5 * posterior.log_det_covariance
        return cls(constant, 0.5 * posterior.plugin_weight, None)

    def __call__(self, distance: Array) -> Array:
        """Log-densities, array (N, K), from distances, array (N, K)."""
        if self.spread is not None:
            distance = np.log1p(distance / self.spread)
        return np.asarray(self.constant - self.slope * distance)

    def of_category(self, distance: Array, k: int | Array) -> Array:
        """Log-densities under category ``k``, or under one category for each distance."""
        if self.spread is not None:
            distance = np.log1p(distance / self.spread[k])
        return np.asarray(self.constant[k] - self.slope[k] * distance)

    def limit(self, score: Array, k: int) -> Array:
        """Distance below which category ``k`` scores higher than ``score``."""
        reach = (self.constant[k] - score) / self.slope[k]
        return np.asarray(
            reach if self.spread is None else self.spread[k] * np.expm1(np.minimum(reach, LARGEST_EXPONENT))
        )


def student_of(rule: Classifier, posterior: Posterior) -> StudentTerms:
    """Terms of the Student-t predictives of all categories."""
    return student_terms(
        posterior.kappa,
        posterior.nu,
        posterior.log_det_scale,
        dim=posterior.dim,
        block=posterior.block,
        log_determinant=rule.log_determinant,
    )
