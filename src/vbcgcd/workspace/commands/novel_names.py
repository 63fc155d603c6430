"""The automatic names of the categories that a session discovered."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.discovery.knowledge import Knowledge
from vbcgcd.errors import InputError
from vbcgcd.workspace.batch import Batch
from vbcgcd.workspace.commands.naming import unique_name
from vbcgcd.workspace.naming.likeness import likenesses, mean_similarity
from vbcgcd.workspace.naming.phrases import phrase_names
from vbcgcd.workspace.naming.vocabulary import Vocabulary, vocabulary_names
from vbcgcd.workspace.queries.sources import stored_excerpts
from vbcgcd.workspace.snapshot import Category, NamedBy, Snapshot, State

Array = NDArray[Any]
#: Texts of a known category in a batch from which on they speak for themselves.
ENOUGH = 20

__all__ = ["name_novel"]


def name_novel(
    snapshot: Snapshot,
    knowledge: Knowledge,
    batch: Batch,
    assigned: Array,
    novel: Sequence[int],
    session: int,
    vocabulary: Vocabulary | None = None,
) -> list[Category]:
    """The novel categories of a session, with automatic names.

    Parameters
    ----------
    snapshot : Snapshot
        Before the session.
    knowledge : Knowledge
        After it.
    batch : Batch
    assigned : int array (N,)
        Category of each item.
    novel : sequence of int
        Ids of the novel categories.
    session : int
    vocabulary : Vocabulary, optional
        Words for pictures.
    """
    state = snapshot.state
    proposals: list[tuple[str, NamedBy]] = [("", "number")] * len(novel)
    if novel and state.config["names"] == "auto":
        if batch.items.shown_kind == "text":
            proposals = [(name, "terms") for name in _phrases(snapshot, knowledge, batch, assigned, novel)]
        elif batch.items.shown_kind == "image":
            proposals = _of_pictures(state, knowledge, len(novel), vocabulary)
    taken = [category.name for category in state.live]
    categories: list[Category] = []
    for i, (name, named_by) in zip(novel, proposals, strict=True):
        unique = unique_name(name or f"novel-{i}", [*taken, *(category.name for category in categories)])
        categories.append(Category(i, unique, named_by if name else "number", session))
    return categories


def _phrases(
    snapshot: Snapshot, knowledge: Knowledge, batch: Batch, assigned: Array, novel: Sequence[int]
) -> list[str]:
    """Phrases of the novel categories' texts, contrasted with those of all others in the batch.

    Known categories of which the batch has few texts or none are known by their names and excerpts.
    """
    live = snapshot.state.live
    place = {category: row for row, category in enumerate([*snapshot.state.ids, *novel])}
    rows = [row for row, category in enumerate(assigned.tolist()) if category in place]
    shown = batch.items.shown
    assert shown is not None  # only texts get here
    texts = [str(shown[row]) for row in rows]
    codes = [place[int(assigned[row])] for row in rows]
    counts = np.bincount(np.array(codes, int), minlength=len(place))
    excerpts = stored_excerpts(snapshot)
    for category in live:
        if counts[place[category.id]] < ENOUGH:
            known = [part["text"] for part in excerpts.get(category.id, []) if part.get("text")]
            known = [category.name.replace("_", " "), *known]
            texts, codes = texts + known, codes + [place[category.id]] * len(known)
    names = phrase_names(
        texts,
        np.array(codes, int),
        len(place),
        wanted=[place[i] for i in novel],
        similarity=mean_similarity(knowledge),
        taken=[category.name for category in live],
    )
    return [own[0] if own else "" for own in names]


def _of_pictures(
    state: State, knowledge: Knowledge, n_novel: int, vocabulary: Vocabulary | None
) -> list[tuple[str, NamedBy]]:
    n_known = len(state.ids)
    places = list(range(n_known, n_known + n_novel))
    words: list[list[str]] = [[] for _ in places]
    if vocabulary is not None:
        with suppress(InputError):  # vectors of words that lie beyond all items
            words = vocabulary_names(knowledge, vocabulary, places, [c.name for c in state.live])
    alike = likenesses(state, knowledge, places)
    return [(own[0], "terms") if own else (like, "likeness") for own, like in zip(words, alike, strict=True)]
