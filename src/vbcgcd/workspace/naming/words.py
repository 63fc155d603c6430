"""Texts as sequences of words, for any language: nothing here knows a vocabulary.

A word is a run of letters, digits and their marks with at least one letter. Punctuation and numbers end a
phrase. Scripts without blanks between words (Chinese, Japanese, Thai, ...) are taken letter by letter.
"""

from __future__ import annotations

import functools
import re
import sys
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
#: Letters of a text that are read, letters of a word, and different words: they bound time and memory.
LETTERS, LONGEST_WORD, MOST_WORDS = 2000, 30, 10_000
#: Written without blanks: Thai to Myanmar, Khmer, kana, Han.
_UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_NUMBER = re.compile(r"[\d'’-]+")
#: Stand where a phrase ends: at a mark or the end of a text, and at a number.
BREAK, NUMBER = -1, -2

__all__ = ["BREAK", "NUMBER", "Corpus", "is_unspaced", "read_texts", "tokens"]


@functools.cache
def _token() -> re.Pattern[str]:
    """A word, or a letter of a script without blanks; marks (vowel signs, accents) belong to their letter."""
    marks = "".join(c for c in map(chr, range(0x300, 0x1D000)) if unicodedata.category(c) in ("Mn", "Mc"))
    own = rf"[{_UNSPACED}][{marks}]*"
    part = rf"(?![{_UNSPACED}])(?:[^\W_][{marks}\u200c\u200d]*)"
    return re.compile(rf"{own}|(?:{part})+(?:['’-](?:{part})+)*")


def is_unspaced(word: str) -> bool:
    """Whether a word is written without blanks around it."""
    return bool(re.match(f"[{_UNSPACED}]", word))


def tokens(text: str) -> Iterator[str | None]:
    """The words of a text as they are written; None where a phrase ends, an empty one for a number.

    Examples
    --------
    >>> list(tokens("Book a flight, don't wait!"))
    ['Book', 'a', 'flight', None, "don't", 'wait', None]
    """
    end = 0
    for match in _token().finditer(text):
        if text[end : match.start()].strip():
            yield None
        end = match.end()
        word = match[0].replace("’", "'")
        yield "" if _NUMBER.fullmatch(word) or len(word) > LONGEST_WORD else word
    yield None


@dataclass(frozen=True, eq=False)
class Corpus:
    """Texts as numbers.

    Parameters
    ----------
    words : list of str
        Different words, case-folded.
    written : list of str
        Each as it is written most often.
    ids : int array (T,)
        The words of all texts one after another; `BREAK` or `NUMBER`, both negative, where a phrase ends.
        Every text ends with `BREAK`.
    text : int array (T,)
        Text of each.
    """

    words: list[str]
    written: list[str]
    ids: Array
    text: Array


def read_texts(texts: Sequence[str]) -> Corpus:
    """Number the words of texts; the rarest are left out where there are too many."""
    streams = [list(tokens(unicodedata.normalize("NFC", _beginning(text)))) for text in texts]
    forms: dict[str, Counter[str]] = {}
    for stream in streams:
        first = True
        for word in stream:
            if word:
                # A capital at the beginning says little about how a word is written.
                forms.setdefault(word.casefold(), Counter())[word] += 1 if first else 100
            first = not word
    most = sorted(forms, key=lambda word: -forms[word].total())[:MOST_WORDS]
    place = {word: number for number, word in enumerate(most)}
    ids = [
        BREAK if word is None else place.get(word.casefold(), NUMBER) for stream in streams for word in stream
    ]
    lengths = [len(stream) for stream in streams]
    written = [sys.intern(forms[word].most_common(1)[0][0]) for word in most]
    return Corpus(most, written, np.array(ids, dtype=np.int64), np.repeat(np.arange(len(texts)), lengths))


def _beginning(text: str) -> str:
    """As much of a text as is read, without a word that would be cut."""
    if len(text) <= LETTERS:
        return text
    return " ".join(text[: LETTERS + 1].rsplit(None, 1)[:1])
