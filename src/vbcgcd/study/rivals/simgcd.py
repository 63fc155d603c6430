"""SimGCD on frozen embeddings: a growing cosine head trained by self-distillation and mean entropy."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vbcgcd.study.rivals.heads import (
    SoftmaxRival,
    entropy_gap,
    logits,
    project,
    second_view,
    seeded,
    self_distillation,
    unit_rows,
)

Array = NDArray[Any]

__all__ = ["SimGcdFrozen"]


class SimGcdFrozen(SoftmaxRival):
    """SimGCD (Wen, Zhao and Qi, ICCV 2023, "Parametric Classification for Generalized Category Discovery").

    Kept: the cosine head with unit rows, which grows by random rows; self-distillation between two views with
    a teacher that sharpens from 0.07 to 0.04; the regulariser log C - H(mean p); cross-entropy in the
    labelled session; SGD with rate 0.1, momentum 0.9, a cosine schedule and batches of 128.

    Dropped or changed: the ViT's last block becomes a residual projection g; the second view is noise within
    a category (see `heads.second_view`), so the contrastive losses, which would only separate rows from their
    own noise, are left out; 30 epochs instead of 200.

    Expect it to fail on a stream. The regulariser wants every category to be predicted equally often, so with
    N rows and K categories each novel one ends with about N / K rows, and the other rows of a large novel
    category are spread over the known ones. Nothing protects known categories either. That is the published
    loss in this setting, not the frozen embeddings: in a session whose categories are all of one size it
    works.

    Parameters
    ----------
    entropy_weight : float
        Weight of the mean-entropy regulariser, 2 to 4 in the paper.
    teacher_temperature, final_teacher_temperature : float
        The teacher's temperature in the first and in the last epoch.
    learning_rate : float
    epochs, batch_size : int
        Of the labelled session and of every other.
    random_state : int or None
    device : str or None
        None takes cuda, mps or cpu, the first that is there.

    Attributes
    ----------
    weights_, projection_, view_factor_ : float32 arrays (K, d), (d, d), (d, d)
        All that is stored between sessions.
    """

    def __init__(
        self,
        *,
        entropy_weight: float = 2.0,
        teacher_temperature: float = 0.07,
        final_teacher_temperature: float = 0.04,
        learning_rate: float = 0.1,
        epochs: int = 30,
        batch_size: int = 128,
        random_state: int | None = 0,
        device: str | None = None,
    ) -> None:
        self.entropy_weight = entropy_weight
        self.teacher_temperature = teacher_temperature
        self.final_teacher_temperature = final_teacher_temperature
        self.learning_rate = learning_rate
        self.epochs = epochs
        self.batch_size = batch_size
        self.random_state = random_state
        self.device = device

    def _fit(self, rows: Array, codes: Array, n_categories: int) -> None:
        self._fit_head(unit_rows(rows), codes, n_categories, epochs=self.epochs, rate=self.learning_rate)

    def _discover(self, rows: Array, n_novel: int) -> tuple[Array, Array]:
        rng, novelty = self._rng(), self._novelty(rows)
        generator = seeded(rng)
        fresh = unit_rows(rng.standard_normal((n_novel, rows.shape[1])))
        weights = self._tensor(np.concatenate([self.weights_, fresh]), learn=True)
        projection = self._tensor(self.projection_, learn=True)
        data, factor = self._tensor(unit_rows(rows)), self._tensor(self.view_factor_)

        def loss(batch: Tensor, epoch: int) -> Tensor:
            z = data[batch]
            first, second = (
                logits(project(view, projection), weights) for view in (z, second_view(z, factor, generator))
            )
            mean = torch.cat([first, second]).softmax(1).mean(0)
            learned = self_distillation(first, second, self._temperature(epoch))
            return learned + self.entropy_weight * entropy_gap(mean)

        self._sgd([weights, projection], loss, len(rows), generator)
        self._keep(weights, projection)
        return self._cosines(rows).argmax(1), novelty

    def _temperature(self, epoch: int) -> float:
        """The teacher's temperature falls linearly over the epochs."""
        share = epoch / max(1, self.epochs - 1)
        return self.teacher_temperature + share * (self.final_teacher_temperature - self.teacher_temperature)
