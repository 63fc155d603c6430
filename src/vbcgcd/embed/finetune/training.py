"""The training loop: steps, epochs, measurements, the best weights, checkpoints."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from numpy.typing import NDArray

from vbcgcd.embed.devices import autocast
from vbcgcd.embed.finetune.batches import Pictures, epoch_order, seed_of
from vbcgcd.embed.finetune.interrupt import DeferredInterrupt
from vbcgcd.embed.finetune.loss import finetune_loss
from vbcgcd.embed.finetune.measure import Measurement, measure
from vbcgcd.embed.finetune.network import Network
from vbcgcd.embed.finetune.options import FinetuneOptions
from vbcgcd.embed.finetune.result import EpochRecord, FinetuneProgress
from vbcgcd.embed.finetune.schedule import rate_factor
from vbcgcd.embed.finetune.state import Sums, TrainingState, load_state, save_state
from vbcgcd.errors import NumericalError

Array = NDArray[Any]

__all__ = ["Training", "new_state"]


def new_state(network: Network, options: FinetuneOptions, precision: str) -> TrainingState:
    """Optimiser and counters before the first step."""
    decayed: list[torch.nn.Parameter] = []
    free: list[torch.nn.Parameter] = []
    for name, parameter in network.trainable().items():
        # Scales start at 1 and biases have no preferred size: only matrices are drawn towards 0.
        plain = ".boft_s." in name or parameter.ndim < 2
        (free if plain else decayed).append(parameter)
    groups = [
        {"params": decayed, "weight_decay": options.weight_decay},
        {"params": free, "weight_decay": 0.0},
    ]
    device = next(network.backbone.parameters()).device.type
    return TrainingState(
        network=network,
        optimizer=torch.optim.AdamW(groups, lr=options.learning_rate),
        scaler=torch.amp.GradScaler(device, enabled=precision == "float16"),
    )


@dataclass(frozen=True, kw_only=True)
class Training:
    """One fine-tuning, with all that stays the same while it runs.

    Parameters
    ----------
    state : TrainingState
        Changed in place.
    options : FinetuneOptions
    pictures : Pictures
    codes : int array (N,)
        Category numbers of the labelled rows.
    rows : tuple of int array
        Row numbers of training and of validation.
    precision : str
    checkpoint : Path
    checkpoint_every : int or None
        Batches between checkpoints inside an epoch; one is always written after an epoch.
    identity : dict
        Of options, backbone and data, kept with each checkpoint.
    tell : function FinetuneProgress -> None
    """

    state: TrainingState
    options: FinetuneOptions
    pictures: Pictures
    codes: Array
    rows: tuple[Array, Array]
    precision: str
    checkpoint: Path
    checkpoint_every: int | None
    identity: dict[str, Any]
    tell: Callable[[FinetuneProgress], None]

    def resume(self) -> bool:
        """Take up a checkpoint where there is one."""
        if not self.checkpoint.exists():
            return False
        load_state(self.checkpoint, self.state, self.identity)
        return True

    def run(self) -> bool:
        """Train to the last epoch or to the early stop; True says that it stopped early."""
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
        """Steps of an epoch."""
        return math.ceil(len(self.rows[0]) / self.options.batch_size)

    @property
    def out_of_patience(self) -> bool:
        """As many epochs as ``patience`` allows have passed since the best one."""
        patience, history = self.options.patience, self.state.history
        if patience is None or len(self.rows[1]) == 0 or not history:
            return False
        return history[-1].epoch - self.state.best_epoch >= patience

    def _start(self) -> None:
        """Measure the frozen backbone as epoch 0; the head has learned nothing yet."""
        begun = time.perf_counter()
        found = self._measure()
        seconds = time.perf_counter() - begun
        record = EpochRecord(epoch=0, validation_ncm=found.ncm if found else None, seconds=seconds)
        self.state.history.append(record)
        self.state.keep_as_best(0)
        self._tell("epoch", record)

    def _epoch(self, interrupt: DeferredInterrupt) -> None:
        state, size = self.state, self.options.batch_size
        begun = time.perf_counter()
        order = epoch_order(self.rows[0], self.options.random_state, state.epoch)[state.batch * size :]
        state.network.train()
        for rows, pixels in self.pictures.views(order, size, state.epoch):
            self._step(rows, pixels)
            self._tell("batch")
            if interrupt.requested:
                save_state(self.checkpoint, state, self.identity)
                raise KeyboardInterrupt
            if self.checkpoint_every and state.batch % self.checkpoint_every == 0:
                save_state(self.checkpoint, state, self.identity)
        self._finish_epoch(begun)

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
            by_label=options.contrast == "labels",
        )
        if not torch.isfinite(loss):
            raise NumericalError(
                f"The loss became {loss.item()} in epoch {state.epoch}, batch {state.batch + 1}; "
                "use a smaller learning_rate, a smaller clip_norm or precision='float32'."
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

    def _finish_epoch(self, begun: float) -> None:
        state = self.state
        found = self._measure()
        record = EpochRecord(
            epoch=state.epoch,
            loss=state.sums.mean("loss"),
            cross_entropy=state.sums.mean("cross_entropy"),
            contrastive=state.sums.mean("contrastive"),
            train_accuracy=state.sums.mean("correct"),
            validation_loss=found.loss if found else None,
            validation_head=found.head if found else None,
            validation_ncm=found.ncm if found else None,
            learning_rate=state.optimizer.param_groups[0]["lr"],
            seconds=time.perf_counter() - begun,
        )
        if found is None or _better(record, state.history[state.best_epoch]):
            state.keep_as_best(state.epoch)
        state.history.append(record)
        state.epoch, state.batch, state.sums = state.epoch + 1, 0, Sums()
        save_state(self.checkpoint, state, self.identity)
        self._tell("epoch", record)

    def _tell(self, stage: str, record: EpochRecord | None = None) -> None:
        state = self.state
        self.tell(
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


def _better(record: EpochRecord, best: EpochRecord) -> bool:
    """More validation rows right by nearest class mean; where equal, a lower loss of the head."""

    def rank(r: EpochRecord) -> tuple[float, float]:
        loss = math.inf if r.validation_loss is None else r.validation_loss
        return (-1.0 if r.validation_ncm is None else r.validation_ncm, -loss)

    return rank(record) > rank(best)
