"""Which words are forms of one word (rate and rates), for any language.

Two words are forms of one another if they begin alike, differ by short endings that many pairs of words
differ by, and occur in the same categories: card and cards are, car and card are not.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
#: Letters that forms share at least, and letters of an ending at most.
BEGINNING, ENDING = 3, 3
#: Pairs of words that differ by the same endings, and how alike their categories are (cosine).
PAIRS, ALIKE = 3, 0.3
#: Words with the same beginning that are compared; bounds the time.
MOST = 60

__all__ = ["forms", "same_words"]


def forms(words: Sequence[str], profile: Array) -> Array:
    """The word that stands for all forms of each word, int array (V,).

    Parameters
    ----------
    words : sequence of str (V,)
        The most frequent first.
    profile : float array (V, K)
        How often each occurs in each category.

    Examples
    --------
    >>> words = ["rate", "rates", "card", "cards", "bill", "bills", "car"]
    >>> profile = np.array([[5, 0], [3, 0], [0, 4], [0, 2], [0, 3], [0, 1], [3, 0]])
    >>> [words[i] for i in forms(words, profile)]
    ['rate', 'rate', 'card', 'card', 'bill', 'bill', 'car']
    """
    beginnings: dict[str, list[int]] = {}
    for number, word in enumerate(words):
        if len(word) >= BEGINNING:
            beginnings.setdefault(word[:BEGINNING], []).append(number)
    pairs: list[tuple[int, int, tuple[str, str]]] = []
    for alike in beginnings.values():
        for one, other in combinations(alike[:MOST], 2):
            shared = _shared(words[one], words[other])
            first, second = sorted((words[one][shared:], words[other][shared:]))
            if max(len(first), len(second)) <= ENDING:
                pairs.append((one, other, (first, second)))
    common = Counter(endings for _, _, endings in pairs)
    length = np.sqrt((profile.astype(np.float64) ** 2).sum(axis=1)) + 1e-12
    stands = np.arange(len(words))
    for one, other, endings in pairs:
        if common[endings] < PAIRS:
            continue
        if profile[one] @ profile[other] / (length[one] * length[other]) > ALIKE:
            least, most = sorted((stands[one], stands[other]))
            stands[stands == most] = least
    return stands


def same_words(one: Iterable[str], other: Iterable[str]) -> bool:
    """Whether two names could be said to have the same words, in whatever form and order.

    Examples
    --------
    >>> same_words(["exchange", "rate"], ["rates", "exchange"]), same_words(["card"], ["card", "lost"])
    (True, False)
    """
    first, second = sorted(set(one)), sorted(set(other))
    return len(first) == len(second) and all(map(_alike, first, second))


def _alike(one: str, other: str) -> bool:
    shared, longest = _shared(one, other), max(len(one), len(other))
    return one == other or (shared >= BEGINNING and longest - shared <= ENDING and 2 * shared > longest)


def _shared(one: str, other: str) -> int:
    """Letters with which two words begin alike."""
    alike = 0
    for first, second in zip(one, other, strict=False):
        if first != second:
            break
        alike += 1
    return alike
