"""What fine-tuning can be told; the defaults are the paper's where it gives them."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Any

from vbcgcd.embed.augment import Augmentation
from vbcgcd.errors import InputError
from vbcgcd.validation import check_choice, check_number

__all__ = ["METHODS", "PRECISIONS", "FinetuneOptions", "changed_options"]

METHODS = ("boft", "lora")
PRECISIONS = ("auto", "float32", "bfloat16", "float16")
CONTRASTS = ("views", "labels")


@dataclass(frozen=True, kw_only=True)
class FinetuneOptions:
    """Every option on which the trained weights depend; see ``finetune`` for their meaning."""

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

    def check(self) -> None:
        """Raise ``InputError`` unless every value is in its range."""
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
                f"augmentation must be an Augmentation, got {type(self.augmentation).__name__}; "
                "use Augmentation(area=..., flip=...)."
            )

    def to_json(self) -> dict[str, Any]:
        """Plain values as JSON gives them back, nested for the augmentation."""
        return dict(json.loads(json.dumps(asdict(self))))


def changed_options(before: dict[str, Any], now: dict[str, Any], prefix: str = "") -> list[str]:
    """What differs between two sets of plain options, one phrase each.

    Examples
    --------
    >>> changed_options({"epochs": 10, "rank": 8}, {"epochs": 20, "rank": 8})
    ['epochs was 10, is 20']
    """
    out: list[str] = []
    for name in dict.fromkeys([*before, *now]):
        old, new = before.get(name), now.get(name)
        if isinstance(old, dict) and isinstance(new, dict):
            out += changed_options(old, new, f"{prefix}{name}.")
        elif old != new:
            out.append(f"{prefix}{name} was {old}, is {new}")
    return out
