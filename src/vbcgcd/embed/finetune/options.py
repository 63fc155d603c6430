"""The options of fine-tuning and the learning rate that follows from them; defaults are the paper's."""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass, field
from typing import Any

from vbcgcd.checks import check_choice, check_number
from vbcgcd.embed.pictures import Augmentation
from vbcgcd.errors import InputError

__all__ = ["CONTRASTS", "METHODS", "PRECISIONS", "FinetuneOptions", "changed_options", "rate_factor"]

METHODS = ("boft", "lora")
PRECISIONS = ("auto", "float32", "bfloat16", "float16")
CONTRASTS = ("views", "labels", "printed")


@dataclass(frozen=True, kw_only=True)
class FinetuneOptions:
    """Every option that the trained weights depend on.

    Parameters
    ----------
    method : {"boft", "lora"}
        Kind of adapters.
    epochs : int
        Passes over the training pictures.
    learning_rate : float
        Highest rate of AdamW.
    weight_decay : float
        Of AdamW; biases and scales do not decay.
    warmup : float
        Share of the steps in which the rate rises; then it falls to zero as a cosine.
    clip_norm : float
        Largest norm of the gradient.
    contrastive_weight : float
        Weight lambda of the contrast in the loss, in [0, 1]. The paper does not give its value, and evidence
        for 0.1 is weak: on one small backbone it was 2 points better than 0 on 200 validation pictures.
    contrast : {"views", "labels", "printed"}
        Which views attract each other: those of the same picture (NT-Xent; the paper's loss has no label in
        this term), or all of the same label; "printed" is the paper's equation 2 to the letter.
    temperature : float
        Of the contrast. The paper does not give it; 0.1 is ours.
    batch_size : int
        Pictures per step; each contributes two views. The paper does not give it.
    validation_share : float
        Share of the pictures of each category that is set aside; with 0, the last epoch is used. The paper
        mentions no such split.
    patience : int or None
        Stop after this many epochs without improvement; None never stops early.
    precision : {"auto", "float32", "bfloat16", "float16"}
        Arithmetic of matrix products; "auto" is mixed precision on a CUDA device and float32 elsewhere.
    random_state : int
        Seed of the split, the views, their order and the first weights.
    block_size, factors : int
        Of BOFT: size of its blocks and number of butterfly factors.
    rank : int
        Of LoRA.
    dropout : float
        Of the adapters.
    augmentation : Augmentation
        How views differ from their picture.

    Examples
    --------
    >>> FinetuneOptions(epochs=3).learning_rate
    0.001
    """

    method: str = "boft"
    epochs: int = 10
    learning_rate: float = 1e-3
    weight_decay: float = 0.01
    warmup: float = 0.1
    clip_norm: float = 1.0
    contrastive_weight: float = 0.1
    contrast: str = "views"
    temperature: float = 0.1
    batch_size: int = 128
    validation_share: float = 0.1
    patience: int | None = 3
    precision: str = "auto"
    random_state: int = 0
    block_size: int = 4
    factors: int = 2
    rank: int = 8
    dropout: float = 0.1
    augmentation: Augmentation = field(default_factory=Augmentation)

    def __post_init__(self) -> None:
        check_choice("method", self.method, METHODS)
        check_choice("precision", self.precision, PRECISIONS)
        check_choice("contrast", self.contrast, CONTRASTS)
        for name in ("epochs", "batch_size", "block_size", "factors", "rank"):
            check_number(name, getattr(self, name), low=1, whole=True)
        check_number("random_state", self.random_state, low=0, whole=True)
        check_number("patience", self.patience, low=1, whole=True, words=(None,))
        for name in ("learning_rate", "clip_norm", "temperature"):
            check_number(name, getattr(self, name), above=0)
        check_number("weight_decay", self.weight_decay, low=0)
        for name in ("contrastive_weight", "warmup"):
            check_number(name, getattr(self, name), low=0, high=1)
        check_number("dropout", self.dropout, low=0, high=0.9)
        check_number("validation_share", self.validation_share, low=0, high=0.9)
        if not isinstance(self.augmentation, Augmentation):
            raise InputError(
                f"augmentation must be an Augmentation, got {type(self.augmentation).__name__}.",
                option="augmentation",
            )

    def as_json(self) -> dict[str, Any]:
        """The options as plain values, exactly as JSON returns them; the augmentation is a nested object."""
        return dict(json.loads(json.dumps(asdict(self))))


def changed_options(before: dict[str, Any], now: dict[str, Any], prefix: str = "") -> list[str]:
    """The differences between two sets of plain options, one phrase each.

    Examples
    --------
    >>> changed_options({"epochs": 10, "rank": 8}, {"epochs": 20, "rank": 8})
    ['epochs was 10, is 20']
    """
    changes: list[str] = []
    for name in dict.fromkeys([*before, *now]):
        old, new = before.get(name), now.get(name)
        if isinstance(old, dict) and isinstance(new, dict):
            changes += changed_options(old, new, f"{prefix}{name}.")
        elif old != new:
            changes.append(f"{prefix}{name} was {old}, is {new}")
    return changes


def rate_factor(step: int, steps: int, warmup: float) -> float:
    """Share of the full learning rate at ``step`` (from 0) of ``steps``: a linear rise, then half a cosine.

    Parameters
    ----------
    step, steps : int
        Finished steps, and the number of all steps.
    warmup : float
        Share of the steps in which the rate rises.

    Examples
    --------
    >>> [round(rate_factor(s, 10, 0.2), 2) for s in range(0, 11, 2)]
    [0.5, 1.0, 0.85, 0.5, 0.15, 0.0]
    """
    rise = warmup * steps
    if step < rise:
        return min(1.0, (step + 1) / rise)
    return 0.5 * (1 + math.cos(math.pi * (step - rise) / max(1.0, steps - rise)))
