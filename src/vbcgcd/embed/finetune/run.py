"""Fine-tune a backbone on labelled pictures: from arguments to a folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vbcgcd.embed.augment import Augmentation
from vbcgcd.embed.devices import require
from vbcgcd.embed.finetune.options import FinetuneOptions
from vbcgcd.embed.finetune.result import FinetuneProgress, FinetuneResult
from vbcgcd.errors import InputError
from vbcgcd.validation import check_choice, check_number

if TYPE_CHECKING:
    from vbcgcd.embed.finetune.images import LabelledImages

Progress = Callable[[FinetuneProgress], None]

__all__ = ["finetune"]


def finetune(
    images: Any,
    labels: Any = None,
    *,
    backbone: str | os.PathLike[str],
    out_folder: str | os.PathLike[str],
    method: str = "boft",
    epochs: int = 10,
    learning_rate: float = 1e-3,
    contrastive_weight: float = 0.1,
    contrast: str = "views",
    temperature: float = 0.1,
    batch_size: int = 128,
    validation_share: float = 0.1,
    patience: int | None = 3,
    device: str | None = None,
    precision: str = "auto",
    workers: int | None = None,
    random_state: int = 0,
    resume: bool = True,
    broken: str = "error",
    size: int | None = None,
    heads: int | None = None,
    crop: bool = True,
    augmentation: Augmentation | None = None,
    weight_decay: float = 0.01,
    warmup: float = 0.1,
    clip_norm: float = 1.0,
    block_size: int = 4,
    factors: int = 2,
    rank: int = 8,
    dropout: float = 0.1,
    checkpoint_every: int | None = None,
    progress: bool | Progress = False,
) -> FinetuneResult:
    """Tune the MLP and attention output layers of a vision transformer on labelled pictures.

    The paper's offline fine-tuning: the backbone stays frozen, small adapters (BOFT, or LoRA) in these
    layers and a linear head learn with AdamW from ``(1 - lambda) CE + lambda contrast`` over two random views
    of each picture. Part of each category's rows is set aside; after each epoch the accuracy of the nearest
    class mean on it decides which epoch's weights are kept. The head serves training only.

    Parameters
    ----------
    images : Items of kind "image", list of paths or PIL images, or uint8 array (N, H, W, 3)
    labels : array-like (N,), optional
        Labels of the pictures, for items those in them. Rows whose label is None are never opened.
    backbone : str or path
        As for ``load_vit``: a name, a folder or a file of weights.
    out_folder : str or path
        Made where it does not exist. Open it later with ``load_finetuned``.
    method : {"boft", "lora"}
    epochs : int
    learning_rate : float
        Highest rate of AdamW.
    contrastive_weight : float
        Lambda in [0, 1]. The paper does not give its value; 0.1 is a guess backed by little: one small
        backbone, where it was 2 points above 0 on 200 validation rows.
    contrast : {"views", "labels"}
        Which views attract each other: those of the same picture (the paper's loss has no label in this
        term), or all of the same label.
    temperature : float
        Of the contrastive loss.
    batch_size : int
        Pictures in a step; each brings two views.
    validation_share : float
        Share of each category's rows set aside; 0 for none, then the last epoch is kept.
    patience : int or None
        Stop after this many epochs without a better one; None never stops early.
    device : str, optional
        None takes the fastest present.
    precision : {"auto", "float32", "bfloat16", "float16"}
        "auto": mixed precision on a CUDA device, float32 elsewhere.
    workers : int, optional
        Threads that open and augment pictures. The result does not depend on it.
    random_state : int
    resume : bool
        Go on from a checkpoint in ``out_folder``, or return its finished result, where settings, backbone and
        data are the same; with other settings this is an error. False starts over.
    broken : {"error", "skip"}
        Every picture is decoded once before training. Unreadable ones end it with one error that names them,
        or are left out and reported in the result.
    size, heads, crop
        As for any vision transformer; see ``load_vit`` and ``vit_embedder``.
    augmentation : Augmentation, optional
        How views differ from their picture.
    weight_decay, warmup, clip_norm : float
        AdamW's decay (not of biases and scales); share of steps in which the rate rises before it falls as a
        cosine; largest norm of the gradient.
    block_size, factors : int
        Of BOFT: size of its blocks, number of butterfly factors.
    rank : int
        Of LoRA.
    dropout : float
        Of the adapters.
    checkpoint_every : int, optional
        Batches between checkpoints inside an epoch; one is always written after an epoch, and on Ctrl-C
        after the batch under way.
    progress : bool or function FinetuneProgress -> None
        True shows bars and figures in the terminal.

    Returns
    -------
    FinetuneResult

    Raises
    ------
    InputError
        Options out of range, too few labels, unreadable pictures, a backbone without the layers, or a folder
        with another fine-tuning. No file has been written or changed then.
    """
    require("torch", "transformers", "peft", "PIL", extra="vision")
    options = FinetuneOptions(
        method=method,
        epochs=epochs,
        learning_rate=learning_rate,
        weight_decay=weight_decay,
        warmup=warmup,
        clip_norm=clip_norm,
        contrastive_weight=contrastive_weight,
        contrast=contrast,
        temperature=temperature,
        batch_size=batch_size,
        validation_share=validation_share,
        patience=patience,
        precision=precision,
        random_state=random_state,
        block_size=block_size,
        factors=factors,
        rank=rank,
        dropout=dropout,
        augmentation=augmentation or Augmentation(),
    )
    options.check()
    check_choice("broken", broken, ("error", "skip"))
    check_number("workers", workers, low=1, whole=True, words=(None,))
    check_number("checkpoint_every", checkpoint_every, low=1, whole=True, words=(None,))
    folder = Path(out_folder).expanduser()
    _check_folder(folder)

    from vbcgcd.embed.finetune.images import labelled_images
    from vbcgcd.embed.finetune.job import Job

    with _pool(workers) as pool, _told(progress) as tell:
        found, skipped = _readable(labelled_images(images, labels), pool, broken)
        loading = {"size": size, "heads": heads, "crop": crop}
        job = Job.prepare(found, options, backbone, device=device, loading=loading, pool=pool)
        return job.run(folder, skipped=skipped, resume=resume, checkpoint_every=checkpoint_every, tell=tell)


def _readable(
    images: LabelledImages, pool: ThreadPoolExecutor, broken: str
) -> tuple[LabelledImages, tuple[tuple[str, str], ...]]:
    """The pictures without the unreadable ones, and these with their reasons."""
    import numpy as np

    from vbcgcd.embed.finetune.images import broken_images

    problems = broken_images(images, pool)
    named = tuple((images.references[row], reason) for row, reason in problems)
    if named and broken == "error":
        shown = "; ".join(f"{name} {reason}" for name, reason in named[:10])
        more = f"; and {len(named) - 10} more" if len(named) > 10 else ""
        raise InputError(
            f"{len(named)} of {len(images)} pictures cannot be used: {shown}{more}. Repair or remove them, "
            "or leave them out with broken='skip'."
        )
    left = images.take(np.setdiff1d(np.arange(len(images)), [row for row, _ in problems]))
    if len(np.unique(left.labels)) < 2:
        raise InputError(
            f"Only {len(left)} of {len(images)} pictures can be read, of fewer than two categories; check "
            "the files."
        )
    return left, named


def _check_folder(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise InputError(f"out_folder must be a folder, {folder} is a file; choose another name.")


@contextmanager
def _pool(workers: int | None) -> Iterator[ThreadPoolExecutor]:
    pool = ThreadPoolExecutor(workers or min(8, os.cpu_count() or 1), thread_name_prefix="vbcgcd-images")
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _told(progress: bool | Progress) -> Iterator[Progress]:
    if callable(progress):
        yield progress
    elif progress:
        from vbcgcd.embed.finetune.live import LiveFinetune

        with LiveFinetune() as live:
            yield live
    else:
        yield lambda moment: None
