"""Names of text categories: the phrase that tells a category from its neighbours, as its texts write it.

A candidate is a run of up to four words of one text that at least two texts of the category hold. Its score
is the sum of the salience of its words (`vbcgcd.workspace.naming.evidence`), times factors between 0 and 1:

- how often the category writes it, to the power 1/5;
- how much more of the category's texts hold its words than of the neighbour's that hold them most;
- whether it is whole: not a part of one longer phrase that its texts nearly always write;
- whether it begins and ends with words that say something, and is neither one word nor too long.

Each word that is no function word must say something about the category.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.names import skeleton, unseen_character, without_unseen
from vbcgcd.workspace.naming.evidence import Evidence, gather_evidence
from vbcgcd.workspace.naming.forms import same_words
from vbcgcd.workspace.naming.function_words import QUESTIONS
from vbcgcd.workspace.naming.words import BREAK, is_unspaced, tokens

Array = NDArray[Any]
#: Words of a phrase at most, and letters of a script without blanks.
WORDS, SIGNS = 4, 6
#: Letters of a name at most: a phrase is taken whole or not at all.
LETTERS = 60
#: Factor for a phrase of one word, and for the longest ones.
SINGLE, LONG = 0.75, 0.9
#: Factor for each end that is a function word, and what function words count of their salience.
LOOSE_END, FUNCTION = 0.4, 0.15
#: Share of the score that a phrase loses if it is always part of one longer phrase.
PARTIAL = 0.7
#: Power of the contrast to the neighbours.
CONTRAST = 0.5
#: Power of the frequency, and texts of a category (of all) that must hold a phrase.
FREQUENCY, LEAST = 0.2, 0.03
#: Salience of a word at least, of that of the best word.
TELLING = 0.1
#: Candidates of a category whose contrast is computed.
MOST = 40
#: Share of a phrase's occurrences with the same next word that makes this word part of it.
ALWAYS = 0.7

__all__ = ["phrase_names"]


@dataclass(frozen=True)
class Phrase:
    """A candidate for the name of a group.

    Parameters
    ----------
    words : tuple of int
    places : int array
        Where the texts of the group have it: positions of its first word in the corpus.
    count : int
        Texts of the group that have it.
    whole : float
        Smaller share of its occurrences, before and after it, that go on in another way than most do.
    score : float
    """

    words: tuple[int, ...]
    places: Array
    count: int
    whole: float
    score: float = 0.0


def phrase_names(
    texts: Sequence[str],
    codes: Array,
    n_groups: int,
    *,
    wanted: Iterable[int] | None = None,
    similarity: Array | None = None,
    taken: Iterable[str] = (),
    n: int = 1,
) -> list[list[str]]:
    """Names for groups of texts, the best first; none where nothing tells a group from the others.

    No two groups get the same words, in whatever form and order, as their first name.

    Parameters
    ----------
    texts : sequence of str (N,)
    codes : int array (N,)
        Group of each text, 0 to ``n_groups - 1``.
    n_groups : int
    wanted : iterable of int, optional
        Groups to name, the others being there for the contrast; None names all.
    similarity : array (K, K), optional
        Of the groups; None compares their words.
    taken : iterable of str
        Names of others, whose words are not used again.
    n : int
        Names of each group at most.

    Examples
    --------
    >>> texts = ["I lost my luggage", "lost my luggage again", "exchange rate", "the exchange rate today"]
    >>> phrase_names(texts, np.array([0, 0, 1, 1]), 2)
    [['lost my luggage'], ['exchange rate']]
    """
    groups = list(range(n_groups) if wanted is None else wanted)
    evidence = gather_evidence(texts, np.asarray(codes), n_groups, similarity)
    ranked = _candidates(evidence, groups)
    given = [(_content(evidence, name), skeleton(name)) for name in taken]
    names: dict[int, list[str]] = {group: [] for group in groups}
    by_strength = sorted(groups, key=lambda group: -max((p.score for p in ranked[group]), default=0.0))
    for group in by_strength:
        names[group] = _different(evidence, ranked[group], given, n)
        given += [(_content(evidence, name), skeleton(name)) for name in names[group][:1]]
    return [names[group] for group in groups]


def _different(
    evidence: Evidence, phrases: Sequence[Phrase], given: Sequence[tuple[list[str], str]], n: int
) -> list[str]:
    """The best names of a group that have other words than all names that were given; each says more."""
    names: list[str] = []
    said: list[frozenset[int]] = []
    for phrase in phrases:
        if len(names) == n:
            break
        name, meaning = _written(evidence, phrase), _meaning(evidence, phrase.words)
        if any(meaning <= other for other in said) or (names and evidence.weak[list(phrase.words)].all()):
            continue
        words, looks = _content(evidence, name), skeleton(name)
        if not any(looks == other or same_words(words, own) for own, other in given):
            said.append(meaning)
            names.append(name)
    return names


def _candidates(evidence: Evidence, groups: Sequence[int]) -> dict[int, list[Phrase]]:
    """The best phrases of each group, the best first."""
    by_group: dict[int, list[Phrase]] = {group: [] for group in groups}
    for group, phrase in _phrases(evidence, np.array(groups)):
        scored = replace(phrase, score=_first_score(evidence, group, phrase))
        if scored.score > 0:
            by_group[group].append(scored)
    return {group: _contrasted(evidence, group, found) for group, found in by_group.items()}


def _phrases(evidence: Evidence, groups: Array) -> Iterator[tuple[int, Phrase]]:
    """Every run of words that enough texts of a group have."""
    corpus, sizes = evidence.corpus, evidence.sizes
    ids, n_words = corpus.ids, len(corpus.words)
    least = np.minimum(np.maximum(2, LEAST * sizes), sizes)
    group_at = np.where(ids >= 0, evidence.group[corpus.text], -1) if len(ids) else ids
    wanted = np.isin(group_at, groups)
    signs = np.array([is_unspaced(word) for word in corpus.words], bool)
    at = np.flatnonzero(wanted)
    # The run that begins at each place, numbered; one word longer each time.
    run = ids[at].copy()
    for length in range(1, SIGNS + 1):
        if length > 1:
            after = ids[np.minimum(at + length - 1, len(ids) - 1)]
            keep = after >= 0
            if length > WORDS:
                keep &= signs[np.maximum(after, 0)] & signs[ids[at]]
            at, after, run = at[keep], after[keep], run[keep]
            _, run = np.unique(run * n_words + after, return_inverse=True)
        if not len(at):
            return
        yield from _frequent(evidence, at, run, length, group_at[at], least)


def _frequent(
    evidence: Evidence, at: Array, run: Array, length: int, group: Array, least: Array
) -> Iterator[tuple[int, Phrase]]:
    corpus = evidence.corpus
    key = run.astype(np.int64) * len(evidence.sizes) + group
    order = np.argsort(key, kind="stable")
    _, first, count = np.unique(key[order], return_index=True, return_counts=True)
    enough = count >= least[group[order[first]]]
    for start, n in zip(first[enough].tolist(), count[enough].tolist(), strict=True):
        places = at[order[start : start + n]]
        holders = len(np.unique(corpus.text[places]))
        own = int(group[order[start]])
        if holders >= least[own]:
            words = tuple(corpus.ids[places[0] : places[0] + length].tolist())
            yield own, Phrase(words, places, holders, _wholeness(evidence, places, length))


def _wholeness(evidence: Evidence, places: Array, length: int) -> float:
    """How often the words around a phrase are others than the commonest; function words do not count."""
    corpus, least = evidence.corpus, 1.0
    for around in (places - 1, places + length):
        ids = np.where(around >= 0, corpus.ids[np.clip(around, 0, len(corpus.ids) - 1)], -1)
        ids = ids[ids >= 0]
        ids = ids[~evidence.weak[ids]]
        if len(ids):
            least = min(least, 1 - np.bincount(ids).max() / len(places))
    return float(least)


def _first_score(evidence: Evidence, group: int, phrase: Phrase) -> float:
    """The score without the contrast to the neighbours; 0 for what cannot be a name."""
    words = np.array(phrase.words)
    if sum(len(evidence.corpus.written[word]) + 1 for word in phrase.words) > LETTERS:
        return 0.0
    stems, weak = evidence.stem[words], evidence.weak[words]
    salience = evidence.salience[stems, group]
    best = float(evidence.salience[:, group].max())
    if len(set(stems.tolist())) < len(stems) or np.any(salience[~weak] < TELLING * best):
        return 0.0
    ends = 1.0
    asks = len(words) > 1 and not weak[1] and evidence.corpus.words[words[0]] in QUESTIONS
    if weak[0] and not asks:
        ends *= LOOSE_END
    if weak[-1]:
        ends *= LOOSE_END
    frequency = float(phrase.count / evidence.sizes[group]) ** FREQUENCY
    whole = 1 - PARTIAL * (1 - phrase.whole)
    told = float(np.where(weak, FUNCTION * salience, salience).sum())
    return told * frequency * ends * whole * _length_factor(evidence, phrase)


def _length_factor(evidence: Evidence, phrase: Phrase) -> float:
    length = len(phrase.words)
    if is_unspaced(evidence.corpus.words[phrase.words[0]]):
        return {1: SINGLE**2, 2: LONG}.get(length, 1.0)
    return {1: SINGLE, WORDS: LONG}.get(length, 1.0)


def _contrasted(evidence: Evidence, group: int, phrases: list[Phrase]) -> list[Phrase]:
    """The best phrases, scored also by how few texts of any neighbour hold their words."""
    near = evidence.nearest[group]
    contrast: dict[frozenset[int], float] = {}
    scored: list[Phrase] = []
    for phrase in sorted(phrases, key=lambda phrase: -phrase.score)[:MOST]:
        meaning = _meaning(evidence, phrase.words)
        if meaning not in contrast:
            shares = evidence.shares(meaning)
            rival = shares[near].max() if len(near) else 0.0
            contrast[meaning] = float(shares[group] / (shares[group] + rival))
        scored.append(replace(phrase, score=phrase.score * contrast[meaning] ** CONTRAST))
    return sorted(scored, key=lambda phrase: -phrase.score)


def _meaning(evidence: Evidence, words: Iterable[int]) -> frozenset[int]:
    """Stems of the words that are no function words, or of all if there are no others."""
    words = list(words)
    content = [word for word in words if not evidence.weak[word]]
    return frozenset(evidence.stem[content or words].tolist())


def _content(evidence: Evidence, name: str) -> list[str]:
    """The words of a name that are no function words of the texts, or all if there are no others."""
    words = [word.casefold() for word in tokens(name.replace("_", " ")) if word]
    return [word for word in words if word not in evidence.function_words] or words


def _written(evidence: Evidence, phrase: Phrase) -> str:
    """The phrase as it is written, with what nearly always belongs to it."""
    corpus = evidence.corpus
    words = list(phrase.words)
    before, after = _neighbour(evidence, phrase.places - 1), _neighbour(evidence, phrase.places + len(words))
    if before is not None and corpus.words[before] in QUESTIONS:
        words.insert(0, before)
    if after is not None and _ends(evidence, phrase, after):
        words.append(after)
    written = ""
    for word in words:
        text = corpus.written[word]
        glued = not written or (is_unspaced(text) and is_unspaced(written[-1]))
        written += text if glued else f" {text}"
    return without_unseen(written) if unseen_character(written) else written


def _neighbour(evidence: Evidence, places: Array) -> int | None:
    """The word that nearly always stands at these places; None if there is none."""
    ids = evidence.corpus.ids[np.clip(places, 0, len(evidence.corpus.ids) - 1)]
    counts = np.bincount(ids[ids >= 0])
    return int(counts.argmax()) if len(counts) and counts.max() >= ALWAYS * len(places) else None


def _ends(evidence: Evidence, phrase: Phrase, word: int) -> bool:
    """Whether a text mostly pauses after the phrase and this word."""
    ids, after = evidence.corpus.ids, phrase.places + len(phrase.words)
    here = after[ids[after] == word]
    repeated = evidence.stem[word] in evidence.stem[list(phrase.words)]
    return not repeated and bool(np.mean(ids[here + 1] == BREAK) >= ALWAYS)
