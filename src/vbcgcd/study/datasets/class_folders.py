"""Class folders in a train and a test part, such as ImageNet; a list may select the classes."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from vbcgcd.errors import InputError
from vbcgcd.items.folders import list_pictures, subfolders
from vbcgcd.study.datasets.labelled import LabelledItems, natural_order
from vbcgcd.study.datasets.layout import Layout, lines_of
from vbcgcd.study.datasets.pictures import picture_items

TRAIN = ("train", "training")
VAL = ("val", "valid", "validation")
EXPECTS = "train/<class>/ and val/<class>/ or test/<class>/ with pictures; classes.txt may select the classes"

Classes = str | os.PathLike[str] | Sequence[str]

__all__ = ["IMAGENET100", "LAYOUT"]


def _detect(path: Path) -> bool:
    return path.is_dir() and _part(path, TRAIN) is not None


def _part(root: Path, names: tuple[str, ...]) -> str | None:
    """The folder of this part that has class folders."""
    return next((name for name in names if (root / name).is_dir() and subfolders(root / name)), None)


def _load(path: Path, *, name: str | None = None, classes: Classes | None = None) -> LabelledItems:
    """The natural order is that of the folder names. ``val`` joins the train part if there is a ``test``."""
    train, val, test = (_part(path, names) for names in (TRAIN, VAL, ("test",)))
    if train is None or (val is None and test is None):
        lacking = "train" if train is None else "val or test"
        raise InputError(f"{path} has no folder {lacking} with class folders. Expected: {EXPECTS}.")
    order = _selected(path, train, classes)
    learn = [train, val] if val is not None and test is not None else [train]
    parts = [_pictures(path, learn, order), _pictures(path, [test or str(val)], order)]
    train_items, test_items = (picture_items(path, names, codes) for names, codes in parts)
    return LabelledItems(name or path.resolve().name, train_items, test_items, tuple(order))


def _selected(path: Path, train: str, classes: Classes | None) -> list[str]:
    present = subfolders(path / train)
    if classes is None and (path / "classes.txt").is_file():
        classes = path / "classes.txt"
    if classes is None:
        return natural_order(present)
    source = "classes"
    if isinstance(classes, str | os.PathLike):
        source = str(classes)
        known = set(present)
        # A line may go on after the class with its meaning.
        lines = [ln for ln in lines_of(Path(classes), "one class folder in each line") if ln[0] != "#"]
        classes = [line if line in known else line.split()[0] for line in lines]
    missing = sorted(set(classes) - set(present))
    if missing or not classes:
        shown = (
            f"{len(missing)} without a folder in {path / train}, first {missing[0]!r}" if missing else "none"
        )
        raise InputError(f"The list {source} has {len(classes)} classes, {shown}.")
    return natural_order(classes)


def _pictures(path: Path, parts: list[str], order: list[str]) -> tuple[list[str], list[int]]:
    names, codes = list[str](), list[int]()
    for part in parts:
        for code, label in enumerate(order):
            folder = path / part / label
            found = list_pictures(str(folder)) if folder.is_dir() else []
            if not found:
                raise InputError(f"{folder} is missing or holds no pictures. Expected: {EXPECTS}.")
            names += [f"{part}/{label}/{file}" for file in found]
            codes += [code] * len(found)
    return names, codes


def _load_imagenet100(
    path: Path, *, name: str | None = None, classes: Classes | None = None
) -> LabelledItems:
    if _part(path, TRAIN) is not None:
        found = len(_selected(path, str(_part(path, TRAIN)), classes))
        if found != 100:
            raise InputError(
                f"{path} gives {found} classes, ImageNet-100 has 100; give the list of the 100 classes with "
                "classes= or as classes.txt in the folder."
            )
    return _load(path, name=name or "imagenet100", classes=classes)


LAYOUT = Layout(
    "class-folders",
    "pictures in train/<class> and val/<class> or test/<class>",
    EXPECTS,
    _detect,
    _load,
    ("classes",),
)
IMAGENET100 = Layout(
    "imagenet100",
    "100 classes of ImageNet in class folders; classes= or classes.txt selects them",
    EXPECTS,
    lambda path: False,
    _load_imagenet100,
    ("classes",),
)
