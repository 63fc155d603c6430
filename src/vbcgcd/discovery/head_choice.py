"""The settings of the head, chosen on labelled rows that are left out.

Rows that are left out of everything - projection, Gaussians and regression - are scored by both opinions. For
each ridge, the temperature and the weight with the least cross-entropy are found together (a convex problem).
Of the ridges that are not clearly worse than the best, the least is taken: later sessions bring more
categories to tell apart, and the more there are, the less a regression should be held back.

Both kinds of head, ridge regression and the discriminant of directions, are chosen so.

The projection of a part has also never seen half of the categories, as it never sees those that later
sessions find: there the Gaussians lose more than the regression does. Where both opinions together are not
clearly better than the Gaussians alone, there is no head.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy
from numpy.typing import NDArray

from vbcgcd.bayes import Posterior, Prior, posterior_from_parts
from vbcgcd.bayes.calibration import tempered_cross_entropy
from vbcgcd.bayes.ridge import RandomFeatures, ridge_statistics, ridge_weights
from vbcgcd.bayes.statistics import iter_label_statistics
from vbcgcd.discovery.direction_head import (
    DirectionHead,
    direction_factor,
    direction_scores,
    within_directions,
)
from vbcgcd.discovery.head import Head
from vbcgcd.discovery.options import Options
from vbcgcd.discovery.reduce import Reducer, fit_reducer
from vbcgcd.discovery.strategies import one_hot

Array = NDArray[Any]

#: Ridges tried, as shares of the trace, by kind of head.
RIDGES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2)
DIRECTION_RIDGES = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
#: Rows that decide, the largest share that is left out at a time, and the most parts.
CHOICE_ROWS, LARGEST_SHARE, MOST_PARTS = 1500, 0.2, 5
#: With fewer categories each part's projection sees all of them.
FEWEST_TO_HIDE = 4
#: Start and bounds of the temperature, as a multiple of that of the Gaussians alone, and of the weight.
START, BOUNDS = (0.5, 5.0), ((1e-3, 4.0), (0.0, 200.0))
#: Log-densities this far below the best are as good as never.
FARTHEST = -1e4

__all__ = ["choose_head"]


class Opinions(NamedTuple):
    """What both say of rows that were left out.

    Attributes
    ----------
    density : array (M, K)
        Log-densities, less the best of each row.
    scores : array (R, M, K)
        Of the regression, for each ridge.
    labels : int array (M,)
    """

    density: Array
    scores: Array
    labels: Array


class Settings(NamedTuple):
    """How both are added, the cross-entropy of each row (M,) and the share of rows that are right."""

    temperature: float
    weight: float
    losses: Array
    right: float


def choose_head(
    rows: Array, codes: Array, reducer: Reducer, prior: Prior, options: Options
) -> Head | DirectionHead | None:
    """The head with the settings that suit left-out rows; None where the Gaussians alone do as well.

    Parameters
    ----------
    rows : array (N, d)
        Embeddings.
    codes : int array (N,)
        Their categories.
    reducer : Reducer
    prior : Prior
    options : Options
    """
    seed = int(options.generator(0, 6).integers(2**31))
    trial = _Trial(rows, codes, reducer, prior, options, seed)
    parts = list(trial.parts())
    if not parts:
        return None
    opinions = Opinions(
        np.concatenate([part.density for part in parts]),
        np.concatenate([part.scores for part in parts], axis=1),
        np.concatenate([part.labels for part in parts]),
    )
    chosen = choose_settings(opinions, DIRECTION_RIDGES if options.head == "direction" else RIDGES)
    if chosen is None:
        return None
    ridge, settings = chosen
    if options.head == "direction":
        within = within_directions(reducer.transform(rows, dtype=options.classifier.dtype), codes)
        factor = direction_factor(within, reducer.n_components, ridge, options.classifier.dtype)
        return DirectionHead(factor, settings.weight, settings.temperature)
    features = RandomFeatures(seed, reducer.n_components, options.head_features)
    reduced = reducer.transform(rows, dtype=options.classifier.dtype)
    statistics = ridge_statistics(features, reduced, one_hot(codes, int(codes.max()) + 1))
    penalty, number = ridge * statistics.trace, len(statistics)
    return Head(features, statistics, penalty, settings.weight, settings.temperature, number)


def choose_settings(opinions: Opinions, ridges: tuple[float, ...] = RIDGES) -> tuple[float, Settings] | None:
    """The ridge and its settings, or None if the Gaussians alone do as well."""
    alone, temperature = tempered_cross_entropy(opinions.density, opinions.labels)
    right = float(np.mean(opinions.density.argmax(axis=1) == opinions.labels))
    tried = [
        add_opinions(opinions.density, scores, opinions.labels, temperature) for scores in opinions.scores
    ]
    least = min(tried, key=lambda settings: settings.losses.mean())
    ridge, chosen = next(
        (ridge, settings)
        for ridge, settings in zip(ridges, tried, strict=True)
        if settings is least or not _clearly_better(least.losses, settings.losses)
    )
    better = _clearly_better(chosen.losses, alone) and chosen.right >= right
    return (ridge, chosen) if better and chosen.weight > 0 else None


def _clearly_better(losses: Array, others: Array) -> bool:
    """Whether the mean of the paired differences of the rows' losses exceeds its standard error."""
    gain = others - losses
    return bool(gain.mean() > gain.std() / np.sqrt(len(gain)))


