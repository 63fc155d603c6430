"""Load a labelled dataset from its ordinary layout on disk: as items, as embeddings, or part by part."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.errors import InputError, MissingFileError
from vbcgcd.items import Items, read_items
from vbcgcd.items.tables import TABLES
from vbcgcd.study.datasets.labelled import Dataset, LabelledItems, Layout
from vbcgcd.validation import check_choice

Array = NDArray[Any]
#: Layouts by name, with the module of each. A folder is tried in this order, the special before the general.
_MODULES = {
    "cifar100": "cifar100",
    "tinyimagenet": "listed",
    "cub200": "listed",
    "imagenet100": "class_folders",
    "class-folders": "class_folders",
    "npz": "labelled",
    "table": "tables",
    "folder": "class_folders",
}
#: Layout of a single file, by its suffix.
_SUFFIXES = {
    **dict.fromkeys((".tar.gz", ".tgz", ".tar"), "cifar100"),
    ".npz": "npz",
    **dict.fromkeys(TABLES, "table"),
}
LAYOUTS = tuple(_MODULES)

__all__ = [
    "LAYOUTS",
    "dataset_parts",
    "find_layout",
    "layout_of",
    "load_dataset",
    "load_items",
    "load_labels",
]


def load_items(
    source: str | os.PathLike[str], *, layout: str | None = None, name: str | None = None, **options: Any
) -> LabelledItems:
    """A labelled dataset from its ordinary layout.

    Parameters
    ----------
    source : str or Path
        A file or a folder. Pictures in folders are listed, not opened.
    layout : str, optional
        One of `LAYOUTS`; by default the layout is recognised by its files.
    name : str, optional
        Name of the dataset; by default that of the layout or of the file.
    **options
        For pictures in class folders: ``classes``, a list of class folders or a file with one in each line.
        For data without a split: ``test_share`` (0.2) and ``seed`` (0) of a stratified split. For tables:
        ``kind``, ``text``, ``image``, ``label``, ``embedding``, ``id`` as in `vbcgcd.items.read_items`, and
        ``split``, the column that says which part a row belongs to. Options that are None are ignored.

    Returns
    -------
    LabelledItems

    Raises
    ------
    InputError
        The layout is unknown, incomplete or broken, or does not take one of the options.

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
    if layout is not None:
        check_choice("layout", layout, LAYOUTS)
    if not path.exists():
        hint = " Fetch it first with 'vbcgcd study fetch'." if str(source).startswith("hf:") else ""
        raise MissingFileError(f"There is no file or folder {source}.{hint}")
    try:
        return _load(_known_layout(path) if layout is None else find_layout(layout), path, name, options)
    except OSError as error:
        raise InputError(f"Cannot read {path}: {error.strerror or error}.") from None


def find_layout(name: str) -> Layout:
    """The layout with this name, one of `LAYOUTS`."""
    module = importlib.import_module(f"vbcgcd.study.datasets.{_MODULES[name]}")
    layouts: tuple[Layout, ...] = module.LAYOUTS
    return next(layout for layout in layouts if layout.name == name)


def layout_of(path: Path) -> Layout | None:
    """The layout of an existing file or folder; None if it has none of `LAYOUTS`."""
    if path.is_file():
        name = next((n for suffix, n in _SUFFIXES.items() if path.name.lower().endswith(suffix)), None)
        return None if name is None else find_layout(name)
    return next((layout for layout in map(find_layout, LAYOUTS) if layout.detect(path)), None)


def _known_layout(path: Path) -> Layout:
    layout = layout_of(path)
    if layout is None:
        expected = "; ".join(f"{layout.name}: {layout.expects}" for layout in map(find_layout, LAYOUTS))
        raise InputError(f"{path} has no known layout. Use one of these: {expected}.")
    return layout


