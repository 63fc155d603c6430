"""Pictures in class folders: in a train and a test part, such as ImageNet, or in one to be split by seed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from vbcgcd.errors import InputError
from vbcgcd.items.folders import list_pictures, read_folder, subfolders
from vbcgcd.study.datasets.labelled import LabelledItems, Layout, encode_labels, natural_order, split_items
from vbcgcd.study.datasets.listed import lines_of, picture_items

TRAIN = ("train", "training")
VAL = ("val", "valid", "validation")
PARTS = "train/<class>/ and val/<class>/ or test/<class>/ with pictures; classes.txt may select the classes"
SINGLE = "a folder with one folder of pictures for each class"

Classes = str | os.PathLike[str] | Sequence[str]

__all__ = ["LAYOUTS"]


def _detect(path: Path) -> bool:
    return path.is_dir() and _part(path, TRAIN) is not None


def _part(root: Path, names: tuple[str, ...]) -> str | None:
    """The first of these folders that has class folders."""
    return next((name for name in names if (root / name).is_dir() and subfolders(root / name)), None)


def _load(path: Path, *, name: str | None = None, classes: Classes | None = None) -> LabelledItems:
    """The natural order is that of the folder names. If there is a ``test``, ``val`` joins the train part."""
    train, val, test = (_part(path, names) for names in (TRAIN, VAL, ("test",)))
    if train is None or (val is None and test is None):
        lacking = "train" if train is None else "val or test"
        raise InputError(f"{path} has no folder {lacking} with class folders. Expected: {PARTS}.")
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
        # After the class, a line may go on with its meaning.
        lines = [ln for ln in lines_of(Path(classes), "one class folder in each line") if ln[0] != "#"]
        classes = [line if line in known else line.split()[0] for line in lines]
    missing = sorted(set(classes) - set(present))
    if missing or not classes:
        problem = f"{len(missing)} have no folder in {path / train}, first {', '.join(missing[:1])}"
        raise InputError(
            f"The list {source} has {len(classes)} classes; {problem if missing else 'list at least one'}.",
            option="classes",
        )
    return natural_order(classes)


def _pictures(path: Path, parts: list[str], order: list[str]) -> tuple[list[str], list[int]]:
    names, codes = list[str](), list[int]()
    for part in parts:
        for code, label in enumerate(order):
            folder = path / part / label
            files = list_pictures(str(folder)) if folder.is_dir() else []
            if not files:
                raise InputError(f"{folder} is missing or has no pictures. Expected: {PARTS}.")
            names += [f"{part}/{label}/{file}" for file in files]
            codes += [code] * len(files)
    return names, codes


def _load_imagenet100(
    path: Path, *, name: str | None = None, classes: Classes | None = None
) -> LabelledItems:
    if _part(path, TRAIN) is not None:
        n_classes = len(_selected(path, str(_part(path, TRAIN)), classes))
        if n_classes != 100:
            raise InputError(
                f"{path} has {n_classes} classes but ImageNet-100 has 100; list the 100 classes in the file "
                "classes.txt of the folder.",
                option="classes",
            )
    return _load(path, name=name or "imagenet100", classes=classes)


def _load_single(
    path: Path, *, name: str | None = None, test_share: float | None = None, seed: int | None = None
) -> LabelledItems:
    """One folder of classes, split by seed."""
    if not path.is_dir():
        raise InputError(f"{path} is not a folder. Expected: {SINGLE}.")
    items = read_folder(path)
    if not items.labelled.all():
        bare = int((~items.labelled).sum())
        raise InputError(f"{bare} pictures of {path} are in no class folder. Expected: {SINGLE}.")
    train, test = split_items(items, test_share=test_share, seed=seed)
    return encode_labels(name or path.resolve().name, train, test)


LAYOUTS = (
    Layout("imagenet100", PARTS, _load_imagenet100, ("classes",)),
    Layout("class-folders", PARTS, _load, ("classes",), detect=_detect),
    Layout(
        "folder",
        SINGLE,
        _load_single,
        ("test_share", "seed"),
        detect=Path.is_dir,
        has_parts=lambda path, column: False,
    ),
)
