"""Scoring: what a method reports of a session, two protocols that decide which true class an id stands for,
and every measure built on them.

``frozen``, the default: labelled ids stand for themselves. After a session has been learned, its novel ids
are matched to its true novel classes by the Hungarian method on that session's rows, once and for all. A
prediction is correct where its class equals the true one; an id without a match is always wrong.

``joint``, as Happy and GCD report it: one Hungarian match of all ids to all true classes on all test rows,
repeated after each session. For the same predictions joint All is never below frozen All.

True labels of the stream are used here and nowhere else.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score, roc_auc_score

from vbcgcd.ranking import is_sparse, ranking

Array = NDArray[Any]
PROTOCOLS = {
    "frozen": "ids matched once, on the rows of their own session",
    "joint": "ids matched again after each session, on all test rows",
}

__all__ = [
    "PROTOCOLS",
    "Accuracies",
    "ClusterScore",
    "FrozenMatch",
    "Outcome",
    "SessionScore",
    "StreamScore",
    "answer_probability",
    "discovery",
    "forgetting",
    "joint_correct",
    "macro_accuracy",
    "outcome_of",
    "score_clusters",
    "score_session",
    "score_stream",
    "share",
]


class Outcome(NamedTuple):
    """What a method must report of a session.

    Parameters
    ----------
    labels_ : array (N,)
        Id of each row, known or novel.
    novel : array (J,)
        Ids that this session added.
    novelty_ : array (N,) or None
        Novelty score of each row, larger for more novel; None where the method has no such score.
    probability_ : array (N,) or None
        Probability of the answer that each row got; None where the method reports no probabilities.
    """

    labels_: Array
    novel: Array
    novelty_: Array | None = None
    probability_: Array | None = None


def outcome_of(record: Any, classes: Array | None = None) -> Outcome:
    """The `Outcome` in whatever a method's `discover` returned, such as a `vbcgcd.record.SessionRecord`.

    Parameters
    ----------
    record : object
        With ``labels_`` and ``novel`` (ids in order, or a mapping from ids to names); ``novelty_`` and
        ``probabilities_`` (N, K), or ``probability_`` (N,), are optional.
    classes : array (K,), optional
        Id of each column of ``probabilities_``: with it the probability of an answer is that of its own
        column, and of an answer that is not among them what is left to one. Otherwise it is the largest.
    """
    labels = np.asarray(record.labels_)
    novel = np.array(list(record.novel), dtype=labels.dtype)
    probability = getattr(record, "probability_", None)
    columns = getattr(record, "probabilities_", None)
    if probability is None and columns is not None and np.shape(columns) != (0, 0):
        if is_sparse(columns):
            place = {label: k for k, label in enumerate(np.asarray(record.classes_).tolist())}
            ranks = ranking(columns, np.array([place.get(label, -1) for label in labels.tolist()]))
            probability = np.clip(np.where(ranks.own > 0, ranks.own, 1 - ranks.total), 0.0, 1.0)
        else:
            probability = answer_probability(labels, np.asarray(columns), classes)
    return Outcome(labels, novel, getattr(record, "novelty_", None), probability)


def answer_probability(labels: Array, columns: Array, classes: Array | None) -> Array:
    """Probability (N,) of each answer: its own column of ``columns`` (N, K); see `outcome_of`."""
    if classes is None or len(classes) != columns.shape[1]:
        return np.asarray(columns.max(axis=1))
    position = {label: k for k, label in enumerate(np.asarray(classes).tolist())}
    place = np.array([position.get(label, -1) for label in labels.tolist()], dtype=np.int64)
    chosen = columns[np.arange(len(columns)), place]
    return np.clip(np.where(place >= 0, chosen, 1 - columns.sum(axis=1)), 0.0, 1.0)


@dataclass(frozen=True)
class SessionScore:
    """Test accuracy after a session, on five groups of classes; NaN for a group without test rows.

    Parameters
    ----------
    all : float
        On every class so far.
    old : float
        On the classes known before the session.
    new : float
        On the classes that are novel in the session.
    labelled : float
        On the classes of the base session.
    later : float
        On all classes that came after it; NaN in records of earlier versions.
    """

    all: float
    old: float
    new: float
    labelled: float
    later: float = math.nan


@dataclass(frozen=True)
class StreamScore:
    """How a session's own rows were judged.

    Parameters
    ----------
    rows, novel_rows, judged_novel : int
        Rows of the session, those that are truly novel, and those that got a novel id.
    precision, recall : float
        Of the decision "this row is novel".
    auroc : float
        Of the novelty score; NaN where the method has none or where all rows are known or all novel.
    nmi, ari : float
        Normalised mutual information and adjusted Rand index of ids against true classes, over all rows.
    """

    rows: int
    novel_rows: int
    judged_novel: int
    precision: float
    recall: float
    auroc: float
    nmi: float
    ari: float


@dataclass(frozen=True)
class ClusterScore:
    """How well ids agree with true classes, whatever the ids are called; as papers on text report it.

    Parameters
    ----------
    acc : float
        Clustering accuracy: the share of rows that are right under the best one-to-one match of ids to
        classes.
    nmi, ari : float
        Normalised mutual information and adjusted Rand index.
    """

    acc: float
    nmi: float
    ari: float


@dataclass(frozen=True)
class Accuracies:
    """Test accuracy along a run, under one protocol; also the supervised upper bound of a run.

    Parameters
    ----------
    base : float
        On the labelled classes, before the first session.
    scores : tuple of SessionScore
        After each session. The bound of a method that cannot learn labelled rows session by session has the
        last one only.
    macro : float
        After the last session, with the same weight for every class; known of bounds of realistic streams.

    Examples
    --------
    >>> run = Accuracies(0.9, (SessionScore(0.8, 0.9, 0.7, 0.9), SessionScore(0.7, 0.7, 0.5, 0.75)))
    >>> round(run.forgetting, 2), round(run.discovery, 2)
    (0.15, 0.6)
    """

    base: float
    scores: tuple[SessionScore, ...]
    macro: float = math.nan

    @property
    def all(self) -> tuple[float, ...]:
        """All before the first session and after each."""
        return (self.base, *(score.all for score in self.scores))

    @property
    def final(self) -> SessionScore:
        """After the last session."""
        return self.scores[-1]

    @property
    def forgetting(self) -> float:
        """M_f; see `forgetting`."""
        return forgetting(self.base, self.scores)

    @property
    def discovery(self) -> float:
        """M_d; see `discovery`."""
        return discovery(self.scores)


class FrozenMatch:
    """The growing map from ids to true classes of the frozen protocol.

    Parameters
    ----------
    labelled : array
        Classes of the base session; they are their own ids.

    Attributes
    ----------
    of : dict
        True class of each id; None for an id without a match.
    """

    def __init__(self, labelled: Array) -> None:
        self.of: dict[Any, Any] = {c: c for c in np.asarray(labelled).tolist()}

    def add(self, novel_ids: Array, predicted: Array, truth: Array, novel_classes: Array) -> None:
        """Match the novel ids of one session to its novel classes, on the session's rows."""
        ids, classes = np.asarray(novel_ids), np.asarray(novel_classes)
        matched = _hungarian(predicted, truth, ids, classes)
        for label in ids.tolist():
            self.of[label] = matched.get(label)

    def correct(self, predicted: Array, truth: Array) -> Array:
        """Whether each prediction stands for the true class, boolean array (N,)."""
        return _agrees(self.of, predicted, truth)


