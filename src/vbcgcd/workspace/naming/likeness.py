"""Names of pictures for which no words are known: the categories that they resemble."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
#: Letters of such a name at most; a second category is left out rather than cut.
LETTERS = 60

__all__ = ["likeness"]


def likeness(similarity: Array, names: Sequence[str], *, letters: int = LETTERS) -> str:
    """``like cat or dog``, after the two nearest categories; empty if there are none.

    Parameters
    ----------
    similarity : array (K,)
        To each category.
    names : sequence of str (K,)
    letters : int
        At most so many, unless a single name is longer.

    Examples
    --------
    >>> likeness(np.array([0.1, 0.9, 0.5]), ["cat", "dog", "owl"])
    'like dog or owl'
    """
    nearest = [names[place] for place in np.argsort(-np.asarray(similarity), kind="stable")[:2]]
    both = f"like {' or '.join(nearest)}"
    if not nearest:
        return ""
    return both if len(both) <= letters else f"like {_cut(nearest[0], letters - len('like '))}"


def _cut(name: str, letters: int) -> str:
    """The first words of a name that fit; a single word stays whole unless it is absurdly long."""
    if len(name) <= letters:
        return name
    first, *rest = name.split()
    cut = first[: 3 * letters]
    for word in rest:
        if len(cut) + 1 + len(word) > letters:
            break
        cut += f" {word}"
    return cut
