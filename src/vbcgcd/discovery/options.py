"""All options of a discoverer, each written once: its meaning, its default and its check."""

from __future__ import annotations

import inspect
import numbers
from collections.abc import Callable
from contextlib import suppress
from dataclasses import Field, dataclass, field, fields
from typing import Any, Concatenate, ParamSpec

import numpy as np

from vbcgcd.bayes import STRUCTURES, Classifier, Metric, Predictive, Structure, structure_name
from vbcgcd.bayes.structures import FEWEST_DIRECTIONS, MOST_DIRECTIONS, USUAL_RANK
from vbcgcd.checks import check_choice, check_number
from vbcgcd.discovery.count import COUNTERS
from vbcgcd.discovery.strategies import CLUSTERERS, PLUGIN, RELABELLERS, Clusterer
from vbcgcd.errors import InputError

P = ParamSpec("P")

#: The most features of a head: their Gram matrix takes 1.6 GB.
MOST_FEATURES = 20_000

__all__ = ["Options", "check_n_novel", "check_reject", "init_from", "parameters_of"]


def _choice(default: Any, *allowed: Any) -> Any:
    def check(name: str, value: Any) -> None:
        check_choice(name, value, allowed)

    return field(default=default, metadata={"check": check})


def _number(default: Any, **rule: Any) -> Any:
    def check(name: str, value: Any) -> None:
        check_number(name, value, **rule)

    return field(default=default, metadata={"check": check})


def _cluster(name: str, value: Any) -> None:
    # A plug-in that is no longer installed must not keep a model from being read: it is looked up when used.
    if not callable(value) and not (isinstance(value, str) and value.startswith(PLUGIN)):
        check_choice(name, value, ("mixture", *CLUSTERERS, f"{PLUGIN}NAME"))


