"""The embedder without a neural network: the pixels of a small picture. Pillow and NumPy only, no torch."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.checks import check_choice, check_number
from vbcgcd.embed.cache import digest_of
from vbcgcd.embed.pictures import open_picture
from vbcgcd.embed.preprocess import INTERPOLATIONS
from vbcgcd.errors import InputError

if TYPE_CHECKING:
    from PIL import Image

Array = NDArray[Any]
NAME = "pixels"
LARGEST = 128

__all__ = ["LARGEST", "NAME", "PixelEmbedder", "pixel_embedder"]


@dataclass(frozen=True)
class PixelEmbedder:
    """Pictures resized to a small square and flattened to numbers in [0, 1], row by row from the top.

    For small simple pictures (digits, icons, sensor maps) and for trying things out without torch.
    Photographs need a trained network: their pixels say little about what they show.

    Parameters
    ----------
    size : int
        Side of the square in pixels. The whole picture is squeezed into it; nothing is cut off.
    grey : bool
        One number per pixel, its brightness; otherwise three: red, green and blue.
    interpolation : {'nearest', 'lanczos', 'bilinear', 'bicubic', 'box', 'hamming'}
        How Pillow resizes. 'box' averages the pixels that fall into one.
    batch_size : int
        Pictures in one call.

    Examples
    --------
    >>> import numpy as np
    >>> half = np.zeros((4, 4), dtype=np.uint8)
    >>> half[:, 2:] = 255
    >>> PixelEmbedder(size=2, grey=True).embed([half])
    array([[0., 1., 0., 1.]], dtype=float32)
    """

    size: int = 16
    grey: bool = False
    interpolation: str = "box"
    batch_size: int = 256
    name: str = NAME
    kind: str = "image"

    def __post_init__(self) -> None:
        check_number("size", self.size, low=1, high=LARGEST, whole=True)
        check_choice("grey", self.grey, (False, True))
        check_choice("interpolation", self.interpolation, INTERPOLATIONS)
        check_number("batch_size", self.batch_size, low=1, whole=True)

    @property
    def dimension(self) -> int:
        """Length of an embedding: one or three numbers per pixel."""
        return self.size**2 * (1 if self.grey else 3)

    @cached_property
    def fingerprint(self) -> str:
        """Digest of size, colours and resampling."""
        recipe = {"size": int(self.size), "grey": bool(self.grey), "interpolation": self.interpolation}
        return digest_of({"model": NAME, **recipe})

    def embed(self, items: Sequence[Any]) -> Array:
        """Vectors (N, D) of paths, uint8 arrays (H, W, 3) or (H, W), or Pillow images."""
        return self.forward([self.prepare(item) for item in items])

    def prepare(self, item: Any) -> Array:
        """Pixels of one picture, uint8 array (D,)."""
        image = open_picture(item).convert(self._mode)
        return self._flat(image.resize((self.size, self.size), INTERPOLATIONS.index(self.interpolation)))

    def prepare_view(self, item: Any, view: Callable[[Any, tuple[int, int]], Any]) -> Array:
        """Pixels of one random view; ``view(picture, (height, width))`` draws it."""
        return self._flat(view(open_picture(item), (self.size, self.size)).convert(self._mode))

    def forward(self, prepared: Sequence[Array]) -> Array:
        """Vectors (N, D) of prepared pictures, float32."""
        if not len(prepared):
            return np.empty((0, self.dimension), dtype=np.float32)
        return np.stack(prepared).astype(np.float32) / np.float32(255)

    @property
    def _mode(self) -> str:
        return "L" if self.grey else "RGB"

    @staticmethod
    def _flat(image: Image.Image) -> Array:
        return np.asarray(image, dtype=np.uint8).reshape(-1)


def pixel_embedder(
    *, device: str | None = None, precision: str = "float32", batch_size: int = 256, **options: Any
) -> PixelEmbedder:
    """The embedder 'pixels', created from the options that are common to all embedders.

    Parameters
    ----------
    device : {None, 'cpu'}
        There is nothing to run on another device.
    precision : {'float32'}
        The only precision of pixels.
    batch_size : int
        Pictures in one call.
    **options
        ``size``, ``grey`` and ``interpolation`` of `PixelEmbedder`.
    """
    if device not in (None, "cpu"):
        raise InputError(
            f"The embedder 'pixels' runs on the CPU only, got device {device!r}; omit the option 'device'.",
            option="device",
        )
    if precision != "float32":
        raise InputError(
            f"The embedder 'pixels' gives float32 only, got precision {precision!r}; omit the option "
            "'precision'.",
            option="precision",
        )
    unknown = [name for name in options if name not in ("size", "grey", "interpolation")]
    if unknown:
        raise InputError(
            f"The embedder 'pixels' has no option {', '.join(map(repr, unknown))}; its options are 'size', "
            "'grey', 'interpolation' and 'batch_size'.",
            option=unknown[0],
        )
    if importlib.util.find_spec("PIL") is None:
        raise InputError(
            "The embedder 'pixels' needs Pillow, which is not installed; install it with "
            "pip install 'vbcgcd[workspace]'."
        )
    return PixelEmbedder(batch_size=batch_size, **options)
