"""Predictions for a batch, and reasons for the category of one item."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.discovery.knowledge import Knowledge, is_rejected, log_probabilities, score
from vbcgcd.discovery.top import is_listed, top_probabilities
from vbcgcd.errors import InputError
from vbcgcd.labels import NONE_OF_THESE
from vbcgcd.workspace.batch import Batch
from vbcgcd.workspace.queries.items import typical_samples
from vbcgcd.workspace.snapshot import Snapshot
from vbcgcd.workspace.values import Candidate, Explanation, Predictions

Array = NDArray[Any]

__all__ = ["explain", "explain_row", "predict"]


def predict(snapshot: Snapshot, batch: Batch, reject: float | None) -> Predictions:
    """Category of each item of a batch.

    Parameters
    ----------
    snapshot : Snapshot
    batch : Batch
    reject : float or None
        Share of items of known categories that may be rejected wrongly; None rejects nothing.
    """
    state, scores = snapshot.state, score(snapshot.knowledge, batch.vectors)
    ids = np.array([*state.ids, -1])
    names = [*(category.name for category in state.live), ""]
    best, refused = ids[scores.best], is_rejected(scores.novelty, reject)
    return Predictions(
        references=batch.references,
        category=np.where(refused, -1, best),
        name=[NONE_OF_THESE if no else names[k] for no, k in zip(refused, scores.best, strict=True)],
        probability=scores.probability,
        novelty=scores.novelty,
        best=best,
        second=ids[scores.second],
        second_name=[names[k] for k in scores.second],
        second_probability=scores.second_probability,
        reject=reject,
        failures=batch.failures,
        kept=batch.items.kept,
    )


def explain(snapshot: Snapshot, batch: Batch, *, n: int, n_samples: int, texts: bool) -> Explanation:
    """Reasons for the category of the single item of a batch.

    The plug-in Gaussian's log-density is -d²/2 - log volume + constant, so the difference between two
    categories splits into a part from distances and a part from volumes. Other classifiers have other
    terms: what they do not take from the volume is attributed to the distance.

    Parameters
    ----------
    snapshot : Snapshot
    batch : Batch
    n : int
        Candidates to compare.
    n_samples : int
        Typical items of each.
    texts : bool
        Read their texts from the user's own files.
    """
    if len(batch) != 1:
        raise InputError(
            f"Only one item can be explained at a time, got {len(batch)}; choose one with the option 'row'.",
            option="row",
        )
    reduced = snapshot.knowledge.reduced(batch.vectors)
    return explain_row(snapshot, reduced, batch.references[0], n=n, n_samples=n_samples, texts=texts)


def explain_row(
    snapshot: Snapshot, reduced: Array, reference: str, *, n: int, n_samples: int, texts: bool
) -> Explanation:
    """As `explain`, for an item with a reduced embedding, array (1, D)."""
    knowledge, live = snapshot.knowledge, snapshot.state.live
    posterior = knowledge.posterior
    best, density, probability = _best_categories(knowledge, reduced, n)
    novelty = float(knowledge.novelty_of(reduced)[0])
    # As `predict` says it: an item may be a stranger, and a category that was found may stand for none.
    probability *= (1 - knowledge.novelty.strangeness(np.array([novelty]))) * knowledge.reliabilities[best]
    volume = 0.5 * posterior.log_det_covariance[best]
    candidates = tuple(
        Candidate(
            live[k].id,
            live[k].name,
            float(probability[i]),
            float(density[i]),
            posterior.mahalanobis(reduced[0], int(k)),
            float(volume[i]),
            *typical_samples(snapshot, live[k].id, n_samples, texts=texts),
        )
        for i, k in enumerate(best)
    )
    odds, from_distance, from_volume = _odds(knowledge, density, volume)
    text = _sentences(reference, candidates, novelty, odds, posterior.dim)
    return Explanation(reference, novelty, candidates, odds, from_distance, from_volume, posterior.dim, text)


def _best_categories(knowledge: Knowledge, reduced: Array, n: int) -> tuple[Array, Array, Array]:
    """The ``n`` best categories of a row (1, D), their log-densities and their probabilities, arrays (n,)."""
    if is_listed(knowledge):  # all densities would read the covariances of all categories
        top = top_probabilities(knowledge, reduced, n)
        best = top.categories[0]
        density = knowledge.classifier.log_density(reduced, knowledge.posterior.take(best))[0]
        return best, density, np.exp(top.log_probability[0])
    density = knowledge.classifier.log_density(reduced, knowledge.posterior)[0]
    best = np.argsort(-density, kind="stable")[:n]
    return best, density[best], np.exp(log_probabilities(density[None], knowledge.temperature)[0, best])


def _odds(knowledge: Knowledge, density: Array, volume: Array) -> tuple[float, float, float]:
    """Log-odds of the first category against the second, and its parts from distances and from volumes."""
    if len(density) < 2:
        return float("inf"), float("inf"), float("inf")
    odds = float(knowledge.temperature * (density[0] - density[1]))
    from_volume = 0.0
    if knowledge.classifier.log_determinant and knowledge.classifier.metric == "mahalanobis":
        from_volume = float(knowledge.temperature * (volume[1] - volume[0]))
    return odds, odds - from_volume, from_volume


def _sentences(reference: str, candidates: Sequence[Candidate], novelty: float, odds: float, dim: int) -> str:
    first = candidates[0]
    lines = [
        f"{reference} belongs to {first.name} (category {first.id}) with probability "
        f"{first.probability:.3f}: its distance is {first.distance:.1f} (typical: {np.sqrt(dim):.1f})."
    ]
    if len(candidates) > 1:
        second = candidates[1]
        lines.append(
            f"The runner-up is {second.name} (category {second.id}) with probability "
            f"{second.probability:.3f} at distance {second.distance:.1f}; the evidence for "
            f"{first.name} is {odds:.1f} nats."
        )
    lines.append(f"{1 - novelty:.1%} of the items of known categories fit their best category less well.")
    if first.typical:
        lines.append(f"Most typical of {first.name}: {', '.join(first.typical)}.")
    return " ".join(lines)
