"""What the words of texts say about the category of a text, beside the categories nearest to it.

With r(w, c) the share of texts of category c that hold a form of word w, and q(w, c) a mean of three such
shares (over all categories, over those nearest to c, and, with half the weight, in the one of these that has
the word most), the salience of w is r^1.5 log((r + e) / (q + e)): how much the word tells, and how often it
is there to tell it.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.workspace.naming.forms import forms
from vbcgcd.workspace.naming.function_words import function_words
from vbcgcd.workspace.naming.words import Corpus, read_texts

Array = NDArray[Any]
#: Categories that a name must be told apart from, and texts of a category that are read.
NEAREST, MOST_TEXTS = 10, 400
#: Keeps the salience of a rare word finite; and the power of the share of texts that hold a word.
SMALL, POWER = 0.01, 1.5

__all__ = ["Evidence", "gather_evidence"]


@dataclass(frozen=True, eq=False)
class Evidence:
    """Texts in groups, and what their words tell.

    Parameters
    ----------
    corpus : Corpus
    group : int array (N,)
        Group of each text.
    sizes : int array (K,)
    stem : int array (V,)
        The word that stands for all forms of each word.
    weak : bool array (V,)
        Function words.
    nearest : int array (K, n)
        Groups nearest to each.
    salience : float array (V, K)
        Of the stems; see the module.
    texts_with : dict of stem -> int array
        Texts that hold a form of it.
    """

    corpus: Corpus
    group: Array
    sizes: Array
    stem: Array
    weak: Array
    nearest: Array
    salience: Array
    texts_with: dict[int, Array]

    @functools.cached_property
    def function_words(self) -> frozenset[str]:
        """The function words themselves."""
        return frozenset(self.corpus.words[word] for word in np.flatnonzero(self.weak))

    def shares(self, stems: Iterable[int]) -> Array:
        """Share of the texts of each group that hold all these stems, array (K,)."""
        texts: Array | None = None
        for stem in stems:
            own = self.texts_with[stem]
            texts = own if texts is None else np.intersect1d(texts, own, assume_unique=True)
        assert texts is not None
        return np.bincount(self.group[texts], minlength=len(self.sizes)) / self.sizes


def gather_evidence(
    texts: Sequence[str], codes: Array, n_groups: int, similarity: Array | None = None
) -> Evidence:
    """Read texts in groups.

    Parameters
    ----------
    texts : sequence of str (N,)
    codes : int array (N,)
        Group of each, 0 to ``n_groups - 1``.
    n_groups : int
    similarity : array (K, K), optional
        Of the groups; None compares their words.
    """
    rows = _some(codes, n_groups)
    group = codes[rows]
    corpus = read_texts([texts[row] for row in rows])
    sizes = np.maximum(np.bincount(group, minlength=n_groups), 1)
    at = np.flatnonzero(corpus.ids >= 0)
    n_words = len(corpus.words)
    by_word, _ = _count(corpus.ids[at], corpus.text[at], group, (n_words, n_groups))
    stem = forms(corpus.words, by_word)
    by_stem, pairs = _count(stem[corpus.ids[at]], corpus.text[at], group, (n_words, n_groups))
    share = by_stem / (sizes + 1)  # a group of few texts is no proof of what its category is like
    near = _nearest(_by_words(share) if similarity is None else similarity)
    return Evidence(
        corpus,
        group,
        sizes,
        stem,
        function_words(corpus, _spread(by_word / sizes), n_groups),
        near,
        _salience(share, near),
        dict(_split(*pairs)),
    )


def _some(codes: Array, n_groups: int) -> Array:
    """Texts that are read: all, or evenly many of a large group."""
    rows = [np.flatnonzero(codes == group) for group in range(n_groups)]
    some = [own[np.linspace(0, len(own) - 1, min(len(own), MOST_TEXTS)).astype(int)] for own in rows]
    return np.sort(np.concatenate(some)) if some else np.empty(0, int)


def _count(words: Array, text: Array, group: Array, shape: tuple[int, int]) -> tuple[Array, Any]:
    """Texts of each group that hold each word, (V, K), and the pairs of word and text."""
    n = max(len(group), 1)
    pairs = np.unique(words * n + text)
    word, holder = pairs // n, pairs % n
    places = word * shape[1] + group[holder]
    counts = np.bincount(places, minlength=shape[0] * shape[1]).reshape(shape)
    return counts.astype(np.float32), (word, holder)


def _split(word: Array, text: Array) -> Iterable[tuple[int, Array]]:
    stems, first = np.unique(word, return_index=True)
    return zip(stems.tolist(), np.split(text, first[1:]) if len(stems) else [], strict=True)


def _spread(share: Array) -> Array:
    """In how many groups words are, as if equally often in each: the exponential of the entropy."""
    part = share / np.maximum(share.sum(axis=1, keepdims=True), 1e-12)
    entropy = -(part * np.log(np.where(part > 0, part, 1))).sum(axis=1)
    return np.exp(entropy)


def _by_words(share: Array) -> Array:
    """Similarity of groups by their words, the rare ones weighing more, array (K, K)."""
    rarity = np.log1p(share.shape[1] / np.maximum((share > 0).sum(axis=1), 1))
    profile = np.sqrt(share) * rarity[:, None]
    profile = profile / (np.linalg.norm(profile, axis=0) + 1e-12)
    return profile.T @ profile


def _nearest(similarity: Array) -> Array:
    other = np.array(similarity, dtype=np.float64)
    np.fill_diagonal(other, -np.inf)
    return np.argsort(-other, axis=1, kind="stable")[:, : min(NEAREST, len(other) - 1)]


def _salience(share: Array, nearest: Array) -> Array:
    salience = np.zeros_like(share)
    if not share.size:
        return salience
    everywhere = share.mean(axis=1)
    for group, near in enumerate(nearest):
        around = share[:, near] if len(near) else np.zeros((len(share), 1))
        usual = (everywhere + around.mean(axis=1) + around.max(axis=1) / 2) / 2.5
        own = share[:, group]
        salience[:, group] = own**POWER * np.log((own + SMALL) / (usual + SMALL))
    return np.maximum(salience, 0)
