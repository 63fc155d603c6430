"""Sentence models of the BERT family, without torch: all-MiniLM-L6-v2 and those built like it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError, safe_open

from vbcgcd.checks import check_number
from vbcgcd.embed.bert import Bert, read_bert
from vbcgcd.embed.cache import digest_of
from vbcgcd.embed.tokens import prepare_text, read_tokenizer
from vbcgcd.errors import InputError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Array = NDArray[Any]
WEIGHTS = "model.safetensors"
#: A buffer that torch does not count among the weights.
_NOT_A_WEIGHT = "embeddings.position_ids"

__all__ = ["SentenceEmbedder", "is_plain_bert", "sentence_embedder"]


@dataclass(frozen=True, eq=False)
class SentenceEmbedder:
    """A sentence model of the BERT family in NumPy, on the processor.

    Parameters
    ----------
    name : str
        The model, for people to read.
    folder : Path
        Where it lies.
    bert : Bert
    tokenizer : tokenizers.Tokenizer
        It cuts texts at ``length``.
    modules : tuple of str
        Names of the parts that sentence-transformers would build.
    length : int
        Most tokens of a text.
    normalise : bool
        Scale every vector to length one; a model that ends with this does so anyway.
    batch_size : int
        Texts per call.
    """

    name: str
    folder: Path
    bert: Bert
    tokenizer: Tokenizer
    modules: tuple[str, ...]
    length: int
    normalise: bool = True
    batch_size: int = 256
    kind: str = "text"

    def __post_init__(self) -> None:
        check_number("batch_size", self.batch_size, low=1, whole=True)

    @property
    def dimension(self) -> int:
        """Length of an embedding."""
        return self.bert.dimension

    @cached_property
    def fingerprint(self) -> str:
        """Digest of weights, vocabulary, maximal length and normalisation.

        It is the same as with torch in float32, whose vectors differ by rounding only: caches and workspaces
        made one way go on the other way.
        """
        return digest_of(
            {
                "modules": self.modules,
                "weights": _weights_digest(self.folder / WEIGHTS),
                "vocabulary": sorted(self.tokenizer.get_vocab().items()),
                "length": self.length,
                "normalise": self.normalise,
                "precision": "float32",
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
        vectors = self.bert.means([text.ids for text in self.tokenizer.encode_batch(list(prepared))])
        if self.normalise or "Normalize" in self.modules:
            vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        return vectors


def is_plain_bert(folder: Path) -> bool:
    """Whether a folder holds a sentence model that needs no torch: BERT, mean of the tokens, in float32."""
    try:
        config, modules = _json(folder / "config.json"), _modules(folder)
        pooling = _json(folder / _json(folder / "modules.json")[1]["path"] / "config.json")
        with safe_open(str(folder / WEIGHTS), framework="numpy") as file:
            names = [name for name in file.keys() if name != _NOT_A_WEIGHT]  # noqa: SIM118  (no mapping)
            floats = all(file.get_slice(name).get_dtype() == "F32" for name in names)
    except (OSError, ValueError, KeyError, IndexError, TypeError, SafetensorError):
        return False
    modes = [name for name, on in pooling.items() if name.startswith("pooling_mode_") and on is True]
    return (
        (config.get("model_type"), config.get("hidden_act")) == ("bert", "gelu")
        and config.get("position_embedding_type", "absolute") == "absolute"
        and modules in (("Transformer", "Pooling"), ("Transformer", "Pooling", "Normalize"))
        and modes == ["pooling_mode_mean_tokens"]
        and floats
        and "embeddings.word_embeddings.weight" in names
        and (folder / "tokenizer.json").is_file()
    )


def sentence_embedder(
    folder: Path, *, name: str | None = None, normalise: bool = True, batch_size: int = 256
) -> SentenceEmbedder:
    """Text embedder from a folder for which `is_plain_bert` holds.

    Parameters
    ----------
    folder : Path
    name : str, optional
        What to call it; None takes the path.
    normalise : bool
        Scale every vector to length one.
    batch_size : int
        Texts per call.
    """
    from safetensors.numpy import load_file

    try:
        bert = read_bert(folder, load_file(folder / WEIGHTS))
        settings = _json(folder / "sentence_bert_config.json")
    except (OSError, ValueError, KeyError, SafetensorError) as error:
        raise InputError(
            f"Cannot load a text model from {str(folder)!r} ({error}); copy it again, or use another folder."
        ) from None
    length = min(int(settings.get("max_seq_length") or len(bert.positions)), len(bert.positions))
    return SentenceEmbedder(
        name=name or str(folder),
        folder=folder,
        bert=bert,
        tokenizer=read_tokenizer(folder / "tokenizer.json", length),
        modules=_modules(folder),
        length=length,
        normalise=normalise,
        batch_size=batch_size,
    )


def _json(file: Path) -> Any:
    return json.loads(file.read_text(encoding="utf-8"))


def _modules(folder: Path) -> tuple[str, ...]:
    return tuple(part["type"].rpartition(".")[2] for part in _json(folder / "modules.json"))


def _weights_digest(file: Path) -> str:
    """What `state_digest` gives for the model as sentence-transformers builds it."""
    digest = hashlib.blake2b(digest_size=16)
    with safe_open(str(file), framework="numpy") as tensors:
        for name in sorted(tensors.keys()):
            if name != _NOT_A_WEIGHT:
                array = tensors.get_tensor(name)
                digest.update(f"0.model.{name}:torch.float32:{array.shape}:".encode())
                digest.update(np.ascontiguousarray(array).data)
    return digest.hexdigest()
