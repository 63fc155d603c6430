"""Covariance structures: how the covariances of categories are stored and computed with.

Statistics, prior, posterior and classifier know a covariance only through a `CovarianceStructure`. It keeps
two kinds of packed vectors for each category: a *scatter* (a symmetric matrix) and a *factor* (of the scale
matrix Psi of the posterior, which is what is stored). A new structure is one file with a class that has the
members below, and one entry in `STRUCTURES`; files on disk store its name.

A name may say more than the kind: ``lowrank:24`` keeps 24 directions, and ``full:half`` or
``lowrank:24:half`` keeps factors in half precision.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

from numpy.typing import DTypeLike, NDArray

from vbcgcd.bayes.structures.diagonal import Diagonal
from vbcgcd.bayes.structures.full import Full
from vbcgcd.bayes.structures.half import Half
from vbcgcd.bayes.structures.lowrank import USUAL_RANK, LowRank
from vbcgcd.errors import InputError

if TYPE_CHECKING:
    from vbcgcd.bayes.classifier import StudentTerms

Array = NDArray[Any]
#: Name of a structure: a key of `STRUCTURES`, and what `structure_of` allows beside it.
Structure = str

#: Every kind of structure by name, as a function of the number of dimensions.
STRUCTURES: Mapping[Structure, Callable[[int], CovarianceStructure]] = {
    "full": Full,
    "lowrank": LowRank,
    "diagonal": Diagonal,
}
#: What stands at the end of the name of a structure that is kept in half precision.
HALF = "half"
#: Fewest directions that a low-rank covariance can keep: one of them is for the mean.
FEWEST_DIRECTIONS = 2
#: Most that can be asked for; beyond the number of dimensions there is nothing to keep.
MOST_DIRECTIONS = 1_000_000

__all__ = [
    "FEWEST_DIRECTIONS",
    "MOST_DIRECTIONS",
    "STRUCTURES",
    "USUAL_RANK",
    "CovarianceStructure",
    "Structure",
    "structure_name",
    "structure_of",
]


def structure_name(kind: str, *, rank: int = USUAL_RANK, half: bool = False) -> Structure:
    """Name of a structure.

    Parameters
    ----------
    kind : {"full", "lowrank", "diagonal"}
    rank : int
        Directions that ``lowrank`` keeps.
    half : bool
        Whether factors are kept in half precision.

    Examples
    --------
    >>> from vbcgcd.bayes import structure_name
    >>> structure_name("lowrank", rank=24, half=True)
    'lowrank:24:half'
    """
    parts = [kind, *([str(rank)] if kind == "lowrank" else []), *([HALF] if half else [])]
    return ":".join(parts)


def structure_of(name: Structure, dim: int) -> CovarianceStructure:
    """The structure of this name in ``dim`` dimensions.

    Examples
    --------
    >>> from vbcgcd.bayes import structure_of
    >>> structure_of("full", 4).width, structure_of("diagonal", 4).width
    (10, 4)
    >>> structure_of("lowrank:2", 4).width
    10
    """
    kind, *details = name.split(":") if isinstance(name, str) else [name]
    half = details[-1:] == [HALF]
    if half:
        details = details[:-1]
    structure: CovarianceStructure | None = None
    if not details and kind in STRUCTURES:
        structure = STRUCTURES[kind](dim)
    elif kind == "lowrank" and len(details) == 1 and _is_rank(details[0]):
        structure = LowRank(dim, int(details[0]))
    if structure is None:
        names = ", ".join(map(repr, STRUCTURES))
        raise InputError(
            f"The covariance structure must be one of {names}, got {name!r}; 'lowrank:24' keeps 24 "
            "directions of each category, and 'full:half' or 'lowrank:24:half' is in half precision."
        )
    return Half(structure) if half else structure


def _is_rank(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 10 and int(text) >= FEWEST_DIRECTIONS


class CovarianceStructure(Protocol):
    """The covariances of one structure in ``dim`` dimensions.

    In the signatures below, ``scatter`` and ``factor`` are packed vectors of one category, arrays (V,) and
    (W,), and ``scatters``, ``factors``, ``means`` those of K categories, arrays (K, V), (K, W) and (K, D).

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
        """Numbers W of a factor."""

    @property
    def scatter_width(self) -> int:
        """Numbers V of a scatter."""

    @property
    def precise(self) -> int:
        """How many numbers at the start of a factor should keep all of their digits."""

    @property
    def complete(self) -> bool:
        """Whether the covariance of every pair of dimensions is kept."""

    @property
    def triangular(self) -> bool:
        """Whether a factor is a packed triangle, so that its leading blocks bound distances from below."""

    @property
    def left_out_as(self) -> Structure | None:
        """The structure in which rows are left out in closed form, to calibrate this one; None for none."""

    def stored_as(self, dtype: DTypeLike) -> DTypeLike:
        """Type in which factors are kept where ``dtype`` is asked for."""

    # Scatters: sums of outer products. Zeros are the scatter of no rows.

    def scatter(self, centred: Array) -> Array:
        """Scatter of centred rows, array (N, D)."""

    def between(self, weights: Array, gaps: Array) -> Array:
        """Scatters weight_k gap_k gap_k^T, array (K, V), from arrays (K,) and (K, D)."""

    def plus(self, scatters: Array, *others: Array) -> Array:
        """Sums of scatters, array (K, V)."""

    def minus(self, scatters: Array, *others: Array) -> Array:
        """Scatters less the others, array (K, V)."""

    def times(self, scatters: Array, weights: Array) -> Array:
        """Scatters times weights, array (K,), that are not negative; array (K, V)."""

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

    def divided(self, factors: Array, by: Array) -> Array:
        """Factors of Psi divided by the square of ``by``, array (K,)."""

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
