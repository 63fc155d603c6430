"""Session plans: which classes are labelled, which arrive in which session, and with which rows.

A plan is a plain file (class order and row numbers), so that a run can be shared and repeated. `check_plan`
proves of any plan that nothing leaks.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.archive import atomic_file
from vbcgcd.errors import DiskError, InputError, reason_of
from vbcgcd.record import plain
from vbcgcd.study.datasets.labelled import labels_digest
from vbcgcd.study.shapes import PlanShape, class_order

Array = NDArray[Any]
FORMAT = 1
#: Spellings, in the names of files, of datasets with printed results.
_SPELLINGS = {
    "cifar100": ("cifar100", "cifar-100", "cifar_100"),
    "tinyimagenet": ("tinyimagenet", "tiny-imagenet", "tiny_imagenet"),
    "imagenet100": ("imagenet100", "imagenet-100", "imagenet_100"),
    "cub200": ("cub200", "cub-200", "cub_200"),
    "clinc150": ("clinc",),
    "stackoverflow": ("stackoverflow",),
    "banking77": ("banking",),
}

__all__ = [
    "Plan",
    "PlanOrigin",
    "PlannedSession",
    "check_plan",
    "make_plan",
    "paper_dataset",
    "random_plan",
    "read_plan",
    "write_plan",
]


@dataclass(frozen=True)
class PlannedSession:
    """One unlabelled session.

    Parameters
    ----------
    novel : array
        Classes that arrive in it for the first time.
    rows : int array
        Training rows that arrive, known and novel, shuffled.
    kind : str
        What kind of session it is in a realistic stream (see `vbcgcd.study.streams`); empty in other plans.
    junk : int array
        Rows of no category that arrive too: of the dataset that ``Plan.junk_labels`` names.
    """

    novel: Array
    rows: Array
    kind: str = ""
    junk: Array = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    def content(self) -> dict[str, Any]:
        """Plain values; kind and junk only where there are any."""
        content: dict[str, Any] = {"novel": self.novel.tolist(), "rows": self.rows.tolist()}
        if self.kind:
            content["kind"] = self.kind
        if len(self.junk):
            content["junk"] = self.junk.tolist()
        return content

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> PlannedSession:
        """From what `content` gave, in this version or an earlier one."""
        return cls(
            _list(content["novel"]),
            _list(content["rows"], np.int64),
            str(content.get("kind", "")),
            _list(content.get("junk", []), np.int64),
        )


def _list(values: Any, dtype: Any = None) -> Array:
    """Numbers or names of a plan's file as an array (n,)."""
    array = np.array(values, dtype=dtype)
    if not isinstance(values, list) or array.ndim != 1 or array.dtype.kind not in "iuUf":
        raise ValueError(f"{repr(values)[:40]} is not a list of numbers or names")
    return array


