"""Labels that are probably another label, mistyped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from vbcgcd.errors import InputError

#: Letters of the shortest word that a typo is looked for in: shorter ones differ by a letter by nature.
SHORTEST = 5
#: Typos that a message names, and how it ends.
SHOWN, ADVICE = 5, "Correct the data, or set the option 'new_labels' if these are categories of their own."

__all__ = ["ADVICE", "check_typos", "typo_of"]


def check_typos(new: Sequence[str], known: Sequence[str]) -> None:
    """Raise if new labels are probably known names, mistyped; it says which, and what was meant."""
    meant = {name: typo_of(name, known) for name in new}
    typos = [
        f"{name!r} is new; did you mean {other!r}?" for name, other in meant.items() if other is not None
    ]
    if typos:
        more = f" (and {len(typos) - SHOWN} more like it)" if len(typos) > SHOWN else ""
        raise InputError(
            f"The label {' The label '.join(typos[:SHOWN])}{more} {ADVICE}",
            option="new_labels",
        )


def typo_of(name: str, known: Iterable[str]) -> str | None:
    """The first known name that differs in one word, by one letter that is missing, wrong or too many.

    Examples
    --------
    >>> typo_of("card_swalowed", ["card_lost", "card_swallowed"])
    'card_swallowed'
    >>> typo_of("model_b", ["model_a"]) is None
    True
    """
    words = _words(name)
    for other in known:
        theirs = _words(other)
        if len(words) != len(theirs):
            continue
        different = [pair for pair in zip(words, theirs, strict=True) if pair[0] != pair[1]]
        if len(different) == 1 and _one_slip(*different[0]):
            return other
    return None


def _words(name: str) -> list[str]:
    return [word for word in re.split(r"[\W_]+", name.casefold()) if word]


def _one_slip(one: str, other: str) -> bool:
    """Whether one slip of the finger makes one word of the other; digits are never slips."""
    if min(len(one), len(other)) < SHORTEST or any(letter.isdigit() for letter in one + other):
        return False
    short, long = sorted((one, other), key=len)
    if len(long) - len(short) > 1:
        return False
    if len(short) < len(long):
        return any(long[:i] + long[i + 1 :] == short for i in range(len(long)))
    places = [i for i in range(len(one)) if one[i] != other[i]]
    swapped = len(places) == 2 and places[1] == places[0] + 1
    return len(places) == 1 or (
        swapped and one[places[0]] == other[places[1]] and one[places[1]] == other[places[0]]
    )
