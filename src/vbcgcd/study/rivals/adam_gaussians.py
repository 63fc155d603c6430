"""Gaussians trained by Adam from N(0, I), many side by side. Imports torch."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vbcgcd.study.rivals.heads import best_device

Array = NDArray[Any]
#: Adam's settings, torch's defaults.
BETAS, EPSILON = (0.9, 0.999), 1e-8

__all__ = ["Schedule", "likelihood_gradient", "log_densities", "log_determinants", "train_gaussians"]


@dataclass(frozen=True)
class Schedule:
    """Steps, rows of a minibatch, and the learning rate: warm-up from a tenth, then decay every 500 steps."""

    n_steps: int = 1000
    batch_size: int = 128
    learning_rate: float = 4e-5
    warm_up: int = 100
    decay: float = 0.85

    def rate(self, step: int) -> float:
        """Learning rate of a step, the first being 0."""
        if step < self.warm_up:
            return self.learning_rate * (0.1 + 0.9 * step / self.warm_up)
        return float(self.learning_rate * self.decay ** ((step - self.warm_up) // 500))


def likelihood_gradient(rows: Tensor, weight: Tensor, mean: Tensor, factor: Tensor) -> tuple[Tensor, Tensor]:
    """Gradient of the weighted mean of -log N(z; mean, S), for many Gaussians at once.

    With P = S^-1 and the rows r = z - mean: -P mean(r), and (P - P mean(r r^T) P) / 2, which is what
    differentiation through the Cholesky factor of a symmetric S arrives at, in fewer operations.

    Parameters
    ----------
    rows : tensor (K, B, D)
    weight : tensor (K, B)
        Sums to one over the rows.
    mean : tensor (K, D)
    factor : tensor (K, D, D)
        Lower Cholesky factor of S.
    """
    precision = torch.cholesky_inverse(factor)
    solved = (rows - mean[:, None]) @ precision
    weighted = solved * weight[..., None]
    return -weighted.sum(dim=1), 0.5 * (precision - weighted.mT @ solved)


def train_gaussians(
    parts: list[Array],
    seeds: list[int],
    schedule: Schedule,
    volume: float | None = None,
    device: str | None = None,
) -> tuple[Array, Array, Array]:
    """Adam on the minibatch log-likelihood of each part, from mean 0 and covariance I.

    A Gaussian ends its training where its matrix is no longer positive definite, with the parameters before,
    and where its log-determinant crosses ``volume``. One without rows stays where it starts.

    Parameters
    ----------
    parts : list of K arrays (n_k, D)
    seeds : list of K int
        Each part draws minibatches of its own, so that it does not matter which are trained together.
    schedule : Schedule
    volume : float, optional
        Log-determinant at which to stop.
    device : str, optional
        "cuda" where there is one, else "cpu".

    Returns
    -------
    means (K, D), covariances (K, D, D), steps (K,)
    """
    where, n_parts = best_device(device, mps=False), len(parts)
    data = [torch.as_tensor(part, dtype=torch.float32, device=where) for part in parts]
    draws = [
        _Minibatches(len(part), schedule.batch_size, seed) for part, seed in zip(parts, seeds, strict=True)
    ]
    gaussians = _Gaussians(n_parts, parts[0].shape[1], where)
    steps = np.zeros(n_parts, dtype=np.int64)
    active = torch.tensor([k for k in range(n_parts) if len(parts[k])], dtype=torch.int64, device=where)
    for step in range(schedule.n_steps):
        if len(active) == 0:
            break
        rows, weight = _stacked([data[k][draws[k].next().to(where)] for k in active.tolist()])
        active = active[gaussians.step(rows, weight, active, schedule.rate(step), step + 1)]
        steps[active.cpu().numpy()] = step + 1
        if volume is not None:
            active = active[~_crossed(gaussians.factor[active], volume)]
    return gaussians.mean.cpu().numpy(), gaussians.matrix.cpu().numpy(), steps


class _Gaussians:
    """Means, covariances with their Cholesky factors, and Adam's moments of both."""

    def __init__(self, n_parts: int, dim: int, device: torch.device) -> None:
        self.mean = torch.zeros(n_parts, dim, device=device)
        self.matrix = torch.eye(dim, device=device).repeat(n_parts, 1, 1)
        self.factor = self.matrix.clone()
        self.mean_moments = torch.zeros_like(self.mean), torch.zeros_like(self.mean)
        self.matrix_moments = torch.zeros_like(self.matrix), torch.zeros_like(self.matrix)

    def step(self, rows: Tensor, weight: Tensor, active: Tensor, rate: float, count: int) -> Tensor:
        """One step of the active Gaussians; returns which stayed positive definite. Others do not move."""
        chosen = slice(None) if len(active) == len(self.mean) else active  # a slice copies nothing
        by_mean, by_matrix = likelihood_gradient(rows, weight, self.mean[chosen], self.factor[chosen])
        mean = _adam(self.mean, by_mean, self.mean_moments, chosen, rate, count)
        matrix = _adam(self.matrix, by_matrix, self.matrix_moments, chosen, rate, count)
        factor, info = torch.linalg.cholesky_ex(matrix)
        fine = (info == 0) & torch.isfinite(factor).flatten(1).all(dim=1)
        if isinstance(chosen, slice) and bool(fine.all()):
            self.mean, self.matrix, self.factor = mean, matrix, factor
        else:
            alive = active[fine]
            self.mean[alive], self.matrix[alive], self.factor[alive] = mean[fine], matrix[fine], factor[fine]
        return fine


