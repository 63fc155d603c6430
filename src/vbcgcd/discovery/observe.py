"""One row at a time: known, found, part of a seedling, or unassigned.

There is no search. A row that its best category explains well enough belongs to it. A badly explained row
joins the seedling that explains it better, or else begins one. A seedling that cannot be told from another,
or from a category that is still learning, is added to it. One that is worth enough becomes a category, by the
rule of a session. The thresholds are those of a session (`vbcgcd.discovery.seedlings`, `worth`, `geometry`),
only that the mean of few rows has to be like a row by a wider margin. Posteriors of categories that no longer
learn are only read; all that changes, changes by sufficient statistics.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vbcgcd.bayes import recover_statistics, statistics_by_label
from vbcgcd.discovery.calibrate import CAUTION
from vbcgcd.discovery.distinct import FEWEST_ROWS, SEEDLING_NOVELTY
from vbcgcd.discovery.geometry import is_flagged
from vbcgcd.discovery.knowledge import Knowledge
from vbcgcd.discovery.seedlings import JOINING, MOST, Seedlings, is_enough, same_kind
from vbcgcd.discovery.steps import SURE_KNOWN
from vbcgcd.discovery.strategies import CONFIDENT
from vbcgcd.discovery.watch import Watch
from vbcgcd.discovery.worth import LEAST_WORTH, Evidence, chance_of

Array = NDArray[Any]
Outcome = Literal["known", "found", "seedling", "unassigned"]

#: Categories whose Gaussians are compared, the most similar ones: all others lose in any case.
SHORTLIST = 16
#: Seedlings of so many rows can be compared as groups.
FEWEST_TO_COMPARE = 2

__all__ = ["Observation", "Outcome", "Sight", "observe_row"]


@dataclass(frozen=True)
class Observation:
    """What became of one row.

    Parameters
    ----------
    label : label or None
        Its category; None where it has none yet.
    probability : float
        Of that category, or that the row belongs to none where ``label`` is None.
    novelty : float
        How badly its best category explains it; uniform on [0, 1] for rows of known categories.
    outcome : {"known", "found", "seedling", "unassigned"}
        It belongs to a category that somebody labelled, or to one that was found; it joined a group that is
        not a category yet; or it fits nothing, and waits as the first row of such a group.
    born : bool
        Whether the row made a category of its seedling.
    """

    label: Any
    probability: float
    novelty: float
    outcome: Outcome
    born: bool = False


class Sight(NamedTuple):
    """An observation by the position of the category, -1 where there is none."""

    position: int
    probability: float
    novelty: float
    outcome: Outcome
    born: bool = False


class _Row(NamedTuple):
    """A row: similarity to its best category, novelty, probability that it belongs nowhere.

    And the category that the Gaussians prefer, with its probability among all categories.
    """

    reduced: Array
    best: float
    novelty: float
    strange: float
    position: int
    probability: float


def observe_row(
    reduced: Array, knowledge: Knowledge, learning: Array, *, session: int, update_known: bool = False
) -> tuple[Knowledge, Sight]:
    """What becomes of a row, and what is known after it.

    Parameters
    ----------
    reduced : array (1, D)
        Reduced embedding.
    knowledge : Knowledge
        Without a head.
    learning : bool array (K,)
        Categories that still learn from rows that surely belong to them.
    session : int
        In which new seedlings begin.
    update_known : bool
        Whether the other categories learn too.
    """
    watch = knowledge.watch or Watch()
    row = _seen(reduced, knowledge, watch)
    knowledge = replace(knowledge, watch=watch.after(row.strange))
    home = _home(row, knowledge)
    if home is not None:
        return _joined(row, knowledge, learning, *home)
    sure = row.probability * (1 - row.strange)
    probability = sure * float(knowledge.reliabilities[row.position])
    if is_flagged(np.array(row.novelty)) and row.strange > probability:
        return _begun(row, knowledge, session), Sight(-1, row.strange, row.novelty, "unassigned")
    needed = CONFIDENT if learning[row.position] else SURE_KNOWN
    if (learning[row.position] or update_known) and sure >= needed:
        knowledge = knowledge.absorbed(reduced, np.array([row.position]))
    return knowledge, Sight(row.position, probability, row.novelty, _kind(knowledge, row.position))


def _seen(reduced: Array, knowledge: Knowledge, watch: Watch) -> _Row:
    geometry, posterior = knowledge.novelty.geometry, knowledge.posterior
    similarity = geometry.similarity(geometry.prepared(reduced), posterior.mean)
    similarity = geometry.corrected(similarity, knowledge.counts)[0]
    best = float(similarity.max())
    novelty = 1 - float(knowledge.novelty.p_value(np.array(best)))
    strange = float(knowledge.novelty.strangeness(np.array([novelty]), watch.share)[0])
    nearest = np.sort(np.argsort(-similarity, kind="stable")[:SHORTLIST])
    density = knowledge.classifier.log_density(reduced, posterior.take(nearest))
    probability = np.exp(knowledge.temperature * (density - density.max()))[0]
    chosen = int(probability.argmax())
    share = float(probability[chosen] / probability.sum())
    return _Row(reduced, best, novelty, strange, int(nearest[chosen]), share)


def _home(row: _Row, knowledge: Knowledge) -> tuple[int, float] | None:
    """The seedling that a row joins and what it is worth there; None where there is none."""
    seedlings, geometry = knowledge.seedlings, knowledge.novelty.geometry
    if seedlings is None or row.novelty <= SEEDLING_NOVELTY:
        return None
    similarity = geometry.similarity(geometry.prepared(row.reduced), seedlings.posterior.mean)
    gain = geometry.sharpness * (geometry.corrected(similarity, seedlings.rows)[0] - row.best)
    surplus = gain - JOINING * knowledge.margin * (1 + CAUTION / seedlings.rows)
    home = int(surplus.argmax())
    return (home, float(gain[home])) if surplus[home] > 0 else None


def _joined(
    row: _Row, knowledge: Knowledge, learning: Array, home: int, gain: float
) -> tuple[Knowledge, Sight]:
    """The row joins a seedling, which may be part of another, of a category, or a category itself."""
    seedlings = knowledge.seedlings
    assert seedlings is not None
    grown = _added(knowledge, seedlings.take(np.array([home])), _single(row, knowledge, 0), gain)
    others = seedlings.take(np.delete(np.arange(len(seedlings)), home))
    twin = _twin(grown, others, knowledge)
    if twin >= 0:
        grown = _added(knowledge, others.take(np.array([twin])), grown, float(grown.worth[0]))
        others = others.take(np.delete(np.arange(len(others)), twin))
    # Its rows were picked among those that wait, which stand for those of a session.
    chance = chance_of(float(seedlings.rows.sum()), knowledge.margin)
    ripe = is_enough(grown.rows, grown.worth, knowledge.margin, chance)[0] and grown.rows[0] >= FEWEST_ROWS
    if not ripe:
        kept = Seedlings.concatenate([others, grown])
        return replace(knowledge, seedlings=kept), Sight(-1, row.strange, row.novelty, "seedling")
    knowledge = replace(knowledge, seedlings=others if len(others) else None)
    open_ones = np.flatnonzero(learning)
    known = Seedlings(
        knowledge.posterior.take(open_ones), knowledge.counts[open_ones], *np.zeros((2, len(open_ones)))
    )
    twin = _twin(grown, known, knowledge)
    if twin >= 0:
        position = int(open_ones[twin])
        posterior = _added(knowledge, known.take(np.array([twin])), grown, 0.0).posterior
        posterior = knowledge.posterior.replaced(np.array([position]), posterior)
        knowledge, born = replace(knowledge, posterior=posterior), False
    else:
        position, born = len(knowledge.posterior), True
        knowledge = knowledge.extended(grown.posterior, _reliability(grown, knowledge, chance))
    probability = (1 - row.strange) * float(knowledge.reliabilities[position])
    return knowledge, Sight(position, probability, row.novelty, "found", born)


def _begun(row: _Row, knowledge: Knowledge, session: int) -> Knowledge:
    """With a seedling of this row alone; the oldest of the least valuable ones makes place for it."""
    single, before = _single(row, knowledge, session), knowledge.seedlings
    if before is None:
        return replace(knowledge, seedlings=single)
    if len(before) >= MOST:
        before = before.take(np.delete(np.arange(len(before)), int(before.worth.argmin())))
    return replace(knowledge, seedlings=Seedlings.concatenate([before, single]))


def _single(row: _Row, knowledge: Knowledge, session: int) -> Seedlings:
    statistics = statistics_by_label(
        row.reduced, np.zeros(1, dtype=int), 1, structure=knowledge.prior.structure
    )
    return Seedlings(knowledge.posterior_of(statistics), np.ones(1), np.zeros(1), np.array([session]))


def _added(knowledge: Knowledge, one: Seedlings, other: Seedlings, worth: float) -> Seedlings:
    """A seedling with the statistics of another, whose rows are worth so much: statistics add."""
    parts = (recover_statistics(knowledge.prior, each.posterior) for each in (one, other))
    return Seedlings(
        knowledge.posterior_of(sum(parts, start=next(parts))),
        one.rows + other.rows,
        one.worth + worth,
        one.since,
    )


def _twin(group: Seedlings, others: Seedlings, knowledge: Knowledge) -> int:
    """The other group that one cannot be told from; -1 where there is none."""
    able = np.flatnonzero(others.rows >= FEWEST_TO_COMPARE)
    if not len(able) or group.rows[0] < FEWEST_TO_COMPARE:
        return -1
    geometry, margin = knowledge.novelty.geometry, knowledge.margin
    same = int(same_kind(group.posterior.mean, group.rows, others.take(able), geometry, margin)[0])
    return int(able[same]) if same >= 0 else -1


def _reliability(group: Seedlings, knowledge: Knowledge, chance: float) -> Array:
    """Probability that a group stands for a class, by its worth alone, array (1,)."""
    worth = group.worth / (group.rows + chance) / knowledge.margin
    evidence = Evidence(
        np.log(np.maximum(worth, LEAST_WORTH)), np.zeros(1), np.zeros(1), np.zeros(1, dtype=bool), 0.0
    )
    return evidence.reliability(np.full((1, 1), 0.5))


def _kind(knowledge: Knowledge, position: int) -> Outcome:
    return "known" if knowledge.reliabilities[position] == 1 else "found"
