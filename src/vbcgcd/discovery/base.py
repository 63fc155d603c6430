"""The base session: the labelled rows become a projection, a prior, posteriors and their calibration."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.bayes import (
    Posterior,
    Prior,
    Statistics,
    Structure,
    choose_strength,
    posterior_from_parts,
    posterior_of,
    run_svi,
    structure_of,
)
from vbcgcd.bayes.calibration import calibrate_strength, left_out_temperature, tempered_cross_entropy
from vbcgcd.bayes.leave_one_out import LeftOut
from vbcgcd.bayes.statistics import iter_label_statistics
from vbcgcd.bayes.threads import in_parallel, one_thread
from vbcgcd.devices import resolve
from vbcgcd.discovery.calibrate import (
    CalibratedGeometry,
    LeftOutSimilarity,
    calibrate_geometry,
    calibrate_kind,
)
from vbcgcd.discovery.direction_head import DirectionHead
from vbcgcd.discovery.geometry import Geometry, Novelty
from vbcgcd.discovery.head import Head
from vbcgcd.discovery.head_choice import choose_head
from vbcgcd.discovery.knowledge import Knowledge
from vbcgcd.discovery.magnitude import is_reached
from vbcgcd.discovery.options import Options
from vbcgcd.discovery.reduce import Reducer, fit_reducer
from vbcgcd.discovery.rehearsal import rehearse
from vbcgcd.discovery.search import CategoryPrice
from vbcgcd.validation import check_finite

Array = NDArray[Any]

#: Rows reduced at a time while statistics are gathered.
BLOCK_ROWS = 8192
#: Labelled categories and rows on which one number is calibrated: it needs no more.
CALIBRATION_CATEGORIES = 32
CALIBRATION_ROWS = 1500
#: Labelled categories that compete when the temperature is calibrated.
TEMPERATURE_CATEGORIES = 200
#: Scores of rows under categories held at a time while calibrating.
CALIBRATION_SCORES = 2**18
#: Scores of held-out rows under categories in each part, at most.
HELD_OUT_SCORES = 2**20
#: Parts in which rows are held out where there are fewer of them than dimensions.
FOLDS = 10
#: The least variance that a prior expects: the square of that of a smaller one is nothing.
LEAST_VARIANCE = 1e-30
#: Statistics are kept between the steps of the base session up to this size, and gathered twice beyond it.
HELD_BYTES = 64 * 2**20

__all__ = ["learn_base"]


@one_thread()
def learn_base(rows: Array, codes: Array, options: Options, weight: Array | None = None) -> Knowledge:
    """Learn the labelled categories.

    Parameters
    ----------
    rows : array (N, d)
        Embeddings.
    codes : int array (N,)
        Categories, 0 to K - 1, each with at least one row.
    options : Options
    weight : array (N,), optional
        Positive weight of each row.

    Returns
    -------
    Knowledge
    """
    resolve(options.device)  # one that is not here fails before the work
    return _Base(rows, codes, _reducer(rows, codes, options, weight), options, weight).knowledge()


def _reducer(
    rows: Array, codes: Array, options: Options, weight: Array | None = None, moments_of: Any = None
) -> Reducer:
    """The projection of the base session; ``moments_of`` as for `fit_reducer`."""
    return fit_reducer(
        rows,
        codes,
        weight=weight,
        n_components=options.n_components,
        whiten=options.whiten,
        normalise=options.normalise,
        shrinkage=options.whiten_shrinkage,
        standardise=options.standardise,
        random_state=options.random_state,
        moments_of=moments_of,
    )


class _Base:
    """The labelled rows with what several steps ask for."""

    def __init__(
        self, rows: Array, codes: Array, reducer: Reducer, options: Options, weight: Array | None = None
    ) -> None:
        self.rows, self.codes, self.reducer, self.options = rows, codes, reducer, options
        self.weight = weight
        self.n_rows = np.bincount(codes)
        self.sizes = np.bincount(codes, weight).astype(np.float64)
        self.form = structure_of(options.structure, reducer.n_components)
        self.calibrated_as: Structure = self.form.left_out_as or options.structure
        self.statistics = self._kept_statistics()

    def knowledge(self) -> Knowledge:
        """All that the rows teach."""
        prior, temperature = self._calibrated_prior()
        posterior = self._posterior(prior)
        if temperature is None:
            temperature = self._split_temperature(prior)
        left_out = self._left_out(np.arange(len(self.sizes)), self.options.generator(0, 1))
        counts = posterior.kappa - prior.kappa  # effective ones: SVI may stop before all rows count
        means = posterior.mean.astype(np.float64) * (posterior.kappa / counts)[:, None]
        calibrated = calibrate_geometry(means, self.sizes, left_out, self.options.geometry)
        if self.n_rows.sum() - len(self.sizes) < self.reducer.n_inputs:
            # Then each row has a direction of its own, which whitening makes as long as the others: left out
            # of the covariance, it looks unlike every category, as no row that comes later will.
            calibrated = self._held_out_calibration(calibrated)
        geometry, best, margin, strange = calibrated
        check_finite("The posterior of a category", posterior.mean, posterior.factor)
        check_finite("The calibration", temperature, geometry.sharpness, margin, best)
        return Knowledge(
            self.reducer,
            prior,
            posterior,
            self.options.classifier,
            temperature,
            Novelty.calibrate(geometry, best, strange),
            float((self.sizes.std() / self.sizes.mean()) ** 2),
            self._price(geometry),
            margin,
            head=self._head(prior),
        )

    def _head(self, prior: Prior) -> Head | DirectionHead | None:
        if self.options.head is None or len(self.sizes) < 2:
            return None
        return choose_head(self.rows, self.codes, self.reducer, prior, self.options)

    def _held_out_calibration(self, calibrated: CalibratedGeometry) -> CalibratedGeometry:
        """Calibrated anew on rows that neither their category nor the projection was learned from.

        A row whose category has no other row is left out.
        """
        geometry, n_categories = calibrated.geometry, len(self.sizes)
        parts = list[LeftOutSimilarity]()
        decided = replace(self.options, normalise=self.reducer.unit, whiten_shrinkage=self.reducer.shrinkage)
        fold = np.empty(len(self.rows), dtype=np.int64)
        order = self.options.generator(0, 5).permutation(len(self.rows))
        order = order[np.argsort(self.codes[order], kind="stable")]
        fold[order] = np.arange(len(order)) % FOLDS  # each category is spread over the folds
        for part in range(FOLDS):
            rest, held_out = np.flatnonzero(fold != part), np.flatnonzero(fold == part)
            known, codes = np.unique(self.codes[rest], return_inverse=True)
            held_out = held_out[np.isin(self.codes[held_out], known)][
                : max(HELD_OUT_SCORES // n_categories, 20)
            ]
            if len(held_out) == 0 or len(rest) <= len(known):
                continue
            some = None if self.weight is None else self.weight[rest]
            reducer = _reducer(self.rows[rest], codes, decided, some)
            reduced = reducer.transform(self.rows[rest])
            means = np.stack([_mean(reduced, codes == k, some) for k in range(len(known))])
            # Beside the others a row may be too far out to be scored, as it would be in a later session.
            rows = reducer.transform(self.rows[held_out])
            reached = is_reached(rows)
            rows, held_out = geometry.prepared(rows[reached]), held_out[reached]
            similarity = np.full((len(held_out), n_categories), -np.inf)
            similarity[:, known] = geometry.similarity(rows, means)
            counts = np.bincount(self.codes[rest], some, minlength=n_categories).astype(np.float64)
            counts = np.broadcast_to(counts, similarity.shape)
            parts.append(LeftOutSimilarity(similarity, self.codes[held_out], counts))
        if sum(len(part.labels) for part in parts) < 2:
            return calibrated
        together = LeftOutSimilarity(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))
        return calibrate_kind(geometry.kind, together, self.reducer.n_components)[1]

    def _price(self, geometry: Geometry) -> CategoryPrice | None:
        if self.options.count != "rehearsal":
            return None  # nothing will use it
        rng = self.options.generator(0, 4)
        return rehearse(self.rows, self.codes, self.reducer, geometry, rng, self.options.device)

    def _kept_statistics(self) -> Statistics | None:
        """Statistics of all categories, or None where they would take too much memory at once."""
        if 8 * len(self.sizes) * self.form.scatter_width > HELD_BYTES:
            return None
        return Statistics.concatenate([part for _, part in self._statistics(self.codes)])

    def _statistics(
        self, codes: Array, structure: Structure | None = None
    ) -> Iterator[tuple[int, Statistics]]:
        """Statistics of each category in reduced space, with only a block of reduced rows in memory."""
        structure = structure or self.options.structure
        order = np.argsort(codes, kind="stable")
        n_categories = int(codes.max()) + 1
        bounds = np.searchsorted(codes[order], np.arange(n_categories + 1))
        first = 0
        while first < n_categories:
            last = max(int(np.searchsorted(bounds, bounds[first] + BLOCK_ROWS, side="right")) - 1, first + 1)
            members = order[bounds[first] : bounds[last]]
            block = self.reducer.transform(self.rows[members], dtype=self.options.classifier.dtype)
            within = codes[members] - first
            some = None if self.weight is None else self.weight[members]
            parts = iter_label_statistics(
                block, within, last - first, some, structure=structure, device=self.options.device
            )
            for k, part in parts:
                yield first + k, part
            first = last

    def _calibrated_prior(self) -> tuple[Prior, float | None]:
        """The prior and the temperature of its probabilities, None where that is still to be found."""
        options, strength = self.options, self.options.prior_strength
        chosen = _spread_out(np.arange(len(self.sizes)), CALIBRATION_CATEGORIES)
        statistics = self._statistics_of(chosen)
        prior = Prior(
            self.reducer.n_components,
            options.mean_precision_prior,
            0.0 if isinstance(strength, str) else float(strength),
            self._prior_variance(statistics),
            self.calibrated_as,
        )
        rule = options.classifier
        exact_left_out = (
            self.form.left_out_as is not None
            and rule.metric == "mahalanobis"
            and (self.n_rows[chosen] > 1).sum() > 1
        )
        if strength == "evidence" or (strength == "auto" and not exact_left_out):
            prior = choose_strength(prior, statistics)
        if not exact_left_out:
            return replace(prior, structure=options.structure), None
        left_out = self._left_out(chosen, options.generator(0, 0))
        if strength == "auto":
            prior = calibrate_strength(prior, statistics, left_out)
        most = _spread_out(np.arange(len(self.sizes)), TEMPERATURE_CATEGORIES)
        if len(most) > len(chosen):  # more competitors make an answer less sure
            statistics, left_out = self._statistics_of(most), self._left_out(most, options.generator(0, 0))
        temperature = left_out_temperature(prior, statistics, left_out, rule.predictive)
        return replace(prior, structure=options.structure), temperature

    def _statistics_of(self, chosen: Array) -> Statistics:
        """Statistics of some categories, in the structure in which they can be left out."""
        if self.statistics is None or self.calibrated_as != self.statistics.structure:
            part = np.full(len(self.sizes), -1)
            part[chosen] = np.arange(len(chosen))
            found = self._statistics(part[self.codes], self.calibrated_as)
            return Statistics.concatenate([s for _, s in found])
        return self.statistics if len(chosen) == len(self.statistics) else self.statistics.take(chosen)

    def _prior_variance(self, statistics: Statistics) -> float:
        """Variance that the prior expects: 1 in a whitened space, else that of the labelled categories."""
        if not isinstance(self.options.prior_variance, str):
            return float(self.options.prior_variance)
        if self.reducer.whitened or self.options.prior_strength == "weakest":
            return 1.0
        return self._mean_variance(statistics)

    def _mean_variance(self, statistics: Statistics) -> float:
        """Mean variance within categories, over all dimensions."""
        dim = self.reducer.n_components
        trace = statistics.diagonal.sum()
        freedom = max(statistics.count.sum() - len(statistics), 1.0)
        variance = float(trace / freedom / dim)
        return max(variance, LEAST_VARIANCE) if variance > 0 else 1.0

    def _left_out(self, categories: Array, rng: np.random.Generator) -> LeftOut:
        """Rows of the given categories that can be left out, labelled by position in ``categories``."""
        position = np.full(len(self.sizes), -1)
        position[categories] = np.arange(len(categories))
        eligible = np.flatnonzero((self.n_rows[self.codes] > 1) & (position[self.codes] >= 0))
        most = min(CALIBRATION_ROWS, max(CALIBRATION_SCORES // len(categories), 200))
        chosen = rng.permutation(eligible)[:most]
        weight = 0.0
        if self.reducer.whitened:
            weight = (1 - self.reducer.shrinkage) / max(self.sizes.sum() - len(self.sizes), 1)
        own = None if self.weight is None else self.weight[chosen]
        return LeftOut(self.reducer.transform(self.rows[chosen]), position[self.codes[chosen]], weight, own)

    def _posterior(self, prior: Prior) -> Posterior:
        dtype = self.options.classifier.dtype
        if self.options.inference == "svi":
            # Each category draws from a generator of its own.
            work = prior.form.width * prior.block
            fitted = in_parallel(lambda k: (k, self._svi(prior, k)), range(len(self.sizes)), work=work)
            return posterior_from_parts(prior, fitted, len(self.sizes), dtype=dtype)
        if self.statistics is not None:
            return posterior_of(prior, self.statistics, dtype=dtype)
        return posterior_from_parts(prior, self._statistics(self.codes), len(self.sizes), dtype=dtype)

    def _svi(self, prior: Prior, k: int) -> Statistics:
        reduced = self.reducer.transform(self.rows[self.codes == k])
        rng = self.options.generator(0, 2, k)
        some = None if self.weight is None else self.weight[self.codes == k]
        return run_svi(
            prior, reduced, weight=some, max_steps=self.options.svi_steps, random_state=rng
        ).statistics

    def _split_temperature(self, prior: Prior) -> float:
        """Temperature from posteriors of one half of the rows that score rows of the other half."""
        if self.n_rows.max() < 2 or len(self.sizes) < 2:
            return 1.0
        order = self.options.generator(0, 3).permutation(len(self.codes))
        by_category = order[np.argsort(self.codes[order], kind="stable")]
        first = np.searchsorted(self.codes[by_category], np.arange(len(self.sizes)))
        place = np.arange(len(order)) - first[self.codes[by_category]]
        half = np.zeros(len(self.codes), dtype=bool)
        half[by_category[place % 2 == 0]] = True  # every other row of each category
        statistics = Statistics.concatenate(
            [part for _, part in self._statistics(np.where(half, self.codes, -1))]
        )
        posterior = posterior_of(prior, statistics, dtype=self.options.classifier.dtype)
        other = order[~half[order]][:CALIBRATION_ROWS]
        reduced = self.reducer.transform(self.rows[other], dtype=self.options.classifier.dtype)
        density = self.options.classifier.log_density(reduced, posterior)
        return tempered_cross_entropy(density, self.codes[other])[1]


def _mean(rows: Array, members: Array, weight: Array | None) -> Array:
    return np.average(rows[members], axis=0, weights=None if weight is None else weight[members])


def _spread_out(items: Array, most: int) -> Array:
    """At most ``most`` of the items, evenly spaced."""
    if len(items) <= most:
        return items
    return np.asarray(items[np.linspace(0, len(items) - 1, most).round().astype(int)])
