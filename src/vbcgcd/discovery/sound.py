"""Whether knowledge that came from a file can be what a session left: shapes, ranges, and answers to a probe.

A file's digest says that it is as it was written, not that what was written makes sense. Whoever wrote it may
have made a mistake, or have meant harm.
"""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.archive import read_archive
from vbcgcd.bayes import STRUCTURES, Posterior, structure_of
from vbcgcd.bayes.linalg import diagonal_positions, packed_size
from vbcgcd.bayes.stacks import FactorStack, summaries
from vbcgcd.discovery.direction_head import DirectionHead
from vbcgcd.discovery.head import Head
from vbcgcd.discovery.knowledge import Knowledge, score
from vbcgcd.discovery.model_file import KIND, VERSION, computing_here, read_model
from vbcgcd.discovery.options import Options
from vbcgcd.errors import InputError, VbcgcdError, reason_of

Array = NDArray[Any]

#: The largest number of dimensions that a file may claim.
WIDEST = 100_000
#: The longest label of a category in a model, in characters.
LONGEST_LABEL = 100_000
#: Factors that are checked at a time.
BLOCK_ROWS = 256
#: How far log-determinants and traces may be from ours: another processor rounds them otherwise.
ROUNDING = 1e-9

__all__ = ["check_knowledge", "check_posterior", "read_sound_model"]


def check_posterior(posterior: Posterior, *, like: Posterior | None = None) -> None:
    """Raise `InputError` unless these are proper posteriors, of the structure and dimension of ``like``."""
    try:
        structure_of(posterior.structure, 1)
    except InputError:
        raise InputError(
            f"covariance {posterior.structure!r} is not one of {', '.join(STRUCTURES)}"
        ) from None
    arrays = {name: getattr(posterior, name) for name in ("mean", "kappa", "nu", "factor")}
    for name, array in arrays.items():
        if isinstance(array, FactorStack):
            _check_stack(array, posterior)
        else:
            _check_array(f"posterior {name}", array, 2 if name in ("mean", "factor") else 1)
    if not 1 <= posterior.mean.shape[1] <= WIDEST or len({len(array) for array in arrays.values()}) > 1:
        raise InputError("the shapes of the posteriors do not agree")
    if like is not None and (posterior.structure, posterior.dim) != (like.structure, like.dim):
        raise InputError(
            f"posteriors are {posterior.structure} in {posterior.dim} dimensions, expected {like.structure} "
            f"in {like.dim}"
        )
    form = posterior.form
    if arrays["factor"].shape[1] != form.width:
        raise InputError("the shapes of the posteriors do not agree")
    if not (arrays["kappa"] > 0).all() or not (arrays["nu"] > form.block + 1).all():
        raise InputError("posterior kappa and nu are out of range")
    with np.errstate(all="ignore"):
        if not np.isfinite(posterior.log_det_covariance).all():
            raise InputError("posterior covariances are not positive definite")


def _check_stack(stack: FactorStack, posterior: Posterior) -> None:
    """Check factors that are in a file, a block after the other, and what is kept beside them."""
    for start in range(0, len(stack), BLOCK_ROWS):
        _check_array("posterior factor", stack[start : start + BLOCK_ROWS], 2)
    if stack.shape[1] != posterior.form.width:
        raise InputError("the shapes of the posteriors do not agree")
    for part in stack.parts:
        for name, kept in part.summaries.items():
            _check_array(f"posterior {name}", kept, 1)
            ours = summaries(posterior.form, part.rows, name)
            if kept.shape != ours.shape or not np.allclose(kept, ours, rtol=ROUNDING, atol=ROUNDING):
                raise InputError(f"the {name} of the posteriors are not those of their factors")


def check_knowledge(knowledge: Knowledge) -> None:
    """Raise `InputError` unless the parts fit together and answers are finite."""
    reducer, novelty = knowledge.reducer, knowledge.novelty
    _check_array("reducer center", reducer.center, 1)
    _check_array("reducer projection", reducer.projection, 2)
    _check_array("novelty quantiles", novelty.quantiles, 1)
    check_posterior(knowledge.posterior)
    if knowledge.seedlings is not None:
        check_posterior(knowledge.seedlings.posterior, like=knowledge.posterior)
    if not len(knowledge.posterior) or not len(novelty.quantiles):
        raise InputError("it knows no categories")
    d, dim = reducer.projection.shape
    if reducer.center.shape != (d,) or not 1 <= d <= WIDEST or dim != knowledge.posterior.dim:
        raise InputError("the shapes of projection and posteriors do not agree")
    if isinstance(knowledge.head, DirectionHead):
        _check_direction_head(knowledge.head, dim)
    elif knowledge.head is not None:
        _check_ridge_head(knowledge.head, dim, len(knowledge.posterior))
    if knowledge.prior.dim != dim or knowledge.prior.structure != knowledge.posterior.structure:
        raise InputError("prior and posteriors do not agree")
    numbers = [knowledge.temperature, knowledge.size_spread, knowledge.margin, knowledge.prior.kappa]
    numbers += [knowledge.prior.nu, knowledge.prior.variance, novelty.geometry.sharpness]
    if not all(isinstance(n, int | float) and np.isfinite(n) for n in numbers) or knowledge.temperature <= 0:
        raise InputError("its calibration is not finite")
    if not isinstance(knowledge.classifier.device, str | None):
        raise InputError("its device is not a name")
    _check_answers(knowledge, d)


