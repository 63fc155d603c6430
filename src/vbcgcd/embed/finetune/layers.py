"""Which dense layers of a vision transformer are tuned: MLP and attention output, found by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from torch import nn

from vbcgcd.errors import InputError

__all__ = ["TunedLayers", "check_butterfly", "find_layers"]

# Names differ between families and between releases of transformers; a layer is found by how its name ends.
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
        The distinct ends by which they were found, ``"mlp.fc1"`` for instance.
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
        None is found; the message lists the dense layers that there are.
    """
    endings = [e for group in ENDINGS.values() for e in group]
    dense = {name: m for name, m in backbone.named_modules() if isinstance(m, nn.Linear)}
    found: dict[str, tuple[str, int]] = {}
    for name, module in dense.items():
        ending = next((e for e in endings if name == e or name.endswith("." + e)), None)
        if ending is not None:
            found[name] = (ending, module.in_features)
    if not found:
        kinds = sorted({".".join(part for part in n.split(".") if not part.isdigit()) for n in dense})
        raise InputError(
            f"{type(backbone).__name__} has no layer that fine-tuning knows (names that end in "
            f"{', '.join(endings)}); its dense layers are: {', '.join(kinds) or 'none'}. "
            "Use a vision transformer such as ViT or DINOv2."
        )
    return TunedLayers(
        names=tuple(found),
        endings=tuple(dict.fromkeys(e for e, _ in found.values())),
        inputs=tuple(width for _, width in found.values()),
    )


def check_butterfly(layers: TunedLayers, block_size: int, factors: int) -> None:
    """Raise unless every layer's width can be cut into the blocks of all butterfly factors.

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
            "Use a smaller block_size, fewer factors, or method='lora'."
        )
    if factors > 1 and block_size % 2:
        raise InputError(f"BOFT with {factors} butterfly factors needs an even block_size, got {block_size}.")
