"""What the learned rivals share: a cosine head, a residual projection, a second view, losses and an SGD loop.

All rows are unit vectors z. The head is p = softmax(z W' / 0.1) with unit rows W; the projection is
g(z) = norm(z + z A), the identity at A = 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csr_array
from torch import Tensor
from torch.nn import functional as F

from vbcgcd.errors import InputError
from vbcgcd.study.rivals import kmeans
from vbcgcd.study.rivals.base import Probabilistic, Rival

Array = NDArray[Any]

__all__ = [
    "HEAD_TEMPERATURE",
    "HeadRival",
    "SoftmaxRival",
    "batches",
    "best_device",
    "cross_entropy",
    "entropy_gap",
    "project",
    "replay",
    "seeded",
    "self_distillation",
    "sgd",
    "unit_means",
    "unit_rows",
    "view_factor",
]

#: Temperature of the student's softmax in SimGCD and in all that follow it.
HEAD_TEMPERATURE = 0.1
#: A view's noise has this share of the standard deviation within a category.
VIEW_SHARE = 0.5


def best_device(device: str | None, *, mps: bool = True) -> torch.device:
    """The device by name, or the best one of this machine.

    Parameters
    ----------
    device : str or None
        None takes the first that is available of cuda, mps and cpu.
    mps : bool
        Whether mps may be taken; it lacks some factorisations.
    """
    if device is not None:
        try:
            return torch.empty(0, device=device).device
        except (AssertionError, RuntimeError, NotImplementedError):
            raise InputError(
                f"device must be one that torch can use on this machine, such as 'cpu', got {device!r}.",
                option="device",
            ) from None
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if mps and torch.backends.mps.is_available() else "cpu")


def seeded(rng: np.random.Generator) -> torch.Generator:
    """A torch generator seeded from one of NumPy, on the CPU so that every device sees the same numbers."""
    return torch.Generator().manual_seed(int(rng.integers(2**62)))


def unit_rows(rows: Array) -> Array:
    """Rows (N, d) of length one, float32; a row of zeros stays as it is."""
    return kmeans.unit_rows(rows).astype(np.float32)


def unit_means(rows: Array, codes: Array, n_categories: int) -> Array:
    """Mean of each category's rows, (K, d), not normalised; zeros where a category has no row."""
    counts = np.bincount(codes, minlength=n_categories)
    shares = 1 / np.maximum(counts, 1)[codes]
    each = csr_array((shares, (codes, np.arange(len(rows)))), shape=(n_categories, len(rows)))
    return np.asarray(each @ rows, dtype=np.float32)


def view_factor(rows: Array, codes: Array, means: Array) -> Array:
    """Symmetric root (d, d) of the pooled covariance within the categories, float32."""
    residuals = (rows - means[codes]).astype(np.float64)
    values, vectors = np.linalg.eigh(residuals.T @ residuals / len(rows))
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T, dtype=np.float32)


def second_view(rows: Tensor, factor: Tensor, generator: torch.Generator) -> Tensor:
    """Rows norm(z + 0.5 e) with e ~ N(0, within-category covariance), (B, d).

    Augmentations of a picture move its embedding where the pictures of one category differ, and less far
    than from one picture to the next; so does this noise: half a standard deviation in every direction
    within a category, as measured on the labelled rows.
    """
    noise = torch.randn(rows.shape, generator=generator).to(rows.device)
    return F.normalize(rows + VIEW_SHARE * noise @ factor, dim=1)


def project(rows: Tensor, projection: Tensor) -> Tensor:
    """g(z) = norm(z + z A) for rows (B, d) and A (d, d)."""
    return F.normalize(rows + rows @ projection, dim=1)


def logits(rows: Tensor, weights: Tensor) -> Tensor:
    """Cosines to the head's rows over the temperature, (B, K)."""
    return rows @ F.normalize(weights, dim=1).T / HEAD_TEMPERATURE


