"""From a picture to the numbers that a backbone expects: resize, crop, normalise; Pillow only."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from vbcgcd.checks import check_choice, check_number

if TYPE_CHECKING:
    from PIL import Image

Array = NDArray[Any]

IMAGENET_MEAN = (0.485, 0.456, 0.406)
IMAGENET_STD = (0.229, 0.224, 0.225)
INTERPOLATIONS = ("nearest", "lanczos", "bilinear", "bicubic", "box", "hamming")  # Pillow's codes 0 to 5

__all__ = [
    "IMAGENET_MEAN",
    "IMAGENET_STD",
    "PilPreprocess",
    "Preprocess",
    "ProcessorPreprocess",
    "from_processor",
]


class Preprocess(Protocol):
    """The steps between an opened picture and a backbone.

    ``pixels`` runs in worker threads, one picture at a time; ``tensor`` runs on the device, one batch at a
    time.
    """

    @property
    def size(self) -> tuple[int, int]:
        """Height and width of the result."""

    def pixels(self, image: Image.Image) -> Array:
        """One picture, resized and cropped."""

    def finished(self, image: Image.Image) -> Array:
        """Pixels of a picture that already has its final size."""

    def tensor(self, batch: Any) -> Any:
        """Float tensor (N, 3, H, W) from the stacked results of ``pixels``."""

    def describe(self) -> dict[str, Any]:
        """Everything that affects the numbers, as JSON values."""


@dataclass(frozen=True)
class PilPreprocess:
    """Resize, crop the centre, scale to [0, 1], subtract ``mean`` and divide by ``std``.

    Parameters
    ----------
    size : (int, int)
        Height and width after the crop.
    resize : int or None
        Length of the shorter side before the crop. None squeezes the picture into ``size`` whatever its
        proportions, and crops nothing.
    interpolation : {'nearest', 'lanczos', 'bilinear', 'bicubic', 'box', 'hamming'}
    mean, std : three floats
        Mean and standard deviation of the channels red, green and blue, on the scale [0, 1].

    Examples
    --------
    >>> PilPreprocess.square(224)
    PilPreprocess(size=(224, 224), resize=256, interpolation='bicubic', ...)
    """

    size: tuple[int, int]
    resize: int | None = None
    interpolation: str = "bicubic"
    mean: tuple[float, float, float] = IMAGENET_MEAN
    std: tuple[float, float, float] = IMAGENET_STD

    def __post_init__(self) -> None:
        check_choice("interpolation", self.interpolation, INTERPOLATIONS)
        for side in self.size:
            check_number("size", side, low=1, whole=True)

    @classmethod
    def square(cls, side: int, **options: Any) -> PilPreprocess:
        """The recipe of DINO and DINOv2: shorter side to 8/7 of ``side``, bicubic, centre crop."""
        check_number("size", side, low=1, whole=True)
        return cls((side, side), resize=round(side * 8 / 7), **options)

    def with_side(self, side: int) -> PilPreprocess:
        """The same recipe for another square size, with the same share cut off at the border."""
        check_number("size", side, low=1, whole=True)
        resize = None if self.resize is None else max(side, round(side * self.resize / min(self.size)))
        return replace(self, size=(side, side), resize=resize)

    def pixels(self, image: Image.Image) -> Array:
        """Array (H, W, 3) of uint8, resized and cropped."""
        image = image.convert("RGB")
        height, width = self.size
        code = INTERPOLATIONS.index(self.interpolation)
        if self.resize is None:
            return np.array(image.resize((width, height), code))
        short = min(image.size)
        sides = [self.resize if s == short else int(self.resize * s / short) for s in image.size]
        left, top = (sides[0] - width) // 2, (sides[1] - height) // 2
        image = image.resize((sides[0], sides[1]), code)
        return np.array(image.crop((left, top, left + width, top + height)))

    def finished(self, image: Image.Image) -> Array:
        """Array (H, W, 3) of uint8."""
        return np.array(image.convert("RGB"))

    def tensor(self, batch: Any) -> Any:
        """Float tensor (N, 3, H, W) from a uint8 tensor (N, H, W, 3) on any device."""
        import torch

        scale = torch.tensor([1 / (255 * s) for s in self.std], device=batch.device)
        shift = torch.tensor([m / s for m, s in zip(self.mean, self.std, strict=True)], device=batch.device)
        # Channels stay last in memory: that is how the pixels come, and convolutions are fast on it.
        return torch.addcmul(-shift, batch.float(), scale).permute(0, 3, 1, 2)

    def describe(self) -> dict[str, Any]:
        """The fields."""
        return asdict(self)


@dataclass(frozen=True)
class ProcessorPreprocess:
    """An image processor of transformers, for recipes that ``PilPreprocess`` cannot express."""

    processor: Any
    size: tuple[int, int]

    def pixels(self, image: Image.Image) -> Array:
        """Array (3, H, W) of float32."""
        outputs = self.processor(images=image.convert("RGB"), return_tensors="np")
        return np.asarray(outputs["pixel_values"][0], dtype=np.float32)

    def finished(self, image: Image.Image) -> Array:
        """The same as ``pixels``: only the processor knows how it normalises."""
        return self.pixels(image)

    def tensor(self, batch: Any) -> Any:
        """The batch itself: the processor has already normalised it."""
        return batch

    def describe(self) -> dict[str, Any]:
        """The processor's own configuration."""
        return {
            k: v
            for k, v in self.processor.to_dict().items()
            if isinstance(v, str | int | float | dict | list | tuple)
        }


#: Processors that do nothing beyond what ``PilPreprocess`` does.
_PLAIN = ("ViTImageProcessor", "BitImageProcessor", "CLIPImageProcessor")


def from_processor(processor: Any) -> Preprocess:
    """The preprocessing of an image processor of transformers (its Pillow backend).

    Parameters
    ----------
    processor : transformers.BaseImageProcessor
    """
    recipe = processor.to_dict()
    size, crop = dict(recipe.get("size") or {}), dict(recipe.get("crop_size") or {})
    cropped = bool(recipe.get("do_center_crop"))
    kind = str(recipe.get("image_processor_type", "")).removesuffix("Fast").removesuffix("Pil")
    final = crop if cropped else size
    plain = (
        kind in _PLAIN
        and all(recipe.get(k, True) for k in ("do_resize", "do_rescale", "do_normalize"))
        and recipe.get("rescale_factor", 1 / 255) == 1 / 255
        and (set(size) == {"shortest_edge"} if cropped else {"height", "width"} <= set(size))
        and {"height", "width"} <= set(final)
    )
    if not plain:
        side = int(final.get("shortest_edge") or 224)
        return ProcessorPreprocess(processor, (int(final.get("height", side)), int(final.get("width", side))))
    return PilPreprocess(
        size=(int(final["height"]), int(final["width"])),
        resize=int(size["shortest_edge"]) if cropped else None,
        interpolation=INTERPOLATIONS[int(recipe["resample"])],
        mean=tuple(recipe["image_mean"]),
        std=tuple(recipe["image_std"]),
    )
