"""PEFT's BOFT layers in plain torch, so that two butterfly factors mean two on every machine.

PEFT compiles a CUDA extension when a BOFT layer is made; where that fails (no compiler, no GPU) it keeps one
factor whatever was asked, which is another model. Here the weights, their names and their file format stay
PEFT's; only the product with the butterfly matrix is computed differently: its blocks multiply the frozen
weight, not the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, cast

import torch
from peft.tuners.boft import layer as peft_boft
from torch import Tensor
from torch.nn import Module
from torch.nn import functional as F

__all__ = ["ButterflyLinear", "all_factors", "use_plain_torch"]


class ButterflyLinear(peft_boft.Linear):  # type: ignore[misc, unused-ignore]
    """A dense layer with weight ``diag(s) W R^T``, R a product of permuted block-diagonal rotations.

    PEFT multiplies dense (n, n) permutation and block matrices in each pass; the same rotation costs
    ``n_factors * block_size`` multiplications for each entry of ``W``.
    """

    butterfly_order: Tensor
    butterfly_inverse: Tensor

    def forward(self, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """``x R W^T diag(s) + b``, as PEFT's layer answers, for rows ``x`` (..., n)."""
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
    """Inside, PEFT makes BOFT layers with every factor asked for and compiles nothing."""
    module: Any = peft_boft
    before = module._FBD_CUDA
    module._FBD_CUDA = before or "plain torch"  # PEFT only asks whether something is there
    try:
        yield
    finally:
        module._FBD_CUDA = before


def use_plain_torch(model: Module) -> None:
    """Turn every dense BOFT layer inside ``model`` into a ``ButterflyLinear``, in place."""
    for module in model.modules():
        if type(module) is peft_boft.Linear:
            module.__class__ = ButterflyLinear
            # Each P_i is a permutation: n indices instead of n * n numbers on the device.
            order = cast(Tensor, module.boft_P).argmax(dim=2).to(next(module.parameters()).device)
            del module.boft_P
            module.register_buffer("butterfly_order", order, persistent=False)
            module.register_buffer("butterfly_inverse", order.argsort(dim=1), persistent=False)
