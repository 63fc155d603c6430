"""Find out how a labelled dataset lies on disk, and load it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from vbcgcd.errors import InputError
from vbcgcd.study.datasets import cifar100, class_folders, cub200, folder, npz, table, tinyimagenet
from vbcgcd.study.datasets.labelled import LabelledItems
from vbcgcd.study.datasets.layout import Layout

#: Every layout by name; a path is tried in this order, the special before the general.
LAYOUTS: Mapping[str, Layout] = MappingProxyType(
    {
        layout.name: layout
        for layout in (
            cifar100.LAYOUT,
            tinyimagenet.LAYOUT,
            cub200.LAYOUT,
            class_folders.IMAGENET100,
            class_folders.LAYOUT,
            npz.LAYOUT,
            table.LAYOUT,
            folder.LAYOUT,
        )
    }
)

__all__ = ["LAYOUTS", "layout_of", "load_items"]


def load_items(
    source: str | os.PathLike[str], *, layout: str | None = None, name: str | None = None, **options: Any
) -> LabelledItems:
    """A labelled dataset from its ordinary layout.

    Parameters
    ----------
    source : str or Path
        A file or a folder. Pictures of folders are listed, not opened.
    layout : str, optional
        A name in `LAYOUTS`; without it the layout is recognised by its files.
    name : str, optional
        Name of the dataset; without it, that of the layout or of the file.
    **options
        For pictures in class folders: ``classes``, a list of class folders or a file with one in each line.
        For data without a split: ``test_share`` (0.2) and ``seed`` (0) of a stratified one. For tables:
        ``kind``, ``text``, ``image``, ``label``, ``embedding``, ``id`` as in `vbcgcd.items.read_items`, and
        ``split``, the column that tells the parts. An option that is None counts as not given.

    Returns
    -------
    LabelledItems

    Raises
    ------
    InputError
        A layout that is not known, not complete or broken, or options that it does not have.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> import numpy as np
    >>> folder = tempfile.TemporaryDirectory()
    >>> file = pathlib.Path(folder.name, "blobs.npz")
    >>> np.savez(file, x=np.eye(10), y=np.repeat([3, 8], 5))
    >>> data = load_items(file)
    >>> data.name, data.class_names, len(data.train), len(data.test)
    ('blobs', ('3', '8'), 8, 2)
    >>> folder.cleanup()
    """
    path = Path(source)
    if layout is not None and layout not in LAYOUTS:
        raise InputError(f"layout must be one of {', '.join(LAYOUTS)}, got {layout!r}.")
    if not path.exists():
        fetched = " Fetch it first." if str(source).startswith("hf:") else ""
        raise InputError(f"There is no file or folder {source}.{fetched}")
    try:
        chosen = LAYOUTS[layout] if layout is not None else _detected(path)
        return _load(chosen, path, name, options)
    except OSError as error:
        raise InputError(f"Cannot read {path}: {error.strerror or error}.") from None


def layout_of(path: Path) -> str | None:
    """Name of the layout of an existing path; None where it has none that is known."""
    return next((layout.name for layout in LAYOUTS.values() if layout.detect(path)), None)


def _detected(path: Path) -> Layout:
    found = layout_of(path)
    if found is not None:
        return LAYOUTS[found]
    known = "; ".join(f"{layout.name}: {layout.expects}" for layout in LAYOUTS.values())
    raise InputError(f"{path} has no known layout. Known are {known}.")


def _load(layout: Layout, path: Path, name: str | None, options: Mapping[str, Any]) -> LabelledItems:
    given = {key: value for key, value in options.items() if value is not None}
    strange = [key for key in given if key not in layout.options]
    if strange:
        allowed = ", ".join(layout.options) or "no options"
        raise InputError(
            f"{strange[0]}= cannot be used with the layout {layout.name} of {path}; it takes {allowed}."
        )
    loaded: LabelledItems = layout.load(path, name=name, **given)
    return loaded
