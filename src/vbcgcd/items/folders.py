"""Items from a folder of pictures: the names of its subfolders are the labels."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np

from vbcgcd.errors import InputError, NothingToDo
from vbcgcd.items.cells import PICTURES, is_picture
from vbcgcd.items.items import Items, as_labels

PARTS = frozenset({"train", "training", "val", "valid", "validation", "test"})

__all__ = ["list_pictures", "read_folder", "subfolders"]


def read_folder(path: Path) -> Items:
    """Every picture under a folder, ordered by relative path.

    The first folder below ``path`` is the label of a picture, however deep the picture lies in it; pictures
    directly in ``path`` have no label. Hidden files and files that are not pictures are skipped, and no file
    is opened.

    Parameters
    ----------
    path : Path
        An existing folder.

    Returns
    -------
    Items
        Of the kind "image"; the references are relative paths with "/".
    """
    root = os.path.abspath(path)
    parts = [name for name in subfolders(root) if name.lower() in PARTS]
    if len(parts) > 1 and len(parts) == len(subfolders(root)):
        raise InputError(
            f"{path} holds the parts of a dataset ({', '.join(parts)}), not labels; choose one of them."
        )
    names = list_pictures(root)
    if not names and not os.listdir(root):
        raise NothingToDo(f"{path} is an empty folder.")
    if not names:
        raise InputError(f"{path} holds no pictures; supported are {', '.join(sorted(PICTURES))}.")
    labels = [name.partition("/")[0] if "/" in name else None for name in names]
    paths = [Path(root, name) for name in names]
    if all(label is None for label in labels):
        return Items("image", paths, names, str(path))
    item_labels = as_labels(labels, source=str(path)) if None in labels else np.array(labels)
    return Items("image", paths, names, str(path), item_labels, {"label": "folder"})


def subfolders(root: str | os.PathLike[str]) -> list[str]:
    """Names of the folders in a folder, sorted, without hidden ones."""
    with os.scandir(root) as entries:
        return sorted(entry.name for entry in entries if not entry.name.startswith(".") and _is_dir(entry))


def list_pictures(root: str) -> list[str]:
    """Relative paths with "/" of all pictures below a folder, sorted.

    Links are followed. A folder that several names lead to is read once, so that links across each other
    neither repeat pictures nor take for ever: under its own name if it has one below ``root``, else under
    the first name in alphabetical order.
    """
    names: list[str] = []
    seen: set[tuple[int, int]] = set()
    waiting, links = [(root, "")], list[tuple[str, str]]()
    while waiting or links:
        # Folders before links: a folder goes by its own name where it has one.
        folder, prefix = waiting.pop() if waiting else links.pop(0)
        status = os.stat(folder)
        if (status.st_dev, status.st_ino) in seen:
            continue
        seen.add((status.st_dev, status.st_ino))
        with os.scandir(folder) as entries:
            parts = sorted(entries, key=lambda entry: entry.name)
        for entry in parts:
            if entry.name.startswith("."):
                continue
            if is_picture(entry.name):
                names += [prefix + entry.name] if _is_file(entry) else []
            elif _is_dir(entry):
                (links if entry.is_symlink() else waiting).append((entry.path, f"{prefix}{entry.name}/"))
    return sorted(names)


def _is_file(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_file()
    except OSError:  # a link to itself, which leads nowhere, like one to a file that is gone
        return False


def _is_dir(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False
