"""MetaGCD on frozen embeddings: a meta-learned projection, and centroids."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vbcgcd.study.rivals.heads import (
    HeadRival,
    batches,
    cosine_rate,
    project,
    second_view,
    seeded,
    unit_means,
    unit_rows,
    view_factor,
)
from vbcgcd.study.rivals.kmeans import pinned_kmeans

Array = NDArray[Any]

__all__ = ["MetaGcdFrozen", "contrastive", "neighbour_targets"]


def contrastive(features: Tensor, targets: Tensor, temperature: float) -> Tensor:
    """Mean of -sum_j t_ij log softmax_{j != i}(f_i . f_j / T) over rows that have a target.

    Parameters
    ----------
    features : tensor (B, d)
        Unit rows.
    targets : tensor (B, B)
        Weights of the positives of each row, zero on the diagonal; each row is divided by its sum.
    temperature : float
    """
    itself = torch.eye(len(features), dtype=torch.bool, device=features.device)
    scores = (features @ features.T / temperature).masked_fill(itself, -1e9).log_softmax(1)
    totals = targets.sum(1)
    has = totals > 0
    per_row = -(targets * scores.masked_fill(itself, 0)).sum(1) / totals.clamp_min(1e-12)
    return (per_row * has).sum() / has.sum().clamp_min(1)


def neighbour_targets(features: Tensor, threshold: float, temperature: float) -> Tensor:
    """Soft neighbours of two stacked views (2B, d): softmax of similarity over those at or above a threshold.

    A row is no neighbour of itself or of its own other view. Rows without neighbours are zero; (2B, 2B).
    """
    cosines = features.detach() @ features.detach().T
    half = torch.eye(len(features) // 2, dtype=torch.bool, device=features.device)
    near = (cosines >= threshold) & ~half.repeat(2, 2)
    weights = (cosines / temperature).masked_fill(~near, -torch.inf).softmax(1)
    return weights.nan_to_num(0)


class MetaGcdFrozen(HeadRival):
    """MetaGCD (Wu, Chi, Wang and Feng, ICCV 2023, "MetaGCD: Learning to Continually Learn in GCD").

    Kept: first-order meta-learning over 20 pseudo-sessions made from the labelled categories; the inner loss,
    half soft-neighbourhood contrastive (similarity at least 0.85, softmax weights, temperature 0.07) and half
    InfoNCE; the outer loss, supervised contrastive; centroids learned on the stream.

    Dropped or changed: the ViT's last block becomes a residual projection g; the second view is noise within
    a category (see `heads.second_view`); neighbours are looked for in the batch; both rates are 0.1. A
    session adapts g by one pass of the inner loss, then runs k-means with the known centroids pinned;
    centroids are stored before g and projected again, so they follow it. The neighbours' 0.85 fits only
    because the outer loss draws categories together: among raw image embeddings hardly any two rows are so
    near.

    Frozen embeddings leave little of the meta-learning: on labelled text embeddings an inner step was seen to
    turn a row by a fifth of a degree, so that what is learned is in effect supervised contrastive. K-means
    with pinned centroids in that space stays below class means with plain k-means over all rows, on texts and
    on pictures.

    Parameters
    ----------
    neighbour_similarity, neighbour_weight : float
        Cosine from which rows are neighbours, and the share of their loss; the rest is InfoNCE.
    temperature : float
    n_pseudo_sessions : int
    inner_steps : int
        Steps of the inner loss before each outer one.
    inner_learning_rate, learning_rate : float
        Of the inner and of the outer loss.
    batch_size : int
    random_state : int or None
    device : str or None
        None takes cuda, mps or cpu, the first that is there.

    Attributes
    ----------
    means_ : float32 array (K, d)
        Mean embedding of each category, before the projection.
    weights_, projection_, view_factor_ : float32 arrays (K, d), (d, d), (d, d)
    """

    _limits = MappingProxyType({"neighbour_similarity": (0, 1), "neighbour_weight": (0, 1)})

    def __init__(
        self,
        *,
        neighbour_similarity: float = 0.85,
        neighbour_weight: float = 0.5,
        temperature: float = 0.07,
        n_pseudo_sessions: int = 20,
        inner_steps: int = 3,
        inner_learning_rate: float = 0.1,
        learning_rate: float = 0.1,
        batch_size: int = 128,
        random_state: int | None = 0,
        device: str | None = None,
    ) -> None:
        self.neighbour_similarity = neighbour_similarity
        self.neighbour_weight = neighbour_weight
        self.temperature = temperature
        self.n_pseudo_sessions = n_pseudo_sessions
        self.inner_steps = inner_steps
        self.inner_learning_rate = inner_learning_rate
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.random_state = random_state
        self.device = device

    def _fit(self, rows: Array, codes: Array, n_categories: int) -> None:
        rows, rng = unit_rows(rows), self._rng()
        self.means_ = unit_means(rows, codes, n_categories)
        self.view_factor_ = view_factor(rows, codes, self.means_)
        generator = seeded(rng)
        projection = self._tensor(np.zeros_like(self.view_factor_), learn=True)
        optimiser = torch.optim.SGD([projection], lr=self.learning_rate, momentum=0.9, weight_decay=5e-5)
        data, targets = self._tensor(rows), torch.as_tensor(codes)
        for episode in range(self.n_pseudo_sessions):
            for group in optimiser.param_groups:
                group["lr"] = cosine_rate(self.learning_rate, episode, self.n_pseudo_sessions)
            stream, labelled = (torch.as_tensor(r) for r in _pseudo_session(codes, n_categories, rng))
            for batch in batches(len(labelled), self.batch_size, generator):
                adapted = projection.detach().clone().requires_grad_(True)
                for _ in range(self.inner_steps):
                    some = stream[torch.randperm(len(stream), generator=generator)[: self.batch_size]]
                    adapted = self._inner_step(adapted, data[some], generator)
                rows_of = labelled[batch]
                loss = self._outer_loss(adapted, data[rows_of], targets[rows_of], generator)
                # First order: the gradient at the adapted projection is applied to the one before.
                projection.grad = torch.autograd.grad(loss, adapted)[0]
                optimiser.step()
        self.projection_ = projection.detach().cpu().numpy()
        self._set_head()

    def _inner_step(self, projection: Tensor, rows: Tensor, generator: torch.Generator) -> Tensor:
        gradient = torch.autograd.grad(self._inner_loss(projection, rows, generator), projection)[0]
        return (projection.detach() - self.inner_learning_rate * gradient).requires_grad_(True)

    def _views(self, projection: Tensor, rows: Tensor, generator: torch.Generator) -> Tensor:
        factor = self._tensor(self.view_factor_)
        return project(torch.cat([rows, second_view(rows, factor, generator)]), projection)

    def _inner_loss(self, projection: Tensor, rows: Tensor, generator: torch.Generator) -> Tensor:
        features = self._views(projection, rows, generator)
        partner = torch.eye(len(features), device=features.device).roll(len(rows), 0)
        near = neighbour_targets(features, self.neighbour_similarity, self.temperature)
        return self.neighbour_weight * contrastive(features, near, self.temperature) + (
            1 - self.neighbour_weight
        ) * contrastive(features, partner, self.temperature)

    def _outer_loss(
        self, projection: Tensor, rows: Tensor, codes: Tensor, generator: torch.Generator
    ) -> Tensor:
        features = self._views(projection, rows, generator)
        twice = codes.repeat(2).to(features.device)
        same = (twice[:, None] == twice).float().fill_diagonal_(0)
        return contrastive(features, same, self.temperature)

    def _discover(self, rows: Array, n_novel: int) -> tuple[Array, Array]:
        rows, rng, n_known = unit_rows(rows), self._rng(), len(self.means_)
        generator, novelty = seeded(rng), self._novelty(rows)
        data, projection = self._tensor(rows), self._tensor(self.projection_, learn=True)
        for batch in batches(len(rows), self.batch_size, generator):
            projection = self._inner_step(projection, data[batch], generator)
        self.projection_ = projection.detach().cpu().numpy()
        self._set_head()
        codes = pinned_kmeans(
            self._project(rows),
            self.weights_,
            n_novel,
            rng=rng,
            n_restarts=10,
            max_iterations=100,
            tolerance=1e-10,
            spherical=True,
        ).labels
        means = unit_means(rows, codes, n_known + n_novel)[n_known:]
        self.means_ = np.concatenate([self.means_, means])
        self._set_head()
        return codes, novelty

    def _set_head(self) -> None:
        """Project the centroids, which are stored before the projection and so follow it as it moves."""
        self.weights_ = self._project(self.means_)


def _pseudo_session(codes: Array, n_categories: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Rows of a rehearsed stream, and all labelled rows of its categories.

    Half of the categories play the known ones, a fifth the novel ones. The stream has every row of the novel
    categories and one in sixteen of the known ones, as in the plans of the papers.
    """
    order = rng.permutation(n_categories)
    half, fifth = max(1, n_categories // 2), max(1, n_categories // 5)
    known, novel = np.isin(codes, order[:half]), np.isin(codes, order[half : half + fifth])
    stream = novel | (known & (rng.random(len(codes)) < 1 / 16))
    return np.flatnonzero(stream), np.flatnonzero(known | novel)
