"""Plug-ins: what other installed packages offer through entry points, found by name and loaded when used."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from vbcgcd.errors import InputError

#: Entry point groups, and what one plug-in of each is called.
GROUPS = {"vbcgcd.embedders": "embedder", "vbcgcd.namers": "namer"}

__all__ = ["GROUPS", "entry_points_of", "load_plugin"]


def entry_points_of(group: str) -> dict[str, EntryPoint]:
    """Entry points of the installed packages in a group, by name. Nothing is imported.

    Parameters
    ----------
    group : str
        Such as ``vbcgcd.embedders``.

    Examples
    --------
    >>> entry_points_of("vbcgcd.nothing")
    {}
    """
    return {entry.name: entry for entry in entry_points(group=group)}


def load_plugin(group: str, name: str) -> Callable[..., Any]:
    """The function of a plug-in.

    Parameters
    ----------
    group : str
        Such as ``vbcgcd.embedders``.
    name : str

    Raises
    ------
    InputError
        There is none, or it cannot be imported.

    Examples
    --------
    >>> load_plugin("vbcgcd.embedders", "absent")
    Traceback (most recent call last):
    vbcgcd.errors.InputError: There is no embedder 'absent' among the plug-ins (installed: none)...
    """
    what, entries = GROUPS.get(group, group), entry_points_of(group)
    if name not in entries:
        installed = ", ".join(sorted(entries)) or "none"
        raise InputError(
            f"There is no {what} {name!r} among the plug-ins (installed: {installed}); install the package "
            "that offers it, or choose another.",
            option=what,
        )
    try:
        function: Callable[..., Any] = entries[name].load()
    except Exception as error:
        raise InputError(
            f"The {what} {name!r} ({entries[name].value}) could not be loaded: {type(error).__name__}: "
            f"{error}. Update or uninstall that package.",
            option=what,
        ) from error
    return function
