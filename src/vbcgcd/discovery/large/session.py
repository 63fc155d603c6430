"""A session of many rows, from a source that is read block by block; see `vbcgcd.discovery.session`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vbcgcd.bayes import Statistics, statistics_by_label
from vbcgcd.blocks import RowBlocks
from vbcgcd.discovery.balance import JUDGING_ROWS
from vbcgcd.discovery.distinct import Returned
from vbcgcd.discovery.geometry import is_flagged
from vbcgcd.discovery.knowledge import Knowledge
from vbcgcd.discovery.large.assign import BLOCK_ROWS as ASSIGN_ROWS
from vbcgcd.discovery.large.assign import SURELY_NOVEL, BestKnown, together
from vbcgcd.discovery.large.components import Components
from vbcgcd.discovery.large.rounds import Found, find, labels_and_mass
from vbcgcd.discovery.large.rows import LargeRows
from vbcgcd.discovery.large.scan import BLOCK_ROWS, Block
from vbcgcd.discovery.large.scheduling import over_blocks
from vbcgcd.discovery.leftovers import Leftovers, strangeness_of, tend, with_past
from vbcgcd.discovery.options import Options
from vbcgcd.discovery.recording import Assignment, session_record
from vbcgcd.discovery.steps import SURE_KNOWN, NovelFit, fit_statistics
from vbcgcd.discovery.strategies import CONFIDENT, FEWEST_TEACHERS, one_hot
from vbcgcd.errors import InputError
from vbcgcd.labels import with_unassigned
from vbcgcd.record import Lessons, SessionRecord
from vbcgcd.validation import check_finite

Array = NDArray[Any]

#: Sessions of more rows than this are searched by samples.
MANY_ROWS = 40_000
#: Reduced rows that are held while statistics are gathered.
HELD_ROWS = 32_768
#: Categories that learn at a time, with ``update_known``.
LEARNING = 256

__all__ = ["MANY_ROWS", "can_sample", "check_can_sample", "run_large_session"]


def can_sample(knowledge: Knowledge, options: Options) -> bool:
    """Whether a session with these options can be searched by samples."""
    return (
        options.cluster == "mixture"
        and options.relabel == "confident"
        and options.count == "rehearsal"
        and options.inference == "exact"
        and knowledge.head is None
        and knowledge.novelty.geometry.within is not None
    )


def check_can_sample(knowledge: Knowledge, options: Options, n_rows: int) -> None:
    """Raise an `InputError` unless `can_sample`."""
    if not can_sample(knowledge, options):
        raise InputError(
            f"A source of {n_rows} rows can be read block by block only with the defaults of cluster, "
            "relabel, count, inference and head; use these, or load the rows and pass them as an array."
        )


class _Outcome(NamedTuple):
    """What is decided of each row: novel category or -1 (N,), teaching category or -1 (N,), and leftovers."""

    found: Found
    label: Array
    mass: Array
    teaches: Array
    leftovers: Leftovers | None
    waiting: Array
    home: Array


def run_large_session(
    source: RowBlocks,
    knowledge: Knowledge,
    options: Options,
    *,
    labels_of: Callable[[int], Array],
    session: int,
    n_novel: int | None = None,
    weight: Array | None = None,
    rng: np.random.Generator,
    progress: Callable[[str], None] = lambda name: None,
) -> tuple[Knowledge, SessionRecord]:
    """Find the novel categories among the rows of a source; see `vbcgcd.discovery.session.run_session`."""
    rows = LargeRows(source, knowledge, weight, progress)
    with rows.step("novelty") as details:
        flagged = details["flagged"] = float(np.mean(is_flagged(rows.novelty)))
        check_finite("The novelty of a row", rows.novelty)
    found = find(rows, options, n_novel, rng)
    outcome = _decided(rows, found, options, session, rng, grow=n_novel is None)
    with rows.step("posterior") as details:
        fit = _fitted(rows, outcome, options)
        if outcome.leftovers is not None and fit.posterior is not None:
            fit = fit._replace(posterior=with_past(fit.posterior, outcome.leftovers, knowledge))
        details.update(fit.details)
    with rows.step("assign"):
        labels = labels_of(outcome.found.number)
        assigned = _assigned(rows, outcome)
    sure_known = np.full(len(rows), -1)
    if options.update_known:
        sure = ~assigned.unassigned & (assigned.best < len(knowledge.posterior))
        sure_known = np.where(sure & (assigned.probability >= SURE_KNOWN), assigned.best, -1)
    leftovers, n_known, best = outcome.leftovers, len(knowledge.posterior), assigned.best
    record = session_record(
        Assignment(best, assigned.probability, assigned.unassigned, assigned.returned),
        labels,
        knowledge,
        fit,
        leftovers,
        session=session,
        flagged=flagged,
        estimated=n_novel is None,
        novel_share=outcome.found.refined.components.share,
        count=outcome.found.discovery.curve,
        steps=tuple(rows.steps),
        labels=with_unassigned(labels[best], assigned.unassigned, labels),
        probabilities=together(assigned.category, assigned.probabilities, len(labels)),
        novelty=rows.novelty,
        lessons=_lessons(outcome, fit, sure_known, n_known) if weight is None else None,
    )
    knowledge = _learned(rows, sure_known)
    if leftovers is not None:
        knowledge = replace(knowledge, seedlings=leftovers.seedlings)
    return knowledge.extended(fit.posterior, None if leftovers is None else leftovers.reliability), record


def _decided(
    rows: LargeRows, found: Found, options: Options, session: int, rng: np.random.Generator, *, grow: bool
) -> _Outcome:
    """Tend what is left over in the last sample, and tell who teaches."""
    leftovers, n = None, len(rows)
    waiting, home = np.zeros(n, dtype=bool), np.full(n, -1)
    if options.unassigned:
        with rows.step("leftovers") as details:
            leftovers = tend(found.sample.here, found.discovery, session, rng, grow=grow)
            found = _with_grown(rows, found, leftovers)
            waiting[found.sample.rows] = leftovers.waiting
            home[found.sample.rows] = leftovers.home
            details["seedlings"] = 0 if leftovers.seedlings is None else len(leftovers.seedlings)
    label, best, mass = labels_and_mass(found.refined, found.number)
    teaches = np.where((mass >= CONFIDENT) & ~waiting, best, -1)
    few = np.bincount(teaches[teaches >= 0], minlength=found.number) < FEWEST_TEACHERS
    if few.any():
        doubtful = (label >= 0) & few[label]
        teaches = np.where(doubtful, label, teaches)
    return _Outcome(found, label, mass, teaches, leftovers, waiting, home)


def _with_grown(rows: LargeRows, found: Found, leftovers: Leftovers) -> Found:
    """With the seedlings of earlier sessions that became categories, which take part as components."""
    number = found.number
    grown = leftovers.discovery.responsibility[:, number:]
    if not grown.shape[1]:
        return found._replace(discovery=leftovers.discovery)
    mixture, every = found.sample.here.mixture, found.refined.components
    weight = grown * mixture.weight[:, None]
    sums = np.asarray(weight.T @ mixture.rows, dtype=np.float64)
    novel, back = every.take(np.arange(number)), every.take(np.arange(number, len(every)))
    joined = novel.joined(Components(sums, weight.sum(axis=0), every.share)).joined(back)
    return found._replace(refined=rows.refined(joined, 2), discovery=leftovers.discovery)


class _Taught(NamedTuple):
    """Reduced rows of a block that teach a category, and which."""

    rows: Array
    category: Array
    number: Array


def _teaching(knowledge: Knowledge, teaches: Array, block: Block) -> _Taught:
    some = teaches[block.first : block.first + len(block.rows)]
    chosen = np.flatnonzero(some >= 0)
    return _Taught(knowledge.reduced(block.rows[chosen], block.first), some[chosen], block.first + chosen)


def _fitted(rows: LargeRows, outcome: _Outcome, options: Options) -> NovelFit:
    """Posteriors of the novel categories from the statistics of all rows that teach them."""
    knowledge, number = rows.knowledge, outcome.found.number
    if not number:
        return NovelFit(None, np.empty(0), np.empty(0), {}, None)
    structure = knowledge.prior.structure
    total = Statistics.empty(number, knowledge.posterior.mean.shape[1], structure)
    held = list[_Taught]()

    def gathered(total: Statistics) -> Statistics:
        every = [np.concatenate(column) for column in zip(*held, strict=True)]
        weight = None if rows.weight is None else rows.weight[every[2]]
        held.clear()
        device = knowledge.classifier.device
        return total + statistics_by_label(
            every[0], every[1], number, weight=weight, structure=structure, device=device
        )

    work = BLOCK_ROWS * knowledge.posterior.mean.shape[1] * rows.source.width
    function = partial(_teaching, knowledge, outcome.teaches)
    for part in over_blocks(function, rows.blocks(), work=work):
        if len(part.rows):
            held.append(part)
        if sum(len(each.rows) for each in held) >= HELD_ROWS:
            total = gathered(total)
    if held:
        total = gathered(total)
    judging = _judging_rows(rows, outcome)
    reduced = knowledge.reduced(rows.source.take(judging))
    return fit_statistics(total, reduced, one_hot(outcome.teaches[judging], number), knowledge, options)


def _judging_rows(rows: LargeRows, outcome: _Outcome) -> Array:
    """Some rows that teach and some that do not, rising; who they are follows from their values alone."""
    hashes, chosen = rows.known.hashes, list[Array]()
    for some in (outcome.teaches >= 0, outcome.teaches < 0):
        places = np.flatnonzero(some)
        chosen.append(places[np.argsort(hashes[places], kind="stable")[:JUDGING_ROWS]])
    return np.sort(np.concatenate(chosen))


class _Assigned(NamedTuple):
    """A few categories of each row and their probabilities (N, m), the best (N,) and how probable it is."""

    category: Array
    probabilities: Array
    best: Array
    probability: Array
    unassigned: Array
    returned: Returned


def _assigned(rows: LargeRows, outcome: _Outcome) -> _Assigned:
    knowledge, found, n = rows.knowledge, outcome.found, len(rows)
    number, member = found.number, found.refined.member
    returned = Returned.none(n)
    for i, (place_back, doubt) in enumerate(zip(*found.back, strict=True)):
        belongs = np.where(member.category == number + i, member.probability, 0).sum(axis=1)
        returned = returned.at(place_back, belongs.astype(np.float64), doubt)
    returned = returned.of(outcome.label < 0)
    work = BLOCK_ROWS * knowledge.posterior.mean.size
    blocks = rows.blocks(size=ASSIGN_ROWS)
    parts = over_blocks(BestKnown(knowledge, outcome.mass < SURELY_NOVEL), blocks, work=work)
    known, probability = (np.concatenate(column) for column in zip(*parts, strict=True))
    nowhere = None if outcome.leftovers is None else _strangeness(rows, outcome, returned)
    slices = [
        _assigned_part(rows, outcome, returned, nowhere, known, probability, slice(start, start + HELD_ROWS))
        for start in range(0, n, HELD_ROWS)
    ]
    every = [np.concatenate(column) for column in zip(*slices, strict=True)]
    check_finite("The probability of a category", every[1])
    return _Assigned(every[0], every[1], every[2], every[3], every[4], returned)


def _assigned_part(
    rows: LargeRows,
    outcome: _Outcome,
    returned: Returned,
    nowhere: Array | None,
    known: Array,
    probability: Array,
    part: slice,
) -> tuple[Array, Array, Array, Array, Array]:
    """The first five of `_Assigned`, for some rows."""
    knowledge, label, member = rows.knowledge, outcome.label[part], outcome.found.refined.member.at(part)
    n_known, belongs = len(knowledge.posterior), returned.probability[part].astype(np.float32)
    back = returned.category[part, None]
    known = np.column_stack([known[part], back])
    probability = np.column_stack([probability[part] * np.where(back >= 0, 1 - belongs[:, None], 1), belongs])
    again = (known[:, :-1] == back) & (back >= 0)  # it is on the list already
    probability[:, -1] += np.where(again, probability[:, :-1], 0).sum(axis=1)
    known[:, :-1][again], probability[:, :-1][again] = -1, 0
    probability *= np.clip(1 - outcome.mass[part], 0, 1)[:, None].astype(np.float32)
    best = known[np.arange(len(known)), probability.argmax(axis=1)]
    best = np.where(label >= 0, n_known + label, best)
    novel = (member.category >= 0) & (member.category < outcome.found.number)
    category = np.column_stack([known, np.where(novel, n_known + member.category, -1)]).astype(np.int32)
    every = np.column_stack([probability, np.where(novel, member.probability, 0)]).astype(np.float32)
    unassigned = np.zeros(len(label), dtype=bool)
    if nowhere is not None:
        every *= (1 - nowhere[part])[:, None].astype(np.float32)
        reliability = knowledge.reliabilities.astype(np.float32)
        every[:, : known.shape[1]] *= np.where(known >= 0, reliability[known], 1)
    own = np.where(category == best[:, None], every, 0).sum(axis=1)
    if nowhere is not None:
        unassigned = (label < 0) & is_flagged(rows.novelty[part]) & (nowhere[part] > own)
        unassigned |= outcome.waiting[part]
    return category, every, best.astype(np.int32), own, unassigned


def _strangeness(rows: LargeRows, outcome: _Outcome, returned: Returned) -> Array:
    leftovers = outcome.leftovers
    assert leftovers is not None
    novelty = rows.knowledge.novelty
    nowhere = strangeness_of(
        novelty, rows.novelty, outcome.label, leftovers.reliability, returned, rows.weight
    )
    return np.where(outcome.waiting, np.maximum(nowhere, 0.5), nowhere)


def _lessons(outcome: _Outcome, fit: NovelFit, sure_known: Array, n_known: int) -> Lessons | None:
    """What each row taught."""
    if fit.posterior is not None and fit.shares is None:
        return None
    novel, sure = np.flatnonzero(outcome.teaches >= 0), np.flatnonzero(sure_known >= 0)
    shares = np.ones(0) if fit.shares is None else fit.shares
    row = np.concatenate([novel, sure])
    category = np.concatenate([n_known + outcome.teaches[novel], sure_known[sure]])
    weight = np.concatenate([shares[outcome.teaches[novel]], np.ones(len(sure))])
    order = np.lexsort((category, row))
    lineage, grown = np.empty(0, dtype=np.int64), dict[int, int]()
    if outcome.leftovers is not None:
        lineage = outcome.leftovers.lineage
        grown = {n_known + k: seedling for k, seedling in outcome.leftovers.past.items()}
    return Lessons(row[order], category[order], weight[order], outcome.home, lineage, grown)


def _learned(rows: LargeRows, sure_known: Array) -> Knowledge:
    """What is known after rows of known categories taught these, some categories at a time."""
    knowledge = rows.knowledge
    touched = np.unique(sure_known[sure_known >= 0])
    for start in range(0, len(touched), LEARNING):
        some = np.flatnonzero(np.isin(sure_known, touched[start : start + LEARNING]))
        for begin in range(0, len(some), HELD_ROWS):
            part = some[begin : begin + HELD_ROWS]
            reduced = knowledge.reduced(rows.source.take(part))
            weight = None if rows.weight is None else rows.weight[part]
            knowledge = knowledge.absorbed(reduced, sure_known[part], weight)
    return knowledge
