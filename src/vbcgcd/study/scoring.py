"""Scoring: two ways to say which true class an id stands for, and what is measured with them.

``frozen``, the headline: labelled ids stand for themselves. After a session has been learned, its novel ids
are matched to its true novel classes by the Hungarian method on that session's rows, once and for ever. Test
accuracy is by equality, and an id without a match is wrong.

``joint``, as Happy and GCD print it: one Hungarian match of all ids to all true classes on all test rows,
redone after each session. For the same predictions joint All is never below frozen All.

Labels are used here and nowhere else.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score, roc_auc_score

Array = NDArray[Any]
PROTOCOLS = {
    "frozen": "ids matched once, on the rows of their own session",
    "joint": "ids matched anew after each session, on all test rows",
}

__all__ = [
    "PROTOCOLS",
    "FrozenMatch",
    "SessionScore",
    "StreamScore",
    "discovery",
    "forgetting",
    "joint_correct",
    "score_session",
    "score_stream",
]


class SessionScore(NamedTuple):
    """Test accuracy after a session: all classes so far, those known before it, its new, the labelled."""

    all: float
    old: float
    new: float
    labelled: float


class StreamScore(NamedTuple):
    """How a session's own rows were judged.

    Parameters
    ----------
    rows, novel_rows, judged_novel : int
        Rows of the session, those truly novel, and those given a novel id.
    precision, recall : float
        Of "this row is novel".
    auroc : float
        Of the novelty score; NaN where the method has none or all rows are of one kind.
    nmi, ari : float
        Normalised mutual information and adjusted Rand index of ids against true classes, all rows.
    """

    rows: int
    novel_rows: int
    judged_novel: int
    precision: float
    recall: float
    auroc: float
    nmi: float
    ari: float


class FrozenMatch:
    """The growing map from ids to true classes.

    Parameters
    ----------
    labelled : array
        Classes of the base session; their ids are themselves.
    """

    def __init__(self, labelled: Array) -> None:
        self.of: dict[Any, Any] = {c: c for c in np.asarray(labelled).tolist()}

    def add(self, novel_ids: Array, predicted: Array, truth: Array, novel_classes: Array) -> None:
        """Match the ids of one session to its new classes, on the session's rows."""
        ids, classes = np.asarray(novel_ids), np.asarray(novel_classes)
        matched = _hungarian(predicted, truth, ids, classes)
        for label in ids.tolist():
            self.of[label] = matched.get(label)

    def correct(self, predicted: Array, truth: Array) -> Array:
        """Whether each prediction stands for the true class, boolean array (N,)."""
        return _agrees(self.of, predicted, truth)


def joint_correct(predicted: Array, truth: Array) -> Array:
    """Whether each prediction is right under the one best match of all ids to all classes, array (N,)."""
    matched = _hungarian(predicted, truth, np.unique(predicted), np.unique(truth))
    return _agrees(matched, predicted, truth)


def _hungarian(predicted: Array, truth: Array, ids: Array, classes: Array) -> dict[Any, Any]:
    """One-to-one map from ids to classes that makes the most rows right; rectangular where numbers differ."""
    row = {label: i for i, label in enumerate(ids.tolist())}
    column = {c: j for j, c in enumerate(classes.tolist())}
    counts = np.zeros((len(row), len(column)))
    for p, t in zip(np.asarray(predicted).tolist(), np.asarray(truth).tolist(), strict=True):
        if p in row and t in column:
            counts[row[p], column[t]] += 1
    pairs = zip(*linear_sum_assignment(-counts), strict=True)
    return {ids.tolist()[i]: classes.tolist()[j] for i, j in pairs}


def _agrees(match: dict[Any, Any], predicted: Array, truth: Array) -> Array:
    pairs = zip(np.asarray(predicted).tolist(), np.asarray(truth).tolist(), strict=True)
    return np.array([p in match and match[p] == t for p, t in pairs], dtype=bool)


def score_session(correct: Array, truth: Array, labelled: Array, known: Array, novel: Array) -> SessionScore:
    """All, Old, New and the accuracy on the labelled classes."""

    def mean(classes: Array) -> float:
        chosen = np.isin(truth, classes)
        return float(correct[chosen].mean()) if chosen.any() else float("nan")

    return SessionScore(mean(np.concatenate([known, novel])), mean(known), mean(novel), mean(labelled))


def score_stream(
    ids: Array, novelty: Array | None, truth: Array, novel_ids: Array, novel_classes: Array
) -> StreamScore:
    """How the rows of one session were judged, from the ids they were given and their novelty scores."""
    is_novel, judged = np.isin(truth, novel_classes), np.isin(ids, novel_ids)
    both = int((is_novel & judged).sum())
    mixed = is_novel.any() and not is_novel.all()
    return StreamScore(
        rows=len(truth),
        novel_rows=int(is_novel.sum()),
        judged_novel=int(judged.sum()),
        precision=both / int(judged.sum()) if judged.any() else float("nan"),
        recall=both / int(is_novel.sum()) if is_novel.any() else float("nan"),
        auroc=float(roc_auc_score(is_novel, novelty)) if novelty is not None and mixed else float("nan"),
        nmi=float(normalized_mutual_info_score(truth, ids)),
        ari=float(adjusted_rand_score(truth, ids)),
    )


def forgetting(base_accuracy: float, scores: list[SessionScore]) -> float:
    """M_f: accuracy on the labelled classes in the base session minus at the end."""
    return base_accuracy - scores[-1].labelled


def discovery(scores: list[SessionScore]) -> float:
    """M_d: mean accuracy on the new classes over the sessions."""
    return float(np.mean([s.new for s in scores]))
