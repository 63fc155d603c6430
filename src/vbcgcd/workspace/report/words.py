"""Numbers, dates and sentences of a report."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

__all__ = ["NAMED_BY", "UNSET", "counted", "date", "joined", "moment", "option_lines", "size", "source_name"]

#: Who named a category, as the end of "named by ...".
NAMED_BY = {
    "label": "its label",
    "user": "you",
    "terms": "its terms",
    "likeness": "similar categories",
    "number": "its number",
}


#: What a setting without a value means.
UNSET = {
    "embedder": "the default for the kind of items",
    "kind": "that of the first items",
    "reject": "nothing is refused",
}


def counted(n: int, one: str, many: str | None = None) -> str:
    """A number with its noun.

    Examples
    --------
    >>> counted(1, "item"), counted(1200, "item"), counted(2, "category", "categories")
    ('1 item', '1,200 items', '2 categories')
    """
    return f"{n:,} {one if n == 1 else many or one + 's'}"


def joined(parts: list[str]) -> str:
    """Parts of a sentence: a, b and c."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}" if parts else ""


def size(n_bytes: float) -> str:
    """Bytes in a unit that fits.

    Examples
    --------
    >>> size(900), size(48_300), size(2_500_000)
    ('900 bytes', '48 kB', '2.5 MB')
    """
    for unit, factor in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if n_bytes >= factor:
            value = n_bytes / factor
            return f"{value:.1f} {unit}" if value < 10 else f"{value:,.0f} {unit}"
    return f"{n_bytes:.0f} bytes"


def date(iso: str) -> str:
    """The day of a time in ISO 8601, or the text itself if it is none."""
    return _written(iso, "%b %Y")


def moment(iso: str) -> str:
    """Day and time."""
    return _written(iso, "%b %Y, %H:%M")


def _written(iso: str, pattern: str) -> str:
    try:
        found = datetime.fromisoformat(iso)
    except ValueError:
        return iso
    return f"{found.day} {found:{pattern}}"


def source_name(source: str) -> str:
    """The last part of a path."""
    return source.replace("\\", "/").rstrip("/").rpartition("/")[2] or source


def option_lines(value: Any, unset: str = "not set") -> list[str]:
    """A setting in words, one line for each of its parts.

    Examples
    --------
    >>> option_lines({"size": 8, "grey": True}), option_lines({}), option_lines(None)
    (['size: 8', 'grey: yes'], ['defaults'], ['not set'])
    """
    if isinstance(value, Mapping):
        return [f"{key}: {', '.join(option_lines(part))}" for key, part in value.items()] or ["defaults"]
    if isinstance(value, list | tuple):
        return [", ".join(str(part) for part in value)] if value else ["none"]
    if value is None:
        return [unset]
    if isinstance(value, bool):
        return ["yes" if value else "no"]
    return [str(value)]
