"""Settings as they are written on the command line: KEY VALUE, KEY=VALUE, and parts as KEY.PART."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from vbcgcd.cli.common import wrong

__all__ = ["changes_of", "looked_up", "pair", "value_of"]


def value_of(given: str) -> Any:
    """The JSON value, or the text itself where it is none.

    Examples
    --------
    >>> value_of("0.05"), value_of("null"), value_of("auto"), value_of("None")
    (0.05, None, 'auto', None)
    """
    try:
        return json.loads({"None": "null", "True": "true", "False": "false"}.get(given, given))
    except (json.JSONDecodeError, RecursionError):
        return given


def pair(given: str, option: str) -> tuple[str, str]:
    """Key and value of ``KEY=VALUE``."""
    key, equals, value = given.partition("=")
    if not key or not equals:
        raise wrong(f"{option} takes a name and a value with = between them, got {given!r}.")
    return key.strip(), value


def changes_of(given: Sequence[tuple[str, Any]], config: Mapping[str, Any]) -> dict[str, Any]:
    """Settings to change, from keys and values; ``model.covariance`` changes a part of ``model``.

    Parameters
    ----------
    given : sequence of (key, value)
    config : dict
        Present settings, into which parts are put.
    """
    changes: dict[str, Any] = {}
    for key, value in given:
        name, dot, part = key.partition(".")
        if name not in config:
            raise wrong(f"There is no setting {key!r}; the settings are {', '.join(config)}.")
        if not dot:
            changes[name] = _embedder(value) if name == "embedder" else value
            continue
        whole = changes.get(name, config.get(name))
        if not isinstance(whole, Mapping) or not part:
            raise wrong(f"{key!r} is not a part of a setting; model and embedder_options have parts.")
        changes[name] = {**whole, part: value}
    return changes


def looked_up(config: Mapping[str, Any], key: str) -> Any:
    """The value of a setting or of a part of one; a part that is not set is None."""
    name, dot, part = key.partition(".")
    if name not in config or (dot and not isinstance(config[name], Mapping)):
        raise wrong(f"There is no setting {key!r}; the settings are {', '.join(config)}.")
    return config[name].get(part) if dot else config[name]


def _embedder(value: Any) -> Any:
    """A path stays right wherever later commands are run."""
    return os.path.abspath(value) if isinstance(value, str) and Path(value).exists() else value
