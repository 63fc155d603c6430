"""Grow and Merge on frozen embeddings: a branch grows on novel rows and is merged into a static one."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from vbcgcd.study.rivals.heads import (
    SoftmaxRival,
    logits,
    project,
    replay,
    second_view,
    seeded,
    unit_rows,
)

Array = NDArray[Any]

__all__ = ["GrowMergeFrozen", "distillation", "pair_threshold", "pairwise_bce"]


def pairwise_bce(first: Tensor, second: Tensor, similar: Tensor) -> Tensor:
    """Binary cross-entropy of p_i . q_j (B, K) against whether rows i and j are similar (B, B)."""
    same = (first @ second.T).clamp(1e-7, 1 - 1e-7)
    return F.binary_cross_entropy(same, similar.to(same.dtype))


def distillation(scores: Tensor, teacher: Tensor, temperature: float) -> Tensor:
    """T^2 KL(softmax(teacher / T) || softmax(scores / T)), mean over rows; both (B, K)."""
    target = (teacher / temperature).softmax(1)
    gap = F.kl_div((scores / temperature).log_softmax(1), target, reduction="batchmean")
    return temperature**2 * gap


def pair_threshold(rows: Array, codes: Array) -> float:
    """Cosine from which two rows are best called one category: largest F1 over all pairs, in hundredths."""
    upper = np.triu_indices(len(rows), 1)
    cosines = (rows @ rows.T)[upper]
    same = (codes[:, None] == codes)[upper]
    edges = np.linspace(-1, 1, 201)
    called = np.histogram(cosines, edges)[0][::-1].cumsum()[::-1]
    hits = np.histogram(cosines[same], edges)[0][::-1].cumsum()[::-1]
    return float(edges[np.argmax(2 * hits / np.maximum(1, called + same.sum()))])


class GrowMergeFrozen(SoftmaxRival):
    """Grow and Merge (Zhang et al., NeurIPS 2022, "A Unified Framework for Continuous Categories Discovery").

    Kept: a row is novel where its best cosine to a known prototype is below the 5th percentile of the
    labelled rows' own; growing trains a dynamic branch (a copy of g, new head rows from random ones) on
    novel rows with pairwise BCE and consistency between views; merging averages the branches, 0.99 of the
    static one, and trains the head by cross-entropy on replayed prototypes N(mu_c, r^2 I) and on the dynamic
    branch's pseudo-labels, with distillation of the old logits at temperature 2.

    Dropped or changed: branches are residual projections g, and the merged one keeps still while the head
    learns; the second view is noise within a category (see `heads.second_view`). Which pairs are similar is
    decided by a cosine in the static branch, with the threshold of best F1 on labelled pairs. No exemplars
    are kept. Rate, epochs and batch size are those of SimGCD's head and of the other rivals.

    The percentile decides its fate. Where categories stand well apart most novel rows fall below it; where
    they overlap, a twentieth of the labelled rows marks a cosine that most novel rows reach with some known
    category, so nearly all of them are taken for known, and growing sees a small, unusual part of the novel
    categories. That limit is the method's own and is left as published.

    Parameters
    ----------
    novel_percentile : float
    merge_momentum : float
        Share of the static branch in the merged one.
    distillation_temperature : float
    learning_rate : float
    epochs, batch_size : int
        Of the labelled session, of growing and of merging.
    random_state : int or None
    device : str or None
        None takes cuda, mps or cpu, the first that is there.

    Attributes
    ----------
    weights_, projection_, view_factor_ : float32 arrays (K, d), (d, d), (d, d)
    prototypes_ : float32 array (K, d)
        Mean of each category's projected rows.
    radius_, threshold_, pair_threshold_ : float
        Spread of replayed rows, novelty threshold, and threshold of similar pairs.
    """

    _limits = MappingProxyType({"novel_percentile": (0, 100), "merge_momentum": (0, 1)})

    def __init__(
        self,
        *,
        novel_percentile: float = 5.0,
        merge_momentum: float = 0.99,
        distillation_temperature: float = 2.0,
        learning_rate: float = 0.1,
        epochs: int = 30,
        batch_size: int = 128,
        random_state: int | None = 0,
        device: str | None = None,
    ) -> None:
        self.novel_percentile = novel_percentile
        self.merge_momentum = merge_momentum
        self.distillation_temperature = distillation_temperature
        self.learning_rate = learning_rate
        self.epochs = epochs
        self.batch_size = batch_size
        self.random_state = random_state
        self.device = device

    def _fit(self, rows: Array, codes: Array, n_categories: int) -> None:
        rows = unit_rows(rows)
        self._fit_head(rows, codes, n_categories, epochs=self.epochs, rate=self.learning_rate)
        projected = self._fit_prototypes(rows, codes, n_categories)
        own = (projected * unit_rows(self.prototypes_)[codes]).sum(1)
        self.threshold_ = float(np.percentile(own, self.novel_percentile))
        some = self._rng().permutation(len(rows))[:2000]
        self.pair_threshold_ = pair_threshold(projected[some], codes[some])

    def _discover(self, rows: Array, n_novel: int) -> tuple[Array, Array]:
        rows, n_known = unit_rows(rows), len(self.weights_)
        novelty, projected = self._novelty(rows), self._project(rows)
        best = (projected @ unit_rows(self.prototypes_).T).max(1)
        novel = np.flatnonzero(best < self.threshold_)
        if len(novel) < n_novel:
            novel = np.argsort(best, kind="stable")[:n_novel]
        generator = seeded(self._rng())
        if n_novel:
            fresh, codes = self._grow(rows[novel], projected[novel], n_novel, generator)
            self.weights_ = np.concatenate([self.weights_, fresh])
            self._merge(rows, rows[novel], n_known + codes, generator)
        codes = self._cosines(rows).argmax(1)
        self._add_prototypes(rows, codes, n_known)
        return codes, novelty

    def _grow(
        self, rows: Array, static: Array, n_novel: int, generator: torch.Generator
    ) -> tuple[Array, Array]:
        """Learn a dynamic branch on novel rows; its head's rows (J, d) and its codes (N,).

        It is averaged into the static branch at once.
        """
        weights = torch.randn((n_novel, rows.shape[1]), generator=generator).numpy()
        head = self._tensor(unit_rows(weights), learn=True)
        projection = self._tensor(self.projection_, learn=True)
        data, fixed, factor = self._tensor(rows), self._tensor(static), self._tensor(self.view_factor_)

        def loss(batch: Tensor, epoch: int) -> Tensor:
            z = data[batch]
            views = torch.cat([z, second_view(z, factor, generator)])
            first, second = logits(project(views, projection), head).softmax(1).chunk(2)
            similar = fixed[batch] @ fixed[batch].T >= self.pair_threshold_
            return pairwise_bce(first, second, similar) + (first - second).square().mean()

        self._sgd([head, projection], loss, len(rows), generator)
        with torch.no_grad():
            codes = logits(project(data, projection), head).argmax(1).cpu().numpy()
        self.projection_ = (
            self.merge_momentum * self.projection_
            + (1 - self.merge_momentum) * projection.detach().cpu().numpy()
        )
        return F.normalize(head.detach(), dim=1).cpu().numpy(), codes

    def _merge(self, rows: Array, novel: Array, codes: Array, generator: torch.Generator) -> None:
        """Teach the whole head the pseudo-labels of novel rows, replayed prototypes and its old logits."""
        weights, n_known = self._tensor(self.weights_, learn=True), len(self.prototypes_)
        before = self._tensor(self.weights_[:n_known])
        every, novel_rows = self._tensor(self._project(rows)), self._tensor(self._project(novel))
        targets = torch.as_tensor(codes, device=novel_rows.device)
        prototypes, shares = self._tensor(self.prototypes_), torch.ones(n_known)

        def loss(batch: Tensor, epoch: int) -> Tensor:
            pick = torch.randint(len(novel_rows), (len(batch),), generator=generator)
            old, old_codes = replay(prototypes, self.radius_, shares, len(batch), generator)
            learned = torch.cat([logits(novel_rows[pick], weights), logits(old, weights)])
            z = every[batch]
            distilled = distillation(
                logits(z, weights)[:, :n_known], logits(z, before), self.distillation_temperature
            )
            return F.cross_entropy(learned, torch.cat([targets[pick], old_codes])) + distilled

        self._sgd([weights], loss, len(rows), generator)
        self.weights_ = F.normalize(weights.detach(), dim=1).cpu().numpy()
