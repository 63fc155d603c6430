"""BERT in plain NumPy: the forward pass of a sentence model, without torch.

Texts of a pack lie behind one another without padding: the dense layers see one matrix of tokens, and only
attention looks at texts one by one, those of equal length together.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

#: Tokens of a pack, and rows of an activation: what fits into the caches of a processor.
PACK_TOKENS, BLOCK_ROWS = 512, 32
#: erf(z) = 1 - (a1 t + ... + a5 t^5) exp(-z^2), t = 1 / (1 + p z), to 1.5e-7 (Abramowitz and Stegun 7.1.26).
_ERF_P = np.float32(0.3275911 / math.sqrt(2))
_ERF_A = tuple(np.float32(a) for a in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592))

__all__ = ["Bert", "gelu", "read_bert"]


class Dense(NamedTuple):
    """A dense layer (weight (out, in), bias (out,)), or scale and shift of a normalisation."""

    weight: Array
    bias: Array

    def __call__(self, rows: Array) -> Array:
        out: Array = rows @ self.weight.T
        out += self.bias
        return out


class Layer(NamedTuple):
    """The parts of one layer; ``attend`` gives queries, keys and values side by side."""

    attend: Dense
    project: Dense
    attended: Dense
    widen: Dense
    narrow: Dense
    fed: Dense


class Pack(NamedTuple):
    """Texts behind one another: their tokens, positions and starts, and (length, start, count) of equals."""

    tokens: Array
    positions: Array
    starts: Array
    groups: list[tuple[int, int, int]]


@dataclass(frozen=True, eq=False)
class Bert:
    """A BERT encoder whose answer for a text is the mean over its tokens.

    Parameters
    ----------
    words, positions : float32 array (V, D), (T, D)
        Embeddings of tokens and of positions; the latter with that of the only segment.
    start : Dense
        Normalisation of their sum.
    layers : tuple of Layer
    heads : int
    epsilon : float
        Of the normalisations.
    """

    words: Array
    positions: Array
    start: Dense
    layers: tuple[Layer, ...]
    heads: int
    epsilon: float

    @property
    def dimension(self) -> int:
        """Length of an embedding."""
        return int(self.words.shape[1])

    def means(self, tokens: Sequence[Sequence[int]]) -> Array:
        """Mean embedding (N, D) of the tokens of each text; none may be empty."""
        lengths = np.array([len(text) for text in tokens])
        out = np.empty((len(tokens), self.dimension), dtype=np.float32)
        for rows in _packs(lengths):
            out[rows] = self._pack_means([tokens[row] for row in rows], lengths[rows])
        return out

    def _pack_means(self, tokens: Sequence[Sequence[int]], lengths: Array) -> Array:
        pack = _packed(tokens, lengths)
        x = self._normalised(self.words[pack.tokens] + self.positions[pack.positions], self.start)
        for layer in self.layers:
            attended = layer.project(self._attention(layer.attend(x), pack.groups))
            attended += x
            x = self._normalised(attended, layer.attended)
            fed = layer.narrow(gelu(layer.widen(x)))
            fed += x
            x = self._normalised(fed, layer.fed)
        return np.asarray(np.add.reduceat(x, pack.starts, axis=0) / lengths[:, None])

    def _attention(self, parts: Array, groups: list[tuple[int, int, int]]) -> Array:
        """Values (M, D) that the tokens of each text take from one another; ``parts`` is (M, 3 D)."""
        out = np.empty((len(parts), self.dimension), dtype=np.float32)
        width = self.dimension // self.heads
        for length, start, count in groups:
            here = slice(start, start + length * count)
            split = parts[here].reshape(count, length, 3, self.heads, width)
            query, key, value = (split[:, :, part].transpose(0, 2, 1, 3) for part in range(3))
            weight = query @ key.transpose(0, 1, 3, 2)
            weight -= weight.max(axis=-1, keepdims=True)
            np.exp(weight, out=weight)
            weight /= weight.sum(axis=-1, keepdims=True)
            out[here] = (weight @ value).transpose(0, 2, 1, 3).reshape(length * count, self.dimension)
        return out

    def _normalised(self, x: Array, norm: Dense) -> Array:
        """Rows with zero mean and unit variance, scaled and shifted; in place."""
        x -= x.mean(axis=1, keepdims=True)
        variance = np.einsum("ij,ij->i", x, x) / x.shape[1]
        x *= (1 / np.sqrt(variance + self.epsilon)).astype(np.float32)[:, None]
        x *= norm.weight
        x += norm.bias
        return x


def gelu(x: Array) -> Array:
    """``x Φ(x)`` of a float32 array (M, W), in place: max(x, 0) less |x| times the tail probability of |x|.

    Examples
    --------
    >>> gelu(np.array([[-1.0, 0.0, 2.0]], dtype=np.float32)).round(4)
    array([[-0.1587,  0.    ,  1.9545]], dtype=float32)
    """
    for first in range(0, len(x), BLOCK_ROWS):
        block = x[first : first + BLOCK_ROWS]
        size = np.abs(block)
        t = size * _ERF_P
        t += 1
        np.reciprocal(t, out=t)
        tail = t * _ERF_A[0]
        for coefficient in _ERF_A[1:]:
            tail += coefficient
            tail *= t
        np.multiply(size, size, out=t)
        t *= np.float32(-0.5)
        tail *= np.exp(t, out=t)
        tail *= size
        tail *= np.float32(0.5)
        np.maximum(block, 0, out=block)
        block -= tail
    return x


def read_bert(folder: Path, tensors: Mapping[str, Array]) -> Bert:
    """The encoder of a folder with ``config.json``, from its tensors."""
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    heads = int(config["num_attention_heads"])
    segment = tensors["embeddings.token_type_embeddings.weight"][0]
    return Bert(
        words=tensors["embeddings.word_embeddings.weight"],
        positions=tensors["embeddings.position_embeddings.weight"] + segment,
        start=_dense(tensors, "embeddings.LayerNorm"),
        layers=tuple(_layer(tensors, number, heads) for number in range(int(config["num_hidden_layers"]))),
        heads=heads,
        epsilon=float(config["layer_norm_eps"]),
    )


def _layer(tensors: Mapping[str, Array], number: int, heads: int) -> Layer:
    base = f"encoder.layer.{number}"
    query, key, value = (
        _dense(tensors, f"{base}.attention.self.{name}") for name in ("query", "key", "value")
    )
    # Dividing the queries once saves dividing every score.
    scale = np.float32(1 / math.sqrt(len(query.bias) // heads))
    return Layer(
        attend=Dense(
            np.concatenate([query.weight * scale, key.weight, value.weight]),
            np.concatenate([query.bias * scale, key.bias, value.bias]),
        ),
        project=_dense(tensors, f"{base}.attention.output.dense"),
        attended=_dense(tensors, f"{base}.attention.output.LayerNorm"),
        widen=_dense(tensors, f"{base}.intermediate.dense"),
        narrow=_dense(tensors, f"{base}.output.dense"),
        fed=_dense(tensors, f"{base}.output.LayerNorm"),
    )


def _dense(tensors: Mapping[str, Array], name: str) -> Dense:
    return Dense(tensors[f"{name}.weight"], tensors[f"{name}.bias"])


def _packs(lengths: Array) -> list[Array]:
    """Rows of texts that are computed together, short ones first; each pack holds about as many tokens."""
    order = np.argsort(lengths, kind="stable")
    number = (np.cumsum(lengths[order]) - 1) // PACK_TOKENS
    return np.split(order, np.flatnonzero(np.diff(number)) + 1) if len(order) else []


def _packed(tokens: Sequence[Sequence[int]], lengths: Array) -> Pack:
    starts = np.concatenate([[0], np.cumsum(lengths)])
    different, first, count = np.unique(lengths, return_index=True, return_counts=True)
    return Pack(
        tokens=np.concatenate([np.asarray(text, dtype=np.int64) for text in tokens]),
        positions=np.concatenate([np.arange(length) for length in lengths]),
        starts=starts[:-1],
        groups=[(int(n), int(starts[f]), int(c)) for n, f, c in zip(different, first, count, strict=True)],
    )
