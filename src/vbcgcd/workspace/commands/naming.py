"""Names of categories for the commands that give them; the user's always win.

The rules are in `vbcgcd.workspace.naming.rules`, automatic names come from the other files of that room.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from numpy.typing import NDArray

from vbcgcd.workspace.batch import Batch
from vbcgcd.workspace.naming.rules import (
    LONGEST,
    check_distinct,
    check_name,
    label_name,
    label_names,
    unique_name,
)

Array = NDArray[Any]

__all__ = [
    "LONGEST",
    "check_distinct",
    "check_name",
    "label_name",
    "label_names",
    "terms_of_groups",
    "unique_name",
]


def terms_of_groups(batch: Batch, codes: Array, n_groups: int, *, taken: Iterable[str] = ()) -> list[str]:
    """What tells each group of a batch from the others, in its own words; empty unless they are texts
    or bring some.
    """
    if batch.items.shown is None or batch.items.shown_kind != "text":
        return [""] * n_groups
    from vbcgcd.workspace.naming.phrases import phrase_names

    names = phrase_names([str(text) for text in batch.items.shown], codes, n_groups, taken=taken)
    return [own[0] if own else "" for own in names]
