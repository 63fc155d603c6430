"""Items from a folder of pictures: the names of its subfolders are the labels."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from vbcgcd.errors import InputError
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
        return sorted(e.name for e in entries if not e.name.startswith(".") and e.is_dir())


def list_pictures(root: str) -> list[str]:
    """Relative paths with "/" of all pictures below a folder, sorted."""
    return sorted(_walk(root, "", frozenset()))


def _walk(folder: str, prefix: str, above: frozenset[str]) -> Iterator[str]:
    # A link to a folder above would never end.
    here = os.path.realpath(folder)
    if here in above:
        return
    with os.scandir(folder) as scan:
        entries = list(scan)
    for entry in entries:
        if entry.name.startswith("."):
            continue
        if is_picture(entry.name):
            if entry.is_file():
                yield prefix + entry.name
        elif entry.is_dir():
            yield from _walk(entry.path, f"{prefix}{entry.name}/", above | {here})
