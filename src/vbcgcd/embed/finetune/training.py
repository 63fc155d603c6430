"""The training loop: steps, epochs, measurements, the best weights, checkpoints, and Ctrl-C between steps."""

from __future__ import annotations

import math
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import FrameType, TracebackType
from typing import Any

import torch
from numpy.typing import NDArray

from vbcgcd.embed.devices import autocast
from vbcgcd.embed.finetune.images import PictureBatches, epoch_order, seed_of
from vbcgcd.embed.finetune.objective import Measurement, finetune_loss, measure
from vbcgcd.embed.finetune.options import FinetuneOptions, rate_factor
from vbcgcd.embed.finetune.result import EpochRecord, FinetuneProgress
from vbcgcd.embed.finetune.state import Sums, TrainingState, is_better, load_state, save_state
from vbcgcd.errors import NumericalError

Array = NDArray[Any]

__all__ = ["DeferredInterrupt", "Training"]


class DeferredInterrupt:
    """In this context the first Ctrl-C only sets ``requested``; a second one interrupts at once.

    Signals reach the main thread only; in any other thread this does nothing.

    Examples
    --------
    >>> with DeferredInterrupt() as interrupt:
    ...     interrupt.requested
    False
    """

    def __init__(self) -> None:
        self.requested = False
        self._before: Any = None

    def __enter__(self) -> DeferredInterrupt:
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise KeyboardInterrupt
        self.requested = True


