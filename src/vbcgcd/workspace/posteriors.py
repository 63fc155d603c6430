"""Posteriors on disk: each commit stores those it made, and the state points to them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.archive import read_archive, write_archive
from vbcgcd.bayes import Posterior
from vbcgcd.discovery.knowledge import Knowledge
from vbcgcd.errors import InputError
from vbcgcd.model import CategoryDiscoverer
from vbcgcd.workspace.state import History, State
from vbcgcd.workspace.store import Store

Array = NDArray[Any]
KIND, VERSION = "vbcgcd-posteriors", 1
MODEL, SEGMENT = "model.safetensors", "posteriors.safetensors"

__all__ = ["MODEL", "SEGMENT", "Shelf", "write_segment"]


def write_segment(path: Path, posterior: Posterior, ids: list[int]) -> None:
    """Write the posteriors of some categories."""
    arrays = {name: getattr(posterior, name) for name in ("mean", "kappa", "nu", "factor")}
    write_archive(path, KIND, VERSION, arrays, {"ids": ids, "structure": posterior.structure})


class Shelf:
    """Reads the model and the posteriors of a state, each once.

    Parameters
    ----------
    store : Store
    history : History
    """

    def __init__(self, store: Store, history: History) -> None:
        self.store, self.history = store, history
        self._bases: dict[int, CategoryDiscoverer] = {}
        self._where: Mapping[int, tuple[int, int]] = {}
        self._posterior: Posterior | None = None

    def knowledge(self, state: State) -> Knowledge:
        """All that is known in a state, its posteriors in the order of ``state.where``."""
        return replace(self._base(state).knowledge_, posterior=self._gathered(state))

    def model(self, state: State) -> CategoryDiscoverer:
        """A model of this state; its labels are the positions of the live categories."""
        base = self._base(state)
        model = CategoryDiscoverer(**base.get_params())
        model.knowledge_ = self.knowledge(state)
        model.n_features_in_ = base.n_features_in_
        model.classes_ = np.arange(len(state.where))
        model.births_ = np.array([category.birth for category in state.live], dtype=np.int64)
        model.n_sessions_, model.n_discovered_ = max(self.history.next_session - 1, 0), 0
        return model

    def width(self, state: State) -> int:
        """Numbers in an embedding."""
        return int(self._base(state).n_features_in_)

    def _base(self, state: State) -> CategoryDiscoverer:
        if state.model is None:
            raise InputError("This workspace has learned nothing yet; give it labelled items with learn.")
        if state.model not in self._bases:
            path = self.store.file(self.history.commits[state.model], MODEL)
            self._bases = {state.model: CategoryDiscoverer.load(path)}
        return self._bases[state.model]

    def _gathered(self, state: State) -> Posterior:
        """The posteriors of the live categories; only those not in memory are read."""
        if self._posterior is not None and list(self._where.items()) == list(state.where.items()):
            return self._posterior
        place = {at: row for row, at in enumerate(self._where.values())}
        parts = {} if self._posterior is None else {-1: self._posterior}
        wanted: list[tuple[int, int]] = []
        for at in state.where.values():
            if at in place:
                wanted.append((-1, place[at]))
                continue
            if at[0] not in parts:
                parts[at[0]] = self._segment(at[0], state)
            wanted.append(at)
        self._posterior = _picked(parts, wanted, self._base(state).knowledge_.posterior)
        self._where = state.where
        return self._posterior

    def _segment(self, number: int, state: State) -> Posterior:
        base = self._base(state).knowledge_.posterior
        if number == state.model:
            return base
        path = self.store.file(self.history.commits[number], SEGMENT)
        arrays, values = read_archive(path, KIND, VERSION)
        return Posterior(structure=values["structure"], **arrays)


def _picked(parts: Mapping[int, Posterior], wanted: list[tuple[int, int]], base: Posterior) -> Posterior:
    """The wanted rows of the parts, in order."""

    def stacked(name: str) -> Array:
        return np.stack([getattr(parts[part], name)[row] for part, row in wanted])

    return Posterior(stacked("mean"), stacked("kappa"), stacked("nu"), stacked("factor"), base.structure)