def _device(name: str, value: Any) -> None:
    # A model must be readable where its device is not there: that is looked up when it is used.
    if value is not None and not (isinstance(value, str) and value):
        check_choice(name, value, (None, "auto", "cpu", "cuda"))


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options of `CategoryDiscoverer`, of the base session and of every later one.

    Parameters
    ----------
    n_components : int or None, default=384
        Most dimensions of the reduced embedding; None keeps every direction that varies.
    standardise : bool, default=False
        Scale each dimension of the embeddings to zero mean and unit variance over the labelled rows first.
    whiten : bool, default=True
        Whiten by the pooled within-category covariance of the labelled rows. False gives plain principal
        components, as in the paper.
    normalise : bool or "auto", default="auto"
        Scale each embedding to unit length first. "auto" leaves labelled rows out and keeps the form in which
        they are predicted better.
    whiten_shrinkage : float or "auto", default="auto"
        Weight, from 0 to 1, of the mean variance in the whitening covariance. "auto" takes the weight with
        which labelled rows that are left out are predicted best.
    prior_strength : float, "auto", "evidence" or "weakest", default="auto"
        Degrees of freedom of the prior covariance: how many rows it is worth. "auto" takes the strength with
        which labelled rows that are left out are predicted best, or, where covariances are not full, the one
        with the highest evidence; "evidence" always takes the latter; "weakest" is D + 2.
    prior_variance : float or "auto", default="auto"
        Variance that the prior expects in every dimension. "auto" is 1 in a whitened space, else the mean
        variance within the labelled categories.
    mean_precision_prior : float, default=0.01
        How many rows the prior mean is worth.
    covariance : {"full", "lowrank", "diagonal"}, default="full"
        Structure of each category's covariance. "lowrank" is a multiple of the covariance that all categories
        share, and a few directions of its own; it takes a fifth of the memory of "full" in 384 dimensions.
    covariance_rank : int, default=36
        Directions that ``covariance="lowrank"`` keeps for each category. One of at most so many rows is kept
        exactly; of others the leading directions are, and the rest is spread over all dimensions.
    inference : {"exact", "svi"}, default="exact"
        Exact posterior, or stochastic variational inference.
    cluster : {"mixture", "kmeans", "gmm", "hdbscan", "plugin:NAME"} or callable, default="mixture"
        Start of a session. "mixture" weighs novel clusters against the known categories in the calibrated
        geometry; the others cluster all rows. A function of yours is called as
        ``cluster(rows, n_clusters, rng)`` and returns a cluster for each row; "plugin:NAME" takes such a
        function from an installed package.
    relabel : {"confident", "none", "filter", "reassign", "em"}, default="confident"
        Which rows teach a novel category: those that the start finds probably novel; all of its cluster;
        those that no known category explains better (the authors' code); every row moved to its best
        category (the paper); soft expectation-maximisation with frozen known categories.
    count : {"rehearsal", "evidence", "merge", "silhouette", "silhouette-all"}, default="rehearsal"
        How the number of novel categories is estimated. "rehearsal" hides labelled categories during `fit`
        and learns what one of average size is worth, drops what is not distinct, and looks for small
        categories among the rows that are left; with fewer than four labelled categories, or five rows for
        each, it cannot hide any, and judges by how far apart they are.
    geometry : {"auto", "direction", "distance"}, default="auto"
        Whether the likeness of a row and a category is their angle or their distance when a session is
        clustered. "auto" takes the angle; the distance where it predicts labelled rows that are left out
        clearly better and they scatter about as a Gaussian, in few dimensions, and with a single category.
    alignment : float, "rows" or None, default="rows"
        How novel categories are made comparable with known ones of fewer rows. "rows" lets a novel category
        with more than twice the rows that half of the known ones have count for as many as these; where rows
        are about equally many, it changes nothing. A number is the target R of the paper's covariance
        alignment, 0 there; with relabelling by density ("filter", "reassign", "em") the provisional novel
        posteriors are aligned as well. None leaves the posteriors as the rows make them.
    alignment_ratio : {"novel/known", "known/novel"}, default="novel/known"
        What R is the logarithm of. The paper uses both: its equation 11 divides the novel volume by that of
        the known categories, its stopping rule "R < epsilon" and its tables of R make sense the other way
        round. They differ in the sign of ``alignment`` only.
    alignment_penalty : float or None, default=None
        Align by a penalty beside the ELBO, of this weight (equation 10 of the paper, which advises against
        it), instead of early stopping. Needs a target in ``alignment``.
    unassigned : bool, default=True
        Leave rows that fit no category well enough unassigned, and keep the statistics of groups that are
        too small to be a category (seedlings). Only with ``cluster="mixture"``.
    update_known : bool, default=False
        Let rows that surely belong to a known category update its posterior in `discover`.
    svi_steps : int, default=300
        Most steps of ``inference="svi"``.
    predictive : {"plugin", "student"}, default="plugin"
        Gaussian with the plug-in covariance, or the Student-t predictive.
    metric : {"mahalanobis", "euclidean"}, default="mahalanobis"
        Distance of a row to a category.
    log_determinant : bool, default=True
        Keep the log-determinant in the classifier.
    head : {"direction", "ridge", None}, default=None
        A second opinion beside the Gaussians, added to their log-probabilities by as much as left-out
        labelled rows say, or not at all. "direction" is a linear discriminant of the directions of rows,
        which follows from the posteriors and one matrix of the base session. "ridge" is a ridge regression
        on random features, which keeps a Gram matrix of them all; it is more accurate with many categories.
        Novelty, refusal and the search for novel categories stay the Gaussians'.
    head_features : int, default=3000
        Random features of ``head="ridge"``: F (F + 1) / 2 numbers are kept, 36 MB for 3,000.
    shortlist : int, "auto" or None, default="auto"
        For how many categories `predict` computes the density of a row: candidates that a cheaper comparison
        with all of them proposes. "auto" takes 48 where there are more than 256 categories, which finds the
        same category as all densities for at least 99.9 % of rows; None computes all densities and is exact.
        With independent dimensions or a head all count anyway. The comparison presumes covariances of about
        one shape, so "auto" is None without ``whiten`` or with a ``prior_variance`` of one's own.
    dtype : {"float32", "float64"}, default="float32"
        Storage of the posteriors and arithmetic of the classifier.
    storage : {"dtype", "half"}, default="dtype"
        How covariances are kept, in memory and on disk: in ``dtype``, or in half precision (float16), which
        takes half the memory of float32. Means and counts stay in ``dtype`` and float64, and ``dtype`` is
        still what is computed with.
    device : None, "auto", "cpu", "cuda" or another device of torch, default=None
        Where distances to categories with full covariances, their statistics and the products in each step
        of a mixture are computed. None computes them with NumPy; "auto" on a GPU with CUDA where torch finds
        one, else with NumPy; a name with torch on that device. Answers agree up to rounding, in which a
        search may decide between near ties.
    random_state : int or None, default=0
        Seed. The same seed gives the same answer; None draws a new one each time.

    Examples
    --------
    >>> Options(relabel="em").count
    'rehearsal'
    """

    n_components: int | None = _number(384, low=1, whole=True, words=(None,))
    standardise: bool = _choice(False, True, False)
    whiten: bool = _choice(True, True, False)
    normalise: bool | str = _choice("auto", True, False, "auto")
    whiten_shrinkage: float | str = _number("auto", low=0, high=1, words=("auto",))
    prior_strength: float | str = _number("auto", above=0, words=("auto", "evidence", "weakest"))
    prior_variance: float | str = _number("auto", above=0, words=("auto",))
    mean_precision_prior: float = _number(0.01, above=0)
    covariance: str = _choice("full", *STRUCTURES)
    covariance_rank: int = _number(USUAL_RANK, low=FEWEST_DIRECTIONS, high=MOST_DIRECTIONS, whole=True)
    inference: str = _choice("exact", "exact", "svi")
    cluster: str | Clusterer = field(default="mixture", metadata={"check": _cluster})
    relabel: str = _choice("confident", *RELABELLERS)
    count: str = _choice("rehearsal", *COUNTERS)
    geometry: str = _choice("auto", "auto", "direction", "distance")
    alignment: float | str | None = _number("rows", words=("rows", None))
    alignment_ratio: str = _choice("novel/known", "novel/known", "known/novel")
    alignment_penalty: float | None = _number(None, low=0, words=(None,))
    unassigned: bool = _choice(True, True, False)
    update_known: bool = _choice(False, True, False)
    svi_steps: int = _number(300, low=1, whole=True)
    predictive: Predictive = _choice("plugin", "plugin", "student")
    metric: Metric = _choice("mahalanobis", "mahalanobis", "euclidean")
    log_determinant: bool = _choice(True, True, False)
    head: str | None = _choice(None, "direction", "ridge", None)
    head_features: int = _number(3000, low=1, high=MOST_FEATURES, whole=True)
    shortlist: int | str | None = _number("auto", low=2, whole=True, words=("auto", None))
    dtype: str = _choice("float32", "float32", "float64")
    storage: str = _choice("dtype", "dtype", "half")
    device: str | None = field(default=None, metadata={"check": _device})
    random_state: int | None = _number(0, low=0, whole=True, words=(None,))

    def __post_init__(self) -> None:
        for each in fields(self):
            _check_of(each)(each.name, getattr(self, each.name))
        if self.alignment_penalty is not None and (self.target is None or self.inference == "svi"):
            raise InputError(
                f"alignment_penalty={self.alignment_penalty} needs a target, such as alignment=0.0, and "
                "inference='exact'; set them, or leave the penalty out.",
                option="alignment_penalty",
            )

    @property
    def target(self) -> float | None:
        """Target of log det novel - log mean det known (equation 11); None leaves the volumes unchanged."""
        if self.alignment is None or isinstance(self.alignment, str):
            return None
        return float(self.alignment if self.alignment_ratio == "novel/known" else -self.alignment)

    @property
    def structure(self) -> Structure:
        """The covariance structure, with its rank and storage."""
        return structure_name(self.covariance, rank=self.covariance_rank, half=self.storage == "half")

    @property
    def classifier(self) -> Classifier:
        """How rows are scored."""
        alike = self.whiten and isinstance(self.prior_variance, str)
        return Classifier(
            self.metric,
            self.predictive,
            self.log_determinant,
            np.dtype(self.dtype),
            self.shortlist if alike or self.shortlist != "auto" else None,
            self.device,
        )

    def generator(self, *path: int) -> np.random.Generator:
        """Random numbers for one purpose; the same seed and purpose give the same numbers."""
        return np.random.default_rng(None if self.random_state is None else [self.random_state, *path])


def _check_of(option: Field[Any]) -> Callable[[str, Any], None]:
    return option.metadata["check"]


def check_reject(rate: Any) -> float | None:
    """The rate at which rows of known categories may be rejected wrongly; None and 0 reject nothing."""
    if rate is None:
        return None
    with suppress(OverflowError):  # an integer may be too large for a float
        if isinstance(rate, numbers.Real) and not isinstance(rate, bool) and 0 <= float(rate) < 1:
            return float(rate) or None
    raise InputError(
        f"reject must be at least 0 and below 1, got {rate!r}; 0.05 rejects about one known row in twenty.",
        option="reject",
    )


def check_n_novel(n_novel: Any, n_rows: int) -> int | None:
    """The number of novel categories to look for among so many rows; None estimates it."""
    if n_novel is None:
        return None
    number = isinstance(n_novel, numbers.Real) and not isinstance(n_novel, bool)
    if number and 0 <= n_novel <= n_rows // 2 and float(n_novel).is_integer():
        return int(n_novel)
    raise InputError(
        f"The number of novel categories must be a whole number from 0 to {n_rows // 2}, got {n_novel!r}: a "
        f"category needs at least two of the {n_rows} rows. Omit it to estimate the number.",
        option="n_novel",
    )


def init_from(options: Callable[P, Any]) -> Callable[Concatenate[Any, P], None]:
    """An ``__init__`` that takes the options and stores each under its name, as scikit-learn expects."""
    signature = inspect.signature(options)
    own = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)

    def __init__(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> None:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        for name, value in bound.arguments.items():
            setattr(self, name, value)

    __init__.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[own, *signature.parameters.values()], return_annotation=None
    )
    return __init__


def parameters_of(options: type) -> str:
    """The section on parameters of a docstring, indented as in a class."""
    doc = inspect.cleandoc(options.__doc__ or "")
    section = doc[doc.index("Parameters\n") : doc.index("Examples\n")].rstrip()
    return section.replace("\n", "\n    ")
