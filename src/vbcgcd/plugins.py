"""Plug-ins: what other installed packages offer through entry points, found by name and loaded when used."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from vbcgcd.errors import InputError, VbcgcdError, reason_of

#: Entry point groups, and what one plug-in of each is called.
GROUPS = {
    "vbcgcd.embedders": "embedder",
    "vbcgcd.namers": "namer",
    "vbcgcd.clusterers": "clusterer",
    "vbcgcd.readers": "reader",
}

__all__ = ["GROUPS", "PluginInfo", "call_plugin", "entry_points_of", "list_plugins", "load_plugin"]


@dataclass(frozen=True)
class PluginInfo:
    """A plug-in of an installed package.

    Parameters
    ----------
    kind : {"embedder", "namer", "clusterer", "reader"}
    name : str
        What users write to choose it; of a reader, the extension of the files that it reads.
    package, version : str
        The distribution that offers it; "" where the system does not tell.
    value : str
        Module and function, as the package declares them.
    problem : str
        Why it cannot be used; "" if it can.

    Examples
    --------
    >>> PluginInfo("reader", "xml", "tickets", "1.0", "tickets:read_xml", "").kind
    'reader'
    """

    kind: str
    name: str
    package: str
    version: str
    value: str
    problem: str


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
        There is none, two packages offer the same name, or it cannot be imported; the message names the
        package.

    Examples
    --------
    >>> load_plugin("vbcgcd.embedders", "absent")
    Traceback (most recent call last):
    vbcgcd.errors.InputError: There is no embedder 'absent' among the plug-ins (installed: none)...
    """
    what = GROUPS.get(group, group)
    same = list(dict.fromkeys(entry for entry in entry_points(group=group) if entry.name == name))
    if not same:
        names = ", ".join(sorted(entry_points_of(group))) or "none"
        raise InputError(
            f"There is no {what} {name!r} among the plug-ins (installed: {names}); install the package that "
            "offers it, or choose another. 'vbcgcd plugins' lists them.",
            option=what,
        )
    if len({entry.value for entry in same}) > 1:
        packages = " and ".join(_source(entry) for entry in same)
        raise InputError(f"The {what} {name!r} is offered by {packages}; uninstall one of them.", option=what)
    return _load(same[0], what)


def call_plugin(group: str, name: str, /, *arguments: Any, **options: Any) -> Any:
    """What a plug-in returns; any error of its own becomes one clear error that names the package.

    Parameters
    ----------
    group, name : str
        As for `load_plugin`.
    *arguments, **options
        Passed on.
    """
    function = load_plugin(group, name)
    try:
        return function(*arguments, **options)
    except (VbcgcdError, MemoryError):
        raise
    except Exception as error:
        entry = entry_points_of(group)[name]
        raise InputError(
            f"The {GROUPS.get(group, group)} {name!r} of {_source(entry)} failed with "
            f"{type(error).__name__}: {reason_of(error)}.",
            option=GROUPS.get(group),
        ) from error


def list_plugins() -> list[PluginInfo]:
    """All plug-ins of the installed packages; each is imported to see whether it can be used.

    Examples
    --------
    >>> all(plugin.kind in GROUPS.values() for plugin in list_plugins())
    True
    """
    infos = []
    for group, kind in GROUPS.items():
        for entry in sorted(entry_points(group=group), key=lambda entry: (entry.name, entry.value)):
            problem = ""
            try:
                load_plugin(group, entry.name)
            except InputError as error:
                problem = str(error)
            package, version = _package(entry)
            infos.append(PluginInfo(kind, entry.name, package, version, entry.value, problem))
    return infos


def _load(entry: EntryPoint, what: str) -> Callable[..., Any]:
    try:
        function = entry.load()
    except (KeyboardInterrupt, MemoryError):
        raise
    except BaseException as error:  # a package may even exit when it is imported
        raise InputError(
            f"The {what} {entry.name!r} of {_source(entry)} could not be loaded: {type(error).__name__}: "
            f"{reason_of(error)}. Update or uninstall that package.",
            option=what,
        ) from error
    if not callable(function):
        raise InputError(
            f"The {what} {entry.name!r} of {_source(entry)} is not a function but of the type "
            f"{type(function).__name__}. Update or uninstall that package.",
            option=what,
        )
    return function


def _package(entry: EntryPoint) -> tuple[str, str]:
    if entry.dist is None:
        return "", ""
    return str(entry.dist.metadata["Name"]), str(entry.dist.version)


def _source(entry: EntryPoint) -> str:
    """The package and the place in it, for a message."""
    name, version = _package(entry)
    return f"the package {name} {version} ({entry.value})" if name else f"({entry.value})"