def joint_correct(predicted: Array, truth: Array) -> Array:
    """Whether each prediction is correct under the best match of all ids to all classes, array (N,)."""
    matched = _hungarian(predicted, truth, np.unique(predicted), np.unique(truth))
    return _agrees(matched, predicted, truth)


def _hungarian(predicted: Array, truth: Array, ids: Array, classes: Array) -> dict[Any, Any]:
    """One-to-one map from ids to classes with the most correct rows; surplus ids and classes stay out."""
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

    every = np.concatenate([known, novel])
    later = np.setdiff1d(every, labelled)
    return SessionScore(mean(every), mean(known), mean(novel), mean(labelled), mean(later))


def macro_accuracy(correct: Array, truth: Array) -> float:
    """Accuracy with the same weight for every class: the mean over classes; NaN without rows.

    Examples
    --------
    >>> import numpy as np
    >>> macro_accuracy(np.array([True, True, True, False]), np.array(["a", "a", "a", "b"]))
    0.5
    """
    if not len(truth):
        return math.nan
    _, codes, sizes = np.unique(truth, return_inverse=True, return_counts=True)
    return float(np.mean(np.bincount(codes, weights=correct) / sizes))


def score_stream(
    ids: Array, novelty: Array | None, truth: Array, novel_ids: Array, novel_classes: Array
) -> StreamScore:
    """How the rows of one session were judged, from their predicted ids and novelty scores."""
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


def score_clusters(ids: Array, truth: Array) -> ClusterScore:
    """Clustering accuracy, NMI and ARI of ids against true classes; NaN without rows.

    Examples
    --------
    >>> import numpy as np
    >>> score_clusters(np.array([7, 7, 3, 3]), np.array([0, 0, 1, 1]))
    ClusterScore(acc=1.0, nmi=1.0, ari=1.0)
    """
    if not len(truth):
        return ClusterScore(math.nan, math.nan, math.nan)
    return ClusterScore(
        acc=float(joint_correct(ids, truth).mean()),
        nmi=float(normalized_mutual_info_score(truth, ids)),
        ari=float(adjusted_rand_score(truth, ids)),
    )


def forgetting(base_accuracy: float, scores: Sequence[SessionScore]) -> float:
    """M_f: accuracy on the labelled classes in the base session minus at the end."""
    return base_accuracy - scores[-1].labelled


def discovery(scores: Sequence[SessionScore]) -> float:
    """M_d: mean accuracy on the novel classes over the sessions."""
    return float(np.mean([s.new for s in scores]))


def share(accuracies: Accuracies, bound: Accuracies) -> float:
    """Final All as a share of the final All of a supervised bound.

    The bound is scored by equality, so a share of jointly scored accuracy would flatter.
    """
    return accuracies.final.all / bound.final.all
