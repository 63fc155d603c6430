"""Names of a package that are imported when they are first used: a command waits for its own modules only."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["lazy_names"]


def lazy_names(
    package: str, homes: Mapping[str, tuple[str, ...]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """``__getattr__`` and ``__dir__`` of a package whose names live in modules that are imported later.

    The package says where its names come from a second time, under ``TYPE_CHECKING``, for type checkers.

    Parameters
    ----------
    package : str
        Its ``__name__``.
    homes : mapping of str to tuple of str
        Module -> the names that it defines.

    Examples
    --------
    >>> get, names = lazy_names("a.package", {"vbcgcd.words": ("plural", "series")})
    >>> get("plural")(2, "cat"), names()
    ('2 cats', ['plural', 'series'])
    """
    home_of = {name: home for home, names in homes.items() for name in names}

    def __getattr__(name: str) -> Any:
        if name not in home_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(home_of[name]), name)
        if package in sys.modules:
            setattr(sys.modules[package], name, value)
        return value

    def __dir__() -> list[str]:
        present = vars(sys.modules[package]).get("__all__", ()) if package in sys.modules else ()
        return sorted({*home_of, *present})

    return __getattr__, __dir__
