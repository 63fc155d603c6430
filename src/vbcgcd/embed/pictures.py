"""Opening pictures: files, arrays and Pillow images, each into plain RGB."""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from vbcgcd.embed.protocol import ItemError

if TYPE_CHECKING:
    from PIL import Image

__all__ = ["open_picture"]


def open_picture(value: Any) -> Image.Image:
    """RGB picture from a path, a uint8 array (H, W, 3) or (H, W), or a Pillow image.

    The orientation noted by cameras is applied. Transparency is dropped; 16-bit grey keeps its upper 8 bits.

    Raises
    ------
    ItemError
        Saying why the picture cannot be used.
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
        raise ItemError("is not a picture in a format that Pillow reads") from None
    except Image.DecompressionBombError as error:
        raise ItemError(f"is too large a picture ({error})") from None
    except OSError as error:
        raise ItemError(f"cannot be read: {error.strerror or error}") from None
    except (ValueError, SyntaxError, EOFError, IndexError, TypeError, struct.error) as error:
        raise ItemError(f"is a broken picture: {error}") from None


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