def cross_entropy(target: Tensor, scores: Tensor) -> Tensor:
    """Mean of -sum_k t_k log softmax(scores)_k over rows; targets (B, K) are probabilities."""
    return -(target * scores.log_softmax(1)).sum(1).mean()


def self_distillation(first: Tensor, second: Tensor, teacher_temperature: float) -> Tensor:
    """Each view learns the other's sharpened answer; (B, K) logits at the head's temperature.

    The teacher is the same head at a lower temperature, and no gradient flows through it.
    """
    sharpen = HEAD_TEMPERATURE / teacher_temperature
    targets = [(scores.detach() * sharpen).softmax(1) for scores in (first, second)]
    return (cross_entropy(targets[1], first) + cross_entropy(targets[0], second)) / 2


def entropy_gap(probabilities: Tensor) -> Tensor:
    """Distance from the uniform distribution, log C - H(p), of one distribution (C,)."""
    return math.log(len(probabilities)) + torch.xlogy(probabilities, probabilities).sum()


def batches(n_rows: int, size: int, generator: torch.Generator) -> Iterator[Tensor]:
    """Row numbers of one epoch in random order, in batches of nearly equal size close to ``size``."""
    order = torch.randperm(n_rows, generator=generator)
    yield from order.tensor_split(max(1, round(n_rows / size)))


def cosine_rate(rate: float, epoch: int, epochs: int) -> float:
    """Learning rate of an epoch: half a cosine from ``rate`` to a thousandth of it."""
    low = rate * 1e-3
    return low + (rate - low) * (1 + math.cos(math.pi * epoch / epochs)) / 2


def sgd(
    parameters: list[Tensor],
    loss: Callable[[Tensor, int], Tensor],
    n_rows: int,
    *,
    epochs: int,
    learning_rate: float,
    batch_size: int,
    generator: torch.Generator,
) -> None:
    """SGD in place with momentum 0.9, weight decay 5e-5 and a cosine schedule.

    Parameters
    ----------
    parameters : list of tensor
        Leaves that require gradients.
    loss : callable
        (row numbers of a batch, epoch) -> scalar.
    n_rows, epochs, batch_size : int
    learning_rate : float
    generator : torch.Generator
    """
    optimiser = torch.optim.SGD(parameters, lr=learning_rate, momentum=0.9, weight_decay=5e-5)
    for epoch in range(epochs):
        for group in optimiser.param_groups:
            group["lr"] = cosine_rate(learning_rate, epoch, epochs)
        for batch in batches(n_rows, batch_size, generator):
            optimiser.zero_grad()
            loss(batch, epoch).backward()  # type: ignore[no-untyped-call]
            optimiser.step()


def replay(
    prototypes: Tensor, radius: float, shares: Tensor, n_rows: int, generator: torch.Generator
) -> tuple[Tensor, Tensor]:
    """Unit rows norm(mu_c + r e), e ~ N(0, I), (n_rows, d) and their codes c, drawn by ``shares`` (K,)."""
    codes = torch.multinomial(shares, n_rows, replacement=True, generator=generator).to(prototypes.device)
    noise = torch.randn((n_rows, prototypes.shape[1]), generator=generator).to(prototypes.device)
    return F.normalize(prototypes[codes] + radius * noise, dim=1), codes


