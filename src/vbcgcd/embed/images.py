"""The image embedder: a backbone, its preprocessing, and how both run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.embed.devices import PRECISIONS, autocast
from vbcgcd.embed.hashing import digest_of, state_digest
from vbcgcd.embed.pictures import open_picture
from vbcgcd.embed.preprocess import Preprocess
from vbcgcd.validation import check_choice, check_number

Array = NDArray[Any]

__all__ = ["ImageEmbedder"]


@dataclass(frozen=True, eq=False)
class ImageEmbedder:
    """A torch module from normalised pixels to vectors, with its preprocessing.

    Parameters
    ----------
    name : str
    module : torch.nn.Module
        In evaluation mode, on ``device``.
    pool : callable
        ``pool(module, pixels)`` gives the embeddings (N, D) of a batch (N, 3, H, W).
    preprocess : Preprocess
    dimension : int
    device : torch.device
    precision : {'float32', 'bfloat16', 'float16'}
        Of the forward pass; the vectors are float32 always.
    batch_size : int
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

        The device and the size of batches are left out: they move vectors by rounding only.
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
        """Pixels of one random view: ``view(picture, (height, width))`` makes it."""
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
    """What of a configuration changes the output and leaves no trace in the weights."""
    config = getattr(module, "config", None)
    if config is None:
        return {}
    said = config.to_dict()
    names = ("num_attention_heads", "layer_norm_eps", "hidden_act", "image_size", "patch_size")
    return {name: said[name] for name in names if name in said}
