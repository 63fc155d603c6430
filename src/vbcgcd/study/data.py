"""Embeddings of a dataset for a study, from whatever the user has."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.errors import InputError
from vbcgcd.items import Items
from vbcgcd.study.datasets import LabelledItems, load_items
from vbcgcd.study.runner import Dataset

Array = NDArray[Any]

__all__ = ["load_dataset", "load_labels"]


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
        `vbcgcd.study.datasets.load_items` reads: texts and pictures are embedded first.
    embedder : str, optional
        Name or path of an embedder for texts and pictures; the offline default where it is not given.
    progress : bool
        Draw a bar while embedding.
    **options
        Of `load_items`: layout, columns, split.

    Returns
    -------
    Dataset
        Labels are codes in the natural order of the classes.
    """
    items = load_items(source, **options)
    if items.train.kind == "embedding":
        if embedder is not None:
            raise InputError(f"{source} holds embeddings already; leave out the embedder {embedder!r}.")
        return _dataset(items, items.train.values, items.train.labels, items.test.values, items.test.labels)
    from vbcgcd.embed import embedder as make_embedder

    made = make_embedder(embedder, kind=items.train.kind)
    parts = [_embedded(part, made, progress) for part in (items.train, items.test)]
    return _dataset(items, *parts[0], *parts[1], suffix=f", {made.name}")


def load_labels(source: str | os.PathLike[str], **options: Any) -> tuple[Array, str]:
    """Training labels of a dataset and its name, without embedding anything."""
    items = load_items(source, **options)
    return np.asarray(items.train.labels), items.name


def _embedded(part: Items, made: Any, progress: bool) -> tuple[Array, Array]:
    """Vectors and labels of the items that could be embedded."""
    from vbcgcd.embed import embed_items

    result = embed_items(part, made, progress=progress)
    if result.failures:
        first = result.failures[0]
        raise InputError(
            f"{len(result.failures)} of {len(part)} items of {part.source} cannot be embedded, the first is "
            f"{first.reference}: {first.reason}; a study needs them all, so remove or mend them."
        )
    return result.vectors, np.asarray(part.labels)


def _dataset(
    items: LabelledItems, train_x: Any, train_y: Any, test_x: Any, test_y: Any, suffix: str = ""
) -> Dataset:
    return Dataset(
        np.asarray(train_x, dtype=np.float32),
        np.asarray(train_y),
        np.asarray(test_x, dtype=np.float32),
        np.asarray(test_y),
        name=f"{items.name}{suffix}",
        class_names=items.class_names,
    )
