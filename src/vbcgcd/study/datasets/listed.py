"""Published pictures that come with lists of files and classes: Tiny ImageNet and CUB-200-2011."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import numpy as np

from vbcgcd.errors import InputError
from vbcgcd.items import Items
from vbcgcd.items.folders import list_pictures
from vbcgcd.study.datasets.labelled import LabelledItems, Layout

TINY = (
    "wnids.txt, words.txt, train/<wnid>/images/*.JPEG, val/images/*.JPEG and val/val_annotations.txt "
    "(file and wnid, separated by tabs)"
)
LISTS = ("images.txt", "image_class_labels.txt", "train_test_split.txt", "classes.txt")
CUB = f"{', '.join(LISTS)} (an id and a value in each line) and the folder images"

__all__ = ["LAYOUTS", "lines_of", "picture_items", "root_of"]


def root_of(path: Path, usual: str) -> Path:
    """The folder of the dataset: ``path``, or the folder with the usual name in it."""
    return path / usual if (path / usual).is_dir() else path


def lines_of(path: Path, expects: str) -> list[str]:
    """The lines of a text file that are not blank, or an error that says what the layout expects."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise InputError(f"{path} is missing. Expected: {expects}.") from None
    except UnicodeDecodeError:
        raise InputError(f"{path} is not UTF-8 text. Expected: {expects}.") from None
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        raise InputError(f"{path} is empty. Expected: {expects}.")
    return lines


def picture_items(root: Path, names: list[str], codes: list[int]) -> Items:
    """Items from paths relative to a folder and the code of each; no picture is opened."""
    base = os.path.abspath(root)
    paths = [Path(base, name) for name in names]
    return Items("image", paths, names, str(root), np.array(codes, dtype=np.int64), {"label": "folder"})


def _is_tiny(path: Path) -> bool:
    root = root_of(path, "tiny-imagenet-200")
    return (root / "wnids.txt").is_file() or (root / "val" / "val_annotations.txt").is_file()


def _load_tiny(path: Path, *, name: str | None = None) -> LabelledItems:
    """The natural order is that of the wnids; class names come from words.txt."""
    root = root_of(path, "tiny-imagenet-200")
    wnids = sorted(set(lines_of(root / "wnids.txt", TINY)))
    code = {wnid: i for i, wnid in enumerate(wnids)}
    train_names, train_codes = _tiny_train(root, wnids)
    test_names, test_codes = _tiny_test(root, code)
    return LabelledItems(
        name or "tinyimagenet",
        picture_items(root, train_names, train_codes),
        picture_items(root, test_names, test_codes),
        _tiny_names(root, wnids),
    )


def _tiny_train(root: Path, wnids: list[str]) -> tuple[list[str], list[int]]:
    names, codes = list[str](), list[int]()
    for code, wnid in enumerate(wnids):
        folder = root / "train" / wnid / "images"
        if not folder.is_dir():
            raise InputError(f"{folder} is missing. Expected: {TINY}.")
        files = list_pictures(str(folder))
        if not files:
            raise InputError(f"{folder} has no pictures. Expected: {TINY}.")
        names += [f"train/{wnid}/images/{file}" for file in files]
        codes += [code] * len(files)
    return names, codes


def _tiny_test(root: Path, code: dict[str, int]) -> tuple[list[str], list[int]]:
    annotations, folder = root / "val" / "val_annotations.txt", root / "val" / "images"
    if not folder.is_dir():
        raise InputError(f"{folder} is missing. Expected: {TINY}.")
    present = set(os.listdir(folder))
    names, codes = list[str](), list[int]()
    for number, line in enumerate(lines_of(annotations, TINY), start=1):
        file, wnid = [*line.split("\t"), ""][:2]
        if wnid not in code:
            raise InputError(f"Line {number} of {annotations} has an unknown wnid. Expected: {TINY}.")
        if file not in present:
            raise InputError(f"{folder / file} is missing, but line {number} of {annotations} lists it.")
        names.append(f"val/images/{file}")
        codes.append(code[wnid])
    return names, codes


def _tiny_names(root: Path, wnids: list[str]) -> tuple[str, ...]:
    """The first word for each wnid, followed by the wnid where two classes share the word."""
    words = dict[str, str]()
    if (root / "words.txt").is_file():
        for line in lines_of(root / "words.txt", TINY):
            wnid, _, meaning = line.partition("\t")
            words[wnid] = meaning.split(",")[0].strip()
    first = [words.get(wnid) or wnid for wnid in wnids]
    counts = Counter(first)
    return tuple(w if counts[w] == 1 else f"{w} ({wnid})" for w, wnid in zip(first, wnids, strict=True))


def _is_cub(path: Path) -> bool:
    root = root_of(path, "CUB_200_2011")
    return any((root / name).is_file() for name in LISTS[:3])


def _load_cub(path: Path, *, name: str | None = None) -> LabelledItems:
    """The natural order is that of the class ids."""
    root = root_of(path, "CUB_200_2011")
    files, labels, split, classes = (_numbered_lines(root / file) for file in LISTS)
    for other, table in zip(LISTS[1:3], (labels, split), strict=True):
        if table.keys() != files.keys():
            first = min(table.keys() ^ files.keys())
            raise InputError(f"images.txt and {other} of {root} list different images, first id {first}.")
    if not (root / "images").is_dir():
        raise InputError(f"{root / 'images'} is missing. Expected: {CUB}.")
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
                f"Image {image} of {root} has class {labels[image]!r} and split {split[image]!r}; use a "
                "class of classes.txt, and 1 (train) or 0 (test) for the split."
            )
        names, codes = parts[split[image]]
        names.append(f"images/{file}")
        codes.append(code[labels[image]])
    train, test = (picture_items(root, *parts[part]) for part in ("1", "0"))
    return LabelledItems(name or "cub200", train, test, tuple(classes[number] for number in order))


def _numbered_lines(path: Path) -> dict[int, str]:
    table = dict[int, str]()
    for number, line in enumerate(lines_of(path, CUB), start=1):
        key, _, value = line.partition(" ")
        if not key.isdecimal() or not value or int(key) in table:
            raise InputError(f"Line {number} of {path} is {line!r}. Expected: {CUB}, each id once.")
        table[int(key)] = value.strip()
    return table


LAYOUTS = (
    Layout("tinyimagenet", TINY, _load_tiny, detect=_is_tiny),
    Layout("cub200", CUB, _load_cub, detect=_is_cub),
)