@dataclass(frozen=True, kw_only=True)
class Training:
    """The training loop, with everything that stays constant while it runs.

    Parameters
    ----------
    state : TrainingState
        Changed in place.
    options : FinetuneOptions
    pictures : PictureBatches
    codes : int array (N,)
        Category numbers of the labelled rows.
    rows : tuple of int array
        Row numbers of training and of validation.
    precision : {"float32", "bfloat16", "float16"}
        Arithmetic of matrix products.
    checkpoint : Path
        Where checkpoints are written.
    checkpoint_every : int or None
        Batches between checkpoints inside an epoch; one is always written after an epoch.
    identity : dict
        Options, backbone and data as plain values, stored in each checkpoint.
    report : function FinetuneProgress -> None
        Called at every moment of interest.
    """

    state: TrainingState
    options: FinetuneOptions
    pictures: PictureBatches
    codes: Array
    rows: tuple[Array, Array]
    precision: str
    checkpoint: Path
    checkpoint_every: int | None
    identity: dict[str, Any]
    report: Callable[[FinetuneProgress], None]

    def resume(self) -> bool:
        """Load the checkpoint if there is one; whether there was."""
        if not self.checkpoint.exists():
            return False
        load_state(self.checkpoint, self.state, self.identity)
        return True

    def run(self) -> bool:
        """Train to the last epoch or until patience runs out; whether it stopped early."""
        state = self.state
        devices = [self.pictures.device] if self.pictures.device.type == "cuda" else []
        with torch.random.fork_rng(devices), DeferredInterrupt() as interrupt:
            if not state.history:
                self._start()
            while state.epoch <= self.options.epochs and not self.out_of_patience:
                self._epoch(interrupt)
                if interrupt.requested:  # the epoch's checkpoint has just been written
                    raise KeyboardInterrupt
        return self.out_of_patience and state.epoch <= self.options.epochs

    @property
    def batches(self) -> int:
        """Number of steps in an epoch."""
        return math.ceil(len(self.rows[0]) / self.options.batch_size)

    @property
    def out_of_patience(self) -> bool:
        """Whether ``patience`` epochs have passed since the best one."""
        patience, history = self.options.patience, self.state.history
        if patience is None or len(self.rows[1]) == 0 or not history:
            return False
        return history[-1].epoch - self.state.best_epoch >= patience

    def _start(self) -> None:
        """Measure the frozen backbone as epoch 0; the head is untrained."""
        start = time.perf_counter()
        result = self._measure()
        seconds = time.perf_counter() - start
        record = EpochRecord(epoch=0, validation_ncm=result.ncm if result else None, seconds=seconds)
        self.state.history.append(record)
        self.state.keep_as_best(0)
        self._report("epoch", record)

    def _epoch(self, interrupt: DeferredInterrupt) -> None:
        state, size = self.state, self.options.batch_size
        start = time.perf_counter()
        order = epoch_order(self.rows[0], self.options.random_state, state.epoch)[state.batch * size :]
        state.network.train()
        for rows, pixels in self.pictures.views(order, size, state.epoch):
            self._step(rows, pixels)
            self._report("batch")
            if interrupt.requested:
                save_state(self.checkpoint, state, self.identity)
                raise KeyboardInterrupt
            if self.checkpoint_every and state.batch % self.checkpoint_every == 0:
                save_state(self.checkpoint, state, self.identity)
        self._finish_epoch(start)

    def _step(self, rows: Array, pixels: torch.Tensor) -> None:
        state, options = self.state, self.options
        torch.manual_seed(seed_of(options.random_state, 4, state.epoch, state.batch))
        factor = rate_factor(state.step, options.epochs * self.batches, options.warmup)
        for group in state.optimizer.param_groups:
            group["lr"] = options.learning_rate * factor
        labels = torch.from_numpy(self.codes[rows]).to(pixels.device)
        with autocast(pixels.device, self.precision):
            embeddings = state.network.embed(pixels)
            logits = state.network.head(embeddings)
        loss, cross_entropy, contrast = finetune_loss(
            embeddings,
            logits,
            labels,
            weight=options.contrastive_weight,
            temperature=options.temperature,
            contrast=options.contrast,
        )
        if not torch.isfinite(loss):
            raise NumericalError(
                f"The loss became {loss.item()} in epoch {state.epoch}, batch {state.batch + 1}; "
                "use a smaller learning_rate, a smaller clip_norm or the precision 'float32'."
            )
        self._descend(loss)
        correct = int((logits.argmax(dim=1) == labels.repeat(2)).sum())
        self._count(2 * len(rows), loss.item(), cross_entropy.item(), contrast.item(), correct)

    def _descend(self, loss: torch.Tensor) -> None:
        state = self.state
        state.optimizer.zero_grad(set_to_none=True)
        state.scaler.scale(loss).backward()  # type: ignore[no-untyped-call, unused-ignore]
        state.scaler.unscale_(state.optimizer)
        torch.nn.utils.clip_grad_norm_(state.network.trainable().values(), self.options.clip_norm)
        state.scaler.step(state.optimizer)
        state.scaler.update()

    def _count(self, views: int, loss: float, cross_entropy: float, contrast: float, correct: int) -> None:
        sums = self.state.sums
        sums.views += views
        sums.loss += views * loss
        sums.cross_entropy += views * cross_entropy
        sums.contrastive += views * contrast
        sums.correct += correct
        self.state.batch += 1
        self.state.step += 1

    def _measure(self) -> Measurement | None:
        return measure(
            self.state.network, self.pictures, self.codes, self.rows, self.options.batch_size, self.precision
        )

    def _finish_epoch(self, start: float) -> None:
        state = self.state
        result = self._measure()
        record = EpochRecord(
            epoch=state.epoch,
            loss=state.sums.mean("loss"),
            cross_entropy=state.sums.mean("cross_entropy"),
            contrastive=state.sums.mean("contrastive"),
            train_accuracy=state.sums.mean("correct"),
            validation_loss=result.loss if result else None,
            validation_head=result.head if result else None,
            validation_ncm=result.ncm if result else None,
            learning_rate=state.optimizer.param_groups[0]["lr"],
            seconds=time.perf_counter() - start,
        )
        if result is None or is_better(record, state.history[state.best_epoch]):
            state.keep_as_best(state.epoch)
        state.history.append(record)
        state.epoch, state.batch, state.sums = state.epoch + 1, 0, Sums()
        save_state(self.checkpoint, state, self.identity)
        self._report("epoch", record)

    def _report(self, stage: str, record: EpochRecord | None = None) -> None:
        state = self.state
        self.report(
            FinetuneProgress(
                stage=stage,
                epoch=record.epoch if record else state.epoch,
                epochs=self.options.epochs,
                batch=state.batch,
                batches=self.batches,
                loss=state.sums.mean("loss"),
                train_accuracy=state.sums.mean("correct"),
                record=record,
                best_epoch=state.best_epoch,
            )
        )
