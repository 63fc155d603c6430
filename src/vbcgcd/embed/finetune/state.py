"""The state of training and its checkpoint: everything that the next step needs, without pickle."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from vbcgcd.archive import read_archive, write_archive
from vbcgcd.embed.finetune.network import Network, adapter_arrays, load_adapters
from vbcgcd.embed.finetune.options import FinetuneOptions, changed_options
from vbcgcd.embed.finetune.result import EpochRecord
from vbcgcd.errors import InputError

Array = NDArray[Any]
KIND, VERSION = "fine-tuning checkpoint", 1

__all__ = ["Sums", "TrainingState", "is_better", "load_state", "new_state", "save_state"]


@dataclass
class Sums:
    """Totals over the views of an epoch so far."""

    views: int = 0
    loss: float = 0.0
    cross_entropy: float = 0.0
    contrastive: float = 0.0
    correct: int = 0

    def mean(self, name: str) -> float | None:
        """Mean of one of the totals."""
        return float(getattr(self, name)) / self.views if self.views else None


@dataclass
class TrainingState:
    """Everything that changes while training.

    Attributes
    ----------
    network : Network
    optimizer : torch.optim.AdamW
    scaler : torch.amp.GradScaler
        Disabled unless the precision is float16.
    epoch, batch : int
        The current epoch, from 1, and the number of its finished batches. Order of rows, augmentation and
        dropout follow from these two and the seed, so no state of a random generator is part of it.
    step : int
        Number of finished optimiser steps; the learning rate follows from it.
    sums : Sums
        Totals of the current epoch.
    history : list of EpochRecord
        The finished epochs.
    best_epoch : int
    best_adapters, best_head : dict of array
        The best epoch so far and its weights.
    """

    network: Network
    optimizer: torch.optim.AdamW
    scaler: torch.amp.GradScaler
    epoch: int = 1
    batch: int = 0
    step: int = 0
    sums: Sums = field(default_factory=Sums)
    history: list[EpochRecord] = field(default_factory=list)
    best_epoch: int = 0
    best_adapters: dict[str, Array] = field(default_factory=dict)
    best_head: dict[str, Array] = field(default_factory=dict)

    def keep_as_best(self, epoch: int) -> None:
        """Remember the current weights as the best ones."""
        self.best_epoch = epoch
        self.best_adapters = adapter_arrays(self.network.backbone)
        self.best_head = head_arrays(self.network)


def new_state(network: Network, options: FinetuneOptions, precision: str) -> TrainingState:
    """The state before the first step."""
    decayed: list[torch.nn.Parameter] = []
    free: list[torch.nn.Parameter] = []
    for name, parameter in network.trainable().items():
        # Scales start at 1 and biases have no preferred size, so only matrices decay.
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


def is_better(record: EpochRecord, best: EpochRecord) -> bool:
    """Whether the nearest class mean became more accurate, or stayed as accurate with a lower loss."""

    def rank(r: EpochRecord) -> tuple[float, float]:
        loss = math.inf if r.validation_loss is None else r.validation_loss
        return (-1.0 if r.validation_ncm is None else r.validation_ncm, -loss)

    return rank(record) > rank(best)


def head_arrays(network: Network) -> dict[str, Array]:
    """Weight (K, d) and bias (K,) of the head."""
    return {n: p.detach().cpu().numpy().copy() for n, p in network.head.named_parameters()}


def save_state(path: Path, state: TrainingState, identity: dict[str, Any]) -> None:
    """Write a checkpoint; the previous one stays until the new one is complete.

    Parameters
    ----------
    identity : dict
        Plain values that must be the same when training resumes: options, backbone, data.
    """
    arrays = {f"adapter/{n}": a for n, a in adapter_arrays(state.network.backbone).items()}
    arrays |= {f"head/{n}": a for n, a in head_arrays(state.network).items()}
    arrays |= {f"best-adapter/{n}": a for n, a in state.best_adapters.items()}
    arrays |= {f"best-head/{n}": a for n, a in state.best_head.items()}
    for name, parameter in state.network.trainable().items():
        for key, tensor in state.optimizer.state.get(parameter, {}).items():
            arrays[f"optimizer/{key}/{name}"] = tensor.detach().cpu().numpy()
    values = {
        "identity": identity,
        "epoch": state.epoch,
        "batch": state.batch,
        "step": state.step,
        "sums": vars(state.sums),
        "history": [r.as_json() for r in state.history],
        "best_epoch": state.best_epoch,
        "scaler": state.scaler.state_dict(),
    }
    write_archive(path, KIND, VERSION, arrays, values)


def load_state(path: Path, state: TrainingState, identity: dict[str, Any]) -> None:
    """Restore ``state`` (in place) from a checkpoint.

    Raises
    ------
    InputError
        The file is incomplete, or belongs to other options, another backbone or other data.
    """
    arrays, values = read_archive(path, KIND, VERSION)
    changed = changed_options(values["identity"], identity)
    if changed:
        raise InputError(
            f"{path.parent} holds an unfinished fine-tuning with other options ({'; '.join(changed)}); use "
            "the same options to continue it, choose another folder, or turn 'resume' off to start over.",
            option="out_folder",
        )
    load_adapters(state.network.backbone, _part(arrays, "adapter/"))
    _fill(dict(state.network.head.named_parameters()), _part(arrays, "head/"))
    for name, parameter in state.network.trainable().items():
        slots = {k: arrays[f"optimizer/{k}/{name}"] for k in _slots(arrays, name)}
        if slots:
            state.optimizer.state[parameter] = {
                k: torch.from_numpy(a) if k == "step" else torch.from_numpy(a).to(parameter.device)
                for k, a in slots.items()
            }
    if state.scaler.is_enabled() and values["scaler"]:
        state.scaler.load_state_dict(values["scaler"])
    state.epoch, state.batch, state.step = values["epoch"], values["batch"], values["step"]
    state.sums = Sums(**values["sums"])
    state.history = [EpochRecord(**r) for r in values["history"]]
    state.best_epoch = values["best_epoch"]
    state.best_adapters, state.best_head = _part(arrays, "best-adapter/"), _part(arrays, "best-head/")


def _part(arrays: dict[str, Array], prefix: str) -> dict[str, Array]:
    return {k.removeprefix(prefix): v for k, v in arrays.items() if k.startswith(prefix)}


def _slots(arrays: dict[str, Array], name: str) -> list[str]:
    keys = (key.split("/", 2) for key in arrays if key.startswith("optimizer/"))
    return [slot for _, slot, parameter in keys if parameter == name]


def _fill(parameters: dict[str, torch.nn.Parameter], arrays: dict[str, Array]) -> None:
    with torch.no_grad():
        for name, parameter in parameters.items():
            parameter.copy_(torch.from_numpy(np.ascontiguousarray(arrays[name])))
