"""From foundations and corrections to posteriors and seedlings; see `vbcgcd.workspace.ledger`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.bayes import Posterior, Statistics, recover_statistics, statistics_by_label
from vbcgcd.discovery.knowledge import Knowledge
from vbcgcd.discovery.seedlings import Seedlings
from vbcgcd.workspace.ledger import Change, Changes, ledger_of
from vbcgcd.workspace.log.files import MODEL, SEEDLINGS, SEGMENT
from vbcgcd.workspace.log.lessons import ItemKey, Target
from vbcgcd.workspace.snapshot import Snapshot

Array = NDArray[Any]
#: A seedling of fewer items than this has none.
LEAST_ROWS = 1e-6

__all__ = ["renewed_bed", "renewed_posteriors"]


def renewed_posteriors(
    snapshot: Snapshot,
    changes: Mapping[Target, Changes],
    vectors: Mapping[ItemKey, Array],
    categories: Iterable[int],
) -> Posterior:
    """Posteriors of categories, in order: the foundation of each with the changes since.

    Parameters
    ----------
    snapshot : Snapshot
    changes : mapping of target -> changes
        All that corrections have changed since the foundations, new ones too.
    vectors : mapping of item -> array (D,)
        Reduced embeddings of all items of the changes.
    categories : iterable of int
        Those that have no foundation have learned from nothing else.
    """
    foundations, knowledge = ledger_of(snapshot).foundations, snapshot.knowledge
    parts = []
    for category in categories:
        place = foundations.get(category)
        before = None if place is None else _stored(snapshot, *place)
        parts.append(_renewed(knowledge, before, changes.get((category, -1), {}), vectors))
    return Posterior.concatenate(parts)


def renewed_bed(
    snapshot: Snapshot, changes: Mapping[Target, Changes], vectors: Mapping[ItemKey, Array]
) -> tuple[Seedlings | None, list[int]]:
    """The seedlings that the last session left with the changes since, and those of them that are left.

    Worth goes with the number of items: what a single one is worth is not kept.
    """
    ledger, knowledge = ledger_of(snapshot), snapshot.knowledge
    assert ledger.bed is not None  # only seedlings of a bed can have changed
    bed: Seedlings = snapshot.content(snapshot.history.commit(ledger.bed), SEEDLINGS).seedlings
    parts, kept = list[Seedlings](), list[int]()
    for place in range(len(bed)):
        seedling, changed = bed.take(np.array([place])), changes.get((-1, place), {})
        rows = seedling.rows + _gain(changed.values())
        if changed:
            posterior = _renewed(knowledge, seedling.posterior, changed, vectors)
            worth = seedling.worth * rows / seedling.rows
            seedling = Seedlings(posterior, rows, worth, seedling.since)
        if rows[0] > LEAST_ROWS:
            parts.append(seedling)
            kept.append(place)
    return (Seedlings.concatenate(parts) if parts else None), kept


def _gain(changes: Iterable[Change]) -> float:
    return sum(change.after - change.before for change in changes)


def _stored(snapshot: Snapshot, commit: int, row: int) -> Posterior:
    record = snapshot.history.commit(commit)
    if MODEL in record.files:
        return snapshot.content(record, MODEL).knowledge.posterior.take([row])
    return snapshot.content(record, SEGMENT).posterior.take([row])


def _renewed(
    knowledge: Knowledge, foundation: Posterior | None, changes: Changes, vectors: Mapping[ItemKey, Array]
) -> Posterior:
    """A posterior with changes; the very foundation where there are none."""
    prior = knowledge.prior
    if foundation is not None and not changes:
        return foundation
    if foundation is None:
        statistics = Statistics.empty(1, prior.dim, prior.structure)
    else:
        statistics = recover_statistics(prior, foundation)
    keys = sorted(changes)
    before = _statistics(knowledge, keys, [changes[key].before for key in keys], vectors)
    after = _statistics(knowledge, keys, [changes[key].after for key in keys], vectors)
    return knowledge.posterior_of(statistics - before + after)


def _statistics(
    knowledge: Knowledge, keys: Sequence[ItemKey], weight: Sequence[float], vectors: Mapping[ItemKey, Array]
) -> Statistics:
    chosen = [place for place, value in enumerate(weight) if value > 0]
    prior = knowledge.prior
    if not chosen:
        return Statistics.empty(1, prior.dim, prior.structure)
    rows = np.stack([vectors[keys[place]] for place in chosen])
    labels = np.zeros(len(chosen), dtype=np.intp)
    weights = np.array([weight[place] for place in chosen])
    return statistics_by_label(rows, labels, 1, weight=weights, structure=prior.structure)
