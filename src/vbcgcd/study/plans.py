"""Session plans: which classes are labelled, which arrive when, and which rows each session holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.errors import InputError

Array = NDArray[Any]

__all__ = ["Plan", "PlannedSession", "random_plan"]


@dataclass(frozen=True)
class PlannedSession:
    """One unlabelled session.

    Parameters
    ----------
    novel : array
        Classes that are new in it.
    rows : int array
        Training rows that arrive, known and novel, shuffled.
    """

    novel: Array
    rows: Array


@dataclass(frozen=True)
class Plan:
    """A stream over a labelled dataset.

    Parameters
    ----------
    labelled : array
        Classes of the base session.
    base_rows : int array
        Their labelled training rows.
    sessions : tuple of PlannedSession
    """

    labelled: Array
    base_rows: Array
    sessions: tuple[PlannedSession, ...]

    def known_before(self, session: int) -> Array:
        """Classes known before a session (0 is the first unlabelled one)."""
        return np.concatenate([self.labelled, *(s.novel for s in self.sessions[:session])])


def random_plan(
    y: Array,
    *,
    n_labelled: int,
    n_sessions: int,
    n_novel: int,
    known_rows: int,
    rows_per_class: int | None = None,
    train_share: float = 0.8,
    seed: int = 0,
) -> Plan:
    """A plan with a random class order.

    Each class uses ``train_share`` of its rows when it is labelled or new. Known rows of later sessions are
    drawn from the rest, anew for each session, so no row of the stream was ever labelled.

    Parameters
    ----------
    y : array (N,)
        Class of each training row.
    n_labelled, n_sessions, n_novel : int
        Labelled classes, sessions, and new classes in each.
    known_rows : int
        Rows of each known class in a session.
    rows_per_class : int, optional
        At most so many rows where a class is labelled or new.
    train_share : float
    seed : int

    Returns
    -------
    Plan
    """
    classes = np.unique(y)
    wanted = n_labelled + n_sessions * n_novel
    if wanted > len(classes):
        raise InputError(
            f"The plan needs {wanted} classes ({n_labelled} labelled, {n_sessions} sessions of {n_novel}), "
            f"the data has {len(classes)}; ask for fewer."
        )
    rng = np.random.default_rng(seed)
    order = rng.permutation(classes)[:wanted]
    used, held = {}, {}
    for c in order:
        members = rng.permutation(np.flatnonzero(y == c))
        cut = round(train_share * len(members))
        used[c], held[c] = members[:cut][:rows_per_class], members[cut:]
    sessions = []
    for t in range(n_sessions):
        first = n_labelled + t * n_novel
        novel = order[first : first + n_novel]
        known = [rng.choice(held[c], min(known_rows, len(held[c])), replace=False) for c in order[:first]]
        sessions.append(
            PlannedSession(novel, rng.permutation(np.concatenate([*known, *(used[c] for c in novel)])))
        )
    labelled = order[:n_labelled]
    return Plan(labelled, np.concatenate([used[c] for c in labelled]), tuple(sessions))
