"""Queries over a workspace: categories, sessions, changes, the map, and all of it for a report."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.bayes import deviation
from vbcgcd.discovery.knowledge import Knowledge
from vbcgcd.workspace.assignments import SKETCH, Assignments
from vbcgcd.workspace.commits import Commit
from vbcgcd.workspace.durable import to_json
from vbcgcd.workspace.excerpts import EXCERPTS
from vbcgcd.workspace.ledger import Ledger, counted
from vbcgcd.workspace.lookup import Lookup
from vbcgcd.workspace.posteriors import Shelf
from vbcgcd.workspace.predictions import Members
from vbcgcd.workspace.results import plain
from vbcgcd.workspace.state import Category, History, State
from vbcgcd.workspace.store import Store
from vbcgcd.workspace.views import (
    CategoryInfo,
    CategoryView,
    Changes,
    CommandInfo,
    MapItem,
    Overview,
    SessionInfo,
)

Array = NDArray[Any]
SESSIONS = ("learn", "discover")

__all__ = ["Query"]


class Query:
    """Answers about the present state.

    Parameters
    ----------
    store : Store
    history : History
    shelf : Shelf
    tables : dict of commit -> Assignments
        Tables already read.
    """

    def __init__(self, store: Store, history: History, shelf: Shelf, tables: dict[int, Assignments]) -> None:
        self.store, self.history, self.shelf = store, history, shelf
        self.state = history.state
        self.ledger = Ledger(store, history, tables)

    @cached_property
    def lookup(self) -> Lookup:
        """Finds texts and pictures again."""
        return Lookup(self.store, self.history)

    def typical(self, category: int, n: int, *, items: bool) -> Members:
        """References of typical items, their texts if asked for, and their sources."""
        found = self.ledger.typical(category, n)
        texts = tuple(self.lookup.texts(found)) if items else ()
        return tuple(item.reference for item in found), texts, tuple(item.source for item in found)

    def categories(
        self,
        *,
        n_samples: int = 5,
        retired: bool = False,
        items: bool = False,
        only: Collection[int] | None = None,
    ) -> tuple[CategoryInfo, ...]:
        """The live categories by rising id, and the retired ones after them if asked for."""
        sizes = self.ledger.sizes()
        wanted = self.state.categories if only is None else only
        found = [] if not self.state.where else self._live(sizes, n_samples, items, wanted)
        if retired:
            gone = (c for c in self.state.categories.values() if not c.live and c.id in wanted)
            found += [_info(category, sizes) for category in gone]
        return tuple(found)

    def sessions(self, *, undone: bool = True) -> tuple[SessionInfo, ...]:
        """All sessions, first to last; without those that were undone if asked for."""
        effective = set(self.state.trail)
        labelled = self.labelled_sessions()
        return tuple(
            _session(commit, commit.number not in effective, self.history.states[commit.number], labelled)
            for commit in self.history.commits.values()
            if commit.command in SESSIONS and (undone or commit.number in effective)
        )

    def labelled_sessions(self) -> frozenset[int]:
        """Numbers of the sessions that learned from labels."""
        commits = self.history.commits.values()
        return frozenset(c.changes["session"] for c in commits if c.command == "learn")

    def commands(self) -> tuple[CommandInfo, ...]:
        """Every commit, first to last."""
        return tuple(self._command(commit) for commit in self.history.commits.values())

    def changes(self) -> Changes:
        """What the last session, and what came after it, changed."""
        effective = self.history.in_effect()
        last = next((c for c in reversed(effective) if c.command in SESSIONS), None)
        if last is None:
            return Changes(None, {}, {}, {}, {}, ())
        before = self.history.states[self.state.trail[self.state.trail.index(last.number) - 1]]
        since = [commit for commit in effective if commit.number >= last.number]
        old, new = before.categories, self.state.categories
        grown: dict[int, int] = {}
        for commit in since:
            for category, count in counted(commit, self.state).items():
                if category in self.state.where:
                    grown[category] = grown.get(category, 0) + count
        return Changes(
            last.changes["session"],
            {i: c.name for i, c in new.items() if c.live and i not in old},
            {i: c.name for i, c in new.items() if not c.live and i in old and old[i].live},
            {i: (old[i].name, c.name) for i, c in new.items() if i in old and old[i].name != c.name},
            grown,
            tuple(self._command(commit) for commit in since),
        )

    def overview(self, *, n_items: int = 5, n_map: int = 2000) -> Overview:
        """All that a report needs."""
        infos = self.categories(n_samples=n_items)
        positions, items = self._map(n_map)
        excerpts = self._excerpts()
        views = tuple(
            CategoryView(
                info,
                float(positions[row, 0]),
                float(positions[row, 1]),
                self.ledger.by_session(info.id),
                self.ledger.typical(info.id, n_items),
                self.ledger.doubtful(info.id, n_items),
                tuple(excerpts.get(info.id, ())),
            )
            for row, info in enumerate(infos)
        )
        sizes = self.ledger.sizes()
        about = self.store.about
        return Overview(
            path=str(self.store.path),
            created=about.get("created", ""),
            release=about.get("release", ""),
            embedder=self.state.embedder,
            config=self.state.config,
            commit=len(self.history.commits),
            items=self.ledger.total(),
            bytes=sum(_bytes(commit) for commit in self.history.commits.values()),
            sessions=self.sessions(undone=False),
            categories=views,
            retired=tuple(_info(c, sizes) for c in self.state.categories.values() if not c.live),
            map=items,
            changes=self.changes(),
        )

    def last_command(self) -> CommandInfo:
        """The last command in effect."""
        return self._command(self.history.in_effect()[-1])

    def next_redo(self) -> CommandInfo | None:
        """The command that a redo would bring back."""
        undone = self.history.undone
        return self._command(self.history.commits[undone[-1]]) if undone else None

    def _command(self, commit: Commit) -> CommandInfo:
        undone = commit.number not in self.state.trail and commit.command not in ("undo", "redo")
        return CommandInfo(commit.number, commit.command, commit.time, commit.parameters, undone)

    def _live(
        self, sizes: Mapping[int, int], n_samples: int, items: bool, wanted: Collection[int]
    ) -> list[CategoryInfo]:
        knowledge = self.shelf.knowledge(self.state)
        posterior = knowledge.posterior
        nearest, distance = _neighbours(posterior.mean)
        volume, own = posterior.log_det_covariance, deviation(knowledge.prior, posterior)
        live = self.state.live
        rows = [row for row, category in enumerate(live) if category.id in wanted]
        members = {row: self.typical(live[row].id, n_samples, items=items) for row in rows}
        return [
            _info(
                live[row],
                sizes,
                taught=round(float(posterior.kappa[row] - knowledge.prior.kappa), 6),
                spread=None if np.isnan(own[row]) else float(own[row]),
                log_volume=float(volume[row]),
                nearest=None if nearest[row] < 0 else live[nearest[row]].id,
                nearest_name="" if nearest[row] < 0 else live[nearest[row]].name,
                nearest_distance=None if nearest[row] < 0 else float(distance[row]),
                samples=members[row][0],
                sample_texts=members[row][1],
                sample_sources=members[row][2],
            )
            for row in rows
        ]

    def _map(self, n_map: int) -> tuple[Array, tuple[MapItem, ...]]:
        """Positions of the live categories (K, 2), and of a sample of their items."""
        if not self.state.where:
            return np.empty((0, 2)), ()
        center, axes = _axes(self.shelf.knowledge(self.state))
        means = self.shelf.knowledge(self.state).posterior.mean[:, :SKETCH].astype(np.float64)
        items: list[MapItem] = []
        for commit, rows, sketch in self.ledger.sample():
            table, category = self.ledger.table(commit), self.ledger.resolved(commit)[rows]
            places = (sketch - center) @ axes
            session = self.ledger.sessions[commit.number]
            items += [
                MapItem(table.name_of(row), int(k), session, float(x), float(y))
                for row, k, (x, y) in zip(rows, category, places, strict=True)
                if int(k) in self.state.where
            ]
        if len(items) > n_map:
            chosen = np.sort(np.random.default_rng(0).permutation(len(items))[:n_map])
            items = [items[i] for i in chosen]
        return (means - center) @ axes, tuple(items)

    def _excerpts(self) -> dict[int, list[Mapping[str, str]]]:
        found: dict[int, list[Mapping[str, str]]] = {}
        for commit in self.history.in_effect():
            if EXCERPTS in commit.files:
                kept = json.loads(self.store.file(commit, EXCERPTS).read_bytes())
                for category, parts in kept.items():
                    found.setdefault(self.state.resolved(int(category)), []).extend(parts)
        return found


def _info(category: Category, sizes: Mapping[int, int], **further: Any) -> CategoryInfo:
    return CategoryInfo(
        id=category.id,
        name=category.name,
        named_by=category.named_by,
        status=category.status,
        birth=category.birth,
        size=sizes.get(category.id, 0),
        into=category.into,
        parents=category.parents,
        **further,
    )


def _bytes(commit: Commit) -> int:
    """Of its files and its record, which is written as `to_json` gives it."""
    return sum(mark.bytes for mark in commit.files.values()) + len(to_json(commit.as_json()))


def _session(commit: Commit, undone: bool, after: State, labelled: frozenset[int]) -> SessionInfo:
    summary = commit.summary
    names = {values["id"]: values["name"] for values in commit.changes["categories"]}
    counts = {int(i): n for i, n in summary["counts"].items()}
    novel = sum(counts.get(i, 0) for i in summary["novel"])
    live_labelled = sum(category.birth in labelled for category in after.live)
    return SessionInfo(
        commit=commit.number,
        session=commit.changes["session"],
        command=commit.command,
        time=commit.time,
        source=summary["source"],
        rows=summary["rows"],
        known_rows=summary["rows"] - novel,
        novel_rows=novel,
        novel={i: names[i] for i in summary["novel"]},
        counts=counts,
        estimated=summary.get("estimated"),
        unfamiliar=summary["unfamiliar"],
        mean_probability=summary["mean_probability"],
        failures=summary["n_failures"],
        seconds=summary["seconds"],
        undone=undone,
        summary=plain(summary),
        live_labelled=live_labelled,
        live_found=len(after.live) - live_labelled,
    )


def _neighbours(means: Array) -> tuple[Array, Array]:
    """Position of the nearest other mean (-1 for none) and its distance, arrays (K,)."""
    means = means.astype(np.float64)
    if len(means) < 2:
        return np.full(len(means), -1), np.full(len(means), np.nan)
    squares = (means**2).sum(axis=1)
    distance = squares[:, None] + squares - 2 * means @ means.T
    np.fill_diagonal(distance, np.inf)
    nearest = distance.argmin(axis=1)
    return nearest, np.sqrt(np.maximum(distance[np.arange(len(means)), nearest], 0.0))


def _axes(knowledge: Knowledge) -> tuple[Array, Array]:
    """Centre (s,) and the two principal axes (s, 2) of the live means, in the leading dimensions."""
    means = knowledge.posterior.mean[:, :SKETCH].astype(np.float64)
    center = means.mean(axis=0)
    _, _, axes = np.linalg.svd(means - center, full_matrices=True)
    axes = axes[:2] * np.sign(axes[:2][np.arange(len(axes[:2])), np.abs(axes[:2]).argmax(axis=1)])[:, None]
    padded = np.zeros((2, means.shape[1]))
    padded[: len(axes)] = axes
    return center, padded.T
