"""Checks of single options. An error names the option, so that any front end can point at it."""

from __future__ import annotations

import math
import numbers
from typing import Any

from vbcgcd.errors import InputError

__all__ = ["check_choice", "check_number"]


def check_choice(name: str, value: Any, allowed: tuple[Any, ...]) -> None:
    """Raise unless ``value`` is one of ``allowed``: texts, truth values or None.

    Examples
    --------
    >>> check_choice("metric", "mahalanobis", ("mahalanobis", "euclidean"))
    """
    truth = type(value).__name__ in ("bool", "bool_")  # NumPy's own too, without importing it
    if not (isinstance(value, str | None) or truth) or value not in allowed:
        options = ", ".join(map(repr, allowed))
        raise InputError(f"{name} must be one of {options}, got {value!r}.", option=name)


def _is_finite(value: Any) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number beyond all floats
        return False


def _shown(value: Any) -> str:
    """The value, unless it has too many digits to be read."""
    huge = isinstance(value, int) and value.bit_length() > 1024
    return f"a number of {value.bit_length()} bits" if huge else repr(value)


def check_number(
    name: str,
    value: Any,
    *,
    low: float = -math.inf,
    above: float = -math.inf,
    high: float = math.inf,
    whole: bool = False,
    words: tuple[Any, ...] = (),
) -> None:
    """Raise unless ``value`` is a finite number in [low, high] and over ``above``, or one of ``words``.

    Examples
    --------
    >>> check_number("alignment", None, words=(None,))
    """
    if any(value is w or (isinstance(w, str) and isinstance(value, str) and value == w) for w in words):
        return
    number = isinstance(value, numbers.Real) and not isinstance(value, bool) and _is_finite(value)
    if (
        number
        and low <= value <= high
        and value > above
        and (not whole or isinstance(value, numbers.Integral))
    ):
        return
    kind = "a whole number" if whole else "a number"
    limits = f" of at least {low:g}" if math.isfinite(low) else ""
    limits += f" above {above:g}" if math.isfinite(above) else ""
    limits += f" and at most {high:g}" if math.isfinite(high) else ""
    other = "".join(f" or {w!r}" for w in words)
    raise InputError(f"{name} must be {kind}{limits}{other}, got {_shown(value)}.", option=name)
