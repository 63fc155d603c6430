"""What training minimises (equations 2 and 3 of the paper), and how well its result classifies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F

from vbcgcd.embed.devices import autocast
from vbcgcd.embed.finetune.images import PictureBatches
from vbcgcd.embed.finetune.network import Network

Array = NDArray[Any]
#: Training rows of a category that are embedded for its mean; more change the mean little and cost a pass.
ROWS_FOR_MEAN = 64

__all__ = [
    "Measurement",
    "contrastive_loss",
    "embed_rows",
    "finetune_loss",
    "measure",
    "nearest_mean_accuracy",
    "printed_contrast",
    "rows_for_means",
]


def contrastive_loss(embeddings: Tensor, temperature: float, labels: Tensor | None = None) -> Tensor:
    """Mean over rows of ``-log softmax`` at the positives of a row, of cosine similarity over a temperature.

    Parameters
    ----------
    embeddings : Tensor (2 B, d)
        First views, then second views, in the same order.
    temperature : float
        Divides the similarities; smaller values stress the nearest rows.
    labels : Tensor (B,), optional
        If given, all other views of the same label are positives and averaged (supervised contrast);
        otherwise the only positive of a view is the other view of its picture (NT-Xent, as in SimCLR).

    Returns
    -------
    Tensor ()
    """
    rows = F.normalize(embeddings.float(), dim=1)
    n = len(rows)
    itself = torch.eye(n, dtype=torch.bool, device=rows.device)
    # A finite low value: -inf times a zero weight would be NaN.
    logits = (rows @ rows.T / temperature).masked_fill(itself, torch.finfo(rows.dtype).min)
    ids = torch.arange(n // 2, device=rows.device) if labels is None else labels
    ids = torch.cat([ids, ids])
    positive = (ids[:, None] == ids[None, :]) & ~itself
    log_shares = F.log_softmax(logits, dim=1)
    per_row = torch.where(positive, log_shares, 0.0).sum(dim=1) / positive.sum(dim=1)
    return -per_row.mean()


def printed_contrast(embeddings: Tensor, temperature: float) -> Tensor:
    """Equation 2 of the paper as printed: first views only, and no positive in the denominator.

    The mean over pictures i of ``-log (exp(h_i . h_i' / t) / sum_{j != i} exp(h_i . h_j / t))``, h_i and h_i'
    being the unit embeddings of the two views. Unlike NT-Xent it has no lower bound of zero: it falls on
    while first views of different pictures move apart.

    Parameters
    ----------
    embeddings : Tensor (2 B, d)
        First views, then second views, in the same order; B at least 2, or the sum is empty and the loss 0.
    temperature : float

    Returns
    -------
    Tensor ()
    """
    first, second = F.normalize(embeddings.float(), dim=1).chunk(2)
    if len(first) < 2:
        return embeddings.sum() * 0.0
    itself = torch.eye(len(first), dtype=torch.bool, device=first.device)
    others = (first @ first.T / temperature).masked_fill(itself, -torch.inf)
    return (others.logsumexp(dim=1) - (first * second).sum(dim=1) / temperature).mean()


def finetune_loss(
    embeddings: Tensor,
    logits: Tensor,
    labels: Tensor,
    *,
    weight: float,
    temperature: float,
    contrast: str,
) -> tuple[Tensor, Tensor, Tensor]:
    """``(1 - weight) CE + weight contrast`` (equation 3 of the paper), and its two terms.

    Parameters
    ----------
    embeddings, logits : Tensor (2 B, d) and (2 B, K)
        First views, then second views.
    labels : Tensor (B,)
        Numbers 0 to K - 1.
    weight : float
        The paper's lambda, in [0, 1].
    temperature : float
        Of the contrast.
    contrast : {"views", "labels", "printed"}
        Views of the same picture attract each other (NT-Xent), or all of the same label; or the paper's
        equation as printed, see `printed_contrast`.

    Returns
    -------
    tuple of Tensor ()
        The loss, its cross-entropy and its contrastive part.
    """
    cross_entropy = F.cross_entropy(logits.float(), torch.cat([labels, labels]))
    if contrast == "printed":
        term = printed_contrast(embeddings, temperature)
    else:
        term = contrastive_loss(embeddings, temperature, labels if contrast == "labels" else None)
    return (1 - weight) * cross_entropy + weight * term, cross_entropy, term


@dataclass(frozen=True)
class Measurement:
    """Accuracy of the nearest class mean and of the head on the validation rows, and the loss of the head."""

    ncm: float
    head: float
    loss: float


def embed_rows(
    network: Network, pictures: PictureBatches, rows: Array, batch_size: int, precision: str
) -> Array:
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
    parts = [rows[codes[rows] == c][:ROWS_FOR_MEAN] for c in np.unique(codes[rows])]
    return np.sort(np.concatenate(parts))


def measure(
    network: Network,
    pictures: PictureBatches,
    codes: Array,
    rows: tuple[Array, Array],
    batch_size: int,
    precision: str,
) -> Measurement | None:
    """Accuracy of both classifiers on the validation rows; None if there are none.

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
