"""Turftopic's SensTopic, which can add topics while the old ones stay."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics.pairwise import cosine_similarity

from vbcgcd.study.rivals.base import BaseRival, Learned
from vbcgcd.study.rivals.kmeans import unit_rows
from vbcgcd.study.rivals.ncm import category_means
from vbcgcd.study.rivals.topics import admitting, quiet, wordless
from vbcgcd.validation import check_choice

Array = NDArray[Any]

__all__ = ["SensTopicStream"]


class SensTopicStream(BaseRival):
    """Semi-nonnegative factors of the embeddings; new factors are appended, old ones are kept.

    Kardos et al., "Turftopic" (JOSS 2025): `SensTopic` writes each embedding as a non-negative mixture of
    topics. `partial_fit` with ``merge_method="keep_first"`` extracts topics from the new documents and
    appends those whose cosine with every old one is below a threshold; old topics do not move, so ids last.

    The labelled session gives one topic for each category, its mean: the factors that documents with known
    topics have. From a session as many topics are extracted as there are categories once it is learned, and
    the threshold is set so that the number given is appended; where it is not given, Turftopic chooses how
    many to extract by its information criterion, and ``match_threshold`` decides.

    A row belongs to the topic that it is most similar to. Turftopic's own answer is the largest share of the
    mixture (``assign="mixtures"``), but it infers the mixtures of all rows of a call together, from a k-means
    of them, so that a row is answered otherwise in other company: with the true labels of all 150 categories
    of CLINC150, 41 % of the test rows are right.

    Parameters
    ----------
    assign : {"similarity", "mixtures"}, default="similarity"
    match_threshold : float, default=0.7
        Used where the number is not given.
    sparsity : float, default=1.0
    max_iter : int, default=200
    random_state : int or None, default=0

    Attributes
    ----------
    model_ : SensTopic
    topics_ : array (K, d)
    mean_ : array (d,)
        Of the labelled rows, from which all are counted: mixtures of vectors that point the same way are not
        told apart.
    n_labelled_ : int
        Labelled rows; calls for mixtures have at least as many, by repetition.
    """

    model_: Any
    mean_: Array
    n_labelled_: int
    topics_: Array

    _limits = MappingProxyType({"match_threshold": (0, 1)})

    def __init__(
        self,
        *,
        assign: str = "similarity",
        match_threshold: float = 0.7,
        sparsity: float = 1.0,
        max_iter: int = 200,
        random_state: int | None = 0,
    ) -> None:
        self.assign = assign
        self.match_threshold = match_threshold
        self.sparsity = sparsity
        self.max_iter = max_iter
        self.random_state = random_state

    def _fit(self, rows: Array, codes: Array, n_categories: int) -> None:
        check_choice("assign", self.assign, ("similarity", "mixtures"))
        unit = unit_rows(rows)
        self.mean_, self.n_labelled_ = unit.mean(axis=0), len(rows)
        means = category_means(unit - self.mean_, codes, n_categories)
        with quiet():
            from turftopic import SensTopic

            self.model_ = SensTopic(
                n_categories,
                encoder=_NoWords(rows.shape[1]),
                vectorizer=CountVectorizer(),
                max_iter=self.max_iter,
                sparsity=self.sparsity,
                random_state=self.random_state,
            ).fit(wordless(n_categories), embeddings=means)
        # Mixtures have norm one over all rows of a fit, and topics the scale that goes with it.
        self.topics_ = means * np.sqrt(len(rows))
        self.model_.decomposition.components_ = self.topics_
        self.model_.decomposition.n_datapoints_ = len(rows)

    def _learn(self, rows: Array, n_novel: int | None) -> Learned:
        unit, n_known = unit_rows(rows) - self.mean_, len(self.topics_)
        novelty = 1 - cosine_similarity(unit, self.topics_).max(axis=1)
        wanted = "auto" if n_novel is None else min(n_known + n_novel, len(unit))

        from turftopic.merging import get_merge_fn

        def append(matrices: list[Array], weights: Any = None, match_threshold: float = 0.7) -> Any:
            likeness = cosine_similarity(matrices[1], matrices[0]).max(axis=1)
            limit = admitting(likeness, n_novel, match_threshold)
            return get_merge_fn("keep_first")(matrices, weights=weights, match_threshold=limit)

        if n_novel != 0:
            with quiet():
                self.model_.partial_fit(
                    wordless(len(unit)),
                    embeddings=unit,
                    n_new_components=wanted,
                    match_threshold=self.match_threshold,
                    merge_method=append,
                )
            self.topics_ = np.asarray(self.model_.decomposition.components_)
        return Learned(self._predict(rows), len(self.topics_) - n_known, novelty)

    def _predict(self, rows: Array) -> Array:
        unit = unit_rows(rows) - self.mean_
        if self.assign == "similarity":
            return np.asarray(cosine_similarity(unit, self.topics_).argmax(axis=1))
        # Mixtures of fewer rows would be out of scale with the topics, and k-means needs a row for each.
        n_rows = max(len(unit), len(self.topics_), self.n_labelled_)
        with quiet():
            mixtures = self.model_.transform(
                wordless(n_rows), embeddings=np.resize(unit, (n_rows, unit.shape[1]))
            )
        return np.asarray(mixtures[: len(rows)].argmax(axis=1))


class _NoWords:
    """Stands for the encoder of words, which describe topics and decide nothing."""

    def __init__(self, width: int) -> None:
        self.width = width

    def encode(self, words: Any, **options: Any) -> Array:
        """The same direction for every word."""
        return np.ones((len(words), self.width)) / np.sqrt(self.width)
