"""For how many rows a novel category counts beside known ones.

The covariance of a category with few rows is mostly the prior's. One with many rows has learned what the
projection, made from the same few rows, has missed, and which holds for all categories alike. Beside novel
categories with ten times their rows, known ones may therefore lose rows of their own, which look no more
novel than others. Then categories are better compared on equal terms: a novel one counts for as many rows as
known ones have.

Whether that is so, the rows of the session tell. Which of them are novel was decided by their likeness to
means, which allows for means of few rows. Where the posteriors would take rows of known categories back for
novel ones, and fewer of them on equal terms, the terms are made equal.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.bayes import Statistics, top_categories
from vbcgcd.discovery.knowledge import Knowledge
from vbcgcd.discovery.top import is_listed

Array = NDArray[Any]

#: Up to so many times as many rows count as equally many: sizes of clusters are only estimated.
ALIKE = 2.0
#: Rows of each kind, known and novel, by which it is decided.
JUDGING_ROWS = 1000

__all__ = ["balance", "balanced_shares"]


def balance(rows: Array, weight: Array, statistics: Statistics, knowledge: Knowledge) -> Array:
    """Share of its statistics with which each novel category counts, array (K,).

    Parameters
    ----------
    rows : array (N, D)
        Reduced embeddings of a session.
    weight : array (N, K)
        Weight with which each row teaches each novel category.
    statistics : Statistics
        Of the novel categories.
    knowledge : Knowledge
        Of the known categories.

    Returns
    -------
    array (K,)
        Those of `balanced_shares` if with them more rows of known categories, and more of all, go where the
        session has put them, with the same weight for each category; else 1.
    """
    everything = np.ones(len(statistics))
    shares = balanced_shares(statistics.count, knowledge.counts)
    teaches: Array = np.asarray(weight.any(axis=1))
    groups = [_spread_out(np.flatnonzero(teaches == novel)) for novel in (False, True)]
    if (shares == 1).all() or not all(map(len, groups)):
        return everything
    best = [_best_known(rows[chosen], knowledge) for chosen in groups]

    def agreement(shares: Array) -> Array:
        """Share of the rows of known and of novel categories that go where the session has put them."""
        posterior = knowledge.posterior_of(statistics * shares)
        agreed = []
        for chosen, known in zip(groups, best, strict=True):
            novel = knowledge.classifier.log_density(rows[chosen], posterior)
            own = np.where(teaches[chosen], weight[chosen].argmax(axis=1), -1)
            answer = np.where(novel.max(axis=1) > known, novel.argmax(axis=1), -1)
            agreed.append(np.mean(answer == own))
        return np.array(agreed)

    gain = agreement(shares) - agreement(everything)
    sizes = np.array([len(knowledge.posterior), len(statistics)])
    return shares if gain[0] > 0 and sizes @ gain > 0 else everything


def balanced_shares(counts: Array, known: Array) -> Array:
    """Shares with which no novel category counts for far more rows than known ones have, array (K,).

    Parameters
    ----------
    counts : array (K,)
        Rows of the novel categories, by weight.
    known : array (Kk,)
        Rows of the known categories; those without any do not matter.

    Returns
    -------
    array (K,)
        1 for those with at most twice the rows that half of the known ones have; the others count for as many
        rows as these.

    Examples
    --------
    >>> import numpy as np
    >>> balanced_shares(np.array([15.0, 200.0]), np.array([8.0, 10.0, 500.0]))
    array([1.  , 0.05])
    """
    known = known[known > 0]
    if len(known) == 0:
        return np.ones(len(counts))
    typical = float(np.median(known))
    return np.where(counts > ALIKE * typical, typical / np.maximum(counts, typical), 1.0)


def _best_known(rows: Array, knowledge: Knowledge) -> Array:
    """Log-density of each row under its best known category, array (n,)."""
    if is_listed(knowledge):
        return top_categories(rows, knowledge.posterior, knowledge.classifier, 1).log_density[:, 0]
    return np.asarray(knowledge.classifier.log_density(rows, knowledge.posterior).max(axis=1))


def _spread_out(places: Array) -> Array:
    """At most so many places, evenly spaced."""
    step = max(1, -(-len(places) // JUDGING_ROWS))
    return places[::step]
