"""The code released with the VB-CGCD paper, step by step, on frozen embeddings."""

from __future__ import annotations

import warnings
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from vbcgcd.study.rivals.base import Probabilistic, Rival

Array = NDArray[Any]
TINY = 1e-12

__all__ = ["VbReleased"]


class VbReleased(Rival, Probabilistic):
    """Gaussians by maximum likelihood with Adam, a short way from N(0, I).

    Dai and Chauhan, "Continual generalized category discovery: learning and forgetting from a Bayesian
    perspective" (ICML 2025), as released, which is not quite as published. Kept: mean 0 and covariance I as
    free parameters of each category, 1,000 small steps of Adam on the log-likelihood of minibatches, through
    the Cholesky factor of an unconstrained matrix, the last good parameters where that fails; a full Gaussian
    mixture with ``n_novel`` components over all rows of a session; one pass in which rows that a known
    category explains better are dropped and the others keep their cluster; training from N(0, I) again; an
    early stop where the volume of a novel category reaches the mean volume of the known ones. Changed:
    log-determinants for float32 determinants, the crossing of the two volumes for its extra rules, no label
    of the stream anywhere, categories grow on demand. The frozen setting drops the fine-tuning of the
    backbone.

    Parameters
    ----------
    n_components : int, default=384
        Most principal components, scaled to unit variance, learned from the labelled rows.
    n_steps : int, default=1000
    batch_size : int, default=128
    learning_rate : float, default=4e-5
        Reached from a tenth of it over ``warm_up`` steps, then multiplied with ``decay`` every 500 steps.
    warm_up : int, default=100
    decay : float, default=0.85
    early_stop : bool, default=True
    log_determinant : bool, default=True
        Keep the log-determinant when categories are compared.
    batched : bool, default=True
        Train categories side by side; the result is that of one after the other.
    device : str or None, default=None
        None is "cuda" where there is one, else "cpu".
    random_state : int or None, default=0

    Attributes
    ----------
    projection_, scale_, centre_ : arrays (D, d), (D,) and (d,)
    means_ : float32 array (K, D)
    covariances_ : float32 array (K, D, D)
    steps_ : int array (K,)
        Steps that each category was trained for.
    """

    projection_: Array
    scale_: Array
    centre_: Array
    means_: Array
    covariances_: Array
    steps_: Array

    _limits = MappingProxyType({"n_steps": (0, np.inf), "warm_up": (0, np.inf), "decay": (0, 1)})

    def __init__(
        self,
        *,
        n_components: int = 384,
        n_steps: int = 1000,
        batch_size: int = 128,
        learning_rate: float = 4e-5,
        warm_up: int = 100,
        decay: float = 0.85,
        early_stop: bool = True,
        log_determinant: bool = True,
        batched: bool = True,
        device: str | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.n_components = n_components
        self.n_steps = n_steps
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.warm_up = warm_up
        self.decay = decay
        self.early_stop = early_stop
        self.log_determinant = log_determinant
        self.batched = batched
        self.device = device
        self.random_state = random_state

    def _fit(self, rows: Array, codes: Array, n_categories: int) -> None:
        pca = PCA(min(self.n_components, *rows.shape), svd_solver="full").fit(rows)
        self.centre_, self.projection_ = pca.mean_, pca.components_
        self.scale_ = np.sqrt(np.maximum(pca.explained_variance_, TINY * pca.explained_variance_[0] + TINY))
        reduced = self._reduced(rows)
        parts = [reduced[codes == k] for k in range(n_categories)]
        self.means_, self.covariances_, self.steps_ = self._train(parts, None)

    def _discover(self, rows: Array, n_novel: int) -> tuple[Array, Array | None]:
        reduced, n_known = self._reduced(rows), len(self.means_)
        known = self._scores(reduced, self.means_, self.covariances_)
        labels, novelty = known.argmax(axis=1), -known.max(axis=1)
        if n_novel == 0:
            return labels, novelty
        clusters = self._cluster(reduced, n_novel)
        volume = self._known_volume() if self.early_stop else None
        parts = [reduced[clusters == j] for j in range(n_novel)]
        means, covariances, steps = self._train(parts, volume)
        is_novel = self._scores(reduced, means, covariances).max(axis=1) > known.max(axis=1)
        labels = np.where(is_novel, n_known + clusters, labels)
        filtered = [reduced[(clusters == j) & is_novel] for j in range(n_novel)]
        # A cluster that the filter leaves without rows stays as it was before.
        filtered = [after if len(after) else before for after, before in zip(filtered, parts, strict=True)]
        means, covariances, steps = self._train(filtered, volume)
        self.means_ = np.concatenate([self.means_, means])
        self.covariances_ = np.concatenate([self.covariances_, covariances])
        self.steps_ = np.concatenate([self.steps_, steps])
        return labels, novelty

    def _predict(self, rows: Array) -> Array:
        return self._log_joint(rows).argmax(axis=1)

    def _log_joint(self, rows: Array) -> Array:
        return self._scores(self._reduced(rows), self.means_, self.covariances_)

    def _reduced(self, rows: Array) -> Array:
        return np.asarray((rows - self.centre_) @ self.projection_.T / self.scale_)

    def _cluster(self, reduced: Array, n_novel: int) -> Array:
        seed = int(self._rng().integers(2**31))
        mixture = GaussianMixture(n_novel, covariance_type="full", random_state=seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return np.asarray(mixture.fit_predict(reduced))

    def _known_volume(self) -> float:
        """Log of the mean determinant of the known covariances."""
        from vbcgcd.study.rivals.adam_gaussians import log_determinants

        volumes = log_determinants(self.covariances_)
        return float(logsumexp(volumes) - np.log(len(volumes)))

    def _train(self, parts: list[Array], volume: float | None) -> tuple[Array, Array, Array]:
        """Means, covariances and steps of categories with rows ``parts``; an empty one stays at N(0, I)."""
        from vbcgcd.study.rivals.adam_gaussians import Schedule, train_gaussians

        schedule = Schedule(self.n_steps, self.batch_size, self.learning_rate, self.warm_up, self.decay)
        seeds = self._rng().integers(2**31, size=len(parts)).tolist()
        groups = [list(range(len(parts)))] if self.batched else [[k] for k in range(len(parts))]
        trained = [
            train_gaussians(
                [parts[k] for k in group], [seeds[k] for k in group], schedule, volume, self.device
            )
            for group in groups
        ]
        means, covariances, steps = (np.concatenate(part) for part in zip(*trained, strict=True))
        return means, covariances, steps

    def _scores(self, reduced: Array, means: Array, covariances: Array) -> Array:
        from vbcgcd.study.rivals.adam_gaussians import log_densities

        return log_densities(
            reduced, means, covariances, log_determinant=self.log_determinant, device=self.device
        )
