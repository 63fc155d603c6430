"""Any folder of pictures in class folders, without a split: a seeded stratified one is made."""

from __future__ import annotations

from pathlib import Path

from vbcgcd.errors import InputError
from vbcgcd.items.folders import read_folder
from vbcgcd.study.datasets.labelled import LabelledItems, coded
from vbcgcd.study.datasets.layout import Layout
from vbcgcd.study.datasets.splits import split_items

EXPECTS = "a folder with one folder of pictures for each class"

__all__ = ["LAYOUT"]


def _load(
    path: Path, *, name: str | None = None, test_share: float | None = None, seed: int | None = None
) -> LabelledItems:
    if not path.is_dir():
        raise InputError(f"{path} is not a folder. Expected: {EXPECTS}.")
    items = read_folder(path)
    if not items.labelled.all():
        bare = int((~items.labelled).sum())
        raise InputError(f"{bare} pictures of {path} lie in no class folder. Expected: {EXPECTS}.")
    train, test = split_items(items, test_share=test_share, seed=seed)
    return coded(name or path.resolve().name, train, test)


LAYOUT = Layout(
    "folder",
    "pictures in one folder for each class, split by seed",
    EXPECTS,
    Path.is_dir,
    _load,
    ("test_share", "seed"),
)
