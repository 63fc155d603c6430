"""What the trained ideas share: prototypes of novel categories beside the frozen known ones."""

from __future__ import annotations

import numpy as np
import torch

from vbcgcd.discovery.count import CountProblem
from vbcgcd.discovery.mixture import MixtureState

#: Novel rows of a start that define a prototype must weigh this much at least.
LIGHTEST = 1e-6


class Prototypes(torch.nn.Module):
    """Logits of rows: similarities to frozen known categories, and to novel prototypes that are trained."""

    def __init__(self, problem: CountProblem, start: np.ndarray) -> None:
        super().__init__()
        mixture = problem.mixture
        self.kind = mixture.geometry.kind
        self.sharpness = float(mixture.sharpness)
        weight = start / np.maximum(start.sum(axis=0), LIGHTEST)
        means = torch.tensor((weight.T @ mixture.rows).astype(np.float32))
        self.rows = torch.tensor(mixture.rows.astype(np.float32))
        self.known = torch.tensor(self.sharpness * mixture.known_similarity.astype(np.float32))
        self.means = torch.nn.Parameter(means)

    def forward(self, chosen: torch.Tensor) -> torch.Tensor:
        """Logits of known and novel categories, tensor (N, Kk + K)."""
        rows, means = self.rows[chosen], self.means
        if self.kind == "direction":
            novel = rows @ torch.nn.functional.normalize(means).T
        else:
            novel = rows @ means.T - 0.5 * (rows**2).sum(1, keepdim=True) - 0.5 * (means**2).sum(1)
        return torch.hstack([self.known[chosen], self.sharpness * novel])

    @property
    def n_known(self) -> int:
        """Number of known categories."""
        return self.known.shape[1]


def state_of(problem: CountProblem, probability: np.ndarray, n_known: int) -> MixtureState:
    """Probabilities (N, Kk + K) as the solution of a session."""
    novel = np.asarray(probability[:, n_known:], dtype=np.float32)
    return MixtureState(novel, 0.0, 0.0, float(np.clip(novel.sum(axis=1).mean(), 0.005, 0.995)))


def generator(problem: CountProblem) -> torch.Generator:
    """Random numbers of a session."""
    return torch.Generator().manual_seed(int(problem.rng.integers(2**31)))
