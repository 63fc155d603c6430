"""The layers that are tuned: which ones, and PEFT's BOFT layer in plain torch.

PEFT compiles a CUDA extension when it creates a BOFT layer; where that fails (no compiler, no GPU) it
silently uses one butterfly factor, which is another model. Here the weights, their names and their file
format are those of PEFT; only the product with the butterfly matrix is computed differently: its blocks
multiply the frozen weight, not the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import torch
from peft.tuners.boft import layer as peft_boft
from torch import Tensor, nn
from torch.nn import functional as F

from vbcgcd.errors import InputError

__all__ = [
    "ButterflyLinear",
    "TunedLayers",
    "all_factors",
    "check_butterfly",
    "find_layers",
    "use_plain_torch",
]

# Names differ between families and between releases of transformers; what they share is their ending.
# The attention's output comes first: "output.dense" ends "attention.output.dense" and the MLP's second layer.
ENDINGS: Mapping[str, tuple[str, ...]] = {
    "attention output": ("attention.o_proj", "attention.output.dense", "attn.proj", "attn.out_proj"),
    "MLP": (
        "mlp.fc1",
        "mlp.fc2",
        "intermediate.dense",
        "output.dense",
        "mlp.gate_proj",
        "mlp.up_proj",
        "mlp.down_proj",
        "mlp.weights_in",
        "mlp.weights_out",
    ),
}


@dataclass(frozen=True)
class TunedLayers:
    """Dense layers of a backbone that get an adapter.

    Attributes
    ----------
    names : tuple of str
        Full names, in the order of the network.
    endings : tuple of str
        The distinct endings of these names, such as ``"mlp.fc1"``.
    inputs : tuple of int
        The width of each layer's input.
    """

    names: tuple[str, ...]
    endings: tuple[str, ...]
    inputs: tuple[int, ...]

    def describe(self) -> str:
        """One line: ``24 layers: mlp.fc1, mlp.fc2, attention.o_proj``."""
        return f"{len(self.names)} layers: {', '.join(self.endings)}"


def find_layers(backbone: nn.Module) -> TunedLayers:
    """The MLP layers and attention output projections of ``backbone``.

    Raises
    ------
    InputError
        There are none; the message lists the dense layers of the backbone.
    """
    endings = [e for group in ENDINGS.values() for e in group]
    dense = {name: m for name, m in backbone.named_modules() if isinstance(m, nn.Linear)}
    targets: dict[str, tuple[str, int]] = {}
    for name, module in dense.items():
        ending = next((e for e in endings if name == e or name.endswith("." + e)), None)
        if ending is not None:
            targets[name] = (ending, module.in_features)
    if not targets:
        kinds = sorted({".".join(part for part in n.split(".") if not part.isdigit()) for n in dense})
        raise InputError(
            f"{type(backbone).__name__} has no layer to tune (a name that ends in {', '.join(endings)}); its "
            f"dense layers are: {', '.join(kinds) or 'none'}. Use a vision transformer such as DINOv2.",
            option="backbone",
        )
    return TunedLayers(
        names=tuple(targets),
        endings=tuple(dict.fromkeys(e for e, _ in targets.values())),
        inputs=tuple(width for _, width in targets.values()),
    )


def check_butterfly(layers: TunedLayers, block_size: int, factors: int) -> None:
    """Raise unless the width of every layer is divisible into the blocks of all butterfly factors.

    ``factors`` butterfly factors need a width divisible by ``block_size * 2 ** (factors - 1)``, and more
    than one factor needs blocks of an even size.
    """
    unit = block_size * 2 ** (factors - 1)
    bad = [(n, w) for n, w in zip(layers.names, layers.inputs, strict=True) if w % unit]
    if bad:
        name, width = bad[0]
        raise InputError(
            f"BOFT with block size {block_size} and {factors} butterfly factors needs layer inputs divisible "
            f"by {unit}; {len(bad)} of {len(layers.names)} are not, first {name} with {width}. "
            "Use a smaller block_size, fewer factors, or the method 'lora'.",
            option="block_size",
        )
    if factors > 1 and block_size % 2:
        raise InputError(
            f"BOFT with {factors} butterfly factors needs an even block_size, got {block_size}.",
            option="block_size",
        )


class ButterflyLinear(peft_boft.Linear):  # type: ignore[misc, unused-ignore]
    """A dense layer with weight ``diag(s) W R^T``, R a product of permuted block-diagonal rotations.

    PEFT multiplies dense (n, n) permutation and block matrices in each pass; the same rotation costs
    ``n_factors * block_size`` multiplications for each entry of ``W``.
    """

    butterfly_order: Tensor
    butterfly_inverse: Tensor

    def forward(self, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """``x R W^T diag(s) + b`` for rows ``x`` (..., n), the same values as PEFT's layer."""
        base: Any = self.get_base_layer()
        if self.disable_adapters or self.merged:
            return super().forward(x, *args, **kwargs)
        weight: Tensor = base.weight.float()
        # In lower precision the rotation would no longer be one.
        with torch.autocast(x.device.type, enabled=False):
            for name in self.active_adapters:
                if name in self.boft_R:
                    blocks = self.boft_dropout[name](self._blocks(name))
                    weight = self._rotated(weight, blocks) * self.boft_s[name]
        return F.linear(x, weight.to(x.dtype), base.bias)

    def get_delta_weight(self, adapter: str) -> tuple[Tensor, Tensor]:
        """Rotation (n, n) and scale (out, 1); PEFT merges them into the frozen weight."""
        eye = torch.eye(self.in_features, device=self.boft_s[adapter].device)
        return self._rotated(eye, self._blocks(adapter)).T, self.boft_s[adapter]

    def _blocks(self, adapter: str) -> Tensor:
        """Orthogonal blocks (factors, n / b, b, b) by the Cayley transform."""
        generators = self.boft_R[adapter].float()
        cayley: Any = self.cayley_batch
        return cayley(generators.flatten(0, 1)).view_as(generators)  # type: ignore[no-any-return, unused-ignore]

    def _rotated(self, weight: Tensor, blocks: Tensor) -> Tensor:
        """``W M_0^T M_1^T ...`` with ``M_i = P_i B_i P_i^T``."""
        for order, inverse, factor in zip(self.butterfly_order, self.butterfly_inverse, blocks, strict=True):
            permuted = weight[:, inverse].view(len(weight), *factor.shape[:2])
            weight = torch.einsum("odh,dgh->odg", permuted, factor).flatten(1)[:, order]
        return weight


@contextmanager
def all_factors() -> Iterator[None]:
    """In this context PEFT creates BOFT layers with all their factors and compiles nothing."""
    module: Any = peft_boft
    before = module._FBD_CUDA
    module._FBD_CUDA = before or "plain torch"  # PEFT only checks that it is not empty
    try:
        yield
    finally:
        module._FBD_CUDA = before


def use_plain_torch(model: nn.Module) -> None:
    """Turn every dense BOFT layer inside ``model`` into a ``ButterflyLinear``, in place."""
    for module in model.modules():
        if type(module) is peft_boft.Linear:
            module.__class__ = ButterflyLinear
            # Each P_i is a permutation: n indices instead of n * n numbers on the device.
            order = cast(Tensor, module.boft_P).argmax(dim=2).to(next(module.parameters()).device)
            del module.boft_P
            module.register_buffer("butterfly_order", order, persistent=False)
            module.register_buffer("butterfly_inverse", order.argsort(dim=1), persistent=False)
