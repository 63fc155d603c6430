"""PromptCCD on frozen embeddings: a Gaussian mixture as a pool of prompts."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.metrics.pairwise import euclidean_distances

from vbcgcd.study.rivals.base import Probabilistic, Rival
from vbcgcd.study.rivals.kmeans import pinned_kmeans, unit_rows
from vbcgcd.study.rivals.spherical import (
    SphericalMixture,
    em,
    estimated,
    log_joint,
    responsibilities,
    sample,
)
from vbcgcd.study.rivals.split_merge import NiwPrior, split_and_merge

Array = NDArray[Any]

__all__ = ["PromptCcdFrozen"]


class PromptCcdFrozen(Rival, Probabilistic):
    """A Gaussian mixture over the embeddings whose component means prompt the embedding itself.

    Cendra, Zhao and Han, "PromptCCD: Learning Gaussian mixture prompt pool for continual category discovery"
    (ECCV 2024). Kept: a mixture with as many components as categories so far, refitted in each session on
    the stream and on samples of the mixture before; the best ``top_k`` components prompt a row; training by
    supervised and self-supervised contrast in the base session (0.35 and 0.65) and by self-supervised
    contrast alone later, with the published optimiser; split and merge where the number is not known. The
    original prepends the means as tokens and trains the last block of a ViT. Here the prompt is a residual,

        f = norm(z + A sum_c r_c m_c),

    with responsibilities r and a matrix A that starts at zero. For want of pictures a view is
    norm(z + noise), the noise being half of that within a category, and both views of a row have its prompt.
    The original then clusters f; here a second mixture over f, started from the first, classifies, so that
    ids are stable: components start where they were and are matched to those before.

    On frozen embeddings the prompt hardly matters: on CLINC150 an untrained one (``epochs=0``) is as
    accurate. What is judged is the mixture, whose spherical components are fitted to the stream and to few
    samples of themselves; with 500 samples each instead of 100 it gains two points and is still below class
    means with plain k-means.

    Parameters
    ----------
    top_k : int, default=5
    n_samples : int, default=100
        Drawn from each component of the mixture before.
    epochs : int, default=20
        The original trains a transformer block for 100; a matrix is there after a few.
    batch_size : int, default=128
    learning_rate : float, default=0.1
    supervised_weight : float, default=0.35
        In the base session; 0 later.
    temperature : float, default=1.0
        Of the self-supervised contrast.
    supervised_temperature : float, default=0.07
    n_restarts : int, default=100
        Of the k-means that starts new components.
    kappa, scale, alpha : float, default=1e-4, 0.005, 1.0
        Prior of split and merge; its degrees of freedom are d + 1.
    n_start : int, default=5
        New clusters at the start of split and merge.
    random_state : int or None, default=0

    Attributes
    ----------
    prompt_ : array (d, d)
        The matrix A.
    view_factor_ : array (d, d)
        Root of the covariance within the labelled categories, for views.
    pool_ : SphericalMixture
        Over unit embeddings.
    mixture_ : SphericalMixture
        Over prompted embeddings; it classifies.
    """

    prompt_: Array
    view_factor_: Array
    pool_: SphericalMixture
    mixture_: SphericalMixture

    _limits = MappingProxyType({"supervised_weight": (0, 1), "epochs": (0, np.inf)})

    def __init__(
        self,
        *,
        top_k: int = 5,
        n_samples: int = 100,
        epochs: int = 20,
        batch_size: int = 128,
        learning_rate: float = 0.1,
        supervised_weight: float = 0.35,
        temperature: float = 1.0,
        supervised_temperature: float = 0.07,
        n_restarts: int = 100,
        kappa: float = 1e-4,
        scale: float = 0.005,
        alpha: float = 1.0,
        n_start: int = 5,
        random_state: int | None = 0,
    ) -> None:
        self.top_k = top_k
        self.n_samples = n_samples
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.supervised_weight = supervised_weight
        self.temperature = temperature
        self.supervised_temperature = supervised_temperature
        self.n_restarts = n_restarts
        self.kappa = kappa
        self.scale = scale
        self.alpha = alpha
        self.n_start = n_start
        self.random_state = random_state

    def _fit(self, rows: Array, codes: Array, n_categories: int) -> None:
        unit, members = unit_rows(rows), np.eye(n_categories)[codes]
        self.pool_ = estimated(unit, members)
        self.prompt_ = np.zeros((rows.shape[1], rows.shape[1]))
        self.view_factor_ = _root_within(unit - self.pool_.means[codes])
        self._tune(unit, codes, self._rng())
        self.mixture_ = estimated(self._prompted(unit), members)

    def _discover(self, rows: Array, n_novel: int) -> tuple[Array, Array | None]:
        rng, unit = self._rng(), unit_rows(rows)
        novelty = -log_joint(self._prompted(unit), self.mixture_).max(axis=1)
        replayed, origin = sample(self.pool_, self.n_samples, rng)
        replayed, n_known = unit_rows(replayed), len(self.pool_.weights)
        every = np.vstack([unit, replayed])
        clusters = pinned_kmeans(unit, self.pool_.means, n_novel, rng=rng, n_restarts=self.n_restarts)
        start = np.eye(n_known + n_novel)[np.concatenate([clusters.labels, origin])]
        self.pool_ = _matched(
            em(every, _started(every, start, clusters.centroids, self.pool_))[0], self.pool_
        )
        self._tune(unit, None, rng)
        prompted = self._prompted(every)
        members = responsibilities(every, self.pool_)
        members[len(unit) :] = np.eye(n_known + n_novel)[origin]
        self.mixture_ = em(prompted, estimated(prompted, members))[0]
        return log_joint(prompted[: len(unit)], self.mixture_).argmax(axis=1), novelty

    def _predict(self, rows: Array) -> Array:
        return self._log_joint(rows).argmax(axis=1)

    def _log_joint(self, rows: Array) -> Array:
        return log_joint(self._prompted(unit_rows(rows)), self.mixture_)

    def _estimate(self, rows: Array) -> int:
        unit = unit_rows(rows)
        prior = NiwPrior(unit.mean(axis=0), self.kappa, unit.shape[1] + 1, self.scale)
        clusters = split_and_merge(
            unit, self.pool_.means, prior, rng=self._rng(), n_start=self.n_start, alpha=self.alpha
        )
        return len(clusters.centroids)

    def _prompts(self, unit: Array) -> Array:
        """Responsibility-weighted means of the best components of each row, array (N, d)."""
        weight = responsibilities(unit, self.pool_)
        if weight.shape[1] > self.top_k:
            least = np.argpartition(weight, -self.top_k, axis=1)[:, : -self.top_k]
            np.put_along_axis(weight, least, 0.0, axis=1)
        return np.asarray(weight @ self.pool_.means / weight.sum(axis=1, keepdims=True))

    def _prompted(self, unit: Array) -> Array:
        return unit_rows(unit + self._prompts(unit) @ self.prompt_.T)

    def _tune(self, unit: Array, codes: Array | None, rng: np.random.Generator) -> None:
        """Train A by contrast on unit rows (N, d), with labels where there are any."""
        import torch
        from torch.nn.functional import normalize

        from vbcgcd.study.rivals.heads import second_view, seeded, sgd

        if self.epochs == 0:
            return
        generator = seeded(rng)
        z, prompts = (torch.tensor(part, dtype=torch.float32) for part in (unit, self._prompts(unit)))
        factor = torch.tensor(self.view_factor_, dtype=torch.float32)
        a = torch.tensor(self.prompt_, dtype=torch.float32, requires_grad=True)
        labels = None if codes is None else torch.from_numpy(codes)

        def loss(batch: Any, epoch: int) -> Any:
            views = [second_view(z[batch], factor, generator) for _ in range(2)]
            residual = prompts[batch] @ a.T
            f = torch.cat([normalize(view + residual, dim=1) for view in views])
            return self._loss(f, None if labels is None else labels[batch])

        sgd(
            [a],
            loss,
            len(unit),
            epochs=self.epochs,
            learning_rate=self.learning_rate,
            batch_size=self.batch_size,
            generator=generator,
        )
        self.prompt_ = a.detach().numpy().astype(np.float64)

    def _loss(self, f: Any, labels: Any) -> Any:
        import torch

        row = torch.arange(len(f) // 2).repeat(2)
        loss = _contrast(f, row, self.temperature)
        if labels is None:
            return loss
        supervised = _contrast(f, labels.repeat(2), self.supervised_temperature)
        return (1 - self.supervised_weight) * loss + self.supervised_weight * supervised


def _root_within(residuals: Array) -> Array:
    """Symmetric root (d, d) of the covariance of residuals (N, d)."""
    values, vectors = np.linalg.eigh(residuals.T @ residuals / len(residuals))
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T)


def _contrast(f: Any, groups: Any, temperature: float) -> Any:
    """Supervised contrastive loss: mean over rows of -log-probability of the others of their group.

    Where each group is the two views of a row this is InfoNCE.
    """
    import torch

    self_pairs = torch.eye(len(f), dtype=torch.bool)
    logits = (f @ f.T / temperature).masked_fill(self_pairs, -1e9)
    positive = (groups[:, None] == groups) & ~self_pairs
    log_probability = logits - logits.logsumexp(dim=1, keepdim=True)
    return -((log_probability * positive).sum(dim=1) / positive.sum(dim=1)).mean()


def _started(every: Array, members: Array, new_means: Array, before: SphericalMixture) -> SphericalMixture:
    """Components of known categories as they were, new ones at their k-means centroids."""
    fresh = estimated(every, members)
    n_known = len(before.weights)
    has_rows = fresh.weights[n_known:, None] > 0
    means = np.vstack([before.means, np.where(has_rows, fresh.means[n_known:], new_means)])
    usual = float(np.median(before.variances))
    variances = np.where(has_rows[:, 0], np.maximum(fresh.variances[n_known:], 0.5 * usual), usual)
    return SphericalMixture(fresh.weights, means, np.concatenate([before.variances, variances]))


def _matched(mixture: SphericalMixture, before: SphericalMixture) -> SphericalMixture:
    """Components in an order in which those nearest to the ones before come first, one to one."""
    known = linear_sum_assignment(euclidean_distances(before.means, mixture.means))[1]
    order = np.concatenate([known, np.setdiff1d(np.arange(len(mixture.weights)), known)])
    return SphericalMixture(*(part[order] for part in mixture))
