"""Labelled pictures: collected and checked, split into training and validation, and read in batches ahead."""

from __future__ import annotations

import hashlib
import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from vbcgcd.embed.cache import item_key
from vbcgcd.embed.pictures import Augmentation, open_picture
from vbcgcd.embed.preprocess import Preprocess
from vbcgcd.embed.protocol import ItemError
from vbcgcd.errors import InputError
from vbcgcd.items import Failure, Items
from vbcgcd.validation import check_labels

if TYPE_CHECKING:
    import torch

Array = NDArray[Any]
#: Batches prepared before they are needed.
AHEAD = 2

__all__ = [
    "LabelledImages",
    "PictureBatches",
    "broken_images",
    "epoch_order",
    "labelled_images",
    "seed_of",
    "stratified_split",
]


@dataclass(frozen=True)
class LabelledImages:
    """Pictures and their labels.

    Attributes
    ----------
    values : sequence (N,)
        Paths, PIL images or uint8 arrays (H, W, 3).
    references : tuple of str (N,)
        Names of the pictures, for messages.
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
        """Digest of labels and pictures (files by content), to notice other data when training resumes."""
        digest = hashlib.sha256(repr(self.labels.tolist()).encode())
        for value in self.values:
            digest.update(item_key(Path(value) if isinstance(value, str) else value))
        return digest.hexdigest()[:32]


def labelled_images(images: Any, labels: Any = None) -> LabelledImages:
    """The pictures that have a label; the others are dropped before anything is opened.

    Parameters
    ----------
    images : Items of kind "image", list of paths or PIL images, or uint8 array (N, H, W, 3)
    labels : array-like (N,), optional
        One for each picture, None for a picture without a label. Without ``labels``, those of the items.
    """
    values, references, labels = _parts(images, labels)
    if labels is None:
        raise InputError(
            "Fine-tuning needs labels, but there are none; give one label for each picture.", option="labels"
        )
    cells = labels.tolist() if hasattr(labels, "tolist") else list(labels)
    if len(cells) != len(values):
        raise InputError(
            f"There are {len(values)} pictures but {len(cells)} labels; give one for each.", option="labels"
        )
    rows = [i for i, label in enumerate(cells) if label is not None]
    known = check_labels([cells[i] for i in rows], len(rows)) if rows else np.empty(0)
    if len(np.unique(known)) < 2:
        raise InputError(
            f"Fine-tuning needs labelled pictures of at least two categories, got {len(np.unique(known))}; "
            "label pictures of another category.",
            option="labels",
        )
    pictures = values[rows] if isinstance(values, np.ndarray) else [values[i] for i in rows]
    return LabelledImages(pictures, tuple(references[i] for i in rows), known)


def _parts(images: Any, labels: Any) -> tuple[Sequence[Any] | Array, list[str], Any]:
    """Pictures, their names and their labels."""
    if isinstance(images, Items):
        if images.kind != "image":
            raise InputError(f"Fine-tuning needs pictures, but {images.source} holds {images.kind}s.")
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
            "Pictures must be a list of paths or PIL images, a uint8 array or image items, got "
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


def broken_images(images: LabelledImages, pool: Executor) -> dict[int, Failure]:
    """Rows whose picture cannot be decoded completely, with the reason. Every file is decoded once."""
    if isinstance(images.values, np.ndarray):
        return {}
    reasons = pool.map(lambda row: _problem(images, row), range(len(images)))
    return {row: Failure(images.references[row], reason) for row, reason in enumerate(reasons) if reason}


def _problem(images: LabelledImages, row: int) -> str:
    try:
        images.read(row)
    except ItemError as error:
        return str(error)
    return ""


def stratified_split(codes: Array, share: float, random_state: int) -> tuple[Array, Array]:
    """Row numbers of training and of validation, about ``share`` of each category's rows.

    A category with three rows or more has at least one validation row and at least two training rows; the
    rows of smaller ones are for training only.

    Parameters
    ----------
    codes : int array (N,)
        Category numbers.
    share : float
        Share of validation rows; 0 for none.
    random_state : int
        Seed of the split.

    Returns
    -------
    tuple of int array
        Both ascending, together every row once.

    Examples
    --------
    >>> train, validation = stratified_split(np.repeat([0, 1], 10), 0.2, random_state=0)
    >>> len(train), len(validation)
    (16, 4)
    """
    rng = np.random.default_rng([random_state, 1])
    parts: list[Array] = []
    for code in np.unique(codes):
        members = rng.permutation(np.flatnonzero(codes == code))
        if share > 0 and len(members) >= 3:
            size = max(1, round(share * len(members)))
            parts.append(members[: min(size, len(members) - 2)])
    if share > 0 and not parts:
        raise InputError(
            "No category has three labelled pictures, so none can be set aside for validation; label more, "
            "or set validation_share to 0, which uses the weights of the last epoch.",
            option="validation_share",
        )
    validation = np.sort(np.concatenate(parts)) if parts else np.empty(0, dtype=np.int64)
    return np.setdiff1d(np.arange(len(codes)), validation), validation


def seed_of(*numbers: int) -> int:
    """One seed from several numbers: randomness depends on where training is, not on how it got there."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> 1)


