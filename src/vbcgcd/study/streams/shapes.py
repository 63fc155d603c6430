"""Shapes of realistic streams, and the generator that draws them as plans.

A session is of one of five kinds:

``mixed``
    rows of labelled classes and of novel ones;
``known``
    rows of labelled classes only: there is nothing to find;
``novel``
    rows of novel classes only;
``junk``
    mixed, with a few rows that belong to no category;
``returning``
    mixed, and classes that were novel in earlier sessions come back with new rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.errors import InputError
from vbcgcd.study.datasets.labelled import labels_digest
from vbcgcd.study.plans import Plan, PlannedSession, PlanOrigin
from vbcgcd.validation import check_choice

Array = NDArray[Any]
Pools = dict[Any, Array]

#: Share of a session's rows that is junk: drawn between these, in a session with junk.
JUNK_SHARE = (0.03, 0.08)
#: Without another dataset, junk is at most so many rows of each of this share of the classes.
MOST_JUNK_ROWS, RESERVED_SHARE = 4, 0.1
#: Rows of a session without novel classes, at most.
KNOWN_ROWS = 400

__all__ = ["STREAMS", "StreamShape", "make_stream"]


@dataclass(frozen=True)
class StreamShape:
    """Numbers of a realistic stream.

    Parameters
    ----------
    name : str
    kinds : tuple of str
        Kind of each session; their order is drawn.
    labels, sizes : pair of int
        Least and most labelled rows of a labelled class, and rows of a novel class; drawn log-uniformly.
    labelled_share : float
        Share of the classes that is labelled.
    known_share : float
        Share of the rows of a mixed session that belongs to labelled classes.
    used_share : float
        At most this share of a class's rows is labelled, or arrives when the class is novel; the others are
        held back for later sessions.

    Examples
    --------
    >>> STREAMS["stream"].kinds
    ('mixed', 'known', 'novel', 'junk', 'returning', 'mixed')
    """

    name: str
    kinds: tuple[str, ...]
    labels: tuple[int, int]
    sizes: tuple[int, int]
    labelled_share: float = 0.5
    known_share: float = 0.5
    used_share: float = 0.6


_KINDS = ("mixed", "known", "novel", "junk", "returning", "mixed")
#: Streams by name.
STREAMS = {
    shape.name: shape
    for shape in (
        StreamShape("stream", _KINDS, labels=(2, 50), sizes=(5, 400)),
        StreamShape("stream-even", _KINDS, labels=(10, 50), sizes=(50, 50)),
        StreamShape("uneven", ("mixed",) * 5, labels=(10, 100), sizes=(5, 200), used_share=0.8),
    )
}


def make_stream(
    y: Array, shape: str | StreamShape = "stream", *, seed: int = 0, junk_y: Array | None = None
) -> Plan:
    """Draw a realistic stream. No row arrives twice.

    Parameters
    ----------
    y : array (N,)
        Class of each training row.
    shape : str or StreamShape
        A key of ``STREAMS``, or a shape of your own.
    seed : int
        Draws classes, sizes, rows and the order of the sessions.
    junk_y : array (M,), optional
        Class of each training row of another dataset, from which junk is drawn. Without it a tenth of the
        classes is set aside, and junk is a few rows of each.

    Returns
    -------
    Plan

    Examples
    --------
    >>> import numpy as np
    >>> plan = make_stream(np.repeat(np.arange(40), 100), seed=1)
    >>> sorted(session.kind for session in plan.sessions)
    ['junk', 'known', 'mixed', 'mixed', 'novel', 'returning']
    """
    if isinstance(shape, str):
        check_choice("plan", shape, tuple(STREAMS))
        shape = STREAMS[shape]
    y, rng = np.asarray(y), np.random.default_rng(seed)
    classes = rng.permutation(np.unique(y))
    pools: Pools = {c: rng.permutation(np.flatnonzero(y == c)) for c in classes.tolist()}
    own_junk = "junk" in shape.kinds and junk_y is None
    n_reserved = max(1, round(RESERVED_SHARE * len(classes))) if own_junk else 0
    n_labelled = round(shape.labelled_share * (len(classes) - n_reserved))
    reserved, labelled, novel = np.split(classes, [n_reserved, n_reserved + n_labelled])
    kinds = _ordered(shape.kinds, rng)
    if n_labelled < 1 or len(novel) < sum(kind != "known" for kind in kinds):
        raise InputError(
            f"{len(classes)} classes are too few for the plan {shape.name}, which needs labelled classes and "
            "a novel one in each session.",
            option="plan",
        )
    base = [_take(pools, c, _size(shape.labels, shape, pools[c], rng)) for c in labelled.tolist()]
    if junk_y is None:
        junk = np.concatenate([np.empty(0, np.int64), *(pools[c][:MOST_JUNK_ROWS] for c in reserved)])
    else:
        junk = np.arange(len(junk_y))
    sessions = tuple(_sessions(shape, kinds, labelled, novel, pools, rng.permutation(junk), rng))
    origin = PlanOrigin(shape.name, "random", seed, labels_digest(y))
    junk_labels = None if junk_y is None or "junk" not in kinds else labels_digest(junk_y)
    return Plan(labelled, np.concatenate(base), sessions, origin, junk_labels)


def _ordered(kinds: tuple[str, ...], rng: np.random.Generator) -> list[str]:
    """The kinds in random order; nothing can return before a session with novel classes."""
    order = [kinds[i] for i in rng.permutation(len(kinds))]
    fruitful = [t for t, kind in enumerate(order) if kind != "known"]
    if len(fruitful) > 1 and order[fruitful[0]] == "returning":
        other = next((t for t in fruitful if order[t] != "returning"), fruitful[0])
        order[fruitful[0]], order[other] = order[other], order[fruitful[0]]
    return order


def _sessions(
    shape: StreamShape,
    kinds: list[str],
    labelled: Array,
    novel: Array,
    pools: Pools,
    junk: Array,
    rng: np.random.Generator,
) -> Iterator[PlannedSession]:
    """The sessions one after another; rows that arrive leave the pools."""
    fruitful = [t for t, kind in enumerate(kinds) if kind != "known"]
    groups = dict(zip(fruitful, np.array_split(novel, len(fruitful)), strict=True)) if fruitful else {}
    familiar = rng.permutation(np.concatenate([pools[c] for c in labelled.tolist()]))
    arrived: list[Any] = []
    for t, kind in enumerate(kinds):
        group = groups.get(t, novel[:0])
        rows = [_take(pools, c, _size(shape.sizes, shape, pools[c], rng)) for c in group.tolist()]
        n_novel = sum(map(len, rows))
        if kind != "novel":
            wanted = round(n_novel * shape.known_share / (1 - shape.known_share)) if n_novel else KNOWN_ROWS
            left = sum(later != "novel" for later in kinds[t:])
            n_known = min(wanted, len(familiar) // left)
            rows.append(familiar[:n_known])
            familiar = familiar[n_known:]
        if kind == "returning":
            rows += _return(shape, arrived, pools, rng)
        arrived += group.tolist()
        chosen = rng.permutation(np.concatenate(rows))
        n_junk = 0
        if kind == "junk":
            share = rng.uniform(*JUNK_SHARE)
            n_junk = min(max(1, round(len(chosen) * share / (1 - share))), len(junk))
        yield PlannedSession(group, chosen, kind, junk[:n_junk])
        junk = junk[n_junk:]


def _return(shape: StreamShape, arrived: list[Any], pools: Pools, rng: np.random.Generator) -> list[Array]:
    """New rows of half of the classes that arrived before: as many as if they were novel, or what is left."""
    able = [c for c in arrived if len(pools[c]) >= shape.sizes[0]] or arrived
    back = [able[i] for i in rng.permutation(len(able))[: (len(able) + 1) // 2]]
    high = shape.sizes[1]
    return [_take(pools, c, _log_uniform(shape.sizes[0], min(high, len(pools[c])), rng)) for c in back]


def _size(bounds: tuple[int, int], shape: StreamShape, pool: Array, rng: np.random.Generator) -> int:
    """A log-uniform number within the bounds and what the class may use."""
    return _log_uniform(bounds[0], min(bounds[1], int(shape.used_share * len(pool))), rng)


def _log_uniform(low: int, high: int, rng: np.random.Generator) -> int:
    """A whole number from low to high, uniform in its logarithm; high where that is below low."""
    if high <= low:
        return max(high, 1)
    return min(int(np.exp(rng.uniform(np.log(low), np.log(high + 1)))), high)


def _take(pools: Pools, c: Any, n_rows: int) -> Array:
    """The first rows of a class's pool, which leave it."""
    rows, pools[c] = pools[c][:n_rows], pools[c][n_rows:]
    return rows
