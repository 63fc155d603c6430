"""Names of categories: labels of novel ones are new, never reused, and of the same kind as the given ones."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.errors import InputError

Array = NDArray[Any]

__all__ = [
    "NONE_OF_THESE",
    "appended",
    "new_labels",
    "reject_label",
    "with_rejections",
    "with_unassigned",
]

#: The answer of ``predict(X, reject=...)`` where labels are strings; integers answer -1.
NONE_OF_THESE = "none of these"


def new_labels(classes: Array, n_novel: int, n_discovered: int) -> Array:
    """Labels for novel categories.

    Integers continue after the largest; strings become ``novel-1``, ``novel-2``, ..., counting on from
    those already discovered and passing over names that are taken.

    Examples
    --------
    >>> import numpy as np
    >>> new_labels(np.array([3, 7]), 2, 0)
    array([8, 9])
    >>> new_labels(np.array(["cat", "dog"]), 2, 1)
    array(['novel-2', 'novel-3'], dtype='<U7')
    """
    if classes.dtype.kind in "iu":
        first = max(int(classes.max()) + 1, 0)
        if first + n_novel > np.iinfo(np.int64).max:
            raise InputError(
                f"The label {first - 1} is too large to number novel categories after it; use smaller "
                "integers or strings."
            )
        return np.arange(first, first + n_novel)
    if classes.dtype.kind == "f":
        if np.floor(classes.max()) + n_novel + 1 == np.floor(classes.max()) + n_novel:
            raise InputError(
                f"The label {classes.max()} is too large to number novel categories after it; use smaller "
                "numbers or strings."
            )
        first = max(np.floor(classes.max()) + 1, 0.0)  # never -1, which stands for none of them
        return first + np.arange(n_novel, dtype=classes.dtype)
    if classes.dtype.kind not in "UTO":
        raise InputError(
            f"Novel categories can only be numbered after integer or string labels, got {classes.dtype}; "
            "fit with strings or integers."
        )
    taken, names, number = set(classes.tolist()), list[str](), n_discovered
    while len(names) < n_novel:
        number += 1
        if f"novel-{number}" not in taken:
            names.append(f"novel-{number}")
    return np.array(names, dtype=object if classes.dtype.kind == "O" else None)


def appended(classes: Array, labels: Array) -> Array:
    """``classes`` followed by ``labels``, without changing a value or its kind."""
    if len(labels) == 0:
        return classes
    if classes.dtype.kind in "iu":
        ends = (np.min_scalar_type(int(labels.min())), np.min_scalar_type(int(labels.max())))
        kind = np.result_type(classes.dtype, *ends)
        kind = kind if kind.kind in "iu" else np.dtype(np.int64)
        return np.concatenate([classes.astype(kind), labels.astype(kind)])
    return np.concatenate([classes, labels])


def reject_label(classes: Array) -> Any:
    """What stands for "none of these" among labels of this kind."""
    if classes.dtype.kind in "iuf":
        if -1 in classes:
            raise InputError(
                "-1 is one of the labels, so it cannot mean 'none of these'; pass another reject_label."
            )
        return -1
    if NONE_OF_THESE in classes.tolist():
        raise InputError(f"{NONE_OF_THESE!r} is one of the labels; pass another reject_label.")
    return NONE_OF_THESE


def with_rejections(labels: Array, rejected: Array, classes: Array, answer: Any = None) -> Array:
    """Labels, with an answer such as "none of these" where rows are rejected, array (N,).

    Parameters
    ----------
    labels : array (N,)
    rejected : boolean array (N,)
    classes : array (K,)
        All labels that can be given.
    answer : optional
        What stands for a rejected row; by default -1 among numbers and "none of these" among strings.
    """
    value = np.array([reject_label(classes) if answer is None else answer])
    same = (value.dtype.kind in "iuf") == (labels.dtype.kind in "iuf") and labels.dtype.kind != "O"
    kind = np.result_type(labels.dtype, value.dtype) if same else np.dtype(object)
    if kind.kind == "f" and labels.dtype.kind in "iu" and value.dtype.kind in "iu":
        kind = np.dtype(object)  # no integer type holds both, and a float would change large ones
    return np.where(rejected, value.astype(kind), labels.astype(kind))


def with_unassigned(labels: Array, unassigned: Array, classes: Array) -> Array:
    """Labels, with -1 or "none of these" where rows are unassigned, array (N,).

    Where that is a label already, it is the next lower number, or a text with an apostrophe more.
    """
    if not unassigned.any():
        return labels
    taken = set(classes.tolist())
    answer: Any = -1 if classes.dtype.kind in "iuf" else NONE_OF_THESE
    while answer in taken:
        answer = answer - 1 if classes.dtype.kind in "iuf" else f"{answer}'"
    return with_rejections(labels, unassigned, classes, answer)
