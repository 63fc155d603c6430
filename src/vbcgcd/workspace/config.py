"""The settings of a workspace."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from vbcgcd.checks import check_choice, check_number
from vbcgcd.errors import InputError

#: Every setting with its default.
DEFAULTS: dict[str, Any] = {
    "kind": None,
    "embedder": None,
    "embedder_options": {},
    "model": {},
    "reject": None,
    "names": "auto",
    "excerpts": 0,
    "sample": 200,
    "vocabulary": [],
    "namer": None,
    "columns": {},
}
#: Settings on which what was learned depends.
FIXED = ("kind", "model")
#: Options of the model that say where it is computed, and not what it learns: they may change at any time.
FREE_OPTIONS = frozenset({"device"})
#: Settings that releases before this one did not have.
LATER = frozenset({"vocabulary", "namer", "columns"})
#: Columns of tables that a workspace remembers.
COLUMNS = ("text", "image", "embedding", "label", "id")
#: What a plug-in can be called, as ``NAME:ARGUMENT`` has it.
_KIND = re.compile(r"\w[\w.-]*")

__all__ = [
    "COLUMNS",
    "DEFAULTS",
    "FIXED",
    "LATER",
    "check_config",
    "check_device",
    "fixed_part",
    "with_vocabulary",
]


def check_config(changes: Mapping[str, Any], *, learned: bool = False) -> dict[str, Any]:
    """Settings as plain values, or one clear error.

    Parameters
    ----------
    changes : dict
        kind : {"image", "text", "embedding"} or None
            What the items are; None takes the kind of the first ones.
        columns : dict
            Which columns of tables hold what: ``text``, ``image``, ``embedding``, ``label``, ``id``. They are
            used where a command names none and a table has them. Those that the first ``learn`` names are
            remembered without this.
        embedder : str, path or None
            Name or path, as for ``vbcgcd.embed.embedder``. It may change, for a folder that moved, but not
            its vectors.
        embedder_options : dict
            Further options of ``vbcgcd.embed.embedder``, such as ``device``.
        model : dict
            Options of `CategoryDiscoverer`; the only head is ``"direction"``.
        reject : float or None
            Share of items of known categories that ``predict`` may reject wrongly; None rejects nothing.
        names : {"auto", "number"}
            Whether novel categories are named after their terms or likenesses, or by number.
        excerpts : int
            How many short excerpts or thumbnails are stored for each novel category.
        sample : int
            For how many items of a session a coarse position is stored, for the map.
        vocabulary : list of str
            Words for the names of picture categories, where the embedder understands texts too.
        namer : str or None
            What is asked for names by ``suggest_names``: ``openai:URL#MODEL``, or a plug-in.
    learned : bool
        After the base session ``kind`` and ``model`` are fixed, but for the device of the model.
    """
    unknown = [name for name in changes if name not in DEFAULTS]
    if unknown:
        raise InputError(
            f"There is no setting {', '.join(map(repr, unknown))}; the settings are {', '.join(DEFAULTS)}."
        )
    fixed = [name for name in FIXED if name in changes and learned]
    if fixed:
        free = "; only model.device can" if "model" in fixed else ""
        raise InputError(
            f"{' and '.join(fixed)} cannot be changed after the base session{free}; create a new workspace.",
            option=fixed[0],
        )
    if isinstance(changes.get("embedder"), os.PathLike):
        changes = {**changes, "embedder": os.fspath(changes["embedder"])}
    for name, value in changes.items():
        _check(name, value)
    try:
        return dict(json.loads(json.dumps(dict(changes), allow_nan=False)))
    except (TypeError, ValueError) as error:
        raise InputError(f"Settings must be plain values (numbers, strings, lists): {error}.") from None


def fixed_part(name: str, value: Any) -> Any:
    """What the base session fixes of the value of a setting in `FIXED`.

    Examples
    --------
    >>> fixed_part("model", {"covariance": "diagonal", "device": "cpu"})
    {'covariance': 'diagonal'}
    """
    if name != "model" or not isinstance(value, Mapping):
        return value
    return {option: choice for option, choice in value.items() if option not in FREE_OPTIONS}


def check_device(model: Mapping[str, Any], before: Mapping[str, Any]) -> None:
    """Raise if options of the model choose a device that is not here.

    Parameters
    ----------
    model, before : dict
        The options, and those in effect: what was chosen on another machine may stay.
    """
    device = model.get("device")
    if device is None or device == before.get("device"):
        return
    from vbcgcd.devices import resolve

    resolve(device)


def with_vocabulary(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with the words of a vocabulary in place of the file that holds them."""
    if not isinstance(changes.get("vocabulary"), str | os.PathLike):
        return dict(changes)
    from vbcgcd.workspace.naming.vocabulary import read_vocabulary

    return {**changes, "vocabulary": read_vocabulary(changes["vocabulary"])}


