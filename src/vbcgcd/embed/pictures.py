"""Pictures: opened from files and arrays as plain RGB, and random views of them; Pillow only."""

from __future__ import annotations

import math
import os
import struct
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vbcgcd.embed.protocol import ItemError
from vbcgcd.validation import check_number

if TYPE_CHECKING:
    from PIL import Image

__all__ = ["Augmentation", "open_picture"]


def open_picture(value: Any) -> Image.Image:
    """RGB picture from a path, a uint8 array (H, W, 3) or (H, W), or a Pillow image.

    The orientation recorded by cameras is applied. Transparency is dropped; 16-bit grey keeps its upper 8
    bits.

    Raises
    ------
    ItemError
        The picture cannot be used; the message is the reason.
    """
    from PIL import Image, ImageOps, UnidentifiedImageError

    try:
        if isinstance(value, str | os.PathLike):
            with Image.open(Path(value)) as file:
                return _rgb(ImageOps.exif_transpose(file))
        if isinstance(value, Image.Image):
            return _rgb(value)
        return _from_array(np.asarray(value))
    except UnidentifiedImageError:
        raise ItemError("not a picture in a format that Pillow reads") from None
    except Image.DecompressionBombError as error:
        raise ItemError(f"the picture is too large ({error})") from None
    except OSError as error:
        raise ItemError(f"cannot be read: {error.strerror or error}") from None
    except (ValueError, SyntaxError, EOFError, IndexError, TypeError, struct.error) as error:
        raise ItemError(f"broken picture: {error}") from None


def _rgb(image: Image.Image) -> Image.Image:
    from PIL import Image

    if image.mode.startswith("I") or image.mode == "F":
        values = np.asarray(image, dtype=np.float64)
        wide = image.mode.startswith("I") and values.size and values.max() > 255
        return Image.fromarray(np.clip(values / 256 if wide else values, 0, 255).astype(np.uint8)).convert(
            "RGB"
        )
    if image.mode == "P" and "transparency" in image.info:
        image = image.convert("RGBA")
    return image.convert("RGB")


def _from_array(array: Any) -> Image.Image:
    from PIL import Image

    shaped = array.ndim == 2 or (array.ndim == 3 and array.shape[2] in (1, 3, 4))
    if array.dtype != np.uint8 or not shaped or array.size == 0:
        raise ItemError(f"has shape {array.shape} and type {array.dtype}, expected uint8 (H, W, 3) or (H, W)")
    return Image.fromarray(array[..., 0] if array.ndim == 3 and array.shape[2] == 1 else array).convert("RGB")


@dataclass(frozen=True)
class Augmentation:
    """Random resized crop, horizontal flip, and jitter of brightness, contrast and saturation.

    Parameters
    ----------
    area : (float, float)
        Smallest and largest share of the picture's area in a crop.
    ratio : (float, float)
        Smallest and largest width over height of a crop.
    flip : float
        Probability of a mirror image.
    jitter : float
        Each of brightness, contrast and saturation is multiplied by a factor in [1 - jitter, 1 + jitter].

    Examples
    --------
    >>> import numpy as np
    >>> from PIL import Image
    >>> view = Augmentation()(Image.new("RGB", (40, 30)), (16, 16), np.random.default_rng(0))
    >>> view.size
    (16, 16)
    """

    area: tuple[float, float] = (0.3, 1.0)
    ratio: tuple[float, float] = (3 / 4, 4 / 3)
    flip: float = 0.5
    jitter: float = 0.4

    def __post_init__(self) -> None:
        check_number("area", self.area[0], above=0, high=self.area[1])
        check_number("area", self.area[1], high=1)
        check_number("ratio", self.ratio[0], above=0, high=self.ratio[1])
        check_number("flip", self.flip, low=0, high=1)
        check_number("jitter", self.jitter, low=0, high=1)

    def __call__(self, image: Image.Image, size: tuple[int, int], rng: np.random.Generator) -> Image.Image:
        """One view of ``size`` (height, width)."""
        from PIL import Image, ImageEnhance

        box = self._box(*image.size, rng)
        image = image.resize((size[1], size[0]), Image.Resampling.BICUBIC, box=box)
        if rng.random() < self.flip:
            image = image.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        changes = [ImageEnhance.Brightness, ImageEnhance.Contrast, ImageEnhance.Color]
        factors = rng.uniform(1 - self.jitter, 1 + self.jitter, size=3)
        for which in rng.permutation(3):
            image = changes[which](image).enhance(float(factors[which]))
        return image

    def _box(self, width: int, height: int, rng: np.random.Generator) -> tuple[float, float, float, float]:
        """Left, upper, right, lower of a crop inside the picture."""
        share = rng.uniform(*self.area) * width * height
        ratio = math.exp(rng.uniform(math.log(self.ratio[0]), math.log(self.ratio[1])))
        wide, high = min(math.sqrt(share * ratio), width), min(math.sqrt(share / ratio), height)
        left, top = rng.uniform(0, 1, size=2) * (width - wide, height - high)
        return float(left), float(top), min(float(left + wide), width), min(float(top + high), height)

    def describe(self) -> dict[str, Any]:
        """The fields as plain values; part of the key under which a view is cached."""
        return asdict(self)