def log_determinants(covariances: Array) -> Array:
    """Log-determinant of each covariance (K, D, D), array (K,)."""
    factors = torch.linalg.cholesky(torch.as_tensor(covariances, dtype=torch.float64))
    return np.asarray(_log_det(factors).numpy())


def log_densities(
    rows: Array,
    means: Array,
    covariances: Array,
    *,
    log_determinant: bool = True,
    device: str | None = None,
) -> Array:
    """Log-density of rows (N, D) under each Gaussian, up to a constant, array (N, K)."""
    where = best_device(device, mps=False)
    z = torch.as_tensor(rows, dtype=torch.float32, device=where)
    scores = torch.empty(len(rows), len(means), device=where)
    for k in range(len(means)):
        factor = torch.linalg.cholesky(torch.as_tensor(covariances[k], device=where))
        centred = (z - torch.as_tensor(means[k], device=where)).T
        white = torch.linalg.solve_triangular(factor, centred, upper=False)
        scores[:, k] = -0.5 * (white**2).sum(dim=0)
        if log_determinant:
            scores[:, k] -= 0.5 * _log_det(factor)
    return np.asarray(scores.cpu().numpy().astype(np.float64))


class _Minibatches:
    """Row numbers, pass after shuffled pass; a pass ends where less than a minibatch is left."""

    def __init__(self, n_rows: int, size: int, seed: int) -> None:
        self.n_rows, self.size = n_rows, min(size, n_rows)
        self.rng = np.random.default_rng(seed)
        self.order, self.first = np.arange(n_rows), 0
        self.fresh = False

    def next(self) -> Tensor:
        if self.size == self.n_rows:
            return torch.arange(self.n_rows)
        if not self.fresh or self.first + self.size > self.n_rows:
            self.order, self.first, self.fresh = self.rng.permutation(self.n_rows), 0, True
        batch = self.order[self.first : self.first + self.size]
        self.first += self.size
        return torch.from_numpy(batch)


def _stacked(batches: list[Tensor]) -> tuple[Tensor, Tensor]:
    """Minibatches of any sizes as one tensor (K, B, D), and weights (K, B) that leave out the filling."""
    size = max(map(len, batches))
    if all(len(batch) == size for batch in batches):
        rows = torch.stack(batches)
        return rows, rows.new_full(rows.shape[:2], 1 / size)
    rows = batches[0].new_zeros(len(batches), size, batches[0].shape[1])
    weight = rows.new_zeros(rows.shape[:2])
    for k, batch in enumerate(batches):
        rows[k, : len(batch)], weight[k, : len(batch)] = batch, 1 / len(batch)
    return rows, weight


def _adam(
    parameter: Tensor,
    gradient: Tensor,
    moments: tuple[Tensor, Tensor],
    chosen: slice | Tensor,
    rate: float,
    count: int,
) -> Tensor:
    """The parameters of the chosen Gaussians after one step of Adam; their moments change in place."""
    beta1, beta2 = BETAS
    first, second = moments
    m = torch.lerp(first[chosen], gradient, 1 - beta1)
    v = (second[chosen] * beta2).addcmul_(gradient, gradient, value=1 - beta2)
    first[chosen], second[chosen] = m, v
    spread = (v / (1 - beta2**count)).sqrt_().add_(EPSILON)
    return torch.addcdiv(parameter[chosen], m, spread, value=-rate / (1 - beta1**count))


def _crossed(factor: Tensor, volume: float) -> Tensor:
    """Whether each log-determinant has come from 0, that of I, to ``volume`` or past it."""
    log_det = _log_det(factor)
    return log_det <= volume if volume < 0 else log_det >= volume


def _log_det(factor: Tensor) -> Tensor:
    return 2 * torch.diagonal(factor, dim1=-2, dim2=-1).log().sum(dim=-1)
