"""Which labelled rows train and which validate."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.errors import InputError

Array = NDArray[Any]

__all__ = ["stratified_split"]


def stratified_split(codes: Array, share: float, random_state: int) -> tuple[Array, Array]:
    """Row numbers of training and of validation, about ``share`` of each category's rows.

    A category with three rows or more gives at least one and keeps at least two; smaller ones only train.

    Parameters
    ----------
    codes : int array (N,)
        Category numbers.
    share : float
        0 gives no validation rows.
    random_state : int

    Returns
    -------
    tuple of int array
        Both ascending, together every row once.

    Examples
    --------
    >>> train, validation = stratified_split(np.repeat([0, 1], 10), 0.2, random_state=0)
    >>> len(train), len(validation)
    (16, 4)
    """
    rng = np.random.default_rng([random_state, 1])
    chosen: list[Array] = []
    for code in np.unique(codes):
        members = rng.permutation(np.flatnonzero(codes == code))
        if share > 0 and len(members) >= 3:
            wanted = max(1, round(share * len(members)))
            chosen.append(members[: min(wanted, len(members) - 2)])
    if share > 0 and not chosen:
        raise InputError(
            "No category has three labelled rows, so none can be set aside for validation; label more rows "
            "or use validation_share=0 (then the last epoch is kept)."
        )
    validation = np.sort(np.concatenate(chosen)) if chosen else np.empty(0, dtype=np.int64)
    return np.setdiff1d(np.arange(len(codes)), validation), validation
