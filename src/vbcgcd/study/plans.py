"""Session plans: which classes are labelled, which arrive when, and which rows each session holds.

A plan is a plain file (class order and row indices), so that a run can be shared and repeated. `check_plan`
proves of any plan that nothing leaks.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.archive import written_whole
from vbcgcd.errors import InputError
from vbcgcd.study.shapes import PlanShape, class_order

Array = NDArray[Any]
FORMAT = 1

__all__ = ["Plan", "PlannedSession", "check_plan", "make_plan", "random_plan", "read_plan", "write_plan"]


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
    about : dict
        What it was made from: name, class order, seed, and a digest of the training labels it belongs to.
    """

    labelled: Array
    base_rows: Array
    sessions: tuple[PlannedSession, ...]
    about: dict[str, Any] = field(default_factory=dict)

    def known_before(self, session: int) -> Array:
        """Classes known before a session (0 is the first unlabelled one)."""
        return np.concatenate([self.labelled, *(s.novel for s in self.sessions[:session])])

    @property
    def name(self) -> str:
        """Name of the plan, such as b50t5."""
        return str(self.about.get("plan", "plan"))

    @property
    def digest(self) -> str:
        """Fingerprint of the class order and the rows."""
        text = json.dumps(_content(self), separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def make_plan(y: Array, shape: PlanShape, *, order: str = "random", seed: int = 0) -> Plan:
    """A plan of a given shape.

    Each class uses a part of its rows when it is labelled or new. Known rows of later sessions are drawn from
    the rest, anew for each session, so no row of the stream was ever labelled.

    Parameters
    ----------
    y : array (N,)
        Class of each training row.
    shape : PlanShape
        Numbers of classes, sessions and rows.
    order : {"random", "natural", "happy"}
        See `class_order`.
    seed : int
        Decides the rows and, in the random order, the classes.

    Returns
    -------
    Plan

    Examples
    --------
    >>> import numpy as np
    >>> from vbcgcd.study.shapes import shape_of
    >>> y = np.repeat(np.arange(20), 50)
    >>> plan = make_plan(y, shape_of("b50t5", y), order="natural")
    >>> [session.novel.tolist() for session in plan.sessions]
    [[10, 11], [12, 13], [14, 15], [16, 17], [18, 19]]
    """
    y = np.asarray(y)
    rng = np.random.default_rng(seed)
    classes = class_order(np.unique(y), shape, order, rng)
    used, held = {}, {}
    for c in classes:
        members = rng.permutation(np.flatnonzero(y == c))
        cut = shape.rows_used(len(members))
        used[c], held[c] = members[:cut][: shape.most_rows], members[cut:]
    sessions = []
    for t in range(shape.n_sessions):
        first = shape.n_labelled + t * shape.n_novel
        novel = classes[first : first + shape.n_novel]
        known = [
            rng.choice(held[c], shape.known_rows_of(len(held[c])), replace=False) for c in classes[:first]
        ]
        rows = np.concatenate([*known, *(used[c] for c in novel)])
        sessions.append(PlannedSession(novel, rng.permutation(rows)))
    labelled = classes[: shape.n_labelled]
    about = {"plan": shape.name, "order": order, "seed": seed, "labels": labels_digest(y)}
    return Plan(labelled, np.concatenate([used[c] for c in labelled]), tuple(sessions), about)


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
    """A plan with a random class order from plain numbers; see `PlanShape` and `make_plan`."""
    shape = PlanShape(
        "custom",
        n_labelled,
        n_sessions,
        n_novel,
        known_rows=known_rows,
        train_share=train_share,
        most_rows=rows_per_class,
    )
    return make_plan(y, shape, order="random", seed=seed)


def labels_digest(y: Array) -> str:
    """Fingerprint of the training labels: a plan's row numbers mean something only for these."""
    values = np.asarray(y)
    return hashlib.sha256("\n".join(map(str, values.tolist())).encode()).hexdigest()[:16]


def check_plan(plan: Plan, y: Array) -> Plan:
    """The plan, if it fits the training labels and nothing leaks; else `InputError`.

    No row of the stream was labelled, a session's new classes were not known before, its rows are of known or
    new classes and come once, and a row that arrived when its class was new never comes back.
    """
    y = np.asarray(y)
    stated = plan.about.get("labels")
    if stated is not None and stated != labels_digest(y):
        raise InputError(
            f"The plan was made for other training labels (their digest is {labels_digest(y)}, the plan's "
            f"{stated}); use the dataset it was made from, or make a new plan."
        )
    every = np.concatenate([plan.base_rows, *(s.rows for s in plan.sessions)])
    if len(every) and (every.min() < 0 or every.max() >= len(y)):
        raise InputError(f"The plan names row {every.max()}, the dataset has {len(y)} training rows.")
    if not np.isin(y[plan.base_rows], plan.labelled).all():
        raise InputError("The plan's base session holds rows of classes that it does not call labelled.")
    taken = set(plan.base_rows.tolist())
    for t, session in enumerate(plan.sessions, start=1):
        known = plan.known_before(t - 1)
        if np.isin(session.novel, known).any():
            raise InputError(f"Session {t} of the plan calls classes new that were known before it.")
        if len(np.unique(session.rows)) < len(session.rows):
            raise InputError(f"Session {t} of the plan holds a row twice.")
        again = taken & set(session.rows.tolist())
        if again:
            raise InputError(
                f"Session {t} of the plan holds {len(again)} rows that were labelled or new before (first: "
                f"{min(again)}); a stream may only bring unseen rows of known classes."
            )
        new = np.isin(y[session.rows], session.novel)
        if not (new | np.isin(y[session.rows], known)).all():
            raise InputError(f"Session {t} of the plan holds rows of classes that are neither known nor new.")
        taken |= set(session.rows[new].tolist())
    return plan


def write_plan(plan: Plan, path: str | os.PathLike[str]) -> None:
    """Write a plan as a JSON file: complete, or the file stays as it was."""
    target = Path(path)
    text = json.dumps({"format": FORMAT, "about": plan.about, **_content(plan)}, ensure_ascii=False)
    try:
        with written_whole(target) as file:
            file.write(text.encode() + b"\n")
    except OSError as error:
        raise InputError(f"Cannot write the plan {target}: {error.strerror}.") from None


def read_plan(path: str | os.PathLike[str]) -> Plan:
    """A plan from a file that `write_plan` wrote."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        if content["format"] != FORMAT:
            raise InputError(
                f"{path} is a plan of format {content['format']}, this version reads format {FORMAT}; "
                "update vbcgcd or make the plan anew."
            )
        sessions = tuple(
            PlannedSession(np.array(s["novel"]), np.array(s["rows"], dtype=np.int64))
            for s in content["sessions"]
        )
        rows = np.array(content["base_rows"], dtype=np.int64)
        return Plan(np.array(content["labelled"]), rows, sessions, dict(content["about"]))
    except OSError as error:
        raise InputError(f"Cannot read the plan {path}: {error.strerror}.") from None
    except (KeyError, TypeError, ValueError, UnicodeDecodeError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(
            f"{path} is not a session plan ({error}); make one with 'vbcgcd study plan'."
        ) from None


def _content(plan: Plan) -> dict[str, Any]:
    return {
        "labelled": plan.labelled.tolist(),
        "base_rows": plan.base_rows.tolist(),
        "sessions": [{"novel": s.novel.tolist(), "rows": s.rows.tolist()} for s in plan.sessions],
    }
