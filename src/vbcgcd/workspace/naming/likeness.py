"""Names of pictures for which no words are known: the categories that they resemble."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.discovery.knowledge import Knowledge
from vbcgcd.workspace.snapshot import State

Array = NDArray[Any]
#: Letters of such a name at most; a second category is left out rather than cut.
LETTERS = 60

__all__ = ["likeness", "likenesses", "mean_similarity"]


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


def mean_similarity(knowledge: Knowledge) -> Array:
    """Similarity of all categories to each other, array (K, K)."""
    geometry, means = knowledge.novelty.geometry, knowledge.posterior.mean
    return geometry.similarity(geometry.prepared(means), means)


def likenesses(state: State, knowledge: Knowledge, places: Sequence[int]) -> list[str]:
    """Names after the nearest other categories that people have named, or after any if there are none.

    Parameters
    ----------
    state : State
        Its live categories are the first ones of the knowledge.
    knowledge : Knowledge
    places : sequence of int
        Categories of the knowledge to be named.
    """
    geometry, means = knowledge.novelty.geometry, knowledge.posterior.mean
    similarity = geometry.similarity(geometry.prepared(means[list(places)]), means[: len(state.ids)])
    by_people = [row for row, category in enumerate(state.live) if category.named_by in ("label", "user")]
    rows = by_people or list(range(len(state.ids)))
    names: list[str] = []
    for place, alike in zip(places, similarity, strict=True):
        others = [row for row in rows if row != place]
        names.append(likeness(alike[others], [state.live[row].name for row in others]))
    return names


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
