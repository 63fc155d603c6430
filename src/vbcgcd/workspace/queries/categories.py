"""Categories as people see them: size, spread, nearest neighbour, typical items."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vbcgcd.bayes import deviation
from vbcgcd.workspace.queries.items import category_sizes, typical_items
from vbcgcd.workspace.queries.sources import item_texts
from vbcgcd.workspace.snapshot import Snapshot
from vbcgcd.workspace.state import Category, Key, find_category
from vbcgcd.workspace.values import CategoryInfo

Array = NDArray[Any]

__all__ = ["TypicalItems", "get_category", "list_categories", "nearest_means", "typical_samples"]


class TypicalItems(NamedTuple):
    """Typical items of a category: references, texts if they were asked for, and sources."""

    references: tuple[str, ...]
    texts: tuple[str, ...]
    sources: tuple[str, ...]


def typical_samples(snapshot: Snapshot, category: int, n: int, *, texts: bool) -> TypicalItems:
    """The ``n`` most typical items of a category, with their texts if asked for."""
    items = typical_items(snapshot, category, n)
    return TypicalItems(
        tuple(item.reference for item in items),
        tuple(item_texts(snapshot, items)) if texts else (),
        tuple(item.source for item in items),
    )


def get_category(snapshot: Snapshot, key: Key, *, retired: bool = False) -> Category:
    """The live category with this id or name; with ``retired`` also a retired one, by its id."""
    return find_category(snapshot.state, key, retired=retired)


def list_categories(
    snapshot: Snapshot,
    *,
    n_samples: int = 5,
    retired: bool = False,
    items: bool = False,
    only: Collection[int] | None = None,
) -> tuple[CategoryInfo, ...]:
    """The live categories by rising id, then the retired ones if asked for.

    Parameters
    ----------
    snapshot : Snapshot
    n_samples : int
        Typical items of each.
    retired : bool
        Add those that were merged, split or dropped.
    items : bool
        Read the texts of the typical items from the user's own files.
    only : collection of int, optional
        Ids; no other category is looked up.
    """
    state = snapshot.state
    wanted = state.categories if only is None else only
    infos = _live(snapshot, n_samples, items, wanted) if state.ids else []
    if retired:
        sizes = category_sizes(snapshot)
        gone = (c for c in state.categories.values() if not c.live and c.id in wanted)
        infos += [_info(category, sizes.get(category.id, 0)) for category in gone]
    return tuple(infos)


def _live(snapshot: Snapshot, n_samples: int, texts: bool, wanted: Collection[int]) -> list[CategoryInfo]:
    knowledge, live, sizes = snapshot.knowledge, snapshot.state.live, category_sizes(snapshot)
    posterior = knowledge.posterior
    nearest, distance = nearest_means(posterior.mean)
    volume, spread = posterior.log_det_covariance, deviation(knowledge.prior, posterior)
    infos = []
    for row, category in enumerate(live):
        if category.id not in wanted:
            continue
        samples = typical_samples(snapshot, category.id, n_samples, texts=texts)
        near = None if nearest[row] < 0 else live[nearest[row]]
        infos.append(
            _info(
                category,
                sizes.get(category.id, 0),
                taught=round(float(posterior.kappa[row] - knowledge.prior.kappa), 6),
                spread=None if np.isnan(spread[row]) else float(spread[row]),
                log_volume=float(volume[row]),
                nearest=None if near is None else near.id,
                nearest_name="" if near is None else near.name,
                nearest_distance=None if near is None else float(distance[row]),
                samples=samples.references,
                sample_texts=samples.texts,
                sample_sources=samples.sources,
            )
        )
    return infos


def _info(category: Category, size: int, **further: Any) -> CategoryInfo:
    return CategoryInfo(
        id=category.id,
        name=category.name,
        named_by=category.named_by,
        status=category.status,
        birth=category.birth,
        size=size,
        into=category.into,
        parents=category.parents,
        **further,
    )


def nearest_means(means: Array) -> tuple[Array, Array]:
    """Position of the nearest other mean (-1 for none) and its distance, arrays (K,)."""
    means = means.astype(np.float64)
    if len(means) < 2:
        return np.full(len(means), -1), np.full(len(means), np.nan)
    squares = (means**2).sum(axis=1)
    distance = squares[:, None] + squares - 2 * means @ means.T
    np.fill_diagonal(distance, np.inf)
    nearest = distance.argmin(axis=1)
    return nearest, np.sqrt(np.maximum(distance[np.arange(len(means)), nearest], 0.0))
