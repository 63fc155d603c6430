"""The search of a large session: samples are searched, all rows decide what is left to search.

A round draws a sample, finds novel categories in it and fits them to all rows. The next looks among the rows
that are still doubtful, until nothing changes. Groups that turn out to be categories found in earlier
sessions take part as further components, so that all of their rows come back.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vbcgcd.discovery.distinct import Completed, Returned
from vbcgcd.discovery.large.components import Belonging, Components, sums_of
from vbcgcd.discovery.large.groups import search_by_groups
from vbcgcd.discovery.large.rows import LargeRows, Refined
from vbcgcd.discovery.large.sampling import doubts, draw, uniform
from vbcgcd.discovery.mixture import SHARE_BOUNDS, MixtureState
from vbcgcd.discovery.options import Options
from vbcgcd.discovery.rows import Discovery, SessionRows
from vbcgcd.discovery.steps import discover_among
from vbcgcd.discovery.strategies import NOVEL, confident
from vbcgcd.record import CountCurve

Array = NDArray[Any]

#: Rows of a sample, and rows of each category that was found in those of later rounds.
SAMPLE_ROWS, ROWS_EACH = 20_000, 50
#: Later rounds at most, and steps of EM over all rows after each.
ROUNDS, REFINE_STEPS = 3, 3

__all__ = ["Found", "Sample", "find"]


class Back(NamedTuple):
    """Categories found in earlier sessions that came back: their positions, and doubts of each; lists."""

    category: tuple[int, ...] = ()
    doubt: tuple[float, ...] = ()


class Sample(NamedTuple):
    """Numbers of the rows of a sample, and the sample as the rows of a session."""

    rows: Array
    here: SessionRows


class Found(NamedTuple):
    """Novel categories, and after them those that came back, fitted to all rows.

    ``sample`` is drawn from all rows with these in mind, and ``discovery`` is what they make of it.
    """

    refined: Refined
    back: Back
    sample: Sample
    discovery: Discovery

    @property
    def number(self) -> int:
        """Number of novel categories."""
        return len(self.refined.components) - len(self.back.category)


def find(rows: LargeRows, options: Options, n_novel: int | None, rng: np.random.Generator) -> Found:
    """The novel categories among all rows."""
    hashes, novelty = rows.known.hashes, rows.knowledge.novelty
    first = draw(rows.novelty, _doubt(rows, None), hashes, SAMPLE_ROWS, novelty, 0, weight=rows.weight)
    sample, curve = Sample(*rows.sample(first.rows, first.weight)), None
    if n_novel is None:
        with rows.step("count"):
            completed, changed = search_by_groups(sample.here, rows.known.category[sample.rows], None, rng)
            responsibility = _responsibility(completed, len(sample.rows))
            returned = completed.returned
    else:
        discovery = discover_among(sample.here, options, rows.novelty[sample.rows], n_novel, rng)
        responsibility, returned, changed = discovery.responsibility, discovery.returned, False
    components, back = _components(sample.here, responsibility, returned, None, Back())
    for turn in range(1, ROUNDS + 2):
        with rows.step("refine"):
            refined, back = _inhabited(rows.refined(components, REFINE_STEPS), back)
            number = len(refined.components) - len(back.category)
            sample = _next_sample(rows, refined, number, turn)
        if not changed or turn > ROUNDS:
            break
        with rows.step("search again") as details:
            state, nearest = _state(refined, sample, number), rows.known.category[sample.rows]
            completed, changed = search_by_groups(sample.here, nearest, state, rng)
            details["changed"] = changed
        if not changed:
            break
        before = refined.components.take(np.arange(number, len(refined.components)))
        responsibility = _responsibility(completed, len(sample.rows))
        components, back = _components(sample.here, responsibility, completed.returned, before, back)
    if n_novel is None:
        curve = CountCurve("rehearsal", (number,), (0.0,), number)
    return Found(refined, back, sample, _discovery(refined, back, sample, number, curve))


def _responsibility(completed: Completed, n_rows: int) -> Array:
    return np.zeros((n_rows, 0)) if completed.state is None else completed.state.responsibility


def _doubt(rows: LargeRows, refined: Refined | None) -> Array:
    """How doubtful each row is under the known categories and those found so far."""
    best, second = rows.known.best, rows.known.second
    if refined is not None:
        every = np.sort(np.stack([best, second, refined.best, refined.second]), axis=0)
        best, second = every[-1], every[-2]
    return doubts(1 - rows.knowledge.novelty.p_value(best), best - second)


def _components(
    here: SessionRows, responsibility: Array, returned: Returned, before: Components | None, back: Back
) -> tuple[Components, Back]:
    """Novel categories of a sample, and those that came back, in it or before."""
    categories = np.unique(returned.category[returned.category >= 0])
    columns = [np.where(returned.category == c, returned.probability, 0.0) for c in categories]
    every = np.column_stack([responsibility, *columns]).astype(np.float32)
    mixture = here.mixture
    sums, counts = sums_of(mixture.rows, Belonging.of(every, mixture.weight), every.shape[1])
    share = float(np.clip(counts.sum() / mixture.total, *SHARE_BOUNDS))
    components = Components(sums, counts, share)
    doubt = [float(returned.doubt[returned.category == c].max()) for c in categories]
    kept = [i for i, category in enumerate(back.category) if category not in categories]
    if before is not None and kept:
        components = components.joined(before.take(np.array(kept)))
    places = (*(int(c) for c in categories), *(back.category[i] for i in kept))
    return components, Back(places, (*doubt, *(back.doubt[i] for i in kept)))


def _inhabited(refined: Refined, back: Back) -> tuple[Refined, Back]:
    """Without categories that no row prefers."""
    total = len(refined.components)
    number = total - len(back.category)
    best = np.where(refined.member.probability >= NOVEL, refined.member.category, -1).max(axis=1, initial=-1)
    alive = np.bincount(best[best >= 0], minlength=total) > 0
    if alive.all():
        return refined, back
    place = np.where(alive, np.cumsum(alive) - 1, -1)
    category = refined.member.category
    category = np.where(category >= 0, place[category], -1).astype(category.dtype)
    probability = np.where(category >= 0, refined.member.probability, 0)
    some = np.flatnonzero(alive[number:])
    fewer = Refined(
        refined.components.take(np.flatnonzero(alive)),
        refined.member._replace(category=category, probability=probability),
        refined.best,
        refined.second,
    )
    return fewer, Back(tuple(back.category[i] for i in some), tuple(back.doubt[i] for i in some))


def labels_and_mass(refined: Refined, number: int) -> tuple[Array, Array, Array]:
    """The novel category of each novel row, -1 for others; its best novel one; and its novel mass, (N,)."""
    category, probability = refined.member
    novel = (category >= 0) & (category < number)
    probability = np.where(novel, probability, 0)
    mass = probability.sum(axis=1)
    place = probability.argmax(axis=1)
    best = np.where(novel.any(axis=1), category[np.arange(len(category)), place], -1)
    return np.where(mass >= NOVEL, best, -1), best, mass


def _next_sample(rows: LargeRows, refined: Refined, number: int, turn: int) -> Sample:
    """Rows of each novel category, which weigh as much as all of its rows, and others that are doubtful."""
    labels, _, _ = labels_and_mass(refined, number)
    novel, hashes = labels >= 0, rows.known.hashes
    best = np.maximum(rows.known.best, refined.best)
    size = max(SAMPLE_ROWS - ROWS_EACH * number, SAMPLE_ROWS // 2)
    score, doubt = 1 - rows.knowledge.novelty.p_value(best), _doubt(rows, refined)
    rest = draw(score, doubt, hashes, size, rows.knowledge.novelty, turn, ~novel, rows.weight)
    weights = np.ones(len(rows)) if rows.weight is None else rows.weight
    sizes = np.bincount(labels[novel], weights[novel], minlength=number)
    counts = np.bincount(labels[novel & (weights > 0)], minlength=number)
    chance = np.minimum(1.0, ROWS_EACH / np.maximum(counts, 1))
    members = np.flatnonzero(novel & (weights > 0))
    members = members[uniform(hashes[members], turn) < chance[labels[members]]]
    drawn = np.bincount(labels[members], weights[members], minlength=number)
    heavier = (rest.share * sizes / np.maximum(drawn, 1e-9))[labels[members]] * weights[members]
    chosen = np.concatenate([rest.rows, members])
    order = np.argsort(chosen)
    weight = np.concatenate([rest.weight, heavier])
    return Sample(*rows.sample(chosen[order], weight[order]))


def _state(refined: Refined, sample: Sample, number: int) -> MixtureState | None:
    """What the novel categories make of a sample."""
    if not number:
        return None
    responsibility = refined.member.at(sample.rows).dense(number)
    return MixtureState(responsibility, 0.0, 0.0, _share(responsibility, sample.here))


def _share(responsibility: Array, here: SessionRows) -> float:
    share = np.average(responsibility.sum(axis=1), weights=here.mixture.weight)
    return float(np.clip(share, *SHARE_BOUNDS))


def _discovery(
    refined: Refined, back: Back, sample: Sample, number: int, curve: CountCurve | None
) -> Discovery:
    """The sample as the last steps of an ordinary session want it."""
    member = refined.member.at(sample.rows)
    every = member.dense(len(refined.components))
    responsibility = every[:, :number].astype(np.float64)
    returned = Returned.none(len(responsibility))
    for i, (category, doubt) in enumerate(zip(*back, strict=True)):
        returned = returned.at(category, every[:, number + i].astype(np.float64), doubt)
    novel = responsibility.sum(axis=1) >= NOVEL
    densities: Any = None
    teaching = confident(responsibility, densities).teaching
    return Discovery(responsibility, teaching, refined.components.share, curve, returned.of(~novel))