@dataclass(frozen=True)
class PlanOrigin:
    """What a plan was made from.

    Parameters
    ----------
    plan : str
        Name of the plan, such as b50t5.
    order : str or None
        Order of the classes; see `class_order`.
    seed : int
    labels : str or None
        Digest of the training labels that the plan belongs to; None fits any labels.
    """

    plan: str = "plan"
    order: str | None = None
    seed: int = 0
    labels: str | None = None

    @classmethod
    def from_json(cls, content: Mapping[str, Any]) -> PlanOrigin:
        """From plain values; what is missing takes its default."""
        known = {name: content[name] for name in ("plan", "order", "seed", "labels") if name in content}
        return cls(**known)


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
    origin : PlanOrigin
        What it was made from.
    junk_labels : str or None
        Digest of the training labels of the dataset that junk rows come from; None where they are rows of
        this dataset, of classes that are neither labelled nor novel.
    """

    labelled: Array
    base_rows: Array
    sessions: tuple[PlannedSession, ...]
    origin: PlanOrigin = field(default_factory=PlanOrigin)
    junk_labels: str | None = None

    @property
    def is_stream(self) -> bool:
        """Whether it is a realistic stream, with sessions of several kinds."""
        return any(session.kind for session in self.sessions)

    def known_before(self, session: int) -> Array:
        """Classes known before a session (0 is the first unlabelled one)."""
        return np.concatenate([self.labelled, *(s.novel for s in self.sessions[:session])])

    @property
    def name(self) -> str:
        """Name of the plan, such as b50t5."""
        return self.origin.plan

    @property
    def digest(self) -> str:
        """Fingerprint of the class order and the rows."""
        text = json.dumps(self.content(), separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def content(self) -> dict[str, Any]:
        """Class order and row numbers in plain values."""
        content = {
            "labelled": self.labelled.tolist(),
            "base_rows": self.base_rows.tolist(),
            "sessions": [session.content() for session in self.sessions],
        }
        return content if self.junk_labels is None else {**content, "junk_labels": self.junk_labels}


def paper_dataset(name: str) -> str | None:
    """Which dataset with printed results a name stands for (the paper's four, three of texts), or None.

    Examples
    --------
    >>> paper_dataset("CIFAR-100 (EfficientNet-Lite0)")
    'cifar100'
    """
    lower = name.lower().replace(" ", "")
    return next((d for d, spellings in _SPELLINGS.items() if any(s in lower for s in spellings)), None)


def make_plan(y: Array, shape: PlanShape, *, order: str = "random", seed: int = 0) -> Plan:
    """Draw a plan of a given shape.

    Each class uses one part of its rows when it is labelled or novel. Known rows of later sessions are drawn
    from the other part, again for each session, so no row of the stream was ever labelled.

    Parameters
    ----------
    y : array (N,)
        Class of each training row.
    shape : PlanShape
        Numbers of classes, sessions and rows.
    order : {"random", "natural", "happy"}
        See `class_order`.
    seed : int
        Draws the rows and, in the random order, the classes.

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
    origin = PlanOrigin(shape.name, order, seed, labels_digest(y))
    return Plan(labelled, np.concatenate([used[c] for c in labelled]), tuple(sessions), origin)


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
    """A plan with a random class order from plain numbers; see `PlanShape` and `make_plan`.

    Examples
    --------
    >>> import numpy as np
    >>> from vbcgcd.study import random_plan
    >>> y = np.repeat(np.arange(4), 10)
    >>> len(random_plan(y, n_labelled=2, n_sessions=1, n_novel=2, known_rows=1).sessions)
    1
    """
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


def check_plan(plan: Plan, y: Array) -> Plan:
    """Return the plan if it fits the training labels and nothing leaks; otherwise raise `InputError`.

    No row of the stream was labelled, the novel classes of a session were not known before it, its rows
    belong to known or novel classes and occur once, and a row that arrived when its class was novel never
    comes back. In a realistic stream no row at all arrives twice, and junk rows of the same dataset are of
    classes that the plan does not use.
    """
    y = np.asarray(y)
    if plan.origin.labels not in (None, labels_digest(y)):
        raise InputError(
            f"The plan was made for other training labels (digest {plan.origin.labels}, the data has "
            f"{labels_digest(y)}); use the dataset it was made from, or make a plan for this one.",
            option="plan",
        )
    every = np.concatenate([plan.base_rows, *(s.rows for s in plan.sessions)])
    if len(every) and (every.min() < 0 or every.max() >= len(y)):
        raise _leak(f"it uses row {every.max()}, but the dataset has {len(y)} training rows")
    if not np.isin(y[plan.base_rows], plan.labelled).all():
        raise _leak("its base session has rows of classes that are not listed as labelled")
    taken = set(plan.base_rows.tolist())
    for t, session in enumerate(plan.sessions, start=1):
        known = plan.known_before(t - 1)
        if np.isin(session.novel, known).any():
            raise _leak(f"session {t} lists classes as novel that were known before it")
        if len(np.unique(session.rows)) < len(session.rows):
            raise _leak(f"session {t} has a row twice")
        again = taken & set(session.rows.tolist())
        if again:
            raise _leak(
                f"session {t} has {len(again)} rows that were labelled or novel before (first: {min(again)})"
            )
        is_novel = np.isin(y[session.rows], session.novel)
        if not (is_novel | np.isin(y[session.rows], known)).all():
            raise _leak(f"session {t} has rows of classes that are neither known nor novel")
        taken |= set(session.rows[is_novel | bool(session.kind)].tolist())
    _check_junk(plan, y)
    return plan


def _check_junk(plan: Plan, y: Array) -> None:
    """Junk rows occur once; those of the same dataset belong to no class of the plan."""
    junk = np.concatenate([np.empty(0, dtype=np.int64), *(s.junk for s in plan.sessions)])
    if len(np.unique(junk)) < len(junk):
        raise _leak("it has a junk row twice")
    if plan.junk_labels is not None or not len(junk):
        return
    if junk.min() < 0 or junk.max() >= len(y):
        raise _leak(f"it uses junk row {junk.max()}, but the dataset has {len(y)} training rows")
    if np.isin(y[junk], plan.known_before(len(plan.sessions))).any():
        raise _leak("it has junk rows of classes that are labelled or novel")


def _leak(what: str) -> InputError:
    return InputError(
        f"The plan cannot be used: {what}; make it again with 'vbcgcd study plan'.", option="plan"
    )


def write_plan(plan: Plan, path: str | os.PathLike[str]) -> None:
    """Write a plan as a JSON file; if that fails, an existing file is left unchanged."""
    target = Path(path)
    content = {"format": FORMAT, "about": plain(plan.origin), **plan.content()}
    try:
        with atomic_file(target) as file:
            file.write(json.dumps(content, ensure_ascii=False).encode() + b"\n")
    except OSError as error:
        raise DiskError.writing(target, error) from None


def read_plan(path: str | os.PathLike[str]) -> Plan:
    """Read a plan that `write_plan` wrote."""
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        if content["format"] != FORMAT:
            raise InputError(
                f"{path} is a plan of format {content['format']} but this version reads format {FORMAT}; "
                "update vbcgcd or make the plan again.",
                option="plan",
            )
        return Plan(
            _list(content["labelled"]),
            _list(content["base_rows"], np.int64),
            tuple(PlannedSession.from_json(session) for session in content["sessions"]),
            PlanOrigin.from_json(content["about"]),
            content.get("junk_labels"),
        )
    except OSError as error:
        raise InputError(f"Cannot read the plan {path}: {error.strerror}.", option="plan") from None
    except InputError:
        raise
    except Exception as error:  # values of any type stand where others are expected
        raise InputError(
            f"{path} is not a session plan ({reason_of(error)}); make one with 'vbcgcd study plan'.",
            option="plan",
        ) from None
