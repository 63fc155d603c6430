"""Everything at once, for a report: sessions, categories with their items, and a map."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.workspace.config import COLUMNS, DEFAULTS
from vbcgcd.workspace.log.commits import Commit
from vbcgcd.workspace.log.files import SKETCH
from vbcgcd.workspace.queries import items as queries
from vbcgcd.workspace.queries import sessions
from vbcgcd.workspace.queries.categories import count_items, items_by_session, list_categories
from vbcgcd.workspace.queries.chart import principal_axes
from vbcgcd.workspace.queries.sources import stored_excerpts
from vbcgcd.workspace.snapshot import Snapshot
from vbcgcd.workspace.values import CategoryView, MapItem, Overview

Array = NDArray[Any]

#: Unassigned items that are shown, as a multiple of the doubtful items of a category.
UNASSIGNED_ITEMS = 4

__all__ = ["get_config", "overview", "remembered_columns"]


def get_config(snapshot: Snapshot) -> dict[str, Any]:
    """All settings, with the columns that the workspace remembers."""
    return {**DEFAULTS, **snapshot.state.config, "columns": remembered_columns(snapshot)}


def remembered_columns(snapshot: Snapshot) -> dict[str, Any]:
    """Columns of tables that the first ``learn`` named or the settings say, by what they hold."""
    state, first = snapshot.state, dict[str, Any]()
    if state.model is not None:
        first = dict(snapshot.history.commit(state.model).parameters)
    columns = {name: first.get(name) for name in COLUMNS} | dict(state.config.get("columns") or {})
    return {name: column for name, column in columns.items() if column is not None}


def overview(
    snapshot: Snapshot, *, n_items: int = 5, n_map: int = 2000, only: Collection[int] | None = None
) -> Overview:
    """All that a report needs: sessions, categories with their items, a map, and the last changes.

    Parameters
    ----------
    snapshot : Snapshot
    n_items : int
        Typical and doubtful items of each category.
    n_map : int
        Items on the map.
    only : collection of int, optional
        Ids of live categories; no other is among those of the overview.
    """
    ids = set(snapshot.state.ids if only is None else only)
    gone = (category.id for category in snapshot.state.categories.values() if not category.live)
    infos = list_categories(snapshot, n_samples=n_items, retired=True, only={*ids, *gone})
    positions, map_items = _map(snapshot, n_map, ids)
    excerpts = stored_excerpts(snapshot)
    views = tuple(
        CategoryView(
            info,
            positions[info.id][0],
            positions[info.id][1],
            items_by_session(snapshot, info.id),
            queries.typical_items(snapshot, info.id, n_items),
            queries.doubtful_items(snapshot, info.id, n_items),
            tuple(excerpts.get(info.id, ())),
        )
        for info in infos
        if info.status == "live"
    )
    about, state = snapshot.store.about, snapshot.state
    return Overview(
        path=str(snapshot.store.path),
        created=about.get("created", ""),
        release=about.get("release", ""),
        embedder=state.embedder,
        config=state.config,
        commit=snapshot.head.number,
        items=count_items(snapshot),
        bytes=sum(_bytes(commit) for commit in snapshot.history.commits),
        sessions=sessions.list_sessions(snapshot, undone=False),
        growth=sessions.category_growth(snapshot),
        categories=views,
        retired=tuple(info for info in infos if info.status != "live"),
        map=map_items,
        changes=sessions.list_changes(snapshot),
        unassigned=queries.count_unassigned(snapshot),
        unassigned_items=queries.unassigned_items(snapshot, UNASSIGNED_ITEMS * n_items),
        seedlings=sessions.list_seedlings(snapshot),
        left_out=len(state.ids) - len(views),
    )


def _bytes(commit: Commit) -> int:
    """Size of its files and of its record."""
    return sum(mark.bytes for mark in commit.files.values()) + commit.record_bytes


def _map(
    snapshot: Snapshot, n_map: int, ids: Collection[int]
) -> tuple[dict[int, list[float]], tuple[MapItem, ...]]:
    """Positions of the live categories by id, and of a sample of the items of some of them."""
    state = snapshot.state
    if not state.ids:
        return {}, ()
    means = snapshot.knowledge.posterior.mean[:, :SKETCH].astype(np.float64)
    center, axes = principal_axes(means)
    positions = dict(zip(state.ids, ((means - center) @ axes).tolist(), strict=True))
    if n_map == 0:  # no positions of items need be read
        return positions, ()
    placed, sessions_of = queries.placed_items(snapshot), queries.session_of_commit(snapshot)
    shown = np.flatnonzero(np.isin(placed.category, list(ids)))
    if len(shown) > n_map:
        shown = shown[np.sort(np.random.default_rng(0).permutation(len(shown))[:n_map])]
    items = tuple(
        MapItem(
            queries.reference_of(snapshot, int(placed.rows[i])),
            int(placed.category[i]),
            sessions_of[int(placed.commit[i])],
            float(x),
            float(y),
        )
        for i, (x, y) in zip(shown, (placed.sketch[shown] - center) @ axes if len(shown) else (), strict=True)
    )
    return positions, items
