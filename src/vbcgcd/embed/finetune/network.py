"""The network in training: a frozen backbone with adapters, and a linear head on its embedding."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from peft import BOFTConfig, LoraConfig, PeftConfig, inject_adapter_in_model
from peft.tuners.tuners_utils import BaseTunerLayer
from torch import Tensor, nn

from vbcgcd.embed.finetune.layers import (
    TunedLayers,
    all_factors,
    check_butterfly,
    find_layers,
    use_plain_torch,
)
from vbcgcd.embed.vit import pooled
from vbcgcd.errors import InputError

Array = NDArray[Any]
ADAPTER = "default"

__all__ = ["Network", "adapter_arrays", "adapter_config", "attach", "load_adapters", "merge_adapters"]


@dataclass
class Network:
    """Backbone with adapters, and head.

    Attributes
    ----------
    backbone : nn.Module
        A model of transformers; only its adapters are trainable.
    head : nn.Linear
        From the embedding to the labelled categories; used in training only.
    layers : TunedLayers
        The layers with an adapter.
    """

    backbone: nn.Module
    head: nn.Linear
    layers: TunedLayers

    def embed(self, pixels: Tensor) -> Tensor:
        """Embeddings (B, d) of pixels (B, 3, H, W)."""
        return pooled(self.backbone, pixels)  # type: ignore[no-any-return, unused-ignore]

    def train(self, mode: bool = True) -> None:
        """Switch between training and evaluation mode."""
        self.backbone.train(mode)
        self.head.train(mode)

    def trainable(self) -> dict[str, nn.Parameter]:
        """Adapter and head parameters by name, in a fixed order."""
        adapters = {n: p for n, p in self.backbone.named_parameters() if p.requires_grad}
        return adapters | {f"head.{n}": p for n, p in self.head.named_parameters()}


def adapter_config(layers: TunedLayers, options: dict[str, Any]) -> PeftConfig:
    """PEFT's configuration for the method and sizes in ``options``."""
    if options["method"] == "boft":
        check_butterfly(layers, options["block_size"], options["factors"])
        return BOFTConfig(
            boft_block_size=options["block_size"],
            boft_n_butterfly_factor=options["factors"],
            boft_dropout=options["dropout"],
            target_modules=list(layers.names),
        )
    return LoraConfig(
        r=options["rank"],
        lora_alpha=2 * options["rank"],
        lora_dropout=options["dropout"],
        target_modules=list(layers.names),
    )


def attach(backbone: nn.Module, dimension: int, n_classes: int, options: dict[str, Any]) -> Network:
    """Put adapters into ``backbone`` (in place), which do not change its output yet, and add a head.

    The first weights are drawn from torch's generator; seed it to reproduce them.
    """
    layers = find_layers(backbone)
    config = adapter_config(layers, options)
    device = next(backbone.parameters()).device
    with all_factors():
        inject_adapter_in_model(config, backbone, adapter_name=ADAPTER)
    use_plain_torch(backbone)
    # Created on the CPU, so that a seed gives the same weights on every device.
    head = nn.Linear(dimension, n_classes).to(device)
    return Network(backbone=backbone, head=head, layers=layers)


def adapter_arrays(backbone: nn.Module) -> dict[str, Array]:
    """Adapter weights under the names in PEFT's files."""
    return {
        _file_name(name): parameter.detach().cpu().numpy().copy()
        for name, parameter in backbone.named_parameters()
        if _is_adapter(name)
    }


def load_adapters(backbone: nn.Module, arrays: dict[str, Array]) -> None:
    """Set adapter weights in place.

    Raises
    ------
    InputError
        Names or shapes differ from those of the adapters in ``backbone``.
    """
    own = {_file_name(n): p for n, p in backbone.named_parameters() if _is_adapter(n)}
    wrong = sorted(set(own) ^ set(arrays)) or [n for n in own if own[n].shape != arrays[n].shape]
    if wrong:
        raise InputError(
            f"The adapter weights do not fit the backbone: {len(wrong)} names or shapes differ, first "
            f"{wrong[0]}; load them with the backbone they were trained on."
        )
    with torch.no_grad():
        for name, parameter in own.items():
            parameter.copy_(torch.from_numpy(np.ascontiguousarray(arrays[name])))


def _is_adapter(name: str) -> bool:
    return any(mark in name for mark in (".boft_R.", ".boft_s.", ".lora_A.", ".lora_B."))


def _file_name(name: str) -> str:
    parts = [part for part in name.split(".") if part != ADAPTER]
    return ".".join(["base_model", "model", *parts])


def merge_adapters(backbone: nn.Module) -> None:
    """Merge the adapters into the weights (in place), which leaves plain dense layers."""
    for name, module in list(backbone.named_modules()):
        if isinstance(module, BaseTunerLayer):
            module.merge()
            parent, _, last = name.rpartition(".")
            setattr(backbone.get_submodule(parent), last, module.get_base_layer())
