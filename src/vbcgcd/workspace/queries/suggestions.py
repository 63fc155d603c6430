"""Names that categories could have, from what is known now; nothing is renamed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.names import skeleton
from vbcgcd.workspace.naming.likeness import likenesses, mean_similarity
from vbcgcd.workspace.naming.namers import Answer, Namer, Question, ask
from vbcgcd.workspace.naming.phrases import phrase_names
from vbcgcd.workspace.naming.vocabulary import Vocabulary, vocabulary_names
from vbcgcd.workspace.queries.items import typical_items
from vbcgcd.workspace.queries.sources import item_texts
from vbcgcd.workspace.snapshot import Category, Snapshot
from vbcgcd.workspace.values import NameProposal, NameSuggestion

Array = NDArray[Any]
#: Texts of a category that are read, texts and names of neighbours that a namer gets, and all neighbours.
TEXTS, ASKED, NAMED, NEAREST = 60, 12, 5, 10

__all__ = ["suggest"]


def suggest(
    snapshot: Snapshot,
    categories: Sequence[Category],
    *,
    n: int = 3,
    namer: Namer | None = None,
    vocabulary: Vocabulary | None = None,
) -> tuple[NameSuggestion, ...]:
    """Names for live categories, the best first.

    Parameters
    ----------
    snapshot : Snapshot
    categories : sequence of Category
    n : int
        At most so many of each kind.
    namer : Namer, optional
    vocabulary : Vocabulary, optional
        Words for pictures.
    """
    similarity = _similarity(snapshot)
    texts = _texts(snapshot, categories, similarity)
    proposals: dict[int, list[NameProposal]] = {category.id: [] for category in categories}
    answers: dict[int, Answer] = {}
    if namer is not None:
        questions = _questions(snapshot, categories, similarity, texts)
        answers = ask(namer, questions, {c.id: c.name for c in snapshot.state.live})
        for i, answer in answers.items():
            proposals[i] += [NameProposal(answer.name, namer.name)] if answer.name else []
    for source, names in (
        ("texts", _phrases(snapshot, categories, similarity, texts, n)),
        ("vocabulary", _words(snapshot, categories, vocabulary, n)),
        ("likeness", {} if any(texts.values()) else _likenesses(snapshot, categories)),
    ):
        for i, own in names.items():
            proposals[i] += [NameProposal(name, source) for name in own if name]
    return tuple(
        _suggestion(snapshot, category, proposals[category.id], answers.get(category.id), namer)
        for category in categories
    )


def _suggestion(
    snapshot: Snapshot,
    category: Category,
    proposals: Sequence[NameProposal],
    answer: Answer | None,
    namer: Namer | None,
) -> NameSuggestion:
    """What is proposed, without the names that categories have already."""
    good = bool(proposals) and skeleton(proposals[0].name) == skeleton(category.name)
    seen = {skeleton(other.name) for other in snapshot.state.live}
    different: list[NameProposal] = []
    for proposal in proposals:
        if skeleton(proposal.name) not in seen:
            seen.add(skeleton(proposal.name))
            different.append(proposal)
    problem = ""
    if answer is not None and namer is not None and answer.problem:
        problem = f"{namer.name}: {answer.problem}"
    elif not proposals:
        problem = "nothing can be proposed: none of its texts can be read"
    return NameSuggestion(category.id, category.name, category.named_by, tuple(different), good, problem)


def _similarity(snapshot: Snapshot) -> Array:
    """Similarity of all live categories to each other; each one's to itself is minus infinity."""
    similarity = np.array(mean_similarity(snapshot.knowledge), dtype=np.float64)
    np.fill_diagonal(similarity, -np.inf)
    return similarity


def _nearest(snapshot: Snapshot, category: Category, similarity: Array, n: int) -> list[Category]:
    live = snapshot.state.live
    order = np.argsort(-similarity[snapshot.state.ids.index(category.id)], kind="stable")
    return [live[place] for place in order[: min(n, len(live) - 1)]]


def _texts(snapshot: Snapshot, categories: Sequence[Category], similarity: Array) -> dict[int, list[str]]:
    """Texts of the categories and of their neighbours, as far as they can be read."""
    wanted = {category.id for category in categories}
    for category in categories:
        wanted |= {near.id for near in _nearest(snapshot, category, similarity, NEAREST)}
    return {
        i: [text for text in item_texts(snapshot, typical_items(snapshot, i, TEXTS)) if text] for i in wanted
    }


def _phrases(
    snapshot: Snapshot,
    categories: Sequence[Category],
    similarity: Array,
    texts: dict[int, list[str]],
    n: int,
) -> dict[int, list[str]]:
    ids = sorted(texts)
    place = {category: row for row, category in enumerate(ids)}
    rows = [snapshot.state.ids.index(i) for i in ids]
    own = {category.id for category in categories}
    readable = [category.id for category in categories if texts[category.id]]
    if not readable:
        return {}
    names = phrase_names(
        [text for i in ids for text in texts[i]],
        np.repeat(np.arange(len(ids)), [len(texts[i]) for i in ids]),
        len(ids),
        wanted=[place[i] for i in readable],
        similarity=similarity[np.ix_(rows, rows)],
        taken=[category.name for category in snapshot.state.live if category.id not in own],
        n=n,
    )
    return dict(zip(readable, names, strict=True))


def _words(
    snapshot: Snapshot, categories: Sequence[Category], vocabulary: Vocabulary | None, n: int
) -> dict[int, list[str]]:
    if vocabulary is None:
        return {}
    own = {category.id for category in categories}
    places = [snapshot.state.ids.index(category.id) for category in categories]
    taken = [category.name for category in snapshot.state.live if category.id not in own]
    names = vocabulary_names(snapshot.knowledge, vocabulary, places, taken, n)
    return dict(zip([category.id for category in categories], names, strict=True))


def _likenesses(snapshot: Snapshot, categories: Sequence[Category]) -> dict[int, list[str]]:
    places = [snapshot.state.ids.index(category.id) for category in categories]
    names = likenesses(snapshot.state, snapshot.knowledge, places)
    return {category.id: [name] for category, name in zip(categories, names, strict=True)}


def _questions(
    snapshot: Snapshot, categories: Sequence[Category], similarity: Array, texts: dict[int, list[str]]
) -> dict[int, Question]:
    return {
        category.id: Question(
            tuple(texts[category.id][:ASKED]),
            tuple(near.name for near in _nearest(snapshot, category, similarity, NAMED)),
        )
        for category in categories
        if texts[category.id]
    }
