"""What becomes of the rows that no category explains.

Some join seedlings of earlier sessions or found new ones, and a seedling that has enough becomes a category.
The others are strangers: how probable that is follows from their novelty and from how many such rows the
session seems to have. Neither teach any category.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vbcgcd.bayes import Posterior, recover_statistics, statistics_by_responsibility
from vbcgcd.discovery.distinct import SEEDLING_ROWS, Returned, weak_groups
from vbcgcd.discovery.geometry import Novelty
from vbcgcd.discovery.knowledge import Knowledge
from vbcgcd.discovery.mixture import SHARE_BOUNDS, MixtureState
from vbcgcd.discovery.rows import Discovery, SessionRows
from vbcgcd.discovery.search import cooled
from vbcgcd.discovery.seedlings import Seedlings, is_enough, joining, same_kind
from vbcgcd.discovery.strategies import hard_labels, is_novel
from vbcgcd.discovery.worth import Stream

Array = NDArray[Any]

#: A novel category keeps its doubtful rows if it would have no more than this many others.
FEWEST_TAUGHT = 2.0
#: A row that belongs to no category with more than this probability teaches none.
STRANGER = 0.5

__all__ = ["Leftovers", "strangeness_of", "tend", "with_past"]


class Leftovers(NamedTuple):
    """What is made of the rows that no category explains.

    Attributes
    ----------
    discovery : Discovery
        With the seedlings that have grown into categories; rows that belong nowhere do not teach.
    past : dict of int -> int
        Seedling of an earlier session that a novel category takes over, by its position.
    grown : dict of int -> int
        Session in which that seedling began.
    seedlings : Seedlings or None
        After the session.
    lineage : int array (S,)
        What each seedling was before the session; -1 if it is new.
    home : int array (N,)
        The seedling that each row belongs to after the session; -1 for none, or one that was not kept.
    waiting : bool array (N,)
        Rows that belong to a seedling, kept or not.
    strangeness : array (N,)
        Probability that each row belongs to no category: that it is a stranger or, for a row of a novel
        category, that the category stands for no class.
    reliability : array (K,)
        Probability that each novel category stands for a class.
    """

    discovery: Discovery
    past: dict[int, int]
    grown: dict[int, int]
    seedlings: Seedlings | None
    lineage: Array
    home: Array
    waiting: Array
    strangeness: Array
    reliability: Array


class _Group(NamedTuple):
    """Rows of this session (N,), what they are worth, and the seedling that they join, if any."""

    members: Array
    worth: float
    home: int | None


def tend(
    here: SessionRows, discovery: Discovery, session: int, rng: np.random.Generator, *, grow: bool = True
) -> Leftovers:
    """Let rows join seedlings, make categories of those that have enough, and tell who is a stranger.

    Parameters
    ----------
    here : SessionRows
    discovery : Discovery
        The novel categories that the session found by itself.
    session : int
        Its number: new seedlings begin in it.
    rng : Generator
    grow : bool
        Whether seedlings may become categories: not where the number of novel ones is given.
    """
    stream, old = here.stream(rng), here.knowledge.seedlings
    past = _taken_over(here, discovery, stream)
    groups = _groups(here, discovery, set(past.values()), stream)
    n_found = discovery.responsibility.shape[1]
    columns, kept = list[Array](), list[tuple[Seedlings, _Group]]()
    for group in groups:
        seedling = _seedling(here, group, session)
        rows_came = bool(here.weighted(group.members[:, None])[:, 0].sum() > 0)
        # A group of this session alone has been judged already, among all others.
        ripe = rows_came and bool(is_enough(seedling.rows, seedling.worth, stream.margin, stream.chance)[0])
        if grow and group.home is not None and ripe:
            past[n_found + len(columns)] = group.home
            columns.append(group.members.astype(np.float64))
        else:
            kept.append((seedling, group))
    waiting = np.any([group.members for _, group in kept], axis=0) if kept else np.zeros(len(here.rows), bool)
    if columns:
        discovery = _with_columns(discovery, np.column_stack(columns))
    reliability = _reliability(here, discovery, past, stream)
    strangeness = _strangeness(here, discovery, reliability)
    strangeness[waiting] = np.maximum(strangeness[waiting], STRANGER)
    nowhere = (strangeness > STRANGER) & ~is_novel(discovery.responsibility) | waiting
    without = np.where(nowhere[:, None], 0.0, discovery.teaching)
    teaching = np.where(without.sum(axis=0) > FEWEST_TAUGHT, without, discovery.teaching)
    grown = {} if old is None else {k: int(old.since[s]) for k, s in past.items()}
    return Leftovers(
        discovery._replace(teaching=teaching),
        past,
        grown,
        *_bed(kept, len(here.rows)),
        waiting,
        strangeness,
        reliability,
    )


def _bed(kept: list[tuple[Seedlings, _Group]], n_rows: int) -> tuple[Seedlings | None, Array, Array]:
    """The seedlings after a session, what each was before it, and the one of each row."""
    home = np.full(n_rows, -1)
    if not kept:
        return None, np.empty(0, dtype=np.int64), home
    every = Seedlings.concatenate([seedling for seedling, _ in kept])
    chosen = every.most_valuable
    groups = [kept[place][1] for place in chosen]
    for place, group in enumerate(groups):
        home[group.members] = place
    before = [-1 if group.home is None else group.home for group in groups]
    return every.take(chosen), np.array(before, dtype=np.int64), home


def with_past(posterior: Posterior, leftovers: Leftovers, knowledge: Knowledge) -> Posterior:
    """Novel categories with the statistics of the seedlings that they take over: statistics add."""
    old, prior = knowledge.seedlings, knowledge.prior
    if old is None:
        return posterior
    for k, seedling in leftovers.past.items():
        statistics = recover_statistics(prior, posterior.take([k]))
        statistics = statistics + recover_statistics(prior, old.posterior.take([seedling]))
        posterior = posterior.replaced(np.array([k]), knowledge.posterior_of(statistics))
    return posterior


def _taken_over(here: SessionRows, discovery: Discovery, stream: Stream) -> dict[int, int]:
    """The seedling that each category found in this session cannot be told from."""
    old, weight = here.knowledge.seedlings, here.weighted(discovery.teaching)
    if old is None or not weight.shape[1]:
        return {}
    sizes = weight.sum(axis=0)
    means = (weight.T @ here.rows) / sizes[:, None]
    geometry, margin = stream.novelty.geometry, stream.margin
    past: dict[int, int] = {}
    for k, home in enumerate(same_kind(means, sizes, old, geometry, margin).tolist()):
        if home >= 0 and home not in past.values():
            past[k] = home
    return past


def _groups(here: SessionRows, discovery: Discovery, gone: set[int], stream: Stream) -> list[_Group]:
    """A group for each seedling that is left, with the rows that join it, and the groups that are new."""
    old = here.knowledge.seedlings
    geometry, margin = stream.novelty.geometry, stream.margin
    free = ~is_novel(discovery.responsibility) & (discovery.returned.category < 0)
    groups = list[_Group]()
    left = [] if old is None else [s for s in range(len(old)) if s not in gone]
    if old is not None and left:
        best, novelty = _explained(here, discovery)
        some, weight = old.take(np.array(left)), here.weighted(free[:, None].astype(np.float64))[:, 0]
        joined = joining(here.mixture.rows, some, geometry, best, novelty, margin, weight)
        for i, home in enumerate(left):
            groups.append(_Group((joined.members[:, i] > 0) & free, float(joined.worth[i]), home))
            free = free & ~groups[-1].members
    state = None
    if discovery.responsibility.shape[1]:
        state = MixtureState(discovery.responsibility.astype(np.float32), 0.0, 0.0, discovery.share)
    members, worth = weak_groups(stream, state)
    for i in range(members.shape[1]):
        fresh = (members[:, i] > 0) & free
        size = float(here.weighted(fresh[:, None]).sum())
        if fresh.sum() < SEEDLING_ROWS or size <= 0:
            continue
        value = float(worth.lost[i] * fresh.sum() / members[:, i].sum())
        home = -1
        if old is not None:
            mean = here.rows[fresh].mean(axis=0, keepdims=True)
            home = int(same_kind(mean, np.array([size]), old, geometry, margin)[0])
        place = next((g for g, group in enumerate(groups) if group.home == home), None)
        if place is None:
            groups.append(_Group(fresh, value, None))
        else:
            before = groups[place]
            groups[place] = _Group(before.members | fresh, before.worth + value, home)
    return groups


def _seedling(here: SessionRows, group: _Group, session: int) -> Seedlings:
    """A group as a seedling, with all that its home had before."""
    known, weight = here.knowledge, here.weighted(group.members[:, None].astype(np.float64))
    before = None
    if group.home is not None and known.seedlings is not None:
        before = known.seedlings.take(np.array([group.home]))
        if not weight.any():
            return before
    statistics = statistics_by_responsibility(here.rows, weight, structure=known.prior.structure)
    rows, worth, since = weight.sum(axis=0), np.array([group.worth]), np.array([session])
    if before is not None:
        statistics = statistics + recover_statistics(known.prior, before.posterior)
        rows, worth, since = rows + before.rows, worth + before.worth, before.since
    return Seedlings(known.posterior_of(statistics), rows, worth, since)


def _with_columns(discovery: Discovery, columns: Array) -> Discovery:
    """With further novel categories, to which these rows belong (N, P)."""
    theirs = columns.sum(axis=1, keepdims=True) > 0
    return discovery._replace(
        responsibility=np.hstack([np.where(theirs, 0.0, discovery.responsibility), columns]),
        teaching=np.hstack([np.where(theirs, 0.0, discovery.teaching), columns]),
        returned=discovery.returned.of(~theirs[:, 0]),
    )


def _reliability(here: SessionRows, discovery: Discovery, past: dict[int, int], stream: Stream) -> Array:
    """Probability that each novel category stands for a class, array (K,)."""
    number = discovery.responsibility.shape[1]
    if not number or here.knowledge.novelty.geometry.within is None:  # a model of release 0.1.0 cannot tell
        return np.ones(number)
    share = float(np.average(discovery.responsibility.sum(axis=1), weights=here.weight))
    share = float(np.clip(share, *SHARE_BOUNDS))
    state = MixtureState(discovery.responsibility.astype(np.float32), 0.0, 0.0, share)
    before, old = np.zeros((2, number)), here.knowledge.seedlings
    if old is not None:
        for k, seedling in past.items():
            before[:, k] = old.worth[seedling], old.rows[seedling]
    # A category that was kept is judged for what it is, whichever pass found it.
    late, cool = np.zeros(number, dtype=bool), cooled(here.mixture).corrected()
    evidence = stream.evidence(cool, state, late, past=(before[0], before[1]))
    return evidence.reliability(discovery.responsibility)


def _strangeness(here: SessionRows, discovery: Discovery, reliability: Array) -> Array:
    """Probability that each row belongs to no category, array (N,).

    For a row of a novel category it is the probability that the category stands for no class.
    """
    novelty, labels = here.knowledge.novelty, hard_labels(discovery.responsibility)
    scores = 1 - novelty.p_value(here.mixture.best_known)
    return strangeness_of(novelty, scores, labels, reliability, discovery.returned, here.weight)


def strangeness_of(
    novelty: Novelty,
    scores: Array,
    labels: Array,
    reliability: Array,
    returned: Returned,
    weight: Array | None = None,
) -> Array:
    """Probability that each row belongs to no category, array (N,).

    Parameters
    ----------
    novelty : Novelty
    scores : array (N,)
        Novelty of each row.
    labels : int array (N,)
        The novel category of each row; -1 for a row that is not novel.
    reliability : array (K,)
        Probability that each novel category stands for a class.
    returned : Returned
    weight : array (N,), optional
    """
    novel = labels >= 0
    out = np.zeros(len(novel))
    out[novel] = 1 - reliability[labels[novel]]
    if not novel.all():
        some = None if weight is None else weight[~novel]
        out[~novel] = novelty.strangeness(scores[~novel], novelty.stranger_share(scores[~novel], some))
    back = returned.category >= 0  # a row may be strange, but it is not alone
    out[back] = returned.doubt[back]
    return out


def _explained(here: SessionRows, discovery: Discovery) -> tuple[Array, Array]:
    """Similarity of each row to its best category, known or novel, and its novelty."""
    novelty, mixture = here.knowledge.novelty, here.mixture
    weight = here.weighted(discovery.teaching)
    best = mixture.best_known
    if weight.shape[1]:
        similarity = novelty.geometry.left_out_similarity(
            mixture.rows, weight.astype(np.float32), corrected=True, held=mixture.held
        )
        best = np.maximum(best, similarity.max(axis=1))
    return best, 1 - novelty.p_value(best)
