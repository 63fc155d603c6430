"""Short excerpts of texts and thumbnails of pictures, kept only where the user asks for them."""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.embed.pictures import open_picture
from vbcgcd.errors import InputError
from vbcgcd.items import Items
from vbcgcd.workspace.assignments import Assignments

Array = NDArray[Any]
LETTERS, PIXELS = 160, 64
EXCERPTS = "excerpts.json"

__all__ = ["EXCERPTS", "cut", "excerpts_of", "most_typical", "thumbnail"]


def most_typical(assignments: Assignments, category: int, n: int) -> Array:
    """Rows of the least novel items that surely belong to a category, int array (at most n,)."""
    rows = np.flatnonzero(assignments.category == category)
    order = np.lexsort((assignments.novelty[rows], -np.round(assignments.probability[rows], 2)))
    return np.asarray(rows[order[:n]])


def excerpts_of(items: Items, assignments: Assignments, categories: list[int], n: int) -> dict[str, Any]:
    """For each category its most typical items: ``{"reference", "text"}`` or ``{"reference", "jpeg"}``."""
    if items.kind == "embedding" or n == 0:
        return {}
    found: dict[str, list[Mapping[str, str]]] = {}
    for category in categories:
        kept = [_excerpt(items, assignments, row) for row in most_typical(assignments, category, n)]
        found[str(category)] = [part for part in kept if part is not None]
    return found


def _excerpt(items: Items, assignments: Assignments, row: int) -> Mapping[str, str] | None:
    reference, value = assignments.name_of(row), items.values[row]
    if items.kind == "text":
        return {"reference": reference, "text": cut(str(value))}
    try:
        return {"reference": reference, "jpeg": thumbnail(value)}
    except InputError:
        return None


def cut(text: str) -> str:
    """The beginning of a text, on one line."""
    text = " ".join(text.split()).encode("utf-8", "replace").decode("utf-8")
    return text if len(text) <= LETTERS else f"{text[: LETTERS - 1]}…"


def thumbnail(value: Any) -> str:
    """A picture as a small JPEG, in base64; `InputError` where it cannot be opened."""
    picture = open_picture(value)
    picture.thumbnail((PIXELS, PIXELS))
    out = io.BytesIO()
    picture.save(out, format="JPEG", quality=80)
    return base64.b64encode(out.getvalue()).decode("ascii")
