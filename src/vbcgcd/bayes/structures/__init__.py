"""Covariance structures: how the covariances of categories are stored and computed with.

Statistics, prior, posterior and classifier know a covariance only through a `CovarianceStructure`. It keeps
two kinds of packed vectors for each category, both `width` numbers long: a *scatter* (a symmetric matrix) and
a *factor* (of the scale matrix Psi of the posterior). A new structure is one file with a class that has the
members below, and one entry in `STRUCTURES`; files on disk store its name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from numpy.typing import NDArray

from vbcgcd.bayes.structures.diagonal import Diagonal
from vbcgcd.bayes.structures.full import Full

if TYPE_CHECKING:
    from vbcgcd.bayes.classifier import StudentTerms

Array = NDArray[Any]
#: Name of a structure, a key of `STRUCTURES`.
Structure = str

#: Every structure by name, as a function of the number of dimensions.
STRUCTURES: Mapping[Structure, Callable[[int], CovarianceStructure]] = {"full": Full, "diagonal": Diagonal}

__all__ = ["STRUCTURES", "CovarianceStructure", "Structure"]


class CovarianceStructure(Protocol):
    """The covariances of one structure in ``dim`` dimensions.

    In the signatures below, ``scatter`` and ``factor`` are packed vectors of one category, array (W,), and
    ``scatters``, ``factors``, ``means`` those of K categories, arrays (K, W) and (K, D).

    Examples
    --------
    >>> from vbcgcd.bayes import structure_of
    >>> structure_of("full", 3).width, structure_of("diagonal", 3).width
    (6, 3)
    """

    @property
    def dim(self) -> int:
        """Number of dimensions D."""

    @property
    def block(self) -> int:
        """Dimensions of one block: covariances exist within a block, not between blocks."""

    @property
    def width(self) -> int:
        """Numbers W that one category takes."""

    @property
    def complete(self) -> bool:
        """Whether the covariance of every pair of dimensions is kept."""

    @property
    def triangular(self) -> bool:
        """Whether a factor is a packed triangle, so that its leading blocks bound distances from below."""

    # Scatters: sums of outer products.

    def scatter(self, centred: Array) -> Array:
        """Scatter of centred rows, array (N, D)."""

    def between(self, weights: Array, gaps: Array) -> Array:
        """Scatters weight_k gap_k gap_k^T, array (K, W), from arrays (K,) and (K, D)."""

    def diagonals(self, scatters: Array) -> Array:
        """Diagonals of scatters, array (K, D)."""

    def square(self, scatter: Array) -> Array:
        """The scatter as a symmetric matrix, array (D, D)."""

    def spectrum(self, scatter: Array, mean: Array, weight: float) -> Array:
        """Eigenvalues of S + weight mean mean^T, not negative, array (D,)."""

    def log_det_path(self, scatter: Array, mean: Array) -> Callable[[float, float, float], float]:
        """Function (scale, tau, shift) -> log det(scale I + tau S + shift mean mean^T), O(D) per call."""

    # Factors of scale matrices.

    def factor(self, scatter: Array, mean: Array, shift: float, scale: float) -> Array:
        """Factor of Psi = scale I + S + shift mean mean^T."""

    def isotropic(self, scale: float) -> Array:
        """Factor of Psi = scale I."""

    def recover_scatter(self, factor: Array, mean: Array, shift: float, scale: float) -> Array:
        """The scatter from which `factor` made this factor, up to rounding."""

    def scale(self, factor: Array) -> Array:
        """Psi, packed as a scatter."""

    def traces(self, factors: Array) -> Array:
        """Trace of each Psi, float64 array (K,)."""

    def log_dets(self, factors: Array) -> Array:
        """Log-determinant of each Psi, float64 array (K,). No determinant is formed: nothing overflows."""

    def whiten(self, rows: Array, factor: Array) -> Array:
        """Rows times the inverse factor, whose squared lengths are distances, float64 array (N, D)."""

    def colour(self, noise: Array, factor: Array) -> Array:
        """Rows multiplied by the factor: standard normal noise gets covariance Psi, array (N, D)."""

    def trace_ratio(self, scatter: Array, factor: Array) -> float:
        """Trace of S Psi^-1."""

    # Rows scored against many categories.

    def distances(self, rows: Array, means: Array, factors: Array) -> Array:
        """Squared distances (z - m)^T Psi^-1 (z - m), float64 array (N, K)."""

    def student(self, rows: Array, means: Array, factors: Array, terms: StudentTerms) -> Array:
        """Log-densities of Student-t predictives, float64 array (N, K)."""
