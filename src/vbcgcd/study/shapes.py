"""The numbers of a plan: classes, sessions and rows; the paper's for its datasets, shares for any other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.errors import InputError
from vbcgcd.validation import check_choice, check_number

Array = NDArray[Any]
ORDERS = ("random", "natural", "happy")

__all__ = [
    "NAMED_PLANS",
    "ORDERS",
    "PAPER_ROWS",
    "PlanShape",
    "class_order",
    "shape_by_shares",
    "shape_of",
]

#: Plan name -> (share of the classes that is labelled, sessions).
NAMED_PLANS = {"b50t5": (0.5, 5), "b50t10": (0.5, 10), "b10t9": (0.1, 9)}
#: Dataset -> (classes, rows of a class when labelled or new, rows of a known class in a session).
PAPER_ROWS = {
    "cifar100": (100, 400, 25),
    "tinyimagenet": (200, 400, 25),
    "imagenet100": (100, 1000, 60),
    "cub200": (200, 25, 5),
}
#: Shares for other datasets: those of CIFAR-100, where 400 of 500 rows are used and 25 come back.
TRAIN_SHARE, KNOWN_SHARE = 0.8, 0.05


@dataclass(frozen=True)
class PlanShape:
    """Numbers of classes, sessions and rows.

    Parameters
    ----------
    name : str
    n_labelled, n_sessions, n_novel : int
        Labelled classes, unlabelled sessions, and novel classes in each of them.
    known_rows : int
        Rows of each known class in a session.
    rows : int or None
        Rows of a class in the session in which it is labelled or novel; None uses ``train_share`` of them, as
        does a class too small to hold any rows back.
    train_share : float
        Share of a class's rows that is used when it is labelled or novel; the rest is held back for later
        sessions.
    most_rows : int or None
        Use at most this many of them; rows above it stay unused.
    """

    name: str
    n_labelled: int
    n_sessions: int
    n_novel: int
    known_rows: int
    rows: int | None = None
    train_share: float = TRAIN_SHARE
    most_rows: int | None = None

    @property
    def n_classes(self) -> int:
        """Classes of the whole plan."""
        return self.n_labelled + self.n_sessions * self.n_novel

    def rows_used(self, n_rows: int) -> int:
        """Of a class with ``n_rows``, the rows used in the session in which it is labelled or novel."""
        if self.rows is not None and n_rows >= self.rows + self.known_rows:
            return self.rows
        return round(self.train_share * n_rows)

    def known_rows_of(self, n_held: int) -> int:
        """Rows of a known class in a session, where ``n_held`` were held back."""
        return min(self.known_rows, n_held)


def shape_of(plan: str, y: Array, *, dataset: str | None = None) -> PlanShape:
    """Shape of a named plan on a dataset.

    Parameters
    ----------
    plan : {"b50t5", "b50t10", "b10t9"}
    y : array (N,)
        Class of each training row.
    dataset : str, optional
        One of the paper's datasets (a key of ``PAPER_ROWS``), to use the paper's counts. Otherwise 80 % of a
        class is used when it is labelled or novel, and 5 % in each later session.

    Examples
    --------
    >>> import numpy as np
    >>> shape_of("b10t9", np.repeat(np.arange(100), 500), dataset="cifar100").n_novel
    10
    """
    check_choice("plan", plan, tuple(NAMED_PLANS))
    share, n_sessions = NAMED_PLANS[plan]
    paper = PAPER_ROWS.get(dataset or "")
    n_classes = len(np.unique(y))
    if paper is None or paper[0] != n_classes:
        return shape_by_shares(y, labelled_share=share, n_sessions=n_sessions, name=plan)
    n_labelled, n_novel = _split_classes(n_classes, share, n_sessions)
    return PlanShape(plan, n_labelled, n_sessions, n_novel, known_rows=paper[2], rows=paper[1])


def shape_by_shares(
    y: Array,
    *,
    labelled_share: float,
    n_sessions: int,
    train_share: float = TRAIN_SHARE,
    known_share: float = KNOWN_SHARE,
    name: str = "custom",
) -> PlanShape:
    """Shape of a plan for any dataset.

    Parameters
    ----------
    y : array (N,)
        Class of each training row.
    labelled_share : float
        Share of the classes that is labelled; classes left over by an uneven division are labelled too.
    n_sessions : int
        Number of unlabelled sessions.
    train_share : float
        Share of a class's rows that is used when it is labelled or novel.
    known_share : float
        Rows of each known class in a session, as a share of the rows of an average class; at least one row.
    name : str
    """
    check_number("labelled_share", labelled_share, above=0, high=1)
    check_number("n_sessions", n_sessions, low=1, whole=True)
    check_number("train_share", train_share, above=0, high=1)
    check_number("known_share", known_share, low=0, high=1)
    classes, counts = np.unique(y, return_counts=True)
    n_labelled, n_novel = _split_classes(len(classes), labelled_share, n_sessions)
    known_rows = max(1, round(known_share * float(counts.mean()))) if known_share > 0 else 0
    return PlanShape(name, n_labelled, n_sessions, n_novel, known_rows=known_rows, train_share=train_share)


def class_order(classes: Array, shape: PlanShape, order: str, rng: np.random.Generator) -> Array:
    """The classes of a plan in the order of their arrival.

    "natural" is the sorted order (the VB-CGCD authors' code); "happy" keeps the labelled classes sorted and
    shuffles the others with NumPy's legacy generator and seed 0 (Happy, NeurIPS 2024); "random" shuffles all.
    """
    check_choice("order", order, ORDERS)
    if shape.n_classes > len(classes):
        raise InputError(
            f"The plan needs {shape.n_classes} classes ({shape.n_labelled} labelled, {shape.n_sessions} "
            f"sessions of {shape.n_novel}) but the data has {len(classes)}; use fewer classes or sessions."
        )
    if order == "random":
        return rng.permutation(classes)[: shape.n_classes]
    if order == "happy":
        novel = classes[shape.n_labelled :].copy()
        np.random.RandomState(0).shuffle(novel)
        classes = np.concatenate([classes[: shape.n_labelled], novel])
    return classes[: shape.n_classes]


def _split_classes(n_classes: int, labelled_share: float, n_sessions: int) -> tuple[int, int]:
    n_novel = (n_classes - max(1, round(labelled_share * n_classes))) // n_sessions
    if n_novel < 1:
        raise InputError(
            f"{n_classes} classes, {labelled_share:.0%} of them labelled, are too few for {n_sessions} "
            "sessions with a novel class in each; use fewer sessions or a smaller labelled share, "
            "for example with 'vbcgcd study plan --sessions 2'."
        )
    return n_classes - n_sessions * n_novel, n_novel
