"""`CategoryDiscoverer`: learn labelled categories, then classify. It only wires the rooms below."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from vbcgcd.bayes import (
    Classifier,
    Posterior,
    Prior,
    Statistics,
    choose_strength,
    log_normalise,
    posterior_from_parts,
    posterior_of,
    run_svi,
)
from vbcgcd.bayes.calibration import LeftOut, calibrate_strength
from vbcgcd.bayes.linalg import packed_size
from vbcgcd.bayes.statistics import iter_label_statistics
from vbcgcd.discovery.reduce import fit_reducer
from vbcgcd.errors import InputError, NotFittedError
from vbcgcd.validation import check_choice, check_labels, check_rows

Array = NDArray[Any]
#: Rows reduced at a time while statistics are gathered.
BLOCK_ROWS = 8192
#: Labelled categories and rows on which the prior is calibrated: one number needs no more.
CALIBRATION_CATEGORIES = 32
CALIBRATION_ROWS = 1500
#: Statistics are kept between the two steps of `fit` up to this size, and gathered twice beyond it.
HELD_BYTES = 64 * 2**20

__all__ = ["CategoryDiscoverer"]


class CategoryDiscoverer(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Gaussian categories with a calibrated Bayesian prior: learn labelled ones, classify.

    Parameters
    ----------
    n_components : int or None, default=384
        Most dimensions of the reduced embedding; None keeps every direction that varies.
    whiten : bool, default=True
        Whiten by the pooled within-category covariance of the labelled rows. False gives plain principal
        components, as in the paper.
    normalise : bool or "auto", default="auto"
        Scale embeddings to unit length first. "auto" leaves out labelled rows and keeps what predicts them
        better.
    whiten_shrinkage : float or "auto", default="auto"
        Weight of the mean variance in the whitening covariance; "auto" decides likewise.
    prior_strength : float, "auto" or "evidence", default="auto"
        Degrees of freedom of the prior covariance: how many rows it is worth. "auto" decides likewise for
        full covariances; "evidence" maximises the evidence of the labelled categories, which "auto" does
        for the other structures.
    mean_precision_prior : float, default=0.01
        How many rows the prior mean is worth.
    covariance : {"full", "diagonal", "shared"}, default="full"
    inference : {"exact", "svi"}, default="exact"
        Exact posterior, or stochastic variational inference.
    predictive : {"plugin", "student"}, default="plugin"
        Gaussian with the plug-in covariance, or the Student-t predictive.
    metric : {"mahalanobis", "euclidean"}, default="mahalanobis"
    log_determinant : bool, default=True
        Keep the log-determinant in the classifier.
    dtype : {"float32", "float64"}, default="float32"
        Storage of the posteriors and arithmetic of the classifier.
    random_state : int or None, default=0

    Attributes
    ----------
    classes_ : array (K,)
        Labels of the categories, in the order in which they were learned.
    reducer_ : Reducer
        The frozen projection.
    prior_ : Prior
    temperature_ : float
        Probabilities are softmax(temperature log-density): densities in many dimensions are too sure of
        themselves, and leaving out labelled rows tells by how much.
    posterior_ : Posterior
        Of all categories, in the order of ``classes_``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from vbcgcd import CategoryDiscoverer
    >>> X, y = load_iris(return_X_y=True)
    >>> model = CategoryDiscoverer().fit(X, y)
    >>> print(round(model.score(X, y), 2))
    0.98
    """

    def __init__(
        self,
        *,
        n_components: int | None = 384,
        whiten: bool = True,
        normalise: bool | str = "auto",
        whiten_shrinkage: float | str = "auto",
        prior_strength: float | str = "auto",
        mean_precision_prior: float = 0.01,
        covariance: str = "full",
        inference: str = "exact",
        predictive: str = "plugin",
        metric: str = "mahalanobis",
        log_determinant: bool = True,
        dtype: str = "float32",
        random_state: int | None = 0,
    ) -> None:
        self.n_components = n_components
        self.whiten = whiten
        self.normalise = normalise
        self.whiten_shrinkage = whiten_shrinkage
        self.prior_strength = prior_strength
        self.mean_precision_prior = mean_precision_prior
        self.covariance = covariance
        self.inference = inference
        self.predictive = predictive
        self.metric = metric
        self.log_determinant = log_determinant
        self.dtype = dtype
        self.random_state = random_state

    def fit(self, X: Any, y: Any) -> CategoryDiscoverer:
        """Learn the labelled categories: the base session.

        Parameters
        ----------
        X : array-like (N, d)
        y : array-like (N,)
            Labels of any kind: strings, integers, with gaps.

        Returns
        -------
        CategoryDiscoverer
            This object.
        """
        self._check_options()
        rows = check_rows(self, X, reset=True)
        classes, codes = np.unique(check_labels(y, len(rows)), return_inverse=True)
        self.reducer_ = fit_reducer(
            rows,
            codes,
            n_components=self.n_components,
            whiten=self.whiten,
            normalise=self.normalise,
            shrinkage=self.whiten_shrinkage,
            random_state=self.random_state,
        )
        statistics = self._held_statistics(rows, codes)
        self.prior_, self.temperature_ = self._calibrated_prior(rows, codes, statistics)
        self.posterior_ = self._fit_posterior(rows, codes, statistics)
        self.classes_ = classes
        return self

    def predict(self, X: Any) -> Array:
        """Most probable category of each row, array (N,)."""
        reduced = self._reduced(X)
        return np.asarray(self.classes_[self._classifier().predict(reduced, self.posterior_)])

    def predict_log_proba(self, X: Any) -> Array:
        """Log-probability of each category, array (N, K): calibrated, with equal prior weights."""
        log_density = self._log_density(X)
        return log_normalise(self.temperature_ * log_density)

    def predict_proba(self, X: Any) -> Array:
        """Probability of each category, array (N, K)."""
        return np.exp(self.predict_log_proba(X))

    def score_samples(self, X: Any) -> Array:
        """Log-density of each row under the equal mixture of all categories (reduced space), array (N,)."""
        density = self._log_density(X)
        return np.asarray(np.logaddexp.reduce(density, axis=1) - np.log(density.shape[1]))

    def _log_density(self, X: Any) -> Array:
        reduced = self._reduced(X)
        return self._classifier().log_density(reduced, self.posterior_)

    def _reduced(self, X: Any) -> Array:
        if not hasattr(self, "posterior_"):
            raise NotFittedError(
                f"This {type(self).__name__} is not fitted yet; call fit(X, y) with labelled rows first."
            )
        return self.reducer_.transform(check_rows(self, X), dtype=self.dtype)

    def _classifier(self) -> Classifier:
        return Classifier(self.metric, self.predictive, self.log_determinant, np.dtype(self.dtype))  # type: ignore[arg-type]

    def _check_options(self) -> None:
        check_choice("covariance", self.covariance, ("full", "diagonal", "shared"))
        check_choice("inference", self.inference, ("exact", "svi"))
        check_choice("predictive", self.predictive, ("plugin", "student"))
        check_choice("metric", self.metric, ("mahalanobis", "euclidean"))
        if isinstance(self.prior_strength, str):
            check_choice("prior_strength", self.prior_strength, ("auto", "evidence"))
        check_choice("dtype", self.dtype, ("float32", "float64"))
        if self.inference == "svi" and self.covariance == "shared":
            raise InputError(
                "inference='svi' fits each category alone and needs covariance 'full' or 'diagonal', got "
                "'shared'; use inference='exact'."
            )

    def _held_statistics(self, rows: Array, codes: Array) -> Statistics | None:
        """Statistics of all categories, or None where they would take too much memory at once."""
        n_categories, dim = int(codes.max()) + 1, self.reducer_.n_components
        width = dim if self.covariance == "diagonal" else packed_size(dim)
        if self.covariance != "shared" and 8 * n_categories * width > HELD_BYTES:
            return None
        return Statistics.concatenate([s for _, s in self._statistics(rows, codes)])

    def _calibrated_prior(
        self, rows: Array, codes: Array, statistics: Statistics | None
    ) -> tuple[Prior, float]:
        """The prior, and the temperature of its probabilities."""
        dim = self.reducer_.n_components
        block = 1 if self.covariance == "diagonal" else dim
        given = None if isinstance(self.prior_strength, str) else float(self.prior_strength)
        prior = Prior(
            dim, self.mean_precision_prior, block + 2.0 if given is None else given, structure=self.covariance
        )  # type: ignore[arg-type]
        if given is not None:
            return prior, 1.0
        chosen = _spread_out(
            np.unique(codes), len(codes) if self.covariance == "shared" else CALIBRATION_CATEGORIES
        )
        part = np.searchsorted(chosen, codes)
        part = np.where(chosen[np.minimum(part, len(chosen) - 1)] == codes, part, -1)
        if statistics is None:
            statistics = Statistics.concatenate([s for _, s in self._statistics(rows, part)])
        elif len(chosen) < len(statistics):
            statistics = statistics.take(chosen)
        eligible = np.flatnonzero((part >= 0) & (statistics.count[part] > 1))
        if (
            self.covariance != "full"
            or self.prior_strength == "evidence"
            or len(chosen) < 2
            or len(eligible) < 2
        ):
            return choose_strength(prior, statistics), 1.0
        rng = np.random.default_rng(0 if self.random_state is None else self.random_state)
        picked = rng.permutation(eligible)[:CALIBRATION_ROWS]
        weight = (1 - self.reducer_.shrinkage) / max(len(codes) - len(np.unique(codes)), 1)
        left_out = LeftOut(
            self.reducer_.transform(rows[picked]), part[picked], weight if self.reducer_.whitened else 0.0
        )
        calibration = calibrate_strength(prior, statistics, left_out)
        return calibration.prior, calibration.temperature

    def _fit_posterior(self, rows: Array, codes: Array, statistics: Statistics | None) -> Posterior:
        n_categories = int(codes.max()) + 1
        if self.inference == "svi":
            fitted = ((k, self._svi_statistics(rows[codes == k], k)) for k in range(n_categories))
            return posterior_from_parts(self.prior_, fitted, n_categories, dtype=self.dtype)
        if statistics is not None:
            return posterior_of(self.prior_, statistics, dtype=self.dtype)
        return posterior_from_parts(
            self.prior_, self._statistics(rows, codes), n_categories, dtype=self.dtype
        )

    def _svi_statistics(self, rows: Array, k: int) -> Statistics:
        reduced = self.reducer_.transform(rows, dtype=np.float64)
        seed = None if self.random_state is None else [self.random_state, k]
        return run_svi(self.prior_, reduced, random_state=np.random.default_rng(seed)).statistics

    def _statistics(self, rows: Array, codes: Array) -> Iterator[tuple[int, Statistics]]:
        """Statistics of each category in reduced space, holding only a block of reduced rows at a time."""
        order = np.argsort(codes, kind="stable")
        n_categories = int(codes.max()) + 1
        bounds = np.searchsorted(codes[order], np.arange(n_categories + 1))
        first = 0
        while first < n_categories:
            last = max(int(np.searchsorted(bounds, bounds[first] + BLOCK_ROWS, side="right")) - 1, first + 1)
            members = order[bounds[first] : bounds[last]]
            block = self.reducer_.transform(rows[members], dtype=self.dtype)
            shifted = codes[members] - first
            for k, part in iter_label_statistics(block, shifted, last - first, structure=self.covariance):  # type: ignore[arg-type]
                yield first + k, part
            first = last


def _spread_out(items: Array, most: int) -> Array:
    """At most ``most`` of the items, evenly spaced."""
    if len(items) <= most:
        return items
    return np.asarray(items[np.linspace(0, len(items) - 1, most).round().astype(int)])
