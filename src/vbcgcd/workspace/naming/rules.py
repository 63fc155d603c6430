"""Which texts can be names of categories, and which names are free."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from vbcgcd.errors import InputError
from vbcgcd.labels import NONE_OF_THESE
from vbcgcd.names import confusable_with, normalised, skeleton, unseen_character
from vbcgcd.workspace.batch import storable

#: Letters of a name at most.
LONGEST = 200

__all__ = ["LONGEST", "check_distinct", "check_name", "label_name", "label_names", "unique_name"]


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


def unique_name(name: str, taken: Iterable[str]) -> str:
    """``name``, or with the first number after it that makes it look different from all others.

    Examples
    --------
    >>> unique_name("like cat", {"like cat", "dog"})
    'like cat (2)'
    """
    looks = {skeleton(other) for other in (NONE_OF_THESE, *taken)}
    number, candidate = 1, name
    while skeleton(candidate) in looks:
        number += 1
        candidate = f"{name} ({number})"
    return candidate
