"""Names of categories: plain text, unique among the live ones; the user's always win.

Novel text categories are named after their distinctive terms: with tf(t, c) the share of term t in the texts
of category c and f(t) its count in the whole session, the weight is tf(t, c) log(1 + A / f(t)), where A is
the mean number of terms per category (TF-IDF with one document for each category). Pictures are named after
the nearest known categories.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.errors import InputError
from vbcgcd.labels import NONE_OF_THESE
from vbcgcd.names import confusable_with, normalised, skeleton, unseen_character, without_unseen
from vbcgcd.workspace.batch import Batch, storable

Array = NDArray[Any]
LONGEST = 200
#: Terms in the name of a text category, and categories in that of another.
TERMS, LIKENESSES = 3, 2
#: Terms considered; bounds the memory.
MOST_TERMS = 20_000
#: Words with an apostrophe are one word: o'clock.
WORD = r"(?u)\b[^\W\d_]+(?:'[^\W\d_]+)+\b|\b[^\W\d_]{2,}\b"
#: English short forms say nothing (don't, we'll), nor does a genitive's ending.
_SHORT = re.compile(r"\b[^\W\d_]+(?:n't|'(?:d|ll|m|re|ve))\b|'s\b", re.IGNORECASE)

__all__ = [
    "check_distinct",
    "check_name",
    "distinctive_terms",
    "label_name",
    "label_names",
    "likeness",
    "terms_of_groups",
]


def check_name(name: Any) -> str:
    """A name chosen by the user as it is stored (see `vbcgcd.names`), or one clear error."""
    if not isinstance(name, str) or not name.strip():
        raise InputError(f"A name must be non-empty text, got {name!r}.", option="name")
    name = normalised(name)
    if len(name) > LONGEST:
        raise InputError(f"A name may have up to {LONGEST} characters, got {len(name)}.", option="name")
    unseen = unseen_character(name)
    if unseen:
        raise InputError(
            f"A name must not contain line breaks or other characters that cannot be seen, got {name!a} with "
            f"{unseen}; leave it out.",
            option="name",
        )
    if re.fullmatch("#[0-9]+", name):
        raise InputError(f"{name!r} means the id {name[1:]}, so it cannot be a name.", option="name")
    if skeleton(name) == NONE_OF_THESE:
        raise InputError(
            f"{NONE_OF_THESE!r} is reserved for rejected items; choose another name.", option="name"
        )
    return name


def label_name(label: Any) -> str:
    """The name of a category from its label, exactly, except that tabs and line breaks are blanks.

    Raises
    ------
    InputError
        The label cannot be a name: it is too long, reserved, or holds characters that cannot be seen.
    """
    text = storable(str(label))
    name = normalised("".join(" " if letter in "\t\n\v\f\r" else letter for letter in text))
    if not name:
        raise InputError(f"The label {label!a} is empty; give it a text.", option="label")
    if len(name) > LONGEST:
        raise InputError(
            f"The label {name[:40]!a}... has {len(name)} characters, at most {LONGEST} are allowed; "
            "shorten it, or choose the column of the labels with the option 'label'.",
            option="label",
        )
    unseen = unseen_character(name)
    if unseen:
        raise InputError(
            f"The label {name!a} contains {unseen}, which cannot be seen; remove it from the label.",
            option="label",
        )
    if skeleton(name) == NONE_OF_THESE:
        raise InputError(
            f"The label {NONE_OF_THESE!r} is reserved for rejected items; rename it, or leave the label "
            "empty.",
            option="label",
        )
    return name


def label_names(labels: Sequence[Any], live: Sequence[str]) -> list[str]:
    """The name of each label: that of the live category that it means, else a new one.

    Parameters
    ----------
    labels : sequence
        Different labels.
    live : sequence of str
        Names of the live categories.

    Raises
    ------
    InputError
        A label cannot be a name, or could be taken for another label or category that it is not.
    """
    known = {normalised(name): name for name in reversed(live)} | {name: name for name in live}
    looks = {skeleton(name): name for name in reversed(live)}
    names: list[str] = []
    for label in labels:
        name = label_name(label)
        if name in known:
            name = known[name]
        elif looks.setdefault(skeleton(name), name) != name:
            other = looks[skeleton(name)]
            raise _confusable("label", ascii(name), "category" if other in live else "label", ascii(other))
        names.append(name)
    return names


def check_distinct(name: str, others: Iterable[str]) -> None:
    """Raise if a name chosen by the user could be taken for another one."""
    other = confusable_with(name, others)
    if other is not None:
        raise _confusable("name", ascii(name), "name", ascii(other))


def _confusable(what: str, name: str, kind: str, other: str) -> InputError:
    return InputError(
        f"The {what} {name} looks the same as the {kind} {other}, but is written differently; write both the "
        "same way, or make the difference visible.",
        option=what,
    )


def distinctive_terms(
    texts: Sequence[str], codes: Array, n_groups: int, *, n_terms: int = TERMS
) -> list[str]:
    """The most distinctive terms of each group of texts, joined by commas; empty where there are none.

    Parameters
    ----------
    texts : sequence of str (N,)
    codes : int array (N,)
        Group of each text, 0 to ``n_groups - 1``.
    n_groups : int
    n_terms : int

    Examples
    --------
    >>> import numpy as np
    >>> texts = ["my card was declined", "a declined card", "book a table", "a table for two"]
    >>> distinctive_terms(texts, np.array([0, 0, 1, 1]), 2, n_terms=1)
    ['card', 'table']
    """
    from scipy.sparse import csr_matrix
    from sklearn.feature_extraction.text import CountVectorizer

    counter = CountVectorizer(
        ngram_range=(1, 2),
        stop_words="english",
        token_pattern=WORD,
        max_features=MOST_TERMS,
    )
    try:
        counts = counter.fit_transform([_SHORT.sub(" ", text[:5000].replace("’", "'")) for text in texts])
    except ValueError:  # not a single term
        return [""] * n_groups
    terms = counter.get_feature_names_out()
    # A term counts once for a text: a repeated word should not name a category.
    counts.data[:] = 1
    group = csr_matrix((np.ones(len(texts)), (codes, np.arange(len(texts)))), shape=(n_groups, len(texts)))
    by_group = (group @ counts).toarray()
    sums = np.maximum(by_group.sum(axis=1, keepdims=True), 1)
    weight = by_group / sums * np.log1p(sums.mean() / np.maximum(by_group.sum(axis=0), 1))
    sizes = np.bincount(codes, minlength=n_groups)
    return [_joined(terms, weight[k], by_group[k], sizes[k], n_terms) for k in range(n_groups)]


def _joined(terms: Array, weight: Array, count: Array, size: int, n_terms: int) -> str:
    """The heaviest terms, without one that repeats the words of another."""
    weight = np.where(count >= min(2, size), weight, 0.0)
    chosen: list[str] = []
    for place in np.lexsort((terms, -weight))[:50]:
        term = str(terms[place])
        words = set(term.split())
        if weight[place] <= 0 or len(chosen) == n_terms:
            break
        if not any(words & set(other.split()) for other in chosen):
            chosen.append(term)
    return without_unseen(", ".join(chosen))


def likeness(similarity: Array, names: Sequence[str], *, n_names: int = LIKENESSES) -> str:
    """``like cat, dog`` from the similarity to each known category, array (K,)."""
    nearest = np.argsort(-similarity, kind="stable")[:n_names]
    return f"like {', '.join(names[i] for i in nearest)}"[:LONGEST] if len(nearest) else ""


def terms_of_groups(batch: Batch, codes: Array, n_groups: int) -> list[str]:
    """Distinctive terms of each group of a batch; empty unless the items are texts or bring them."""
    if batch.items.shown is None or batch.items.shown_kind != "text":
        return [""] * n_groups
    return distinctive_terms([str(text) for text in batch.items.shown], codes, n_groups)