def epoch_order(rows: Array, random_state: int, epoch: int) -> Array:
    """The training rows in the order of one epoch."""
    return np.random.default_rng([random_state, 2, epoch]).permutation(rows)


@dataclass(frozen=True)
class PictureBatches:
    """Pictures as batches of tensors, decoded and augmented by threads a little ahead of the training.

    Parameters
    ----------
    read : function int -> PIL image
        Opens the picture of a row.
    preprocess : Preprocess
        From a picture to the pixels that the backbone expects.
    augmentation : Augmentation
        How views are drawn.
    random_state : int
        Seed of the views.
    pool : ThreadPoolExecutor
    device : torch.device
    """

    read: Callable[[int], Image.Image]
    preprocess: Preprocess
    augmentation: Augmentation
    random_state: int
    pool: ThreadPoolExecutor
    device: torch.device

    def plain(self, rows: Sequence[int] | Array, batch_size: int) -> Iterator[tuple[Array, torch.Tensor]]:
        """Row numbers (B,) and tensor (B, 3, H, W), the same pixels as for an embedder."""
        yield from self._ahead(rows, batch_size, lambda row: [self.preprocess.pixels(self.read(row))])

    def views(
        self, rows: Sequence[int] | Array, batch_size: int, epoch: int
    ) -> Iterator[tuple[Array, torch.Tensor]]:
        """Row numbers (B,) and tensor (2 B, 3, H, W): first views, then second views."""
        yield from self._ahead(rows, batch_size, lambda row: [self._view(row, epoch, v) for v in (0, 1)])

    def _view(self, row: int, epoch: int, view: int) -> Array:
        rng = np.random.default_rng([self.random_state, 3, epoch, row, view])
        return self.preprocess.finished(self.augmentation(self.read(row), self.preprocess.size, rng))

    def _ahead(
        self, rows: Sequence[int] | Array, batch_size: int, make: Callable[[int], list[Array]]
    ) -> Iterator[tuple[Array, torch.Tensor]]:
        rows = np.asarray(rows)
        chunks = [rows[i : i + batch_size] for i in range(0, len(rows), batch_size)]
        waiting: deque[tuple[Array, list[Future[list[Array]]]]] = deque()
        try:
            for chunk in [*chunks, *[None] * AHEAD]:
                if chunk is not None:
                    waiting.append((chunk, [self.pool.submit(make, int(row)) for row in chunk]))
                if waiting and (chunk is None or len(waiting) > AHEAD):
                    ready, futures = waiting.popleft()
                    yield ready, self._tensor([f.result() for f in futures])
        finally:
            for _, futures in waiting:
                for future in futures:
                    future.cancel()

    def _tensor(self, pictures: list[list[Array]]) -> torch.Tensor:
        """Stack by view, then by row."""
        import torch

        stacked = np.stack([p[v] for v in range(len(pictures[0])) for p in pictures])
        return self.preprocess.tensor(torch.from_numpy(stacked).to(self.device))  # type: ignore[no-any-return, unused-ignore]
