"""Tiny ImageNet as published: class folders to learn from, annotated pictures to test."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

from vbcgcd.errors import InputError
from vbcgcd.items.folders import list_pictures
from vbcgcd.study.datasets.labelled import LabelledItems
from vbcgcd.study.datasets.layout import Layout, lines_of, root_of
from vbcgcd.study.datasets.pictures import picture_items

EXPECTS = (
    "wnids.txt, words.txt, train/<wnid>/images/*.JPEG, val/images/*.JPEG and val/val_annotations.txt "
    "(file and wnid, separated by tabs)"
)

__all__ = ["LAYOUT"]


def _detect(path: Path) -> bool:
    root = root_of(path, "tiny-imagenet-200")
    return (root / "wnids.txt").is_file() or (root / "val" / "val_annotations.txt").is_file()


def _load(path: Path, *, name: str | None = None) -> LabelledItems:
    """The natural order is that of the wnids; class names come from words.txt."""
    root = root_of(path, "tiny-imagenet-200")
    wnids = sorted(set(lines_of(root / "wnids.txt", EXPECTS)))
    code = {wnid: i for i, wnid in enumerate(wnids)}
    train_names, train_codes = _train(root, wnids)
    test_names, test_codes = _test(root, code)
    return LabelledItems(
        name or "tinyimagenet",
        picture_items(root, train_names, train_codes),
        picture_items(root, test_names, test_codes),
        _class_names(root, wnids),
    )


def _train(root: Path, wnids: list[str]) -> tuple[list[str], list[int]]:
    names, codes = list[str](), list[int]()
    for code, wnid in enumerate(wnids):
        folder = root / "train" / wnid / "images"
        if not folder.is_dir():
            raise InputError(f"{folder} is missing. Expected: {EXPECTS}.")
        found = list_pictures(str(folder))
        if not found:
            raise InputError(f"{folder} holds no pictures. Expected: {EXPECTS}.")
        names += [f"train/{wnid}/images/{file}" for file in found]
        codes += [code] * len(found)
    return names, codes


def _test(root: Path, code: dict[str, int]) -> tuple[list[str], list[int]]:
    annotations, folder = root / "val" / "val_annotations.txt", root / "val" / "images"
    if not folder.is_dir():
        raise InputError(f"{folder} is missing. Expected: {EXPECTS}.")
    present = set(os.listdir(folder))
    names, codes = list[str](), list[int]()
    for number, line in enumerate(lines_of(annotations, EXPECTS), start=1):
        file, wnid = [*line.split("\t"), ""][:2]
        if wnid not in code:
            raise InputError(f"Line {number} of {annotations} names no known wnid. Expected: {EXPECTS}.")
        if file not in present:
            raise InputError(f"{folder / file} is missing, line {number} of {annotations} names it.")
        names.append(f"val/images/{file}")
        codes.append(code[wnid])
    return names, codes


def _class_names(root: Path, wnids: list[str]) -> tuple[str, ...]:
    """The first word for each wnid; where two share it, the wnid stands behind it."""
    words = dict[str, str]()
    if (root / "words.txt").is_file():
        for line in lines_of(root / "words.txt", EXPECTS):
            wnid, _, meaning = line.partition("\t")
            words[wnid] = meaning.split(",")[0].strip()
    first = [words.get(wnid) or wnid for wnid in wnids]
    counts = Counter(first)
    return tuple(w if counts[w] == 1 else f"{w} ({wnid})" for w, wnid in zip(first, wnids, strict=True))


LAYOUT = Layout(
    "tinyimagenet", "Tiny ImageNet as published; its val part is the test part", EXPECTS, _detect, _load
)