def _load(layout: Layout, path: Path, name: str | None, options: Mapping[str, Any]) -> LabelledItems:
    settings = {key: value for key, value in options.items() if value is not None}
    unknown = [key for key in settings if key not in layout.options]
    if unknown:
        allowed = ", ".join(layout.options) or "no options"
        raise InputError(
            f"{unknown[0]} cannot be used with the layout {layout.name} of {path}; it takes {allowed}.",
            option=unknown[0],
        )
    return layout.load(path, name=name, **settings)


def load_dataset(
    source: str | os.PathLike[str],
    *,
    embedder: str | None = None,
    progress: bool = False,
    **options: Any,
) -> Dataset:
    """Embeddings with labels, ready for a study.

    Parameters
    ----------
    source : path
        A ``.npz`` of embeddings (``train_x``, ``train_y``, ``test_x``, ``test_y``), or anything else that
        `load_items` reads: texts and pictures are embedded first.
    embedder : str, optional
        Name or path of an embedder for texts and pictures; by default the one that works offline.
    progress : bool
        Draw a bar while embedding.
    **options
        Of `load_items`: layout, columns, split.

    Returns
    -------
    Dataset
        Labels are codes in the natural order of the classes.

    Examples
    --------
    >>> import tempfile
    >>> x, y = np.eye(4), np.array([0, 0, 1, 1])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(f"{folder}/rows.npz", train_x=x, train_y=y, test_x=x, test_y=y)
    ...     load_dataset(f"{folder}/rows.npz").train_x.shape
    (4, 4)
    """
    items = load_items(source, **options)
    if items.kind == "embedding":
        if embedder is not None:
            raise InputError(
                f"{source} already has embeddings; leave out the embedder {embedder!r}.", option="embedder"
            )
        return _dataset(items, items.train.values, items.test.values, items.name)
    from vbcgcd.embed import embedder as make_embedder

    model = make_embedder(embedder, kind=items.kind)
    train, test = (_embed(part, model, progress) for part in (items.train, items.test))
    return _dataset(items, train, test, f"{items.name}, {model.name}")


def load_labels(source: str | os.PathLike[str], **options: Any) -> tuple[Array, str]:
    """Training labels of a dataset and its name, without embedding anything; ``options`` of `load_items`."""
    items = load_items(source, **options)
    return np.asarray(items.train.labels), items.name


def _embed(part: Items, model: Any, progress: bool) -> Array:
    """Embeddings (N, d) of all items, or an error if one cannot be embedded."""
    from vbcgcd.embed import embed_items

    result = embed_items(part, model, progress=progress)
    if result.failures:
        first = result.failures[0]
        raise InputError(
            f"{len(result.failures)} of {len(part)} items of {part.source} cannot be embedded, first "
            f"{first.reference}: {first.reason}; a study needs all of them, so repair or remove these."
        )
    return np.asarray(result.vectors)


def _dataset(items: LabelledItems, train_x: Any, test_x: Any, name: str) -> Dataset:
    return Dataset(
        np.asarray(train_x, dtype=np.float32),
        np.asarray(items.train.labels),
        np.asarray(test_x, dtype=np.float32),
        np.asarray(items.test.labels),
        name=name,
        class_names=items.class_names,
    )


def dataset_parts(
    source: str | os.PathLike[str], *, split: str | None = None, **columns: Any
) -> tuple[dict[str, Items], tuple[str, ...] | None]:
    """Items of a dataset in the parts that the data itself has: train and test, or a single one.

    Parameters
    ----------
    source : path
        A dataset in one of ``LAYOUTS``, or anything that `vbcgcd.items.read_items` reads.
    split : str, optional
        Column of a table that says which part a row belongs to; by default one with a usual name and usual
        values.
    **columns
        Of `vbcgcd.items.read_items`.

    Returns
    -------
    parts : dict
        ``{"train": items, "test": items}`` or ``{"": items}``.
    names : tuple of str or None
        Names of the classes where labels are codes.
    """
    path = Path(source)
    layout = layout_of(path) if path.exists() else None
    if layout is not None and layout.has_parts(path, split):
        data = load_items(path, split=split, **columns)
        return {"train": data.train, "test": data.test}, data.class_names
    return {"": read_items(path, **columns)}, None
