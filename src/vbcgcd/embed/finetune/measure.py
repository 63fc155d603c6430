"""How good the embedding is: nearest class mean and head, on rows that did not train."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional as F

from vbcgcd.embed.devices import autocast
from vbcgcd.embed.finetune.batches import Pictures
from vbcgcd.embed.finetune.network import Network

Array = NDArray[Any]
#: Training rows of a category that are embedded for its mean; more change the mean little and cost a pass.
ROWS_FOR_MEAN = 64

__all__ = ["Measurement", "embed_rows", "measure", "nearest_mean_accuracy", "rows_for_means"]


@dataclass(frozen=True)
class Measurement:
    """Accuracies and loss on validation rows."""

    ncm: float
    head: float
    loss: float


def embed_rows(network: Network, pictures: Pictures, rows: Array, batch_size: int, precision: str) -> Array:
    """Embeddings (N, d) in float32, in evaluation mode, in the order of ``rows``."""
    network.train(False)
    out: list[Array] = []
    with torch.inference_mode(), autocast(pictures.device, precision):
        for _, pixels in pictures.plain(rows, batch_size):
            out.append(network.embed(pixels).float().cpu().numpy())
    return np.concatenate(out)


def nearest_mean_accuracy(train: Array, train_codes: Array, test: Array, test_codes: Array) -> float:
    """Share of ``test`` rows whose nearest category mean (Euclidean) is their own category's.

    Parameters
    ----------
    train, test : float array (N, d), (M, d)
    train_codes, test_codes : int array (N,), (M,)
    """
    classes = np.unique(train_codes)
    means = np.stack([train[train_codes == c].mean(axis=0, dtype=np.float64) for c in classes])
    # |x - m|^2 without |x|^2, which is the same for every mean.
    scores = test @ means.T - 0.5 * np.einsum("kd,kd->k", means, means)
    return float(np.mean(classes[scores.argmax(axis=1)] == test_codes))


def rows_for_means(rows: Array, codes: Array) -> Array:
    """At most ``ROWS_FOR_MEAN`` training rows of each category, the first ones."""
    kept = [rows[codes[rows] == c][:ROWS_FOR_MEAN] for c in np.unique(codes[rows])]
    return np.sort(np.concatenate(kept))


def measure(
    network: Network,
    pictures: Pictures,
    codes: Array,
    rows: tuple[Array, Array],
    batch_size: int,
    precision: str,
) -> Measurement | None:
    """Accuracy of both classifiers on the validation rows; None without such rows.

    Parameters
    ----------
    codes : int array (N,)
        Category numbers of all labelled rows.
    rows : tuple of int array
        Row numbers of training and of validation.
    """
    train, validation = rows
    if len(validation) == 0:
        return None
    means_rows = rows_for_means(train, codes)
    embedded = embed_rows(
        network, pictures, np.concatenate([means_rows, validation]), 2 * batch_size, precision
    )
    of_train, of_validation = embedded[: len(means_rows)], embedded[len(means_rows) :]
    truth = codes[validation]
    with torch.inference_mode():
        logits = network.head(torch.from_numpy(of_validation).to(network.head.weight.device)).cpu()
        loss = F.cross_entropy(logits, torch.from_numpy(truth))
    return Measurement(
        ncm=nearest_mean_accuracy(of_train, codes[means_rows], of_validation, truth),
        head=float((logits.argmax(dim=1).numpy() == truth).mean()),
        loss=float(loss),
    )
