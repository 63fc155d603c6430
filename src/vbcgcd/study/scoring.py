"""Frozen scoring: each novel id is matched to a true class once, after its session, and never again.

Labelled ids stand for themselves. After a session has been learned, its novel ids are matched to its true
novel classes by the Hungarian method on that session's rows. Test accuracy is by equality, and an id without
a match is wrong. Labels are used here and nowhere else.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

Array = NDArray[Any]

__all__ = ["FrozenMatch", "SessionScore", "discovery", "forgetting"]


class SessionScore(NamedTuple):
    """Test accuracy after a session: on all classes so far, those known before it, and its new ones."""

    all: float
    old: float
    new: float
    labelled: float


class FrozenMatch:
    """The growing map from ids to true classes.

    Parameters
    ----------
    labelled : array
        Classes of the base session; their ids are themselves.
    """

    def __init__(self, labelled: Array) -> None:
        self.of: dict[Any, Any] = {c: c for c in labelled.tolist()}

    def add(self, novel_ids: Array, predicted: Array, truth: Array, novel_classes: Array) -> None:
        """Match the ids of one session to its new classes, on the session's rows."""
        counts = np.zeros((len(novel_ids), len(novel_classes)))
        for i, label in enumerate(novel_ids):
            for j, c in enumerate(novel_classes):
                counts[i, j] = np.sum((predicted == label) & (truth == c))
        matched = dict(zip(*linear_sum_assignment(-counts), strict=True))
        for i, label in enumerate(np.asarray(novel_ids).tolist()):
            self.of[label] = novel_classes.tolist()[matched[i]] if i in matched else None

    def correct(self, predicted: Array, truth: Array) -> Array:
        """Whether each prediction stands for the true class, boolean array (N,)."""
        return np.array(
            [self.of.get(p) == t for p, t in zip(predicted.tolist(), truth.tolist(), strict=True)], dtype=bool
        )


def score_session(correct: Array, truth: Array, labelled: Array, known: Array, novel: Array) -> SessionScore:
    """All, Old, New and the accuracy on the labelled classes."""

    def mean(classes: Array) -> float:
        chosen = np.isin(truth, classes)
        return float(correct[chosen].mean()) if chosen.any() else float("nan")

    return SessionScore(mean(np.concatenate([known, novel])), mean(known), mean(novel), mean(labelled))


def forgetting(base_accuracy: float, scores: list[SessionScore]) -> float:
    """M_f: accuracy on the labelled classes in the base session minus at the end."""
    return base_accuracy - scores[-1].labelled


def discovery(scores: list[SessionScore]) -> float:
    """M_d: mean accuracy on the new classes over the sessions."""
    return float(np.mean([s.new for s in scores]))
