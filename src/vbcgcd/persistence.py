"""A model on disk: one safetensors file with arrays and JSON values."""

from __future__ import annotations

import os
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.archive import archive_bytes, read_archive, write_archive
from vbcgcd.bayes import STRUCTURES, Classifier, Posterior, Prior
from vbcgcd.discovery.geometry import Geometry
from vbcgcd.discovery.knowledge import Knowledge
from vbcgcd.discovery.novelty import Novelty
from vbcgcd.discovery.reduce import Reducer
from vbcgcd.discovery.rehearsal import CategoryPrice
from vbcgcd.errors import InputError

Array = NDArray[Any]
KIND, VERSION = "vbcgcd-model", 1

__all__ = ["model_bytes", "read_model", "write_model"]


def write_model(
    path: str | os.PathLike[str], knowledge: Knowledge, classes: Array, births: Array, values: Any
) -> None:
    """Write what is known, the labels and births of the categories, and further plain values."""
    write_archive(path, KIND, VERSION, *_parts(knowledge, classes, births, values))


def model_bytes(knowledge: Knowledge, classes: Array, births: Array, values: Any) -> bytes:
    """The content of the file that `write_model` writes."""
    return archive_bytes(KIND, VERSION, *_parts(knowledge, classes, births, values))


def _parts(knowledge: Knowledge, classes: Array, births: Array, values: Any) -> tuple[dict[str, Array], Any]:
    """Arrays and plain values of a model."""
    reducer, posterior = knowledge.reducer, knowledge.posterior
    arrays = {
        "reducer.center": reducer.center,
        "reducer.projection": reducer.projection,
        "posterior.mean": posterior.mean,
        "posterior.kappa": posterior.kappa,
        "posterior.nu": posterior.nu,
        "posterior.factor": posterior.factor,
        "novelty.quantiles": knowledge.novelty.quantiles,
        "births": births,
    }
    if knowledge.price is not None:
        arrays["price.outliers"] = knowledge.price.outliers
    state = {
        "classes": classes.tolist(),
        "classes_dtype": "object" if classes.dtype.kind == "O" else classes.dtype.str,
        "prior": asdict(knowledge.prior),
        "reducer": {
            "whitened": reducer.whitened,
            "unit": reducer.unit,
            "shrinkage": reducer.shrinkage,
            "standardised": reducer.standardised,
        },
        "geometry": asdict(knowledge.novelty.geometry),
        "classifier": {**asdict(knowledge.classifier), "dtype": np.dtype(knowledge.classifier.dtype).name},
        "temperature": knowledge.temperature,
        "size_spread": knowledge.size_spread,
        "price": None if knowledge.price is None else knowledge.price.per_row,
        "values": values,
    }
    return arrays, state


def read_model(path: str | os.PathLike[str]) -> tuple[Knowledge, Array, Array, Any]:
    """What `write_model` wrote: knowledge, labels, births and further values."""
    arrays, state = read_archive(path, KIND, VERSION)
    structure = state["prior"]["structure"]
    if structure not in STRUCTURES:
        raise InputError(
            f"{os.fspath(path)} holds a model with covariance {structure!r}, which this version does not "
            f"support; fit it again with covariance {' or '.join(map(repr, STRUCTURES))}.",
        )
    prior = Prior(**state["prior"])
    knowledge = Knowledge(
        Reducer(
            arrays["reducer.center"],
            arrays["reducer.projection"],
            **state["reducer"],
        ),
        prior,
        Posterior(
            arrays["posterior.mean"],
            arrays["posterior.kappa"],
            arrays["posterior.nu"],
            arrays["posterior.factor"],
            prior.structure,
        ),
        Classifier(**{**state["classifier"], "dtype": np.dtype(state["classifier"]["dtype"])}),
        state["temperature"],
        Novelty(Geometry(**state["geometry"]), arrays["novelty.quantiles"]),
        state["size_spread"],
        None if state["price"] is None else CategoryPrice(state["price"], arrays["price.outliers"]),
    )
    classes = np.array(state["classes"], dtype=state["classes_dtype"])
    return knowledge, classes, arrays["births"], state["values"]
