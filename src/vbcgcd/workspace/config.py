"""The settings of a workspace."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from vbcgcd.errors import InputError
from vbcgcd.model import CategoryDiscoverer
from vbcgcd.validation import check_choice, check_number

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
}
#: Settings on which what was learned depends.
FIXED = ("kind", "model")

__all__ = ["DEFAULTS", "FIXED", "check_config"]


def check_config(changes: Mapping[str, Any], *, learned: bool = False) -> dict[str, Any]:
    """Settings as plain values, or one clear error.

    Parameters
    ----------
    changes : dict
        kind : {"image", "text", "embedding"} or None
            Of the items; None takes that of the first ones.
        embedder : str, path or None
            Name or path, as for ``vbcgcd.embed.embedder``. It may change (a folder that moved), its vectors
            may not.
        embedder_options : dict
            Further options of ``vbcgcd.embed.embedder``, such as ``device``.
        model : dict
            Options of `CategoryDiscoverer`, checked at once.
        reject : float or None
            Default of ``predict(reject=...)``.
        names : {"auto", "number"}
            Whether novel categories are named after their terms or likenesses, or by number.
        excerpts : int
            How many short excerpts or thumbnails are kept for each new category.
        sample : int
            For how many items of a session a coarse position is kept, for maps.
    learned : bool
        After the base session ``kind`` and ``model`` are fixed.
    """
    unknown = [name for name in changes if name not in DEFAULTS]
    if unknown:
        raise InputError(
            f"There is no setting {', '.join(map(repr, unknown))}; the settings are {', '.join(DEFAULTS)}."
        )
    fixed = [name for name in FIXED if name in changes and learned]
    if fixed:
        raise InputError(
            f"{' and '.join(fixed)} cannot change after the base session, which depends on it; make another "
            "workspace."
        )
    if isinstance(changes.get("embedder"), os.PathLike):
        changes = {**changes, "embedder": os.fspath(changes["embedder"])}
    for name, value in changes.items():
        _check(name, value)
    try:
        return dict(json.loads(json.dumps(dict(changes), allow_nan=False)))
    except (TypeError, ValueError) as error:
        raise InputError(f"Settings must be plain values (numbers, strings, lists): {error}.") from None


def _check(name: str, value: Any) -> None:
    if name == "kind":
        check_choice("kind", value, ("image", "text", "embedding", None))
    elif name == "names":
        check_choice("names", value, ("auto", "number"))
    elif name == "embedder" and not isinstance(value, str | None):
        raise InputError(f"embedder must be a name or a path, got {type(value).__name__}.")
    elif name in ("model", "embedder_options") and not isinstance(value, Mapping):
        raise InputError(f"{name} must be options by name, got {value!r}.")
    elif name == "reject" and value != 0:
        check_number("reject", value, above=0, high=0.999, words=(None,))
    elif name in ("excerpts", "sample"):
        check_number(name, value, low=0, high=10_000, whole=True)
    if name == "model":
        allowed = CategoryDiscoverer().get_params()
        wrong = [option for option in value if option not in allowed]
        if wrong:
            raise InputError(
                f"CategoryDiscoverer has no option {', '.join(map(repr, wrong))}; its options are "
                f"{', '.join(sorted(allowed))}."
            )
        CategoryDiscoverer(**value).check_options()
