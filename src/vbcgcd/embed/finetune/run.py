"""`finetune`: from arguments to the folder of a fine-tuned backbone."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from vbcgcd.checks import check_choice, check_number
from vbcgcd.embed.devices import require
from vbcgcd.embed.finetune.options import FinetuneOptions
from vbcgcd.embed.finetune.result import FinetuneProgress, FinetuneResult, LiveFinetune
from vbcgcd.errors import InputError
from vbcgcd.items import Failure

if TYPE_CHECKING:
    from vbcgcd.embed.finetune.images import LabelledImages

Report = Callable[[FinetuneProgress], None]

__all__ = ["finetune"]


def finetune(
    images: Any,
    labels: Any = None,
    *,
    backbone: str | os.PathLike[str],
    out_folder: str | os.PathLike[str],
    device: str | None = None,
    workers: int | None = None,
    resume: bool = True,
    broken: str = "error",
    size: int | None = None,
    heads: int | None = None,
    crop: bool = True,
    checkpoint_every: int | None = None,
    progress: bool | Report = False,
    **options: Any,
) -> FinetuneResult:
    """Tune the MLP and attention output layers of a vision transformer on labelled pictures.

    The paper's offline fine-tuning: the backbone stays frozen, small adapters (BOFT, or LoRA) in these
    layers and a linear head learn with AdamW from ``(1 - lambda) CE + lambda contrast`` over two random views
    of each picture. Some pictures of each category are set aside; after each epoch the accuracy of the
    nearest class mean on them decides which weights are the result. The head is used in training only.

    Parameters
    ----------
    images : Items of kind "image", list of paths or PIL images, or uint8 array (N, H, W, 3)
        The labelled pictures. A category that is to be discovered later must not be among them.
    labels : array-like (N,), optional
        Labels of the pictures; None takes those of the items. Pictures with the label None are never opened.
    backbone : str or path
        A name, a folder or a file of weights; see ``load_vit``.
    out_folder : str or path
        Created if it does not exist. Open it later with ``load_finetuned``.
    device : str, optional
        ``'cpu'``, ``'cuda'``, ``'cuda:1'`` or ``'mps'``; None takes the fastest one available.
    workers : int, optional
        Threads that open and augment pictures; None takes the number of processors, at most 8. The result
        does not depend on it.
    resume : bool
        Continue from a checkpoint in ``out_folder``, or return its finished result, if options, backbone and
        data are the same; if they differ, this is an error. False starts over.
    broken : {"error", "skip"}
        Every picture is decoded once before training. Unreadable ones raise one error that names them, or are
        left out and reported in the result.
    size, heads, crop
        Input size, attention heads and border crop of the backbone; see ``load_vit`` and ``vit_embedder``.
    checkpoint_every : int, optional
        Batches between checkpoints inside an epoch. One is always written after an epoch, and on Ctrl-C after
        the current batch.
    progress : bool or function FinetuneProgress -> None
        True shows bars and figures in the terminal.
    **options
        The fields of ``FinetuneOptions``: ``method``, ``epochs``, ``learning_rate``, ``weight_decay``,
        ``warmup``, ``clip_norm``, ``contrastive_weight``, ``contrast``, ``temperature``, ``batch_size``,
        ``validation_share``, ``patience``, ``precision``, ``random_state``, ``block_size``, ``factors``,
        ``rank``, ``dropout`` and ``augmentation``.

    Returns
    -------
    FinetuneResult

    Raises
    ------
    InputError
        Options out of range, too few labels, unreadable pictures, a backbone without such layers, or a folder
        with another fine-tuning. In these cases no file has been written or changed.

    Examples
    --------
    >>> from vbcgcd.items import read_items
    >>> result = finetune(
    ...     read_items("labelled/"), backbone="dino-vitb16", out_folder="tuned", epochs=5
    ... )  # doctest: +SKIP
    >>> print(result.summary())  # doctest: +SKIP
    """
    require("torch", "transformers", "peft", "PIL", extra="vision")
    checked = _options(options)
    check_choice("broken", broken, ("error", "skip"))
    check_number("workers", workers, low=1, whole=True, words=(None,))
    check_number("checkpoint_every", checkpoint_every, low=1, whole=True, words=(None,))
    folder = Path(out_folder).expanduser()
    if folder.exists() and not folder.is_dir():
        raise InputError(
            f"out_folder must be a folder, but {folder} is a file; choose another name.", option="out_folder"
        )

    from vbcgcd.embed.finetune.images import labelled_images
    from vbcgcd.embed.finetune.job import FinetuneJob

    with _thread_pool(workers) as pool, _open_report(progress) as report:
        readable, skipped = _readable(labelled_images(images, labels), pool, broken)
        loading = {"size": size, "heads": heads, "crop": crop}
        job = FinetuneJob.prepare(readable, checked, backbone, device=device, loading=loading, pool=pool)
        return job.run(
            folder, skipped=skipped, resume=resume, checkpoint_every=checkpoint_every, report=report
        )


def _options(options: dict[str, Any]) -> FinetuneOptions:
    names = tuple(FinetuneOptions.__dataclass_fields__)
    unknown = [name for name in options if name not in names]
    if unknown:
        raise InputError(
            f"Fine-tuning has no option {unknown[0]!r}; its options are {', '.join(names)}.",
            option=unknown[0],
        )
    if options.get("augmentation", ...) is None:
        options = {name: value for name, value in options.items() if name != "augmentation"}
    return FinetuneOptions(**options)


def _readable(
    images: LabelledImages, pool: ThreadPoolExecutor, broken: str
) -> tuple[LabelledImages, tuple[Failure, ...]]:
    """The pictures that can be read, and those that cannot."""
    import numpy as np

    from vbcgcd.embed.finetune.images import broken_images

    problems = broken_images(images, pool)
    failures = tuple(problems.values())
    if failures and broken == "error":
        listing = "; ".join(f"{failure.reference}: {failure.reason}" for failure in failures[:10])
        more = f"; and {len(failures) - 10} more" if len(failures) > 10 else ""
        raise InputError(
            f"{len(failures)} of {len(images)} pictures cannot be read: {listing}{more}. Repair or remove "
            "them, or skip them with the option 'broken'.",
            option="broken",
        )
    rest = images.take(np.setdiff1d(np.arange(len(images)), list(problems)))
    if len(np.unique(rest.labels)) < 2:
        raise InputError(
            f"Only {len(rest)} of {len(images)} pictures can be read, and they belong to fewer than two "
            "categories; check the files."
        )
    return rest, failures


@contextmanager
def _thread_pool(workers: int | None) -> Iterator[ThreadPoolExecutor]:
    pool = ThreadPoolExecutor(workers or min(8, os.cpu_count() or 1), thread_name_prefix="vbcgcd-images")
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


@contextmanager
def _open_report(progress: bool | Report) -> Iterator[Report]:
    if callable(progress):
        yield progress
    elif progress:
        with LiveFinetune() as live:
            yield live
    else:
        yield lambda moment: None
