"""Posteriors of a session's novel categories: exact or by SVI, with covariance alignment where asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vbcgcd.bayes import (
    AlignmentRule,
    Posterior,
    Statistics,
    align,
    run_svi,
    statistics_by_responsibility,
    volume_ratio,
)
from vbcgcd.discovery.knowledge import Knowledge
from vbcgcd.discovery.options import Options

Array = NDArray[Any]

__all__ = ["NovelFit", "fit_novel"]


class NovelFit(NamedTuple):
    """Posteriors of the novel categories, None where there are none, and R before and after alignment."""

    posterior: Posterior | None
    ratio_before: Array
    ratio_after: Array
    details: Mapping[str, Any]


def fit_novel(
    rows: Array, weight: Array, knowledge: Knowledge, options: Options, rng: np.random.Generator
) -> NovelFit:
    """Fit the novel categories.

    Parameters
    ----------
    rows : array (N, D)
        Reduced embeddings.
    weight : array (N, K)
        Weight with which each row teaches each category.
    knowledge : Knowledge
    options : Options
    rng : Generator

    Returns
    -------
    NovelFit
        Its details hold the trace of each category (SVI) or the fraction ``tau`` of the path (alignment).
    """
    if weight.shape[1] == 0:
        return NovelFit(None, np.empty(0), np.empty(0), {})
    known = knowledge.posterior.log_det_covariance
    statistics = statistics_by_responsibility(rows, weight, structure=knowledge.prior.structure)
    before = volume_ratio(knowledge.posterior_of(statistics).log_det_covariance, known)
    details: dict[str, Any] = {}
    if options.inference == "svi":
        statistics, details["trace"] = _svi(rows, weight, knowledge, options, rng)
    elif options.alignment is not None:
        aligned = align(knowledge.prior, statistics, known, target=options.alignment)
        statistics, details["tau"] = aligned.statistics, aligned.tau
    posterior = knowledge.posterior_of(statistics)
    return NovelFit(posterior, before, volume_ratio(posterior.log_det_covariance, known), details)


def _svi(
    rows: Array, weight: Array, knowledge: Knowledge, options: Options, rng: np.random.Generator
) -> tuple[Statistics, list[Any]]:
    """Effective statistics after SVI, stopped early where alignment asks for it, and the traces."""
    parts, traces = [], []
    for k in range(weight.shape[1]):
        members = np.flatnonzero(weight[:, k])
        rule = None
        if options.alignment is not None:
            rule = AlignmentRule(knowledge.posterior.log_det_covariance, target=options.alignment)
        result = run_svi(
            knowledge.prior,
            rows[members].astype(np.float64),
            weight=weight[members, k],
            max_steps=options.svi_steps,
            alignment=rule,
            random_state=rng,
        )
        parts.append(result.statistics)
        traces.append(result.trace)
    return Statistics.concatenate(parts), traces
