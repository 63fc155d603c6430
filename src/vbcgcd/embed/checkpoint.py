"""Weights of vision transformers from files of DINO, DINOv2, transformers and timm."""

from __future__ import annotations

import argparse
import math
import pickle
import re
import warnings
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from vbcgcd.errors import InputError

Tensors = dict[str, Any]

#: Keys under which training code wraps the weights; the first one present is used.
WRAPPERS = ("teacher", "model_ema", "ema", "student", "state_dict", "model", "backbone")
#: Prefixes that training code puts before the tensor names of a backbone.
PREFIXES = (
    "module.",
    "_orig_mod.",
    "teacher.",
    "student.",
    "model.",
    "backbone.",
    "encoder_q.",
    "vit.",
    "dinov2.",
)

__all__ = ["Architecture", "hub_tensors", "infer_architecture", "read_tensors"]


@dataclass(frozen=True)
class Architecture:
    """The architecture of a vision transformer, as its tensor shapes tell it.

    Parameters
    ----------
    family : {'vit', 'dinov2', 'dinov2_with_registers'}
        Model type of transformers: DINOv2 with LayerScale, the plain one of DINO without.
    dimension, depth, heads, patch, image : int
        Width, number of blocks, attention heads, side of a patch, side of the pictures trained on.
    mlp : int
        Hidden width of the two-layer perceptron in each block.
    registers : int
        Number of register tokens.
    swiglu, qkv_bias : bool
    """

    family: str
    dimension: int
    depth: int
    heads: int
    patch: int
    image: int
    mlp: int
    registers: int = 0
    swiglu: bool = False
    qkv_bias: bool = True


def read_tensors(path: Path) -> Tensors:
    """Tensors of a ``.safetensors`` or PyTorch file by name, without wrappers and prefixes.

    PyTorch files are read with ``weights_only=True``: nothing in them is executed.
    """
    content = _safetensors(path) if path.suffix == ".safetensors" else _pytorch(path)
    for key in WRAPPERS:
        if isinstance(content.get(key), dict) and any(hasattr(v, "shape") for v in content[key].values()):
            content = content[key]
    tensors = {str(k): v for k, v in content.items() if hasattr(v, "shape")}
    tensors = _without_prefixes(tensors)
    if "cls_token" not in tensors and "embeddings.cls_token" not in tensors:
        some = ", ".join(list(tensors)[:4]) or ", ".join(map(str, list(content)[:4])) or "nothing"
        raise InputError(
            f"{path} holds no vision transformer: the tensor 'cls_token' is missing (it has {some}, ...); "
            "use a DINO or DINOv2 checkpoint, or a folder written by transformers' save_pretrained."
        )
    return tensors


def _safetensors(path: Path) -> dict[str, Any]:
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        raise _unreadable(path, error) from None


def _pytorch(path: Path) -> dict[str, Any]:
    import torch

    failures = (
        pickle.UnpicklingError,
        RuntimeError,
        EOFError,
        OSError,
        KeyError,
        ValueError,
        zipfile.BadZipFile,
    )
    try:
        # DINO's training checkpoints carry their command line, a Namespace of plain values.
        with warnings.catch_warnings(), torch.serialization.safe_globals([argparse.Namespace]):
            warnings.filterwarnings("ignore", message=".*TypedStorage is deprecated")
            content = torch.load(path, map_location="cpu", weights_only=True)
    except failures as error:
        raise _unreadable(path, error) from None
    if not isinstance(content, dict):
        raise InputError(f"{path} holds a {type(content).__name__}, expected the named weights of a model.")
    return content


def _unreadable(path: Path, error: Exception) -> InputError:
    reason = str(error).strip().split("\n")[0][:160] or type(error).__name__
    return InputError(
        f"{path} cannot be read as model weights ({reason}); the file is incomplete or of another kind. "
        "Copy it again, or use a .pth, .bin or .safetensors file or a folder with a config.json."
    )


def _without_prefixes(tensors: Tensors) -> Tensors:
    """The tensors of the backbone alone, without the prefixes before their names."""
    while True:
        for prefix in PREFIXES:
            inner = {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}
            if any(k.endswith("cls_token") for k in inner):
                tensors = inner
                break
        else:
            return tensors


