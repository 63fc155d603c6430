"""Happy on frozen embeddings: new head rows by clustering, group-wise entropy, replay of hard prototypes."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from torch import Tensor
from torch.nn import functional as F

from vbcgcd.discovery.count import SILHOUETTE_MOST, SILHOUETTE_ROWS
from vbcgcd.discovery.silhouette import silhouettes
from vbcgcd.discovery.strategies import fewer_clusters_allowed
from vbcgcd.study.rivals.heads import (
    SoftmaxRival,
    entropy_gap,
    logits,
    project,
    replay,
    second_view,
    seeded,
    self_distillation,
    unit_rows,
)

Array = NDArray[Any]

__all__ = ["HappyFrozen", "group_entropy", "hardness"]


def group_entropy(mean: Tensor, n_known: int, *, weights: tuple[float, float, float] = (1, 1, 1)) -> Tensor:
    """Entropy regulariser of a mean prediction (K,), between and within the known and the novel group.

    w0 (P_o log P_o + P_n log P_n + log 2) + w1 (log C_o - H(p_o / P_o)) + w2 (log C_n - H(p_n / P_n)).
    """
    groups = [mean[:n_known], mean[n_known:]]
    between = entropy_gap(torch.stack([group.sum() for group in groups]))
    within = [entropy_gap(group / group.sum()) for group in groups]
    return weights[0] * between + weights[1] * within[0] + weights[2] * within[1]


def hardness(prototypes: Array, temperature: float) -> Array:
    """Probability (K,) that a category is replayed: softmax of its mean cosine to the other prototypes."""
    unit = unit_rows(prototypes).astype(np.float64)
    cosines = unit @ unit.T
    scores = (cosines.sum(1) - np.diag(cosines)) / max(1, len(unit) - 1) / temperature
    shares = np.exp(scores - scores.max())
    return np.asarray(shares / shares.sum())


class HappyFrozen(SoftmaxRival):
    """Happy (Ma et al., NeurIPS 2024, "Happy: A Debiased Learning Framework for Continual GCD").

    Kept: new head rows start at those k-means centroids (K = all categories so far) that the old head likes
    least; self-distillation; group-wise entropy; replay of hardness-sampled prototypes mu_c + r e with r from
    the labelled session; feature distillation |g(z) - g_before(z)|^2; SGD with rate 0.01 (0.1 in the labelled
    session), momentum 0.9, a cosine schedule, batches of 128, 30 epochs; the last epoch counts.

    Dropped or changed: the ViT's last block becomes a residual projection g; the second view is noise within
    a category (see `heads.second_view`), so the contrastive losses are left out; 30 instead of 100 epochs in
    the labelled session.

    Where a session has many known categories with a few rows each, k-means with K centroids cuts a large
    novel category into several and misses others: two new rows then start in one category. Group-wise entropy
    wants half of the rows to be novel, so known categories lose rows where fewer are.

    Where the number of novel categories is not told, it is that of the k-means clusters of all rows with the
    best silhouette, less the known categories, at least 1 and at most 60.

    Parameters
    ----------
    entropy_weights : tuple of three floats
        Between the groups, within the known group, within the novel group.
    replay_weight, feature_weight : float
    hardness_temperature, teacher_temperature : float
    learning_rate, base_learning_rate : float
        Of sessions, and of the labelled session.
    epochs, base_epochs, batch_size : int
    random_state : int or None
    device : str or None
        None takes cuda, mps or cpu, the first that is there.

    Attributes
    ----------
    weights_, projection_, view_factor_ : float32 arrays (K, d), (d, d), (d, d)
    prototypes_ : float32 array (K, d)
        Mean of each category's projected rows.
    radius_ : float
    """

    def __init__(
        self,
        *,
        entropy_weights: tuple[float, float, float] = (1.0, 1.0, 1.0),
        replay_weight: float = 1.0,
        feature_weight: float = 1.0,
        hardness_temperature: float = 0.1,
        teacher_temperature: float = 0.05,
        learning_rate: float = 0.01,
        base_learning_rate: float = 0.1,
        epochs: int = 30,
        base_epochs: int = 30,
        batch_size: int = 128,
        random_state: int | None = 0,
        device: str | None = None,
    ) -> None:
        self.entropy_weights = entropy_weights
        self.replay_weight = replay_weight
        self.feature_weight = feature_weight
        self.hardness_temperature = hardness_temperature
        self.teacher_temperature = teacher_temperature
        self.learning_rate = learning_rate
        self.base_learning_rate = base_learning_rate
        self.epochs = epochs
        self.base_epochs = base_epochs
        self.batch_size = batch_size
        self.random_state = random_state
        self.device = device

    def _fit(self, rows: Array, codes: Array, n_categories: int) -> None:
        rows = unit_rows(rows)
        self._fit_head(rows, codes, n_categories, epochs=self.base_epochs, rate=self.base_learning_rate)
        self._fit_prototypes(rows, codes, n_categories)

    def _discover(self, rows: Array, n_novel: int) -> tuple[Array, Array]:
        rows, n_known = unit_rows(rows), len(self.weights_)
        novelty = self._novelty(rows)
        self._train(rows, self._new_rows(self._project(rows), n_novel))
        codes = self._cosines(rows).argmax(1)
        self._add_prototypes(rows, codes, n_known)
        return codes, novelty

    def _estimate(self, rows: Array) -> int:
        rng, n_known = self._rng(), len(self.weights_)
        projected = self._project(unit_rows(rows))
        some = projected[np.sort(rng.permutation(len(projected))[:SILHOUETTE_ROWS])]
        most = min(n_known + SILHOUETTE_MOST, len(np.unique(some, axis=0)) - 1)
        if most <= n_known + 1:
            return int(most > n_known)
        with fewer_clusters_allowed():
            scores = silhouettes(some, max(n_known + 1, 2), most, int(rng.integers(2**31)))
        return max(scores, key=scores.__getitem__) - n_known

    def _new_rows(self, projected: Array, n_novel: int) -> Array:
        """Of the k-means centroids with K = all categories so far, those that the old head likes least."""
        n_clusters = min(len(self.weights_) + n_novel, len(projected))
        if n_novel == 0:
            return self.weights_[:0]
        seed = int(self._rng().integers(2**31))
        centroids = unit_rows(KMeans(n_clusters, n_init=1, random_state=seed).fit(projected).cluster_centers_)
        liking = (centroids @ self.weights_.T).max(1)
        return np.asarray(centroids[np.argsort(liking, kind="stable")[:n_novel]])

    def _train(self, rows: Array, fresh: Array) -> None:
        generator, n_known = seeded(self._rng()), len(self.weights_)
        weights = self._tensor(np.concatenate([self.weights_, fresh]), learn=True)
        projection = self._tensor(self.projection_, learn=True)
        before = self._tensor(self.projection_)
        data, factor = self._tensor(rows), self._tensor(self.view_factor_)
        prototypes = self._tensor(self.prototypes_)
        shares = torch.as_tensor(hardness(self.prototypes_, self.hardness_temperature))

        def loss(batch: Tensor, epoch: int) -> Tensor:
            views = torch.cat([data[batch], second_view(data[batch], factor, generator)])
            projected = project(views, projection)
            scores = logits(projected, weights)
            first, second = scores.chunk(2)
            total = self_distillation(first, second, self.teacher_temperature)
            if len(fresh):
                total = total + group_entropy(
                    scores.softmax(1).mean(0), n_known, weights=self.entropy_weights
                )
            old, codes = replay(prototypes, self.radius_, shares, len(batch), generator)
            total = total + self.replay_weight * F.cross_entropy(logits(old, weights), codes)
            moved = (projected - project(views, before)).square().sum(1).mean()
            return total + self.feature_weight * moved

        self._sgd([weights, projection], loss, len(rows), generator)
        self._keep(weights, projection)
