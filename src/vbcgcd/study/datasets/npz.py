"""NumPy arrays in one file: train and test, or all in one and split by seed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from vbcgcd.errors import InputError
from vbcgcd.items import Items
from vbcgcd.items.arrays import array_items, load_npz
from vbcgcd.study.datasets.labelled import LabelledItems, coded
from vbcgcd.study.datasets.layout import Layout
from vbcgcd.study.datasets.splits import split_items

PARTS = ("train_x", "train_y", "test_x", "test_y")
EXPECTS = (
    "the arrays train_x, train_y, test_x, test_y, or x and y, and names (of the classes) if there are any"
)

__all__ = ["LAYOUT", "has_parts"]


def has_parts(path: Path) -> bool:
    """Whether the file has a train and a test part."""
    return bool(load_npz(path, [], maybe=["test_y"]))


def _load(
    path: Path, *, name: str | None = None, test_share: float | None = None, seed: int | None = None
) -> LabelledItems:
    """Integer labels are codes into ``names``; without names they are the names."""
    arrays = load_npz(path, [], maybe=[*PARTS, "x", "y", "names"])
    wanted = PARTS if any(part in arrays for part in PARTS) else ("x", "y")
    missing = [part for part in wanted if part not in arrays]
    if missing:
        raise InputError(f"{path} lacks {', '.join(missing)}. Expected: {EXPECTS}.")
    names = _names(arrays.get("names"), path)
    if wanted == PARTS:
        if test_share is not None or seed is not None:
            raise InputError(f"test_share and seed are for arrays without a split; {path} has test_x.")
        train, test = (_items(arrays, path, f"{part}_") for part in ("train", "test"))
    else:
        train, test = split_items(_items(arrays, path, ""), test_share=test_share, seed=seed)
    return coded(name or path.stem, train, test, names)


def _items(arrays: dict[str, Any], path: Path, prefix: str) -> Items:
    source = f"{path} ({prefix}x)"
    return array_items(
        arrays[f"{prefix}x"],
        source=source,
        labels=arrays[f"{prefix}y"],
        columns={"x": f"{prefix}x", "label": f"{prefix}y"},
    )


def _names(names: Any, path: Path) -> list[str] | None:
    if names is None:
        return None
    if names.ndim != 1 or names.dtype.kind != "U" or len(set(names.tolist())) < len(names):
        raise InputError(f"The array names of {path} must hold different strings, one for each class.")
    return list(names.tolist())


LAYOUT = Layout(
    "npz",
    "arrays train_x, train_y, test_x, test_y, or x and y split by seed, in one .npz file",
    EXPECTS,
    lambda path: path.is_file() and path.suffix.lower() == ".npz",
    _load,
    ("test_share", "seed"),
)
