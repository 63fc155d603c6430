"""What is known between sessions on disk: one safetensors file with arrays and JSON values."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd import mapped as mapping
from vbcgcd.archive import archive_parts, read_archive, write_archive
from vbcgcd.bayes import STRUCTURES, Classifier, Posterior, Prior, structure_of
from vbcgcd.bayes.stacks import FactorStack, Summary
from vbcgcd.devices import is_here
from vbcgcd.discovery.calibrate import usual_margin
from vbcgcd.discovery.direction_head import DirectionHead
from vbcgcd.discovery.geometry import Geometry, Novelty
from vbcgcd.discovery.head import Head
from vbcgcd.discovery.knowledge import Knowledge
from vbcgcd.discovery.reduce import Reducer
from vbcgcd.discovery.search import CategoryPrice
from vbcgcd.discovery.seedlings import Seedlings
from vbcgcd.discovery.watch import Watch
from vbcgcd.errors import InputError
from vbcgcd.mapped import Check
from vbcgcd.record import plain

Array = NDArray[Any]

KIND, VERSION = "vbcgcd-model", 1
#: What is kept beside large factors, so that nobody has to read all of them for it.
SUMMARIES: tuple[Summary, ...] = ("log_dets", "traces")

__all__ = [
    "KIND",
    "VERSION",
    "computing_here",
    "model_parts",
    "posterior_arrays",
    "posterior_from_arrays",
    "read_model",
    "write_model",
]


def write_model(
    path: str | os.PathLike[str], knowledge: Knowledge, classes: Array, births: Array, values: Any
) -> None:
    """Write what is known, the labels and births of the categories, and further plain values."""
    write_archive(path, KIND, VERSION, *_parts(knowledge, classes, births, values))


def model_parts(
    knowledge: Knowledge, classes: Array, births: Array, values: Any
) -> Iterator[bytes | memoryview]:
    """The content of the file that `write_model` writes, piece by piece."""
    return archive_parts(KIND, VERSION, *_parts(knowledge, classes, births, values))


def posterior_arrays(posterior: Posterior, prefix: str = "") -> dict[str, Any]:
    """Named arrays of posteriors, for the disk; beside large factors also what everybody needs of them."""
    names = ("mean", "kappa", "nu", "factor")
    arrays = {f"{prefix}{name}": getattr(posterior, name) for name in names}
    if posterior.factor.nbytes > mapping.LARGE:
        stack = FactorStack.of(posterior.factor)
        arrays |= {f"{prefix}{name}": stack.summary(name, posterior.form) for name in SUMMARIES}
    return arrays


def posterior_from_arrays(arrays: dict[str, Any], structure: Any, prefix: str = "") -> Posterior:
    """What `posterior_arrays` named; factors that are still in the file become a stack."""
    mean, kappa, nu, factor = (arrays[f"{prefix}{name}"] for name in ("mean", "kappa", "nu", "factor"))
    if not isinstance(factor, np.ndarray):
        known = {name: arrays[f"{prefix}{name}"] for name in SUMMARIES if f"{prefix}{name}" in arrays}
        factor = FactorStack.of(factor, known)
    return Posterior(mean, kappa, nu, factor, structure)


def _parts(knowledge: Knowledge, classes: Array, births: Array, values: Any) -> tuple[dict[str, Array], Any]:
    """Arrays and plain values of a model."""
    reducer, rule = knowledge.reducer, knowledge.classifier
    arrays = {
        "reducer.center": reducer.center,
        "reducer.projection": reducer.projection,
        **posterior_arrays(knowledge.posterior, "posterior."),
        "novelty.quantiles": knowledge.novelty.quantiles,
        "births": births,
    }
    if knowledge.reliability is not None:
        arrays["reliability"] = knowledge.reliability
    if knowledge.price is not None:
        arrays["price.outliers"] = knowledge.price.outliers
    if knowledge.seedlings is not None:
        arrays |= knowledge.seedlings.arrays()
    if knowledge.head is not None:
        arrays |= knowledge.head.arrays()
    state = {
        "classes": classes.tolist(),
        "classes_dtype": "object" if classes.dtype.kind == "O" else classes.dtype.str,
        "prior": plain(knowledge.prior),
        "reducer": {
            "whitened": bool(reducer.whitened),
            "unit": bool(reducer.unit),
            "shrinkage": reducer.shrinkage,
            "standardised": bool(reducer.standardised),
        },
        "geometry": plain(knowledge.novelty.geometry),
        "classifier": plain({**asdict(rule), "dtype": np.dtype(rule.dtype).name}),
        "temperature": knowledge.temperature,
        "alertness": knowledge.novelty.alertness,
        "size_spread": knowledge.size_spread,
        "margin": knowledge.margin,
        "price": None if knowledge.price is None else knowledge.price.per_row,
        "values": values,
    }
    if knowledge.watch is not None:
        state["watch"] = plain(knowledge.watch)
    return arrays, state


def read_model(
    path: str | os.PathLike[str], *, mapped: bool = False, check: Check | None = None
) -> tuple[Knowledge, Array, Array, Any]:
    """What `write_model` wrote: knowledge, labels, births and further values.

    Parameters
    ----------
    path : str or Path
    mapped : bool
        Whether large factors stay in the file, which must not change as long as they are used.
    check : callable, optional
        As for `vbcgcd.archive.read_archive`.
    """
    names = ("posterior.factor",) if mapped else ()
    arrays, state = read_archive(path, KIND, VERSION, mapped=names, check=check)
    structure = state["prior"]["structure"]
    try:
        structure_of(structure, 1)
    except InputError:
        raise InputError(
            f"{os.fspath(path)} holds a model with covariance {structure!r}, which this version does not "
            f"support; fit it again with covariance {' or '.join(map(repr, STRUCTURES))}.",
        ) from None
    prior, rule = Prior(**state["prior"]), state["classifier"]
    # Models of earlier versions name no short-list, which presumes whitened rows.
    rule = {"shortlist": "auto" if state["reducer"]["whitened"] else None, **rule}
    knowledge = Knowledge(
        Reducer(
            arrays["reducer.center"],
            arrays["reducer.projection"],
            **state["reducer"],
        ),
        prior,
        posterior_from_arrays(arrays, prior.structure, "posterior."),
        Classifier(**{**rule, "dtype": np.dtype(rule["dtype"])}),
        state["temperature"],
        Novelty(Geometry(**state["geometry"]), arrays["novelty.quantiles"], state.get("alertness")),
        state["size_spread"],
        None if state["price"] is None else CategoryPrice(state["price"], arrays["price.outliers"]),
        state["margin"] if "margin" in state else usual_margin(state["geometry"]["sharpness"]),
        Seedlings.from_arrays(arrays, prior.structure),
        arrays.get("reliability"),
        Head.from_arrays(arrays) or DirectionHead.from_arrays(arrays),
        Watch(**state["watch"]) if state.get("watch") else None,
        arrays["births"] > 0 if (arrays["births"] > 0).any() else None,
    )
    classes = np.array(state["classes"], dtype=state["classes_dtype"])
    return knowledge, classes, arrays["births"], state["values"]


def computing_here(knowledge: Knowledge) -> Knowledge:
    """The knowledge; without its device, and with a warning, where this machine does not have that."""
    device = knowledge.classifier.device
    if is_here(device):
        return knowledge
    warnings.warn(
        f"The model asks for the device {str(device)[:40]!r}, which is not available here; it computes with "
        "NumPy instead, and so will a copy that is saved here.",
        stacklevel=4,
    )
    return knowledge.for_workers()
