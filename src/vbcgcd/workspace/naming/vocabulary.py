"""Words that a user gave, for pictures: those that an embedder of texts and pictures finds most alike.

Some embedders (CLIP and its relatives) map texts and pictures into one space. Such an embedder of pictures
has a second method, ``embed_texts(texts)``, whose vectors can be compared with those of ``embed``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from vbcgcd.discovery.knowledge import Knowledge
from vbcgcd.errors import InputError, MissingFileError
from vbcgcd.names import skeleton
from vbcgcd.workspace.naming.rules import check_name

Array = NDArray[Any]
#: Words of a vocabulary at most, and letters of a word: it is kept among the settings.
MOST, LETTERS = 5000, 60

__all__ = [
    "EmbedsTexts",
    "Vocabulary",
    "check_vocabulary",
    "embedded",
    "read_vocabulary",
    "vocabulary_names",
]


@runtime_checkable
class EmbedsTexts(Protocol):
    """An embedder of pictures that maps texts into the same space."""

    def embed_texts(self, texts: Sequence[str]) -> Array:
        """Vectors (N, dimension) of N texts, comparable with those of pictures."""


@dataclass(frozen=True, eq=False)
class Vocabulary:
    """Words with their vectors.

    Parameters
    ----------
    words : sequence of str (M,)
    vectors : array (M, d)
        In the space of the items' embeddings.
    """

    words: Sequence[str]
    vectors: Array


def read_vocabulary(value: Any) -> list[str]:
    """A vocabulary as the settings keep it: words or short phrases, from a text file or a list.

    Parameters
    ----------
    value : path or sequence of str
        A file has one entry on each line; empty lines and those that begin with ``#`` are left out.
    """
    if not isinstance(value, str | os.PathLike):
        return check_vocabulary(value)
    path = Path(value)
    if not path.is_file():
        raise MissingFileError(f"There is no file {path}; give a text file with one word on each line.")
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeError) as error:
        raise InputError(f"{path} cannot be read as UTF-8 text: {error}.", option="vocabulary") from None
    words = (line.strip() for line in lines)
    return check_vocabulary([word for word in words if word and not word.startswith("#")])


def check_vocabulary(value: Any) -> list[str]:
    """The different words of a list, or one clear error."""
    if value is None:
        return []
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InputError(f"vocabulary must be a list of words, got {value!r}.", option="vocabulary")
    words = list(dict.fromkeys(check_name(word) for word in value))
    if len(words) > MOST:
        raise InputError(f"vocabulary may have up to {MOST} words, got {len(words)}.", option="vocabulary")
    long = next((word for word in words if len(word) > LETTERS), None)
    if long is not None:
        raise InputError(
            f"A word of the vocabulary may have up to {LETTERS} letters, got {long[:80]!r}.",
            option="vocabulary",
        )
    return words


def embedded(words: Sequence[str], embedder: Any) -> Vocabulary:
    """The words with their vectors.

    Raises
    ------
    InputError
        The embedder understands no texts, or its vectors do not fit.
    """
    name, dimension = embedder.name, embedder.dimension
    if not isinstance(embedder, EmbedsTexts):
        raise InputError(f"the embedder {name!r} has no embed_texts, so it knows no words.")
    vectors = np.asarray(embedder.embed_texts(list(words)))
    if vectors.shape != (len(words), dimension) or not np.isfinite(vectors).all():
        raise InputError(
            f"the embedder {name!r} gave vectors of shape {vectors.shape} for {len(words)} words, expected "
            f"({len(words)}, {dimension}) finite numbers."
        )
    return Vocabulary(tuple(words), vectors)


def vocabulary_names(
    knowledge: Knowledge, vocabulary: Vocabulary, wanted: Sequence[int], taken: Iterable[str] = (), n: int = 1
) -> list[list[str]]:
    """The words most like each wanted category, the best first; no two categories get the same first word.

    A word that is alike to every category says nothing, so its mean similarity to all is taken off.

    Parameters
    ----------
    knowledge : Knowledge
    vocabulary : Vocabulary
    wanted : sequence of int
        Places of categories among the posteriors.
    taken : iterable of str
        Words that name others.
    n : int
        Words for each at most.
    """
    geometry = knowledge.novelty.geometry
    words = geometry.prepared(knowledge.reduced(np.asarray(vocabulary.vectors)))
    similarity = np.asarray(geometry.similarity(words, knowledge.posterior.mean), dtype=np.float64)
    similarity -= similarity.mean(axis=1, keepdims=True)
    looks = {skeleton(name) for name in taken}
    free = [place for place, word in enumerate(vocabulary.words) if skeleton(word) not in looks]
    names: dict[int, list[str]] = {category: [] for category in wanted}
    ranked = {category: sorted(free, key=lambda w: (-similarity[w, category], w)) for category in wanted}
    used: set[int] = set()
    for category in sorted(wanted, key=lambda c: -max(similarity[free, c], default=0.0)):
        first = next((word for word in ranked[category] if word not in used), None)
        if first is None:
            continue
        used.add(first)
        others = [word for word in ranked[category] if word != first]
        names[category] = [vocabulary.words[word] for word in [first, *others][:n]]
    return [names[category] for category in wanted]
