"""Labelled pictures as people bring them, read one at a time."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from vbcgcd.embed.hashing import item_key
from vbcgcd.embed.pictures import open_picture
from vbcgcd.embed.protocol import ItemError
from vbcgcd.errors import InputError
from vbcgcd.items import Items
from vbcgcd.validation import check_labels

Array = NDArray[Any]

__all__ = ["LabelledImages", "broken_images", "labelled_images"]


@dataclass(frozen=True)
class LabelledImages:
    """Pictures and their labels.

    Attributes
    ----------
    values : sequence (N,)
        Paths, PIL images or uint8 arrays (H, W, 3).
    references : tuple of str (N,)
        How a picture is called in messages.
    labels : array (N,)
    """

    values: Sequence[Any] | Array
    references: tuple[str, ...]
    labels: Array

    def __len__(self) -> int:
        return len(self.references)

    def read(self, row: int) -> Image.Image:
        """One picture, RGB and upright."""
        return open_picture(self.values[row])

    def take(self, rows: Array) -> LabelledImages:
        """The pictures of some rows."""
        values = self.values[rows] if isinstance(self.values, np.ndarray) else [self.values[r] for r in rows]
        return LabelledImages(values, tuple(self.references[r] for r in rows), self.labels[rows])

    def fingerprint(self) -> str:
        """Of labels and pictures, to tell other data when training goes on; files count by content."""
        digest = hashlib.sha256(repr(self.labels.tolist()).encode())
        for value in self.values:
            digest.update(item_key(Path(value) if isinstance(value, str) else value))
        return digest.hexdigest()[:32]


def labelled_images(images: Any, labels: Any = None) -> LabelledImages:
    """The labelled pictures among what was given; unlabelled ones are left out before anything is opened.

    Parameters
    ----------
    images : Items of kind "image", list of paths or PIL images, or uint8 array (N, H, W, 3)
    labels : array-like (N,), optional
        None takes the labels of the items. None in place of a label: unlabelled.
    """
    values, references, labels = _parts(images, labels)
    if labels is None:
        raise InputError("Fine-tuning needs labels, but there are none; give one label for each picture.")
    given = labels.tolist() if hasattr(labels, "tolist") else list(labels)
    if len(given) != len(values):
        raise InputError(f"There are {len(values)} pictures but {len(given)} labels; give one for each.")
    rows = [i for i, label in enumerate(given) if label is not None]
    kept = check_labels([given[i] for i in rows], len(rows)) if rows else np.empty(0)
    if len(np.unique(kept)) < 2:
        raise InputError(
            f"Fine-tuning needs labelled pictures of at least two categories, got {len(np.unique(kept))}; "
            "label some of another category."
        )
    chosen = values[rows] if isinstance(values, np.ndarray) else [values[i] for i in rows]
    return LabelledImages(chosen, tuple(references[i] for i in rows), kept)


def _parts(images: Any, labels: Any) -> tuple[Sequence[Any] | Array, list[str], Any]:
    """Pictures, their names and their labels."""
    if isinstance(images, Items):
        if images.kind != "image":
            raise InputError(f"Fine-tuning needs pictures, {images.source} holds {images.kind!r} items.")
        return _values(images.values), images.references, images.labels if labels is None else labels
    values = _values(images)
    names = [str(v) if isinstance(v, str | Path) else f"picture {i}" for i, v in enumerate(values)]
    return values, names, labels


def _values(images: Any) -> Sequence[Any] | Array:
    if isinstance(images, np.ndarray):
        if images.dtype != np.uint8 or images.ndim != 4 or images.shape[3] != 3:
            raise InputError(
                f"An array of pictures must be uint8 with shape (N, H, W, 3), got {images.dtype} with shape "
                f"{images.shape}."
            )
        return images
    if isinstance(images, str | os.PathLike) or not isinstance(images, Sequence):
        raise InputError(
            f"Pictures must be a list of paths or PIL images, a uint8 array or image items, got "
            f"{type(images).__name__}."
        )
    allowed = (str, Path, Image.Image, np.ndarray)
    bad = [(i, v) for i, v in enumerate(images) if not isinstance(v, allowed)]
    if bad:
        raise InputError(
            f"Pictures must be paths, PIL images or uint8 arrays (H, W, 3); number {bad[0][0]} is a "
            f"{type(bad[0][1]).__name__}."
        )
    return images


def broken_images(images: LabelledImages, pool: Executor) -> list[tuple[int, str]]:
    """Rows whose picture cannot be read whole, with the reason. Every file is decoded once."""
    if isinstance(images.values, np.ndarray):
        return []
    reasons = pool.map(lambda row: _problem(images, row), range(len(images)))
    return [(row, reason) for row, reason in enumerate(reasons) if reason]


def _problem(images: LabelledImages, row: int) -> str:
    try:
        images.read(row)
    except ItemError as error:
        return str(error)
    return ""
