"""The search of a sample by groups of rows that lie together.

A search costs rows times categories, so that ten groups cost a tenth of what the whole does, and can be
searched side by side. Each is searched as an ordinary session is. What they found is then fitted and judged
together: a category that a border between groups cut in two is found twice, and the worse half is dropped.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans

from vbcgcd.discovery.count import COUNTERS, CountProblem
from vbcgcd.discovery.distinct import Completed, Returned, more, together
from vbcgcd.discovery.knowledge import Knowledge
from vbcgcd.discovery.large.quick import QuickMixture
from vbcgcd.discovery.large.scheduling import over_blocks
from vbcgcd.discovery.mixture import Mixture, MixtureState
from vbcgcd.discovery.rows import SessionRows

Array = NDArray[Any]

#: Rows of a group, about, and the largest share of them by which one may be larger before it is divided.
GROUP_ROWS, TOO_LARGE = 2000, 2.0
#: A category takes part in the search of a group that holds at least this much of its rows.
LEAST_ROWS = 0.5

__all__ = ["Group", "groups_of", "search_by_groups", "search_group"]


class Group(NamedTuple):
    """Rows that are searched by themselves.

    Attributes
    ----------
    rows : int array (n,)
        Their places in the sample.
    reduced : array (n, D)
    mixture : Mixture
    state : MixtureState or None
        What was found among them before; None for the first search.
    knowledge : Knowledge
    seed : int
    """

    rows: Array
    reduced: Array
    mixture: Mixture
    state: MixtureState | None
    knowledge: Knowledge
    seed: int


def search_group(group: Group) -> tuple[Array, Array, Returned]:
    """Places of the rows of a group, responsibilities of novel categories among them, and what came back."""
    rng = np.random.default_rng(group.seed)
    if group.state is not None:
        return group.rows, *more(group.knowledge.stream(group.mixture, rng), group.state)
    novelty = 1 - group.knowledge.novelty.p_value(group.mixture.best_known)
    problem = CountProblem(group.reduced, novelty, lambda: group.mixture, _no_density, group.knowledge, rng)
    _, state, returned = COUNTERS["rehearsal"](problem)
    responsibility = np.zeros((len(group.rows), 0)) if state is None else state.responsibility
    return group.rows, responsibility, returned or Returned.none(len(group.rows))


def search_by_groups(
    here: SessionRows, nearest: Array, state: MixtureState | None, rng: np.random.Generator
) -> tuple[Completed, bool]:
    """Novel categories of a sample, and whether they are others than those found before.

    Parameters
    ----------
    here : SessionRows
        The sample.
    nearest : int array (n,)
        The best known category of each of its rows.
    state : MixtureState or None
        What was found before, among its rows.
    rng : Generator
    """
    n, before = len(here.rows), np.zeros((len(here.rows), 0), np.float32)
    if state is not None:
        before = state.responsibility
    columns, returned = [before], Returned.none(n)
    places = groups_of(here.mixture.rows, rng)
    seeds = rng.integers(2**31, size=len(places))
    groups = [_group(here, nearest, state, rows, int(seed)) for rows, seed in zip(places, seeds, strict=True)]
    for rows, responsibility, came_back in over_blocks(search_group, groups, work=1e12):
        every = np.zeros((n, responsibility.shape[1]), np.float32)
        every[rows] = responsibility
        columns.append(every)
        for values, some in zip(returned, came_back, strict=True):
            values[rows] = some
    found = np.hstack(columns)
    found[:, : before.shape[1]] *= 1 - np.minimum(found[:, before.shape[1] :].sum(axis=1, keepdims=True), 1)
    late = (np.arange(found.shape[1]) >= before.shape[1]) & (state is not None)
    completed = together(here.stream(rng), found, late)
    number = 0 if completed.state is None else completed.state.responsibility.shape[1]
    changed = state is None or found.shape[1] > before.shape[1] or number != before.shape[1]
    kept = completed.returned.category >= 0
    merged = Returned(*(np.where(kept, a, b) for a, b in zip(completed.returned, returned, strict=True)))
    if completed.state is not None:
        merged = merged.of(completed.state.responsibility.sum(axis=1) < 0.5)
    return Completed(completed.state, merged), changed


def groups_of(rows: Array, rng: np.random.Generator) -> list[Array]:
    """Places of rows that lie together, in groups of about `GROUP_ROWS`."""
    waiting, done = [np.arange(len(rows))], list[Array]()
    while waiting:
        places = waiting.pop()
        number = min(round(len(places) / GROUP_ROWS), 16)
        if number < 2 or len(places) < TOO_LARGE * GROUP_ROWS:
            done.append(places)
            continue
        means = KMeans(number, n_init=1, max_iter=20, random_state=int(rng.integers(2**31)))
        label = means.fit_predict(rows[places])
        parts = [places[label == k] for k in range(number) if (label == k).any()]
        (done if len(parts) == 1 else waiting).extend(parts)
    return sorted(done, key=lambda places: int(places[0]))


def _group(here: SessionRows, nearest: Array, state: MixtureState | None, rows: Array, seed: int) -> Group:
    every = here.mixture
    weight = every.weight[rows]
    # A group has rows of few known categories: were all expected in it, a second mean for one of these would
    # seem to explain a lot.
    known = replace(every.known_side.part(rows), present=_present(nearest[rows], weight))
    held = None if every.held is None else every.held.part(rows)
    mixture = QuickMixture(
        every.geometry, known.rows, known, weight, every.size_spread, every.sharpness, held=held
    )
    if state is not None:
        some = state.responsibility[rows]
        some = some[:, weight @ some >= LEAST_ROWS]
        state = state._replace(responsibility=some)
    return Group(rows, here.rows[rows], mixture, state, here.knowledge, seed)


def _present(nearest: Array, weight: Array) -> int:
    """How many known categories occur: as many as, in equal parts, would be as hard to guess."""
    part = np.bincount(nearest, weight)
    part = part[part > 0] / part.sum()
    return max(1, round(float(np.exp(-(part * np.log(part)).sum()))))


def _no_density() -> Array:
    raise NotImplementedError("This way to count does not ask for densities.")
