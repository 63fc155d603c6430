"""The base session from sums over blocks: rows are read where they are, and only a sample of them is held.

What a mean or a covariance needs is added up over all rows. What needs rows, such as leaving one out or a
rehearsal, takes those of a bounded sample.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.bayes import (
    Posterior,
    Prior,
    Statistics,
    Structure,
    posterior_from_parts,
    recover_statistics,
    structure_of,
)
from vbcgcd.bayes.threads import one_thread
from vbcgcd.devices import resolve
from vbcgcd.discovery.base import _Base, _reducer
from vbcgcd.discovery.geometry import Geometry
from vbcgcd.discovery.knowledge import Knowledge
from vbcgcd.discovery.magnitude import exponent_of
from vbcgcd.discovery.options import Options
from vbcgcd.discovery.reduce import (
    CONSTANT,
    NEGLIGIBLE,
    TINY,
    WIDEST_EXACT,
    Reducer,
    _fix_signs,
    _Moments,
    _randomised_basis,
    _Settings,
    moments_of_sums,
)
from vbcgcd.discovery.rehearsal import rehearse
from vbcgcd.discovery.search import CategoryPrice
from vbcgcd.errors import InputError

Array = NDArray[Any]
Gather = Callable[[Array, Structure], Iterator[tuple[Array, Statistics]]]

__all__ = ["RowSums", "Shift", "check_options", "gathered_reducer", "learn_gathered", "learn_more_gathered"]


@dataclass(frozen=True)
class Shift:
    """How rows are prepared before they are added up.

    Parameters
    ----------
    settings : _Settings
    center : array (d,)
        About where the mean is: what is subtracted in the end is small, and nothing cancels.
    basis : array (d, D) or None
        Wide rows are projected first.
    """

    settings: _Settings
    center: Array
    basis: Array | None = None

    @one_thread()
    def sums(self, rows: Array, codes: Array, n_categories: int) -> RowSums:
        """Sums of some rows (n, d) with their categories (n,)."""
        moved = self.settings.prepare(rows.astype(np.float64)) - self.center
        wide = moved.sum(axis=0)
        moved = moved if self.basis is None else moved @ self.basis
        by_category = np.zeros((n_categories, moved.shape[1]))
        order = np.argsort(codes, kind="stable")
        present, begin = np.unique(codes[order], return_index=True)
        by_category[present] = np.add.reduceat(moved[order], begin, axis=0)
        count = np.bincount(codes, minlength=n_categories).astype(np.float64)
        return RowSums(count, wide, moved.T @ moved, by_category)

    def moments(self, sums: RowSums, dtype: Any) -> _Moments:
        """What the sums over all rows say; ``dtype`` is that of the rows."""
        total = float(sums.count.sum())
        wide = sums.total / total
        off = wide if self.basis is None else wide @ self.basis
        outer = sums.outer - total * np.outer(off, off)
        by_category = sums.by_category - sums.count[:, None] * off
        scale = np.ones(len(outer))
        if self.settings.standardise:
            deviation = np.sqrt(np.maximum(np.diagonal(outer), 0.0) / total)
            least = max(CONSTANT * float(deviation.max()), TINY)
            scale = np.where(deviation > least, deviation, 1.0)
            outer, by_category = outer / np.outer(scale, scale), by_category / scale
        found = moments_of_sums(
            self.center + wide,
            outer,
            by_category,
            sums.count,
            self.settings.n_components,
            NEGLIGIBLE[np.dtype(dtype)],
        )
        basis = found.basis / scale[:, None]
        return found._replace(basis=basis if self.basis is None else self.basis @ basis)


@dataclass(frozen=True)
class RowSums:
    """Sums over rows that were shifted: they add up.

    Parameters
    ----------
    count : array (K,)
        Rows of each category.
    total : array (d,)
        Sum of the rows.
    outer : array (D, D)
        Sum of their outer products, after the projection of wide rows.
    by_category : array (K, D)
        Sum of the rows of each category, after that projection.
    """

    count: Array
    total: Array
    outer: Array
    by_category: Array

    def __add__(self, other: RowSums) -> RowSums:
        return RowSums(
            self.count + other.count,
            self.total + other.total,
            self.outer + other.outer,
            self.by_category + other.by_category,
        )


def check_options(options: Options) -> None:
    """Raise for options that need all rows at once, and for a device that is not here."""
    resolve(options.device)
    if options.head is not None:
        raise InputError("A head learns from all rows at once; use head=None with an engine.", option="head")
    if options.inference == "svi":
        raise InputError(
            "Stochastic steps need all rows at once; use inference='exact' with an engine.",
            option="inference",
        )


@one_thread()
def gathered_reducer(
    sample: Array, codes: Array, n_categories: int, options: Options, gather: Callable[[Shift], RowSums]
) -> Reducer:
    """The projection, from sums over all rows and a sample of them.

    Parameters
    ----------
    sample : array (n, d)
    codes : int array (n,)
        Their categories.
    n_categories : int
    options : Options
    gather : callable
        Adds up all rows.
    """
    if exponent_of(sample):
        raise InputError(
            "The embeddings are too large or too small to be added up block by block; scale them to ordinary "
            "magnitudes."
        )

    def moments_of(settings: _Settings, rng: np.random.Generator) -> _Moments:
        prepared = settings.prepare(sample.astype(np.float64))
        center = prepared.mean(axis=0)
        basis = None
        if sample.shape[1] > WIDEST_EXACT:
            if settings.standardise:
                raise InputError(
                    f"Embeddings wider than {WIDEST_EXACT} cannot be standardised block by block; use "
                    "standardise=False.",
                    option="standardise",
                )
            basis = _randomised_basis(prepared - center, settings.n_components, rng)
        shift = Shift(settings, center, basis)
        return shift.moments(gather(shift), sample.dtype)

    found = _reducer(sample, codes, options, moments_of=moments_of)
    return _settled(found, n_categories - 1) if found.whitened else found


def _settled(reducer: Reducer, n_between: int) -> Reducer:
    """The same projection, with the axes settled along which the means of the categories do not differ.

    They are any rotation of each other, and rounding would choose: here their lengths do.
    """
    first, rest = reducer.projection[:, :n_between], reducer.projection[:, n_between:]
    if rest.shape[1] < 2:
        return reducer
    _, turn = np.linalg.eigh(rest.T @ rest)
    return replace(reducer, projection=np.hstack([first, _fix_signs(rest @ turn)]))


@one_thread()
def learn_gathered(
    sample: Array,
    codes: Array,
    sizes: Array,
    reducer: Reducer,
    options: Options,
    statistics: Gather,
) -> Knowledge:
    """The base session.

    Parameters
    ----------
    sample : array (n, d)
        A bounded sample of the rows.
    codes : int array (n,)
        Their categories, 0 to K - 1.
    sizes : array (K,)
        Rows of each category in all.
    reducer : Reducer
        As `gathered_reducer` gives it.
    options : Options
    statistics : callable
        Adds up all rows of some categories, array (k,), in reduced space and in a structure: some of them at
        a time, each time with their numbers.
    """
    return _Gathered(sample, codes, sizes, reducer, options, statistics).knowledge()


class _Gathered(_Base):
    """A sample of the labelled rows, and sums over all of them."""

    def __init__(
        self,
        sample: Array,
        codes: Array,
        sizes: Array,
        reducer: Reducer,
        options: Options,
        gather: Gather,
    ) -> None:
        self.rows, self.codes, self.reducer, self.options = sample, codes, reducer, options
        self.weight, self.statistics = None, None
        self.n_rows, self.sizes = sizes.astype(np.int64), sizes.astype(np.float64)
        self.form = structure_of(options.structure, reducer.n_components)
        self.calibrated_as = self.form.left_out_as or options.structure
        self._gather = gather

    def _statistics_of(self, chosen: Array) -> Statistics:
        return Statistics.concatenate([part for _, part in self._gather(chosen, self.calibrated_as)])

    def _posterior(self, prior: Prior) -> Posterior:
        parts = (
            (int(k), some.take([place]))
            for which, some in self._gather(np.arange(len(self.sizes)), self.options.structure)
            for place, k in enumerate(which)
        )
        return posterior_from_parts(prior, parts, len(self.sizes), dtype=self.options.classifier.dtype)

    def _present(self) -> Array:
        """Categories of the sample, numbered anew."""
        return np.unique(self.codes, return_inverse=True)[1]

    def _price(self, geometry: Geometry) -> CategoryPrice | None:
        if self.options.count != "rehearsal":
            return None
        rng = self.options.generator(0, 4)
        return rehearse(self.rows, self._present(), self.reducer, geometry, rng, self.options.device)

    def _split_temperature(self, prior: Prior) -> float:
        own = _Base(self.rows, self._present(), self.reducer, self.options)
        return own._split_temperature(prior)


@one_thread()
def learn_more_gathered(
    knowledge: Knowledge,
    codes: Array,
    statistics: Gather,
    *,
    update_known: bool,
) -> Knowledge:
    """What is known after more labelled rows, as `vbcgcd.discovery.knowledge.learn_more` from sums.

    Parameters
    ----------
    knowledge : Knowledge
    codes : int array (k,)
        Categories that the rows belong to: positions of known ones, and K, K + 1, ... for new ones.
    statistics : callable
        As for `learn_gathered`.
    update_known : bool
        Whether rows of known categories update their posteriors.
    """
    if knowledge.head is not None:
        raise InputError("A head learns from all rows at once; learn without an engine.", option="engine")
    n_known, codes = len(knowledge.posterior), np.unique(codes)
    touched, new = codes[codes < n_known], codes[codes >= n_known]
    if update_known:
        for which, extra in statistics(touched, knowledge.prior.structure):
            before = recover_statistics(knowledge.prior, knowledge.posterior.take(which))
            updated = knowledge.posterior_of(before + extra)
            knowledge = replace(knowledge, posterior=knowledge.posterior.replaced(which, updated))
    if knowledge.reliability is not None:  # a category for which somebody has labels stands for a class
        sure = np.where(np.isin(np.arange(n_known), touched), 1.0, knowledge.reliability)
        knowledge = replace(knowledge, reliability=sure)
    parts = (
        [knowledge.posterior_of(some) for _, some in statistics(new, knowledge.prior.structure)]
        if len(new)
        else []
    )
    return knowledge.extended(Posterior.concatenate(parts)) if parts else knowledge
