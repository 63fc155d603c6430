"""A map on which nothing ever moves: two axes that the base session fixed, for items of all sessions."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vbcgcd.workspace.log.files import SKETCH
from vbcgcd.workspace.queries.items import item_columns, placed_items, session_of_commit
from vbcgcd.workspace.snapshot import Snapshot, once_per_snapshot

Array = NDArray[Any]

__all__ = ["Chart", "chart", "principal_axes"]


class Chart(NamedTuple):
    """Items and categories on the map.

    Attributes
    ----------
    position : float32 array (N, 2)
    category : int32 array (N,)
        -1 for unassigned items.
    session, commit, row : int32 array (N,)
        ``commit`` and ``row`` name an item for good.
    novelty : float32 array (N,)
    state : uint8 array (N,)
        Code of `vbcgcd.workspace.log.lessons.STATES`.
    ids : int array (K,)
        The live categories.
    means : float array (K, 2)
        Where they are.
    """

    position: Array
    category: Array
    session: Array
    commit: Array
    row: Array
    novelty: Array
    state: Array
    ids: Array
    means: Array


@once_per_snapshot
def chart(snapshot: Snapshot) -> Chart:
    """The sample of items of which a coarse position is stored, and the live categories.

    The axes are the two principal ones of the categories of the base session, so neither a later session nor
    a correction moves anything that was there before.
    """
    base = snapshot.base.knowledge.posterior.mean[:, :SKETCH].astype(np.float64)
    center, axes = principal_axes(base)
    placed, columns, sessions = placed_items(snapshot), item_columns(snapshot), session_of_commit(snapshot)
    rows = placed.rows
    position = (placed.sketch - center) @ axes if len(rows) else np.empty((0, 2))
    commits, first = np.unique(columns.commit, return_index=True)
    start = dict(zip(commits.tolist(), first.tolist(), strict=True))
    own, back = np.unique(placed.commit, return_inverse=True)
    means = snapshot.posterior().mean[:, :SKETCH].astype(np.float64)
    return Chart(
        position.astype(np.float32),
        columns.category[rows].astype(np.int32),
        np.array([sessions[int(number)] for number in own], dtype=np.int32)[back],
        placed.commit.astype(np.int32),
        (rows - np.array([start[int(number)] for number in own], dtype=np.int64)[back]).astype(np.int32),
        columns.novelty[rows].astype(np.float32),
        columns.state[rows].astype(np.uint8),
        np.array(snapshot.state.ids, dtype=np.int64),
        (means - center) @ axes,
    )


def principal_axes(means: Array) -> tuple[Array, Array]:
    """Centre (s,) and the two principal axes (s, 2) of the means (K, s)."""
    center = means.mean(axis=0)
    # All axes take the full matrices only where means are few; one of them is (K, K).
    _, _, axes = np.linalg.svd(means - center, full_matrices=len(means) <= means.shape[1])
    axes = axes[:2] * np.sign(axes[:2][np.arange(len(axes[:2])), np.abs(axes[:2]).argmax(axis=1)])[:, None]
    padded = np.zeros((2, means.shape[1]))
    padded[: len(axes)] = axes
    return center, padded.T