def add_opinions(density: Array, scores: Array, labels: Array, temperature: float) -> Settings:
    """The temperature and the weight with which rows have the least cross-entropy.

    Parameters
    ----------
    density, scores : array (M, K)
    labels : int array (M,)
    temperature : float
        That of the densities alone, as a start.
    """
    index = np.arange(len(labels))
    both = np.stack([temperature * density, scores])
    own = both[:, index, labels]

    def loss(parameters: Array) -> tuple[float, Array]:
        total = np.tensordot(parameters, both, axes=1)
        log_sum = scipy.special.logsumexp(total, axis=1)
        expected = np.einsum("mk,pmk->p", np.exp(total - log_sum[:, None]), both) / len(labels)
        return float(np.mean(log_sum - parameters @ own)), expected - own.mean(axis=1)

    found = scipy.optimize.minimize(loss, START, jac=True, bounds=BOUNDS, method="L-BFGS-B").x
    total = np.tensordot(found, both, axes=1)
    return Settings(
        temperature * float(found[0]),
        float(found[1]),
        np.asarray(scipy.special.logsumexp(total, axis=1) - total[index, labels]),
        float(np.mean(total.argmax(axis=1) == labels)),
    )


@dataclass(frozen=True, eq=False)
class _Trial:
    """The labelled rows, cut into parts that are left out in turn."""

    rows: Array
    codes: Array
    reducer: Reducer
    prior: Prior
    options: Options
    seed: int

    def parts(self) -> Iterator[Opinions]:
        """What both opinions say of one part after another, until enough rows have been left out."""
        rng, n_rows = self.options.generator(0, 7), len(self.rows)
        share = min(CHOICE_ROWS / n_rows, LARGEST_SHARE)
        number = round(1 / share)
        order = rng.permutation(n_rows)
        order = order[np.argsort(self.codes[order], kind="stable")]
        part = np.empty(n_rows, dtype=np.int64)
        part[order] = np.arange(n_rows) % number  # each category is spread over the parts
        for k in range(min(max(round(CHOICE_ROWS / (n_rows * share)), 1), MOST_PARTS)):
            opinions = self._opinions(np.flatnonzero(part != k), np.flatnonzero(part == k), rng)
            if opinions is not None:
                yield opinions

    def _opinions(self, rest: Array, left_out: Array, rng: np.random.Generator) -> Opinions | None:
        codes, n_categories = self.codes, int(self.codes.max()) + 1
        known = np.unique(codes[rest])
        left_out = left_out[np.isin(codes[left_out], known)]
        if len(left_out) == 0 or len(known) < 2 or len(rest) <= len(known):
            return None
        reducer = self._projection(rest, known, rng)
        dtype = self.options.classifier.dtype
        inside, outside = (reducer.transform(self.rows[part], dtype=dtype) for part in (rest, left_out))
        prior = _resized(self.prior, reducer.n_components)
        within = np.searchsorted(known, codes[rest])
        fitted = iter_label_statistics(
            inside, within, len(known), structure=prior.structure, device=self.options.device
        )
        posterior = posterior_from_parts(prior, fitted, len(known), dtype=dtype)
        density = np.full((len(left_out), n_categories), -np.inf)
        density[:, known] = self.options.classifier.log_density(outside, posterior)
        density = np.maximum(density - density.max(axis=1, keepdims=True), FARTHEST)
        if self.options.head == "direction":
            known_scores = _direction_scores(inside, within, outside, posterior)
            scores = np.repeat(known_scores.min(axis=2)[:, :, None], n_categories, axis=2)
            scores[:, :, known] = known_scores
        else:
            scores = self._ridge_scores(inside, one_hot(codes[rest], n_categories), outside)
        return Opinions(density, scores, codes[left_out])

    def _ridge_scores(self, inside: Array, belongs: Array, outside: Array) -> Array:
        features = RandomFeatures(self.seed, inside.shape[1], self.options.head_features)
        sums, phi = ridge_statistics(features, inside, belongs), features(outside)
        return np.stack([phi @ ridge_weights(sums, ridge * sums.trace) for ridge in RIDGES])

    def _projection(self, rest: Array, known: Array, rng: np.random.Generator) -> Reducer:
        """Learned from the rows that are not left out, and from half of the categories."""
        if len(known) >= FEWEST_TO_HIDE:
            seen = rng.permutation(known)[: (len(known) + 1) // 2]
            some = rest[np.isin(self.codes[rest], seen)]
            if len(some) > len(seen):
                rest = some
        options = self.options
        return fit_reducer(
            self.rows[rest],
            np.unique(self.codes[rest], return_inverse=True)[1],
            n_components=options.n_components,
            whiten=options.whiten,
            normalise=self.reducer.unit,
            shrinkage=self.reducer.shrinkage,
            standardise=options.standardise,
            random_state=options.random_state,
        )


def _direction_scores(inside: Array, codes: Array, outside: Array, posterior: Posterior) -> Array:
    """Scores of left-out rows for each ridge, less the best of each row."""
    within, dim = within_directions(inside, codes), inside.shape[1]
    factors = (direction_factor(within, dim, ridge) for ridge in DIRECTION_RIDGES)
    scores = np.stack([direction_scores(factor, outside, posterior) for factor in factors])
    return np.asarray(np.maximum(scores - scores.max(axis=2, keepdims=True), FARTHEST))


def _resized(prior: Prior, dim: int) -> Prior:
    """The prior in so many dimensions, as strong for each of them."""
    smaller = replace(prior, dim=dim, nu=0.0)
    return replace(smaller, nu=smaller.block + 1 + (prior.nu - prior.block - 1) / prior.block * smaller.block)