class HeadRival(Rival):
    """A rival with a cosine head over projected embeddings; row k of the head is category k for ever.

    Attributes
    ----------
    weights_ : float32 array (K, d)
        The head, unit rows.
    projection_ : float32 array (d, d)
        A of g(z) = norm(z + z A).
    view_factor_ : float32 array (d, d)
        Root of the covariance within the labelled categories, for second views.
    """

    device: str | None
    batch_size: int
    epochs: int
    learning_rate: float
    weights_: Array
    projection_: Array
    view_factor_: Array
    prototypes_: Array
    radius_: float

    def _check_options(self) -> None:
        super()._check_options()
        best_device(self.device)

    def _tensor(self, array: Array, *, learn: bool = False) -> Tensor:
        tensor = torch.tensor(array, dtype=torch.float32, device=best_device(self.device))
        return tensor.requires_grad_(learn)

    def _fit_head(self, rows: Array, codes: Array, n_categories: int, *, epochs: int, rate: float) -> None:
        """Supervised cross-entropy on both views of unit rows (N, d); the head starts at the class means."""
        generator = seeded(self._rng())
        means = unit_means(rows, codes, n_categories)
        self.view_factor_ = view_factor(rows, codes, means)
        weights = self._tensor(unit_rows(means), learn=True)
        projection = self._tensor(np.zeros_like(self.view_factor_), learn=True)
        data, factor = self._tensor(rows), self._tensor(self.view_factor_)
        targets = torch.as_tensor(codes, device=data.device)

        def loss(batch: Tensor, epoch: int) -> Tensor:
            z = data[batch]
            views = torch.cat([z, second_view(z, factor, generator)])
            return F.cross_entropy(logits(project(views, projection), weights), targets[batch].repeat(2))

        self._sgd([weights, projection], loss, len(rows), generator, epochs=epochs, rate=rate)
        self._keep(weights, projection)

    def _sgd(
        self,
        parameters: list[Tensor],
        loss: Callable[[Tensor, int], Tensor],
        n_rows: int,
        generator: torch.Generator,
        *,
        epochs: int | None = None,
        rate: float | None = None,
    ) -> None:
        sgd(
            parameters,
            loss,
            n_rows,
            epochs=self.epochs if epochs is None else epochs,
            learning_rate=self.learning_rate if rate is None else rate,
            batch_size=self.batch_size,
            generator=generator,
        )

    def _fit_prototypes(self, rows: Array, codes: Array, n_categories: int) -> Array:
        """Prototypes mu_c and radius r of projected unit rows (N, d), which are returned.

        r = sqrt(mean_c trace(Sigma_c) / d), one number for all categories, from the labelled rows.
        """
        projected = self._project(rows)
        self.prototypes_ = unit_means(projected, codes, n_categories)
        squared = ((projected - self.prototypes_[codes]) ** 2).sum(1)
        traces = np.bincount(codes, squared) / np.bincount(codes)
        self.radius_ = float(np.sqrt(traces.mean() / rows.shape[1]))
        return projected

    def _add_prototypes(self, rows: Array, codes: Array, n_known: int) -> None:
        """Prototypes of new categories: means of the rows predicted so; without rows, the head's own row."""
        means = unit_means(self._project(rows), codes, len(self.weights_))[n_known:]
        empty = np.bincount(codes, minlength=len(self.weights_))[n_known:] == 0
        means[empty] = self.weights_[n_known:][empty]
        self.prototypes_ = np.concatenate([self.prototypes_, means])

    def _keep(self, weights: Tensor, projection: Tensor) -> None:
        self.weights_ = F.normalize(weights.detach(), dim=1).cpu().numpy()
        self.projection_ = projection.detach().cpu().numpy()

    def _project(self, rows: Array) -> Array:
        """Projection g of unit rows (N, d), float32."""
        return unit_rows(rows + rows @ self.projection_)

    def _cosines(self, rows: Array) -> Array:
        """Cosine of each row's projection with each row of the head, (N, K)."""
        return np.asarray(self._project(unit_rows(rows)) @ self.weights_.T)

    def _predict(self, rows: Array) -> Array:
        return np.asarray(self._cosines(rows).argmax(1))

    def _novelty(self, rows: Array) -> Array:
        """How far each row (N, d) is from the head as it stands: before a session, from what is known."""
        return np.asarray(-self._cosines(rows).max(1))


class SoftmaxRival(HeadRival, Probabilistic):
    """A rival that trains its head as a softmax, which gives probabilities."""

    def _log_joint(self, rows: Array) -> Array:
        return self._cosines(rows) / HEAD_TEMPERATURE
