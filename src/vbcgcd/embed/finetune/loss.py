"""The fine-tuning loss: cross-entropy and a contrast of two views of each image (equation 2 of the paper)."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional as F

__all__ = ["contrastive_loss", "finetune_loss"]


def contrastive_loss(embeddings: Tensor, temperature: float, labels: Tensor | None = None) -> Tensor:
    """Mean over rows of ``-log softmax`` at the row's positives, cosine similarity over a temperature.

    Parameters
    ----------
    embeddings : Tensor (2 B, d)
        First views, then second views, in the same order.
    temperature : float
    labels : Tensor (B,), optional
        Without: the only positive of a view is the image's other view (InfoNCE).
        With: all other views of the same label (supervised contrast), averaged.

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


def finetune_loss(
    embeddings: Tensor,
    logits: Tensor,
    labels: Tensor,
    *,
    weight: float,
    temperature: float,
    by_label: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """``(1 - weight) CE + weight contrast``, and both parts.

    Parameters
    ----------
    embeddings, logits : Tensor (2 B, d) and (2 B, K)
        First views, then second views.
    labels : Tensor (B,)
        Numbers 0 to K - 1.
    weight : float
        The paper's lambda, in [0, 1].
    temperature : float
    by_label : bool
        Views of the same label attract each other, not only views of the same image.

    Returns
    -------
    tuple of Tensor ()
        The loss, its cross-entropy and its contrastive part.
    """
    cross_entropy = F.cross_entropy(logits.float(), torch.cat([labels, labels]))
    contrast = contrastive_loss(embeddings, temperature, labels if by_label else None)
    return (1 - weight) * cross_entropy + weight * contrast, cross_entropy, contrast