def _check(name: str, value: Any) -> None:
    if name == "kind":
        check_choice("kind", value, ("image", "text", "embedding", None))
    elif name == "names":
        check_choice("names", value, ("auto", "number"))
    elif name == "embedder" and not isinstance(value, str | None):
        raise InputError(f"embedder must be a name or a path, got {value!r}.", option="embedder")
    elif name in ("model", "embedder_options") and not isinstance(value, Mapping):
        raise InputError(f"{name} must be a mapping of options to values, got {value!r}.", option=name)
    elif name == "columns":
        _check_columns(value)
    elif name == "reject":
        _check_reject(value)
    elif name in ("excerpts", "sample"):
        check_number(name, value, low=0, high=10_000, whole=True)
    elif name == "model":
        _check_model(value)
    elif name == "vocabulary":
        _check_vocabulary(value)
    elif name == "namer":
        _check_namer(value)


def _check_vocabulary(value: Any) -> None:
    from vbcgcd.workspace.naming.vocabulary import check_vocabulary

    if not isinstance(value, list | tuple):
        raise InputError(f"vocabulary must be a list of words, got {value!r}.", option="vocabulary")
    check_vocabulary(value)


def _check_namer(value: Any) -> None:
    if value is None:
        return
    kind, _, argument = value.partition(":") if isinstance(value, str) else ("", "", "")
    # A plug-in may be installed later, or elsewhere; a URL or a misspelt openai is none.
    misspelt = kind.lower() == "openai" and kind != "openai"
    if misspelt or not _KIND.fullmatch(kind) or argument.startswith("//"):
        raise InputError(
            f"namer must be openai:URL#MODEL or the name of a plug-in, got {value!r}.", option="namer"
        )
    if kind == "openai":
        from vbcgcd.workspace.naming.openai import openai_namer

        openai_namer(argument)


def _check_columns(value: Any) -> None:
    wrong = value if not isinstance(value, Mapping) else [name for name in value if name not in COLUMNS]
    if wrong or not isinstance(value, Mapping):
        raise InputError(
            f"columns must be a mapping of {', '.join(COLUMNS)} to names of columns, got {wrong!r}.",
            option="columns",
        )
    for name, column in value.items():
        several = name == "embedding" and isinstance(column, list | tuple)
        if (
            not all(isinstance(part, str) for part in (column if several else [column]))
            and column is not None
        ):
            raise InputError(f"The column of {name} must be a name, got {column!r}.", option="columns")


def _check_reject(value: Any) -> None:
    from vbcgcd.discovery.options import check_reject

    check_reject(value)


def _check_model(value: Mapping[str, Any]) -> None:
    from vbcgcd.discovery.options import Options

    options = sorted(option.name for option in fields(Options))
    wrong = [option for option in value if option not in options]
    if wrong:
        raise InputError(
            f"The model has no option {', '.join(map(repr, wrong))}; its options are {', '.join(options)}.",
            option="model",
        )
    if Options(**value).head == "ridge":
        raise InputError(
            "A workspace has no head 'ridge': its sums do not tell categories apart, so that none could be "
            "split, dropped or taken back. Use 'direction', or CategoryDiscoverer.",
            option="model",
        )
