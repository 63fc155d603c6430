"""Hostile exports, fuzzed input formats and extreme embeddings, counted in the words of the table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import numpy as np

from torture import estimator, formats, imports
from torture.table import DONE, REFUSED, TRACEBACK, WRONG, Counts, attack, finding

#: Outcomes of the attacks on input -> words of the table; anything else must never happen.
WORDS = {"refused": REFUSED, "accepted": DONE, "read": DONE}


def in_words(outcomes: Mapping[str, int], what: str) -> Counts:
    """Counts in the words of the table."""
    counts: Counts = Counter()
    for outcome, number in outcomes.items():
        if number:
            counts[WORDS.get(outcome) or finding(TRACEBACK, f"{what}: {number} {outcome}")] += number
    return counts


@attack("hostile exports", long=2000, short=20)
def hostile_exports(rng: np.random.Generator, n: int) -> Counts:
    """Exports that were changed, their digests computed anew."""
    return in_words(imports.attack(rng, n), "hostile export")


@attack("fuzzed input formats", long=12000, short=100)
def fuzzed_formats(rng: np.random.Generator, n: int) -> Counts:
    """Every format that is read, its bytes changed."""
    return in_words(formats.attack(rng, n, weights=n > 1000), "fuzzed input")


@attack("extreme embeddings", long=6000, short=30)
def extreme_embeddings(rng: np.random.Generator, n: int) -> Counts:
    """Estimators with embeddings, labels, weights and calls of every kind."""
    counts = estimator.fuzz(rng, n, report=lambda seed, error: finding(WRONG, f"seed {seed}: {error!r}"))
    return Counter({DONE: n - counts["failures"], WRONG: counts["failures"]})