def _check_direction_head(head: DirectionHead, dim: int) -> None:
    _check_array("head factor", head.factor, 1)
    if len(head.factor) != packed_size(dim) or not (head.factor[diagonal_positions(dim)] > 0).all():
        raise InputError("its head does not fit its posteriors")
    if not np.isfinite([head.weight, head.temperature]).all() or head.temperature <= 0:
        raise InputError("its calibration is not finite")


def _check_ridge_head(head: Head, dim: int, n_categories: int) -> None:
    statistics, size = head.statistics, head.features.size
    for name, ndim in (("gram", 1), ("sums", 2), ("row_weight", 1)):
        _check_array(f"head {name}", getattr(statistics, name), ndim)
    shapes = (statistics.gram.shape, statistics.sums.shape, statistics.row_weight.shape)
    if head.features.dim != dim or shapes != ((packed_size(size),), (n_categories, size), (n_categories,)):
        raise InputError("its head does not fit its posteriors")
    numbers = [head.penalty, head.chosen_weight, head.temperature]
    in_range = np.isfinite(numbers).all() and min(numbers) >= 0 and head.temperature > 0
    if not in_range or head.n_chosen < 1 or (statistics.row_weight < 0).any():
        raise InputError("the calibration of its head is out of range")


def _check_answers(knowledge: Knowledge, n_inputs: int) -> None:
    # Its device may be another machine's.
    knowledge = knowledge.for_workers()
    probe = np.stack([np.zeros(n_inputs), np.ones(n_inputs), knowledge.reducer.center + 0.5])
    with np.errstate(all="ignore"):
        scores = score(knowledge, probe)
    if not np.isfinite(scores.probability).all() or not np.isfinite(scores.novelty).all():
        raise InputError("its answers are not finite")


def _check_array(name: str, array: Any, ndim: int) -> None:
    if not isinstance(array, np.ndarray) or array.dtype.kind != "f" or array.ndim != ndim:
        raise InputError(f"{name} is not an array of numbers in {ndim} dimensions")
    if not np.isfinite(array).all():
        raise InputError(f"{name} holds NaN or infinity")


def read_sound_model(
    path: str | os.PathLike[str], parameters: Collection[str]
) -> tuple[Knowledge, Array, Array, Any]:
    """`read_model` for a file that anybody may have written.

    Parameters
    ----------
    path : str or Path
    parameters : collection of str
        Names of the parameters that an estimator can have.

    Raises
    ------
    InputError
        The file is not a model, or not one that a session could have left; the message is one line.
    """
    _, state = read_archive(path, KIND, VERSION)
    try:
        _check_labels(state)
        knowledge, classes, births, values = read_model(path)
        check_knowledge(knowledge)
        _check_values(knowledge, classes, births, values, parameters)
    except MemoryError:
        raise
    except Exception as error:  # values of any type stand where others are expected
        if isinstance(error, VbcgcdError) and os.fspath(path) in str(error):
            raise
        raise _unsound(path, error) from None
    return computing_here(knowledge), classes, births, values


def _check_labels(state: Any) -> None:
    kind, labels = state["classes_dtype"], state["classes"]
    if not isinstance(kind, str) or not isinstance(labels, list):
        raise InputError("its labels are not a list")
    dtype = np.dtype(kind)
    # A type of gigabytes for each label would be allocated as it says.
    if dtype.kind not in "biufUO" or dtype.itemsize > 4 * LONGEST_LABEL:
        raise InputError(f"its labels are of type {kind[:40]!r}")
    if not all(isinstance(label, bool | int | float | str) for label in labels):
        raise InputError("its labels are not numbers or strings")


def _check_values(
    knowledge: Knowledge, classes: Array, births: Any, values: Any, parameters: Collection[str]
) -> None:
    n = len(knowledge.posterior)
    if classes.shape != (n,) or len(set(classes.tolist())) != n:
        raise InputError(f"it has {len(classes)} labels for {n} categories, or some of them twice")
    if not isinstance(births, np.ndarray) or births.shape != (n,) or births.dtype.kind not in "iu":
        raise InputError("the births of its categories are not whole numbers")
    unknown = sorted(set(values["params"]) - set(parameters))
    if unknown:
        raise InputError(f"it has the unknown parameters {', '.join(unknown[:3])}")
    known = {field.name for field in fields(Options)}  # a subclass has parameters of its own
    Options(**{name: value for name, value in values["params"].items() if name in known})
    counts = [values[name] for name in ("n_sessions", "n_discovered", "n_features")]
    if not all(type(count) is int and 0 <= count < 2**53 for count in counts):
        raise InputError("its counters are not whole numbers")
    names, n_inputs = values["feature_names"], knowledge.reducer.n_inputs
    if counts[2] != n_inputs or not isinstance(names, list) or len(names) not in (0, n_inputs):
        raise InputError("its number of features does not agree with the projection")
    if not all(isinstance(name, str) for name in names):
        raise InputError("its names of features are not texts")


def _unsound(path: str | os.PathLike[str], error: Exception) -> InputError:
    kind = "" if isinstance(error, VbcgcdError) else f"{type(error).__name__}: "
    return InputError(
        f"{os.fspath(path)} is not a model that vbcgcd can have saved ({kind}{reason_of(error)}); save it "
        "again from the model it came from."
    )
