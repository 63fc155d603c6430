"""A seeded split of items into train and test that keeps the shares of the classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.errors import InputError
from vbcgcd.items import Items
from vbcgcd.validation import check_number

Array = NDArray[Any]

TEST_SHARE = 0.2

__all__ = ["TEST_SHARE", "check_labelled", "split_items", "stratified"]


def stratified(labels: Array, *, test_share: float = TEST_SHARE, seed: int = 0) -> Array:
    """Mask of the test rows.

    Each class gives the rounded share of its rows, at least one row and never all; a class of one row stays
    in the train part.

    Parameters
    ----------
    labels : array (N,)
    test_share : float
        Between 0 and 1.
    seed : int

    Returns
    -------
    bool array (N,)

    Examples
    --------
    >>> import numpy as np
    >>> test = stratified(np.repeat(["a", "b"], [10, 5]), test_share=0.2)
    >>> test[:10].sum(), test[10:].sum()
    (np.int64(2), np.int64(1))
    """
    check_number("test_share", test_share, above=0, high=1)
    check_number("seed", seed, low=0, whole=True)
    if test_share == 1:
        raise InputError("test_share must be below 1, got 1; the train part would be empty.")
    rng = np.random.default_rng(seed)
    test = np.zeros(len(labels), dtype=bool)
    codes = np.unique(labels, return_inverse=True)[1]
    order = np.argsort(codes, kind="stable")
    for rows in np.split(order, np.cumsum(np.bincount(codes))[:-1]):
        size = min(max(round(test_share * len(rows)), 1), len(rows) - 1)
        test[rng.permutation(rows)[:size]] = True
    return test


def split_items(
    items: Items, *, test_share: float | None = None, seed: int | None = None
) -> tuple[Items, Items]:
    """Train and test items; see `stratified`."""
    labels = check_labelled(items, items.source)
    share = TEST_SHARE if test_share is None else test_share
    test = stratified(labels, test_share=share, seed=0 if seed is None else seed)
    if not test.any():
        raise InputError(
            f"{items.source} has one item of each class, so that nothing is left to test; a class needs two."
        )
    return items.take(~test), items.take(test)


def check_labelled(items: Items, where: str) -> Array:
    """The labels (N,), or an error where an item has none."""
    bare = int((~items.labelled).sum())
    if items.labels is None or bare:
        raise InputError(
            f"{bare} of {len(items)} items in {where} have no label; a labelled dataset needs one for each. "
            "Say which column holds the labels with label=, or remove the items."
        )
    return items.labels
