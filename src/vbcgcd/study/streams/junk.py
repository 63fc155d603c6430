"""Junk: rows of another dataset, made to fit between the rows of a study."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.errors import InputError
from vbcgcd.study.datasets.labelled import Dataset, labels_digest
from vbcgcd.study.plans import Plan

Array = NDArray[Any]
_SEED = 0

__all__ = ["carried_over", "junk_rows", "name_with_junk"]


def carried_over(rows: Array, like: Array) -> Array:
    """Rows of another dataset in the space of this one.

    Rows of the same width are kept as they are. Others are mapped by one fixed random orthonormal matrix (a
    rotation after padding with zeros, or a projection) and scaled so that their median length is that of
    ``like``.

    Parameters
    ----------
    rows : array (M, d)
    like : array (N, D)
        Rows of the dataset that they are to fit.

    Returns
    -------
    array (M, D)
    """
    width, target = rows.shape[1], like.shape[1]
    if width == target:
        return rows
    square = np.random.default_rng(_SEED).standard_normal((max(width, target), min(width, target)))
    orthonormal = np.linalg.qr(square)[0]
    moved = rows.astype(np.float64) @ (orthonormal.T if width < target else orthonormal)
    length = float(np.median(np.linalg.norm(moved, axis=1)))
    scale = float(np.median(np.linalg.norm(like.astype(np.float64), axis=1))) / max(length, 1e-12)
    return np.asarray(scale * moved, dtype=like.dtype)


def junk_rows(plan: Plan, data: Dataset, junk: Dataset | None) -> list[Array]:
    """The junk rows of each session, arrays (M, D); an `InputError` where the plan needs another dataset.

    Parameters
    ----------
    plan : Plan
    data : Dataset
        What the plan was made for.
    junk : Dataset or None
        What junk rows come from, where the plan draws them from elsewhere.
    """
    if plan.junk_labels is None:
        return [data.train_x[session.junk] for session in plan.sessions]
    if junk is None or labels_digest(junk.train_y) != plan.junk_labels:
        given = "no dataset for junk is named" if junk is None else f"{junk.name} is another one"
        raise InputError(
            f"The plan draws junk from another dataset (label digest {plan.junk_labels}), but {given}; name "
            "the dataset that the plan was made with.",
            option="junk",
        )
    every = np.concatenate([session.junk for session in plan.sessions])
    if every.min() < 0 or every.max() >= len(junk.train_x):
        raise InputError(
            f"The plan uses junk row {every.max()}, but {junk.name} has {len(junk.train_x)} training rows.",
            option="junk",
        )
    moved = carried_over(junk.train_x[every], data.train_x)
    return np.split(moved, np.cumsum([len(session.junk) for session in plan.sessions])[:-1])


def name_with_junk(data: Dataset, plan: Plan, junk: Dataset | None) -> str:
    """Name of the data of a run, with the dataset that its junk comes from."""
    if plan.junk_labels is None or junk is None:
        return data.name
    return f"{data.name}, junk from {junk.name}"
