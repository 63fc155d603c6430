"""Static embeddings: a text is the mean of the vectors of its tokens. A folder of them is model2vec's."""

from __future__ import annotations

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
from vbcgcd.embed.cache import digest_of, item_key
from vbcgcd.embed.protocol import ItemError
from vbcgcd.embed.tokens import prepare_text, read_tokenizer
from vbcgcd.errors import InputError, MissingFileError

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Array = NDArray[Any]
#: Files of a model, and what its tensor of vectors may be called.
WEIGHTS, TOKENIZER, NAMES = "model.safetensors", "tokenizer.json", ("embeddings", "embedding.weight")
#: Most tokens of a text, unless the model says otherwise.
LENGTH = 512

__all__ = ["StaticEmbedder", "is_static", "static_embedder"]


@dataclass(frozen=True, eq=False)
class StaticEmbedder:
    """Means of token vectors.

    Parameters
    ----------
    name : str
        The model, for people to read.
    vectors : float array (V, D)
        One for each token or, with ``mapping``, for each group of tokens.
    tokenizer : tokenizers.Tokenizer
        It cuts texts at the most tokens that the model takes.
    weights : float array (T,), optional
        Weight of each token.
    mapping : int array (T,), optional
        Row of ``vectors`` for each token.
    length : int, optional
        Most tokens of a text.
    normalise : bool
        Scale every vector to length one.
    batch_size : int
        Texts per call.
    """

    name: str
    vectors: Array
    tokenizer: Tokenizer
    weights: Array | None = None
    mapping: Array | None = None
    length: int | None = LENGTH
    normalise: bool = True
    batch_size: int = 1024
    kind: str = "text"

    def __post_init__(self) -> None:
        check_number("batch_size", self.batch_size, low=1, whole=True)

    @property
    def dimension(self) -> int:
        """Length of an embedding."""
        return int(self.vectors.shape[1])

    @cached_property
    def fingerprint(self) -> str:
        """Digest of vectors, weights, tokens, maximal length and normalisation."""
        arrays = (self.vectors, self.weights, self.mapping)
        return digest_of(
            {
                "static": [None if array is None else item_key(array).hex() for array in arrays],
                "tokenizer": self.tokenizer.to_str(),
                "length": self.length,
                "normalise": self.normalise,
            }
        )

    def embed(self, items: Sequence[Any]) -> Array:
        """Vectors (N, D) of texts."""
        return self.forward([self.prepare(item) for item in items])

    def prepare(self, item: Any) -> list[int]:
        """The known tokens of a text; raises if there are none."""
        text = prepare_text(item)
        if self.length is not None:
            text = text[: self.length * self._token_letters]
        tokens = self.tokenizer.encode(text, add_special_tokens=False).ids
        known = [token for token in tokens if token != self._unknown]
        if not known:
            raise ItemError("no word of it is known to the embedder")
        return known

    def forward(self, prepared: Sequence[list[int]]) -> Array:
        """Vectors (N, D) of the tokens of texts."""
        means = [self._mean(np.array(tokens)) for tokens in prepared]
        out = np.array(means, dtype=np.float32).reshape(-1, self.dimension)
        return out / np.maximum(np.linalg.norm(out, axis=1, keepdims=True), 1e-12) if self.normalise else out

    def _mean(self, tokens: Array) -> Array:
        rows = self.vectors[tokens if self.mapping is None else self.mapping[tokens]].astype(np.float32)
        if self.weights is not None:
            rows *= self.weights[tokens, None]
        return np.asarray(rows.mean(axis=0))

    @cached_property
    def _token_letters(self) -> int:
        """Letters of a middling token: long texts are cut before they are tokenised, as model2vec does."""
        return int(np.median([len(token) for token in self.tokenizer.get_vocab()]))

    @cached_property
    def _unknown(self) -> int | None:
        """The token that stands for unknown words; it says nothing about a text."""
        model = json.loads(self.tokenizer.to_str())["model"]
        token = model.get("unk_token")
        return model.get("unk_id") if token is None else self.tokenizer.token_to_id(token)


def is_static(folder: Path) -> bool:
    """Whether a folder holds static embeddings."""
    try:
        return _tensor_name(folder) is not None and (folder / TOKENIZER).is_file()
    except (OSError, SafetensorError):
        return False


def static_embedder(
    folder: Path, *, name: str | None = None, normalise: bool = True, batch_size: int = 1024
) -> StaticEmbedder:
    """Text embedder from a folder that model2vec has written.

    Parameters
    ----------
    folder : Path
        With ``model.safetensors`` and ``tokenizer.json``.
    name : str, optional
        What to call it; None takes the path.
    normalise : bool
        Scale every vector to length one.
    batch_size : int
        Texts per call.
    """
    if not folder.is_dir():
        raise MissingFileError(f"There is no folder {folder}.", option="embedder")
    try:
        vectors, weights, mapping, config = _read(folder)
    except (OSError, ValueError, SafetensorError) as error:
        raise InputError(
            f"Cannot load static embeddings from {folder} ({str(error)[:160]}); use a folder written by "
            "model2vec, with model.safetensors and tokenizer.json.",
            option="embedder",
        ) from None
    length = config.get("max_length", LENGTH)
    tokenizer = read_tokenizer(folder / TOKENIZER, length)
    n_tokens = len(vectors) if mapping is None else len(mapping)
    if n_tokens != tokenizer.get_vocab_size():
        raise InputError(
            f"{folder} has {n_tokens} vectors but {tokenizer.get_vocab_size()} tokens; copy the model again.",
            option="embedder",
        )
    return StaticEmbedder(
        name=name or str(folder),
        vectors=vectors,
        tokenizer=tokenizer,
        weights=weights,
        mapping=mapping,
        length=length,
        normalise=normalise,
        batch_size=batch_size,
    )


def _read(folder: Path) -> tuple[Array, Array | None, Array | None, dict[str, Any]]:
    """Vectors, weights, mapping and settings of a model."""
    name = _tensor_name(folder)
    if name is None:
        raise ValueError(f"there is no tensor {' or '.join(map(repr, NAMES))}")
    with safe_open(str(folder / WEIGHTS), framework="numpy") as file:
        present = set(file.keys())
        weights, mapping = (
            file.get_tensor(part) if part in present else None for part in ("weights", "mapping")
        )
        vectors = file.get_tensor(name)
    config = folder / "config.json"
    settings = json.loads(config.read_text(encoding="utf-8")) if config.is_file() else {}
    return vectors, weights, mapping, settings


def _tensor_name(folder: Path) -> str | None:
    with safe_open(str(folder / WEIGHTS), framework="numpy") as file:
        present = set(file.keys())
    return next((name for name in NAMES if name in present), None)
