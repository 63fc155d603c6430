"""Pictures: opened from files and arrays as plain RGB, and random views of them; Pillow only.

Every picture that vbcgcd reads from a file is opened here, by the decoders of `FORMATS` and no other: Pillow
would choose a decoder by content, and hand a PostScript file that is called ``x.png`` to Ghostscript.
"""

from __future__ import annotations

import math
import os
import stat
import struct
import zlib
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vbcgcd.checks import check_number
from vbcgcd.embed.protocol import ItemError
from vbcgcd.errors import InputError

if TYPE_CHECKING:
    from PIL import Image

#: The only decoders that a file can reach, whatever it is called.
FORMATS = ("BMP", "GIF", "JPEG", "PNG", "PPM", "TIFF", "WEBP")
#: Largest picture, in pixels. Decoding takes up to 8 bytes for each, in every thread that prepares pictures.
MOST_PIXELS = 2**26
#: Bytes of a file for each pixel that is allowed: more than an uncompressed picture takes.
BYTES_PER_PIXEL = 4
#: Environment variable that replaces `MOST_PIXELS`.
LIMIT_VARIABLE = "VBCGCD_MAX_PIXELS"

__all__ = ["FORMATS", "MOST_PIXELS", "Augmentation", "check_picture_file", "most_pixels", "open_picture"]


def most_pixels() -> int:
    """Pixels of the largest picture that is opened: `MOST_PIXELS`, or the variable VBCGCD_MAX_PIXELS."""
    value = os.environ.get(LIMIT_VARIABLE, "").strip()
    if not value:
        return MOST_PIXELS
    if not (value.isascii() and value.isdigit() and 0 < len(value) < 16 and int(value)):
        raise InputError(f"{LIMIT_VARIABLE} must be a number of pixels such as {MOST_PIXELS}, got {value!r}.")
    return int(value)


def check_picture_file(path: Path) -> None:
    """Raise `ItemError` unless this is a regular file of a size that a picture can have; nothing is read."""
    try:
        status = path.stat()
    except (OSError, ValueError) as error:  # a name with a zero byte is a ValueError
        raise ItemError(f"cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if not stat.S_ISREG(status.st_mode):
        raise ItemError("cannot be read: not a regular file")
    limit = BYTES_PER_PIXEL * most_pixels()
    if status.st_size > limit:
        raise ItemError(_too_large(f"{status.st_size:,} bytes", f"{limit:,}"))


def _too_large(size: str, limit: str) -> str:
    return (
        f"the picture is too large: {size}, at most {limit} are allowed; make it smaller, or raise the limit "
        f"with the environment variable {LIMIT_VARIABLE}"
    )


#: What decoders raise for files that they do not understand.
_DECODING = (
    ValueError,
    SyntaxError,
    EOFError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    AssertionError,
    NotImplementedError,
    struct.error,
    zlib.error,
)


def open_picture(value: Any) -> Image.Image:
    """RGB picture from a path, a uint8 array (H, W, 3) or (H, W), or a Pillow image.

    A file must be one of `FORMATS`, with at most `most_pixels` pixels. The orientation recorded by cameras is
    applied. Transparency is dropped; 16-bit grey keeps its upper 8 bits.

    Raises
    ------
    ItemError
        The picture cannot be used; the message is the reason.
    """
    from PIL import Image, UnidentifiedImageError

    try:
        if isinstance(value, str | os.PathLike):
            return _from_file(Path(value))
        if isinstance(value, Image.Image):
            return _rgb(value)
        return _from_array(np.asarray(value))
    except ItemError:
        raise
    except UnidentifiedImageError:
        raise ItemError(f"not a picture in a supported format ({', '.join(FORMATS)})") from None
    except (Image.DecompressionBombError, Image.DecompressionBombWarning) as error:
        raise ItemError(f"the picture is too large ({error})") from None
    except OSError as error:
        raise ItemError(f"cannot be read: {error.strerror or error}") from None
    except _DECODING as error:
        raise ItemError(f"broken picture: {error}") from None


def _from_file(path: Path) -> Image.Image:
    from PIL import Image, ImageOps

    check_picture_file(path)
    with Image.open(path, formats=FORMATS) as file:
        pixels, limit = file.width * file.height, most_pixels()
        if pixels > limit:
            raise ItemError(_too_large(f"{file.width} x {file.height} pixels", f"{limit:,}"))
        # Once more in memory is enough: neither turning nor converting makes a copy that is not needed.
        ImageOps.exif_transpose(file, in_place=True)
        return file if file.mode == "RGB" else _rgb(file)


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
