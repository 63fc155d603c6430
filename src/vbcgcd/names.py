"""Which texts can be names, and which two names a reader could take for one another.

The rule, in four steps:

1. A name is stored in Unicode's normal form NFC, without blanks around it: the two ways to write é are one
   name.
2. Characters that cannot be seen are refused: controls, surrogates, bidirectional marks such as U+202E,
   zero-width characters, and the few letters that are drawn as nothing. U+200C and U+200D are allowed between
   two letters or symbols beyond ASCII, where Persian, the scripts of India and emoji need them.
3. Two names are *confusable* if they have the same skeleton: compatibility forms (NFKC), any run of blanks as
   one blank, joiners and variation selectors left out, and Cyrillic, Greek and Armenian letters that look
   like Latin ones replaced by these. Capital and small letters stay apart: A and a are different categories
   of handwriting.
4. Confusable names are refused where they would stand side by side. A mixture of scripts alone is allowed:
   "TNFα" is a good name as long as nothing beside it looks the same.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable

__all__ = ["confusable_with", "normalised", "skeleton", "unseen_character", "without_unseen"]

_JOINERS = "\u200c\u200d"
#: Letters, marks and a symbol that are drawn as nothing although their category does not tell.
_BLANK_LETTERS = "\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0"
#: Controls, surrogates, format characters, and separators of lines and paragraphs.
_UNSEEN = ("Cc", "Cs", "Cf", "Zl", "Zp")
_LOOKALIKES = str.maketrans(
    # Cyrillic
    "АВЕЅІЈКМНОРСТУХѴԌԜаеѕіјорсухһԁԛԝѵӏ"
    # Greek
    "ΑΒΕΖΗΙΚΜΝΟΡΤΥΧνορϳ"
    # Armenian
    "ՍՕցհոսօ",
    "ABESIJKMHOPCTYXVGWaesijopcyxhdqwvl" + "ABEZHIKMNOPTYXvopj" + "UOghnuo",
)


def normalised(text: str) -> str:
    r"""The text as names are stored: NFC, without blanks around it.

    Examples
    --------
    >>> normalised(" cafe\u0301 ") == "caf\u00e9"
    True
    """
    return unicodedata.normalize("NFC", text).strip()


def without_unseen(text: str) -> str:
    """The text without characters that cannot be seen, normalised: for names that nobody chose."""
    unseen = (letter in _BLANK_LETTERS or unicodedata.category(letter) in _UNSEEN for letter in text)
    return normalised("".join(letter for letter, no in zip(text, unseen, strict=True) if not no))


def unseen_character(text: str) -> str:
    r"""The first character that cannot be seen, as ``U+202E RIGHT-TO-LEFT OVERRIDE``; empty if none.

    Examples
    --------
    >>> unseen_character("c\u200bat"), unseen_character("cat")
    ('U+200B ZERO WIDTH SPACE', '')
    """
    for place, letter in enumerate(text):
        if letter in _JOINERS and _joins(text, place):
            continue
        if unicodedata.category(letter) in _UNSEEN or letter in _BLANK_LETTERS:
            return f"U+{ord(letter):04X} {unicodedata.name(letter, 'control character')}"
    return ""


def _joins(text: str, place: int) -> bool:
    """Whether a joiner stands between two letters, marks or symbols beyond ASCII."""
    around = (text[place - 1] if place else " ", text[place + 1] if place + 1 < len(text) else " ")
    return all(letter > "\x7f" and unicodedata.category(letter)[0] in "LMS" for letter in around)


def skeleton(name: str) -> str:
    r"""What a reader sees of a name: equal for names that could be taken for one another.

    Examples
    --------
    >>> skeleton("\u0441\u0430t") == skeleton("cat"), skeleton("Cat") == skeleton("cat")
    (True, False)
    """
    text = unicodedata.normalize("NFKD", name).translate(_LOOKALIKES)  # apart from accents
    seen = "".join(letter for letter in text if not _ignored(letter))
    return unicodedata.normalize("NFKC", " ".join(seen.split()))


def _ignored(letter: str) -> bool:
    return (
        letter in _BLANK_LETTERS
        or unicodedata.category(letter) == "Cf"
        or "\ufe00" <= letter <= "\ufe0f"
        or "\U000e0100" <= letter <= "\U000e01ef"
    )


def confusable_with(name: str, others: Iterable[str]) -> str | None:
    """The first of the other names that looks like this one without being the same; None if there is none."""
    own = skeleton(name)
    return next((other for other in others if other != name and skeleton(other) == own), None)
