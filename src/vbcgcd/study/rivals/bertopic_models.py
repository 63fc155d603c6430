"""BERTopic in its two ways with batches: online learning, and one model per session, merged."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import MiniBatchKMeans
from sklearn.decomposition import IncrementalPCA
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics.pairwise import cosine_similarity

from vbcgcd.study.rivals.base import BaseRival, Learned, Rival
from vbcgcd.study.rivals.kmeans import pinned_kmeans, squared_distances, unit_rows
from vbcgcd.study.rivals.ncm import category_means
from vbcgcd.study.rivals.topics import admitting, quiet, wordless
from vbcgcd.validation import check_choice, check_rows

Array = NDArray[Any]

__all__ = ["BertopicMerged", "BertopicOnline", "GrowingKMeans"]


class GrowingKMeans:
    """The cluster model of online BERTopic: scikit-learn's `MiniBatchKMeans`, which can take more centres.

    Parameters
    ----------
    centres : array (K, q)
    counts : array (K,)
        Rows that each stands for.

    Attributes
    ----------
    n_new : int
        Centres to add at the start of the next `partial_fit`: by k-means with the others held.
    labels_ : int array (N,)
        Of the last rows.
    """

    def __init__(self, centres: Array, counts: Array) -> None:
        self.centres, self.counts, self.n_new = centres, counts, 0
        self.rng = np.random.default_rng(0)

    def partial_fit(self, X: Array, y: Any = None) -> GrowingKMeans:
        """Add the new centres, then move all of them by one step with the rows."""
        started = pinned_kmeans(X, self.centres, self.n_new, rng=self.rng, n_restarts=10)
        self.n_new = 0
        centres = np.vstack([self.centres, started.centroids])
        counts = np.concatenate([self.counts, np.zeros(len(started.centroids))])
        model = MiniBatchKMeans(len(centres), init=centres, n_init=1, reassignment_ratio=0.0)
        model.partial_fit(centres, sample_weight=counts)  # centres stay, with the weight that they have
        model.partial_fit(X)
        self.labels_ = model.predict(X)
        self.centres = model.cluster_centers_
        self.counts = counts + np.bincount(self.labels_, minlength=len(centres))
        return self

    def predict(self, X: Array) -> Array:
        """The nearest centre of each row."""
        return squared_distances(X, self.centres).argmin(axis=1)


class BertopicOnline(Rival):
    """BERTopic's online learning: `partial_fit` of a reduction, of a clusterer and of the words, per session.

    Grootendorst, "BERTopic" (arXiv 2203.05794), with parts that its documentation uses for it:
    `MiniBatchKMeans`, `OnlineCountVectorizer` and, with ``reduction="pca"``, `IncrementalPCA`. The number of
    topics is fixed there; here the labelled session starts one centre for each category, and a session adds
    ``n_novel``. A topic's number is its id, so ids last.

    The documentation's `IncrementalPCA` turns and flips its axes with each batch while the centres stay, so
    ids lose their meaning: on labelled rows of CLINC150 alone, All falls from 95 to 11 % in two sessions. By
    default there is no reduction, which BERTopic offers too.

    Parameters
    ----------
    reduction : {"none", "pca"}, default="none"
    n_components : int, default=50
        Dimensions of the PCA, at most. BERTopic's example has 5, too few for a hundred categories.
    random_state : int or None, default=0

    Attributes
    ----------
    model_ : BERTopic
    centres_ : array (K, q)
        Of the clusters.
    """

    model_: Any
    centres_: Array

    def __init__(
        self, *, reduction: str = "none", n_components: int = 50, random_state: int | None = 0
    ) -> None:
        self.reduction = reduction
        self.n_components = n_components
        self.random_state = random_state

    def _fit(self, rows: Array, codes: Array, n_categories: int) -> None:
        with quiet():
            from bertopic import BERTopic
            from bertopic.dimensionality import BaseDimensionalityReduction
            from bertopic.vectorizers import OnlineCountVectorizer
        check_choice("reduction", self.reduction, ("none", "pca"))
        unit = unit_rows(rows)
        reduction = BaseDimensionalityReduction()
        if self.reduction == "pca":
            reduction = IncrementalPCA(min(self.n_components, *unit.shape)).fit(unit)
        centres = category_means(reduction.transform(unit), codes, n_categories)
        clusters = GrowingKMeans(centres, np.bincount(codes, minlength=n_categories).astype(float))
        self.model_ = BERTopic(
            umap_model=reduction,
            hdbscan_model=clusters,
            vectorizer_model=OnlineCountVectorizer(decay=0.01),
        )
        self.model_.embedding_model = None
        self.centres_ = centres

    def _discover(self, rows: Array, n_novel: int) -> tuple[Array, Array | None]:
        unit = unit_rows(rows)
        novelty = squared_distances(self._reduced(unit), self.centres_).min(axis=1)
        self.model_.hdbscan_model.n_new = n_novel
        self.model_.hdbscan_model.rng = self._rng()
        with quiet():
            self.model_.partial_fit(wordless(len(unit)), embeddings=unit)
        self.centres_ = self.model_.hdbscan_model.centres
        return self._predict(rows), novelty

    def _reduced(self, unit: Array) -> Array:
        return np.asarray(self.model_.umap_model.transform(unit))

    def _predict(self, rows: Array) -> Array:
        return np.asarray(self.model_.hdbscan_model.predict(self._reduced(unit_rows(rows))))


class BertopicMerged(BaseRival):
    """One BERTopic model for each session, merged into the one before by `merge_models`.

    Grootendorst, "BERTopic" (arXiv 2203.05794): how its users add batches without renumbering. The labelled
    session is a manual topic model, one topic for each category. Each session gets a model of its own (UMAP
    and HDBSCAN with BERTopic's settings); those of its topics that are less like every known one than
    ``min_similarity`` (cosine of their mean embeddings) are appended. HDBSCAN decides how many topics a
    session has. Where the number is given, they are reduced to all categories so far (``nr_topics``), and the
    similarity is set so that the number given is appended, if there are as many. Rows that HDBSCAN calls
    outliers are unassigned; `predict` answers with the most similar topic.

    Parameters
    ----------
    min_topic_size : int, default=10
    min_similarity : float, default=0.7
        Used where the number is not given.
    n_neighbors : int, default=15
        Of UMAP.
    random_state : int or None, default=0

    Attributes
    ----------
    model_ : BERTopic
    topic_embeddings_ : array (K, d)
    codes_ : dict
        Code of each of BERTopic's topics.
    """

    model_: Any
    topic_embeddings_: Array
    codes_: dict[int, int]

    _limits = MappingProxyType(
        {"min_similarity": (0, 1), "min_topic_size": (2, np.inf), "n_neighbors": (2, 200)}
    )

    def __init__(
        self,
        *,
        min_topic_size: int = 10,
        min_similarity: float = 0.7,
        n_neighbors: int = 15,
        random_state: int | None = 0,
    ) -> None:
        self.min_topic_size = min_topic_size
        self.min_similarity = min_similarity
        self.n_neighbors = n_neighbors
        self.random_state = random_state

    def _fit(self, rows: Array, codes: Array, n_categories: int) -> None:
        with quiet():
            from bertopic.cluster import BaseCluster
            from bertopic.dimensionality import BaseDimensionalityReduction
        manual = {"umap_model": BaseDimensionalityReduction(), "hdbscan_model": BaseCluster()}
        self._adopt(self._topics(unit_rows(rows), codes, **manual))
        self.codes_ = dict(zip(self.model_.topics_, codes.tolist(), strict=True))

    def _topics(self, unit: Array, codes: Array | None = None, **parts: Any) -> Any:
        """A BERTopic model of these rows."""
        with quiet():
            from bertopic import BERTopic

            model = BERTopic(vectorizer_model=CountVectorizer(), min_topic_size=self.min_topic_size, **parts)
            model.embedding_model = None
            model.fit(wordless(len(unit)), embeddings=unit, y=None if codes is None else codes.tolist())
        return model

    def _adopt(self, model: Any) -> None:
        # `merge_models` and `transform` take the first embedding for that of the outliers where there are
        # any, but a model merged into one without them has none: they would be off by one topic.
        model.topics_ = [topic for topic in model.topics_ if topic != -1]
        model.topic_sizes_.pop(-1, None)
        self.model_, self.topic_embeddings_ = model, np.asarray(model.topic_embeddings_)

    def _learn(self, rows: Array, n_novel: int | None) -> Learned:
        unit, n_known = unit_rows(rows), len(self.classes_)
        novelty = 1 - cosine_similarity(unit, self.topic_embeddings_).max(axis=1)
        if len(unit) <= max(self.min_topic_size, self.n_neighbors):  # UMAP and HDBSCAN cannot work
            return Learned(np.full(len(unit), -1), 0, novelty)
        # Who knows the number has BERTopic join what HDBSCAN cut up.
        nr_topics = None if n_novel is None else n_known + n_novel
        session = self._topics(unit, umap_model=self._reduction(), nr_topics=nr_topics)
        topics = np.asarray(session.topic_embeddings_)[int(-1 in session.topics_) :]
        if not len(topics):
            return Learned(np.full(len(unit), -1), 0, novelty)
        likeness = cosine_similarity(topics, self.topic_embeddings_).max(axis=1)
        limit = admitting(likeness, n_novel, self.min_similarity)
        with quiet():
            merged = type(session).merge_models([self.model_, session], min_similarity=limit)
        given = merged.topics_[-len(unit) :]
        self._adopt(merged)
        fresh = sorted(set(given) - set(self.codes_) - {-1})
        self.codes_ |= {topic: n_known + j for j, topic in enumerate(fresh)}
        codes = np.array([self.codes_.get(topic, -1) for topic in given])
        return Learned(codes, len(fresh), novelty)

    def _reduction(self) -> Any:
        """UMAP with the settings that BERTopic gives it, and a seed."""
        with quiet():
            from umap import UMAP

            seed = None if self.random_state is None else int(self._rng().integers(2**31))
            return UMAP(self.n_neighbors, n_components=5, min_dist=0.0, metric="cosine", random_state=seed)

    def _predict(self, rows: Array) -> Array:
        with quiet():
            topics, _ = self.model_.transform(wordless(len(rows)), embeddings=unit_rows(rows))
        return np.array([self.codes_[int(topic)] for topic in topics])

    def predict_proba(self, X: Any) -> Array:
        """What BERTopic calls probabilities, array (N, K): cosines with topics, whose sum need not be one."""
        self._check_fitted()
        likeness = cosine_similarity(check_rows(self, X).astype(np.float64), self.topic_embeddings_)
        columns = np.zeros((len(likeness), len(self.classes_)))
        columns[:, list(self.codes_.values())] = np.clip(likeness, 0.0, 1.0)[:, list(self.codes_)]
        return columns
