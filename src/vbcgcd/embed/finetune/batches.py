"""Batches of pictures, decoded and augmented by threads a little ahead of the training."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from vbcgcd.embed.augment import Augmentation
from vbcgcd.embed.preprocess import Preprocess

Array = NDArray[Any]
#: Batches prepared before they are needed.
AHEAD = 2

__all__ = ["Pictures", "epoch_order", "seed_of"]


def seed_of(*numbers: int) -> int:
    """One seed from several numbers: what is random depends on where training is, not on how it got there."""
    return int(np.random.SeedSequence(numbers).generate_state(1, np.uint64)[0] >> 1)


def epoch_order(rows: Array, random_state: int, epoch: int) -> Array:
    """The training rows in the order of one epoch."""
    return np.random.default_rng([random_state, 2, epoch]).permutation(rows)


@dataclass(frozen=True)
class Pictures:
    """Labelled pictures as tensors for a backbone.

    Parameters
    ----------
    read : function int -> PIL image
        Opens one picture.
    preprocess : Preprocess
    augmentation : Augmentation
    random_state : int
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
        """Row numbers and tensor (B, 3, H, W), as an embedder sees the pictures."""
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
                    done, futures = waiting.popleft()
                    yield done, self._tensor([f.result() for f in futures])
        finally:
            for _, futures in waiting:
                for future in futures:
                    future.cancel()

    def _tensor(self, pictures: list[list[Array]]) -> torch.Tensor:
        """Stack by view, then by row."""
        stacked = np.stack([p[v] for v in range(len(pictures[0])) for p in pictures])
        return self.preprocess.tensor(torch.from_numpy(stacked).to(self.device))  # type: ignore[no-any-return, unused-ignore]
