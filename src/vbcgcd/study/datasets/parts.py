"""Items of a dataset as they lie: two parts where something tells them apart, one where nothing does."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from vbcgcd.items import Items, read_items
from vbcgcd.study.datasets.load import layout_of, load_items
from vbcgcd.study.datasets.npz import has_parts as npz_has_parts
from vbcgcd.study.datasets.table import has_parts as table_has_parts

__all__ = ["dataset_parts"]

#: Layouts that always have a train and a test part.
SPLIT_LAYOUTS = ("cifar100", "tinyimagenet", "cub200", "imagenet100", "class-folders")


def dataset_parts(
    source: str | os.PathLike[str], *, split: str | None = None, **columns: Any
) -> tuple[dict[str, Items], tuple[str, ...] | None]:
    """Items by part, and the names of the classes where labels are numbers into them.

    Parameters
    ----------
    source : path
        A dataset in one of ``LAYOUTS``, or anything that `vbcgcd.items.read_items` reads.
    split : str, optional
        Column of a table that tells the parts; without it, one with a usual name and usual values.
    **columns
        Of `vbcgcd.items.read_items`.

    Returns
    -------
    parts : dict
        ``{"train": items, "test": items}`` or ``{"": items}``.
    names : tuple of str or None
    """
    path = Path(source)
    if path.exists() and _is_split(path, split):
        data = load_items(path, split=split, **columns)
        return {"train": data.train, "test": data.test}, data.class_names
    return {"": read_items(path, **columns)}, None


def _is_split(path: Path, split: str | None) -> bool:
    name = layout_of(path)
    if name == "table":
        return table_has_parts(path, split)
    if name == "npz":
        return npz_has_parts(path)
    return name in SPLIT_LAYOUTS
