"""What pages show, as plain values: functions of a snapshot."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from vbcgcd.errors import InputError
from vbcgcd.record import SessionRecord, plain
from vbcgcd.web.decisions import what_happened
from vbcgcd.workspace import ItemInfo, Snapshot, queries
from vbcgcd.workspace.log.commits import SESSIONS
from vbcgcd.workspace.queries.categories import items_by_session
from vbcgcd.workspace.queries.items import (
    assigning_commits,
    doubtful_items,
    item_columns,
    item_info,
    item_row,
    placed_items,
    typical_items,
)
from vbcgcd.workspace.queries.sessions import category_growth

#: Neighbours of a category.
NEIGHBOURS = 6

__all__ = [
    "category_page",
    "category_rows",
    "home",
    "item_of_key",
    "item_values",
    "ordered_items",
    "sessions_page",
    "similar_items",
    "status",
]


def status(snapshot: Snapshot, name: str, *, read_only: bool) -> dict[str, Any]:
    """What every page shows at its edge."""
    state = snapshot.state
    labelled = queries.labelled_sessions(snapshot)
    last, redo = queries.last_command(snapshot), queries.next_redo(snapshot)
    return {
        "name": name,
        "head": snapshot.head.number,
        "read_only": read_only,
        "learned": state.model is not None,
        "kind": (state.embedder or {}).get("kind"),
        "categories": len(state.ids),
        "discovered": sum(c.birth not in labelled for c in state.live),
        "items": queries.count_items(snapshot),
        "unassigned": queries.count_unassigned(snapshot),
        "undo": None if last.command == "init" else plain(last),
        "redo": None if redo is None else plain(redo),
    }


def home(snapshot: Snapshot, since: int | None) -> dict[str, Any]:
    """Sessions over time, what changed since a visit, and what waits."""
    commits = snapshot.history.commits
    visited = commits[since:] if since is not None and 0 < since <= len(commits) else ()
    sessions = queries.list_sessions(snapshot, undone=False)
    about = snapshot.store.about
    changes = queries.list_changes(snapshot)
    return {
        "head": snapshot.head.number,
        "created": about.get("created", ""),
        "embedder": plain(snapshot.state.embedder),
        "sessions": [_session(record) for record in sessions],
        "growth": plain(category_growth(snapshot)),
        "since": [what_happened(commit) for commit in visited][-50:],
        "changes": {
            "session": changes.session,
            "novel": {
                str(i): name
                for i, name in changes.novel.items()
                if snapshot.state.categories[i].birth == changes.session
            },
            "gains": plain(dict(sorted(changes.gains.items(), key=lambda part: -part[1])[:8])),
            "names": {str(c.id): c.name for c in snapshot.state.live if c.id in changes.gains},
        },
        "unassigned": queries.count_unassigned(snapshot),
        "seedlings": plain(queries.list_seedlings(snapshot)),
    }


def sessions_page(snapshot: Snapshot) -> dict[str, Any]:
    """All sessions and all commands, the last one first."""
    trail = set(snapshot.state.trail)
    commands = [
        {
            **what_happened(commit),
            "undone": commit.number not in trail and commit.command not in ("undo", "redo"),
            "parameters": plain({k: v for k, v in commit.parameters.items() if k != "by"}),
        }
        for commit in snapshot.history.commits
    ]
    return {
        "head": snapshot.head.number,
        "sessions": [_session(record) for record in queries.list_sessions(snapshot)],
        "commands": commands[::-1],
    }


def _session(record: SessionRecord) -> dict[str, Any]:
    left_out = ("steps", "failures", "count_curve", "columns")
    values = {name: value for name, value in record.as_json().items() if name not in left_out}
    return {**values, "n_failures": len(record.failures)}


def category_rows(snapshot: Snapshot) -> list[dict[str, Any]]:
    """All categories, live and retired."""
    labelled = queries.labelled_sessions(snapshot)
    infos = queries.list_categories(snapshot, n_samples=0, retired=True) if snapshot.state.model else ()
    return [{**info.as_json(), "discovered": info.birth not in labelled} for info in infos]


def category_page(snapshot: Snapshot, key: int) -> dict[str, Any]:
    """One category: facts, sessions, neighbours, what it was made from, and what was done to it."""
    category = queries.get_category(snapshot, key, retired=True)
    info = next(iter(queries.list_categories(snapshot, n_samples=0, retired=True, only=[category.id])))
    names = {c.id: c.name for c in snapshot.state.categories.values()}
    history = [
        what_happened(commit)
        for commit in snapshot.history.in_effect()
        if commit.command not in SESSIONS
        and any(values["id"] == category.id for values in commit.changes.get("categories", ()))
    ]
    return {
        "head": snapshot.head.number,
        **info.as_json(),
        "by_session": plain(items_by_session(snapshot, category.id)),
        "all_sessions": [record.session for record in queries.list_sessions(snapshot, undone=False)],
        "neighbours": _neighbours(snapshot, category.id) if category.live else [],
        "lineage": {
            "parents": [{"id": i, "name": names[i]} for i in category.parents],
            "into": [{"id": i, "name": names[i]} for i in category.into],
        },
        "history": history,
    }


def _neighbours(snapshot: Snapshot, category: int) -> list[dict[str, Any]]:
    ids = snapshot.state.ids
    means = snapshot.posterior().mean.astype(np.float64)
    place = ids.index(category)
    distance = np.linalg.norm(means - means[place], axis=1)
    distance[place] = np.inf
    nearest = np.argsort(distance, kind="stable")[:NEIGHBOURS]
    live = snapshot.state.live
    return [
        {"id": live[k].id, "name": live[k].name, "distance": float(distance[k])}
        for k in nearest
        if np.isfinite(distance[k])
    ]


def ordered_items(
    snapshot: Snapshot, category: int, order: str, offset: int, limit: int
) -> tuple[list[ItemInfo], int]:
    """Items of a category from ``offset`` on: typical or doubtful ones first; and how many there are."""
    choose = {"typical": typical_items, "doubtful": doubtful_items}[order]
    total = int((item_columns(snapshot).category == category).sum())
    return list(choose(snapshot, category, offset + limit)[offset:]), total


def item_values(snapshot: Snapshot, items: Sequence[ItemInfo]) -> list[dict[str, Any]]:
    """Items with what can be shown of them, and the names of their categories."""
    categories: Mapping[int, Any] = snapshot.state.categories
    contents = queries.item_contents(snapshot, items)

    def name(category: int | None) -> str:
        return "" if category is None else categories[category].name

    return [
        {
            **item.as_json(),
            "key": f"{item.commit}-{item.row}",
            "name": name(item.category),
            "second_name": name(item.second),
            "text": content.text,
            "picture": bool(content.jpeg),
            "jpeg": content.jpeg,
        }
        for item, content in zip(items, contents, strict=True)
    ]


def similar_items(snapshot: Snapshot, item: ItemInfo, n: int = NEIGHBOURS) -> list[ItemInfo]:
    """The items nearest to one, as far as coarse positions of both are stored."""
    placed, own = placed_items(snapshot), item_row(snapshot, (item.commit, item.row))
    here = np.flatnonzero(placed.rows == own)
    if not len(here):
        return []
    distance = np.linalg.norm(placed.sketch - placed.sketch[here[0]], axis=1)
    distance[here] = np.inf
    nearest = np.argsort(distance, kind="stable")[:n]
    return [item_info(snapshot, int(placed.rows[k])) for k in nearest if np.isfinite(distance[k])]


def item_of_key(snapshot: Snapshot, key: str) -> ItemInfo:
    """The item with a key, such as ``3-17``: row 17 of commit 3."""
    commit, _, row = key.partition("-")
    if not re.fullmatch("[0-9]{1,9}-[0-9]{1,12}", key):
        raise InputError(f"An item is named by its commit and row, such as 3-17; got {key!r}.")
    known = {c.number: c for c in assigning_commits(snapshot)}
    if int(commit) not in known:
        raise InputError(f"There is no item {key}: commit {commit} has none in effect.")
    place = item_row(snapshot, (int(commit), int(row)))
    columns = item_columns(snapshot)
    if place >= len(columns.commit) or int(columns.commit[place]) != int(commit):
        raise InputError(f"There is no item {key}: commit {commit} has fewer items.")
    return item_info(snapshot, place)
