"""CUB-200-2011 as published: pictures, classes and the split in lists."""

from __future__ import annotations

from pathlib import Path

from vbcgcd.errors import InputError
from vbcgcd.items.folders import list_pictures
from vbcgcd.study.datasets.labelled import LabelledItems
from vbcgcd.study.datasets.layout import Layout, lines_of, root_of
from vbcgcd.study.datasets.pictures import picture_items

LISTS = ("images.txt", "image_class_labels.txt", "train_test_split.txt", "classes.txt")
EXPECTS = f"{', '.join(LISTS)} (an id and a value in each line) and the folder images"

__all__ = ["LAYOUT"]


def _detect(path: Path) -> bool:
    root = root_of(path, "CUB_200_2011")
    return any((root / name).is_file() for name in LISTS[:3])


def _load(path: Path, *, name: str | None = None) -> LabelledItems:
    """The natural order is that of the class ids."""
    root = root_of(path, "CUB_200_2011")
    files, labels, split, classes = (_table(root / file) for file in LISTS)
    for other, table in zip(LISTS[1:3], (labels, split), strict=True):
        if table.keys() != files.keys():
            one = min(table.keys() ^ files.keys())
            raise InputError(f"images.txt and {other} of {root} name different images, first id {one}.")
    if not (root / "images").is_dir():
        raise InputError(f"{root / 'images'} is missing. Expected: {EXPECTS}.")
    present = set(list_pictures(str(root / "images")))
    missing = [file for file in files.values() if file not in present]
    if missing:
        raise InputError(
            f"{len(missing)} of {len(files)} pictures of {root} are missing, first images/{missing[0]}."
        )
    order = sorted(classes)
    code = {str(number): i for i, number in enumerate(order)}
    parts: dict[str, tuple[list[str], list[int]]] = {"1": ([], []), "0": ([], [])}
    for image, file in files.items():
        if labels[image] not in code or split[image] not in parts:
            raise InputError(
                f"Image {image} of {root} has class {labels[image]!r} and split {split[image]!r}; classes "
                "are those of classes.txt, the split is 1 (train) or 0 (test)."
            )
        names, codes = parts[split[image]]
        names.append(f"images/{file}")
        codes.append(code[labels[image]])
    train, test = (picture_items(root, *parts[part]) for part in ("1", "0"))
    return LabelledItems(name or "cub200", train, test, tuple(classes[number] for number in order))


def _table(path: Path) -> dict[int, str]:
    table = dict[int, str]()
    for number, line in enumerate(lines_of(path, EXPECTS), start=1):
        key, _, value = line.partition(" ")
        if not key.isdecimal() or not value or int(key) in table:
            raise InputError(f"Line {number} of {path} is {line!r}. Expected: {EXPECTS}, each id once.")
        table[int(key)] = value.strip()
    return table


LAYOUT = Layout("cub200", "CUB-200-2011 as published, with its own split", EXPECTS, _detect, _load)