def infer_architecture(tensors: Tensors, *, heads: int | None = None) -> Architecture:
    """Architecture from tensor shapes, in the original or the transformers naming.

    The number of heads leaves no trace in the shapes. Every DINO and DINOv2 model has heads of 64 values, so
    None takes ``dimension // 64``.
    """
    t = hub_tensors(tensors)
    try:
        dimension, _, patch, _ = t["embeddings.patch_embeddings.projection.weight"].shape
        positions = int(t["embeddings.position_embeddings"].shape[1]) - 1
        depth = 1 + max(int(m[1]) for k in t if (m := re.match(r"encoder\.layer\.(\d+)\.", k)))
        swiglu = "encoder.layer.0.mlp.weights_in.weight" in t
        scaled = "encoder.layer.0.layer_scale1.lambda1" in t
        fc1 = "mlp.weights_out" if swiglu else "mlp.fc1" if scaled else "intermediate.dense"
        width = t[f"encoder.layer.0.{fc1}.weight"].shape[1 if swiglu else 0]
    except (KeyError, ValueError) as error:
        raise InputError(
            f"The weights are not a complete vision transformer: {error} is missing or has an unknown shape; "
            "use the file of the backbone itself."
        ) from None
    grid = math.isqrt(positions)
    if grid * grid != positions:
        raise InputError(f"The weights hold {positions} patch positions, expected a square number.")
    registers = int(t["embeddings.register_tokens"].shape[1]) if "embeddings.register_tokens" in t else 0
    return Architecture(
        family="dinov2_with_registers" if registers else "dinov2" if scaled else "vit",
        dimension=int(dimension),
        depth=depth,
        heads=_heads(int(dimension), heads),
        patch=int(patch),
        image=grid * int(patch),
        mlp=int(width),
        registers=registers,
        swiglu=swiglu,
        qkv_bias="encoder.layer.0.attention.attention.query.bias" in t,
    )


def _heads(dimension: int, heads: int | None) -> int:
    count = heads if heads is not None else max(dimension // 64, 1)
    if count < 1 or dimension % count:
        raise InputError(
            f"heads must divide the width {dimension}, got {count}; set the option 'heads' to the number in "
            "the description of the model (the file does not hold it).",
            option="heads",
        )
    return count


#: Original names of one block -> names of transformers' hub format.
_BLOCK = {
    "vit": {
        "norm1": "layernorm_before",
        "norm2": "layernorm_after",
        "attn.proj": "attention.output.dense",
        "mlp.fc1": "intermediate.dense",
        "mlp.fc2": "output.dense",
    },
    "dinov2": {
        "attn.proj": "attention.output.dense",
        "ls1.gamma": "layer_scale1.lambda1",
        "ls2.gamma": "layer_scale2.lambda1",
        "mlp.w12": "mlp.weights_in",
        "mlp.w3": "mlp.weights_out",
    },
}
_STEM = {
    "cls_token": "embeddings.cls_token",
    "pos_embed": "embeddings.position_embeddings",
    "mask_token": "embeddings.mask_token",
    "register_tokens": "embeddings.register_tokens",
    "patch_embed.proj.weight": "embeddings.patch_embeddings.projection.weight",
    "patch_embed.proj.bias": "embeddings.patch_embeddings.projection.bias",
    "norm.weight": "layernorm.weight",
    "norm.bias": "layernorm.bias",
}


def hub_tensors(tensors: Tensors) -> Tensors:
    """Tensors under the names that transformers uses on disk, without heads and poolers.

    Its names on disk stay the same between releases; its module names do not.
    """
    if "embeddings.cls_token" in tensors:
        return {k: v for k, v in tensors.items() if not k.startswith(("pooler.", "classifier."))}
    rename = _BLOCK["dinov2" if any(".ls1." in k for k in tensors) else "vit"]
    out: Tensors = {}
    for key, value in tensors.items():
        # DINOv2's training code shards its blocks: blocks.0.7.* is block 7.
        block = re.match(r"blocks\.(?:\d+\.)?(\d+)\.(.+)", key)
        if block is None:
            if key in _STEM:
                out[_STEM[key]] = value
            continue
        base, rest = f"encoder.layer.{block[1]}.", block[2]
        if rest.startswith("attn.qkv."):
            part = rest.removeprefix("attn.qkv.")
            for name, third in zip(("query", "key", "value"), value.chunk(3), strict=True):
                out[f"{base}attention.attention.{name}.{part}"] = third
        else:
            old = next((o for o in rename if rest == o or rest.startswith(o + ".")), "")
            out[base + rename.get(old, old) + rest.removeprefix(old)] = value
    return out
