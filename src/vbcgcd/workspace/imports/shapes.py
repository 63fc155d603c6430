"""What JSON values may be: small checks that are put together to the shape of a record."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from typing import Any

from vbcgcd.errors import InputError

Check = Callable[[str, Any], None]

#: Largest whole number in a record: JSON readers elsewhere know no larger ones exactly.
LARGEST = 2**53

__all__ = [
    "LARGEST",
    "Check",
    "choice",
    "list_of",
    "mapping_of",
    "number",
    "optional",
    "record",
    "text",
    "truth",
    "whole",
]


def _refuse(where: str, expected: str, value: Any) -> InputError:
    return InputError(f"{where} must be {expected}, got {repr(value)[:60]}")


def whole(low: int = 0, high: int = LARGEST) -> Check:
    """A whole number in [low, high]."""

    def check(where: str, value: Any) -> None:
        if type(value) is not int or not low <= value <= high:
            raise _refuse(where, f"a whole number from {low} to {high}", value)

    return check


def number(low: float = -math.inf, high: float = math.inf) -> Check:
    """A finite number in [low, high]."""

    def check(where: str, value: Any) -> None:
        if type(value) not in (int, float) or not math.isfinite(value) or not low <= value <= high:
            raise _refuse(where, f"a number from {low:g} to {high:g}", value)

    return check


def text(longest: int = 10_000, *, shortest: int = 0) -> Check:
    """A string that UTF-8 can hold."""

    def check(where: str, value: Any) -> None:
        if not isinstance(value, str) or not shortest <= len(value) <= longest:
            raise _refuse(where, f"a text of {shortest} to {longest} characters", value)
        if any("\ud800" <= letter <= "\udfff" for letter in value):
            raise _refuse(where, "a text that UTF-8 can hold", value)

    return check


def truth(where: str, value: Any) -> None:
    """True or False."""
    if not isinstance(value, bool):
        raise _refuse(where, "true or false", value)


def choice(*allowed: Any) -> Check:
    """One of these strings."""

    def check(where: str, value: Any) -> None:
        if not isinstance(value, str | None) or value not in allowed:
            raise _refuse(where, f"one of {', '.join(map(repr, allowed))}", value)

    return check


def optional(inner: Check) -> Check:
    """What the other check allows, or nothing."""

    def check(where: str, value: Any) -> None:
        if value is not None:
            inner(where, value)

    return check


def list_of(inner: Check, most: int = 10_000_000) -> Check:
    """A list of such values."""

    def check(where: str, value: Any) -> None:
        if not isinstance(value, list) or len(value) > most:
            raise _refuse(where, f"a list of at most {most}", value)
        for part in value:
            inner(where, part)

    return check


def mapping_of(key: Check, inner: Check) -> Check:
    """An object with such keys and values."""

    def check(where: str, value: Any) -> None:
        if not isinstance(value, dict):
            raise _refuse(where, "an object", value)
        for name, part in value.items():
            key(where, name)
            inner(where, part)

    return check


def record(fields: Mapping[str, Check], *, required: Collection[str] = (), closed: bool = False) -> Check:
    """An object whose fields, where they are there, pass these checks.

    Parameters
    ----------
    fields : mapping of name -> check
    required : collection of str
        Fields that must be there.
    closed : bool
        Whether other fields are refused.
    """

    def check(where: str, value: Any) -> None:
        if not isinstance(value, dict):
            raise _refuse(where, "an object", value)
        missing = [name for name in required if name not in value]
        strange = [name for name in value if name not in fields] if closed else []
        if missing or strange:
            problem = f"lacks {missing[0]!r}" if missing else f"has the unknown field {strange[0][:40]!r}"
            raise InputError(f"{where} {problem}")
        for name, inner in fields.items():
            if name in value:
                inner(f"{where}.{name}", value[name])

    return check
