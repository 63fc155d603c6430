"""One fine-tuning, from a loaded backbone and its pictures to the finished folder."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from vbcgcd.embed.finetune import folder as store
from vbcgcd.embed.finetune.images import LabelledImages, PictureBatches, seed_of, stratified_split
from vbcgcd.embed.finetune.network import Network, adapter_config, attach
from vbcgcd.embed.finetune.options import FinetuneOptions, changed_options
from vbcgcd.embed.finetune.result import EpochRecord, FinetuneProgress, FinetuneResult
from vbcgcd.embed.finetune.state import new_state
from vbcgcd.embed.finetune.training import Training
from vbcgcd.embed.images import vit_embedder
from vbcgcd.errors import DiskError, InputError
from vbcgcd.items import Failure

Array = NDArray[Any]
Report = Callable[[FinetuneProgress], None]

__all__ = ["FinetuneJob", "choose_precision"]


@dataclass(frozen=True)
class FinetuneJob:
    """A fine-tuning that is ready to run.

    Attributes
    ----------
    images : LabelledImages
    options : FinetuneOptions
    network : Network
    pictures : PictureBatches
    precision : {"float32", "bfloat16", "float16"}
        Arithmetic of matrix products.
    backbone : dict
        Name, fingerprint and loading options, as on the page of the folder.
    dimension : int
        Length of an embedding.
    """

    images: LabelledImages
    options: FinetuneOptions
    network: Network
    pictures: PictureBatches
    precision: str
    backbone: dict[str, Any]
    dimension: int

    @classmethod
    def prepare(
        cls,
        images: LabelledImages,
        options: FinetuneOptions,
        backbone: str | os.PathLike[str],
        *,
        device: str | None,
        loading: dict[str, Any],
        pool: ThreadPoolExecutor,
    ) -> FinetuneJob:
        """Load the backbone and put adapters into it; nothing is written."""
        vit = vit_embedder(backbone, device=device, **loading)
        precision = choose_precision(options.precision, vit.device)
        origin = {"name": _absolute_name(backbone), "fingerprint": vit.fingerprint, "loading": loading}
        with torch.random.fork_rng([]):
            torch.manual_seed(seed_of(options.random_state, 5))
            network = attach(vit.module, vit.dimension, len(np.unique(images.labels)), options.as_json())
        pictures = PictureBatches(
            images.read, vit.preprocess, options.augmentation, options.random_state, pool, vit.device
        )
        return cls(images, options, network, pictures, precision, origin, vit.dimension)

    def run(
        self,
        folder: Path,
        *,
        skipped: tuple[Failure, ...],
        resume: bool,
        checkpoint_every: int | None,
        report: Report,
    ) -> FinetuneResult:
        """Train and write the folder, or return the result that it already holds."""
        identity = self._identity()
        if resume and store.is_finetuned(folder):
            return _finished_result(folder, identity)
        classes, codes = np.unique(self.images.labels, return_inverse=True)
        rows = stratified_split(codes, self.options.validation_share, self.options.random_state)
        _create(folder, resume)
        training = Training(
            state=new_state(self.network, self.options, self.precision),
            options=self.options,
            pictures=self.pictures,
            codes=codes.astype(np.int64),
            rows=rows,
            precision=self.precision,
            checkpoint=folder / store.CHECKPOINT,
            checkpoint_every=checkpoint_every,
            identity=identity,
            report=report,
        )
        message = self._description(rows, resumed=training.resume())
        report(FinetuneProgress(stage="start", epochs=self.options.epochs, message=message))
        stopped = training.run()
        page = self._page(training, classes, skipped, stopped, identity)
        state = training.state
        store.write_folder(folder, state.best_adapters, state.best_head, self._peft_config(), page)
        result = _result(folder, page)
        report(FinetuneProgress(stage="end", best_epoch=result.best_epoch, message=result.summary()))
        return result

    def _identity(self) -> dict[str, Any]:
        return {
            "options": self.options.as_json(),
            "backbone": self.backbone["fingerprint"],
            "data": self.images.fingerprint(),
        }

    def _description(self, rows: tuple[Array, Array], *, resumed: bool) -> str:
        o = self.options
        adapters = (
            f"BOFT with blocks of {o.block_size} and {o.factors} butterfly factors"
            if o.method == "boft"
            else f"LoRA of rank {o.rank}"
        )
        checkpoint = " Continuing from the checkpoint." if resumed else ""
        return (
            f"{adapters} on {self.network.layers.describe()}. {len(rows[0]):,} pictures for training and "
            f"{len(rows[1]):,} for validation, in {len(np.unique(self.images.labels))} categories; "
            f"{self.pictures.device.type}, {self.precision}.{checkpoint}"
        )

    def _peft_config(self) -> dict[str, Any]:
        config = adapter_config(self.network.layers, self.options.as_json()).to_dict()
        config["base_model_name_or_path"] = self.backbone["name"]
        return {k: sorted(v) if isinstance(v, set) else getattr(v, "value", v) for k, v in config.items()}

    def _page(
        self,
        training: Training,
        classes: Array,
        skipped: tuple[Failure, ...],
        stopped: bool,
        identity: dict[str, Any],
    ) -> dict[str, Any]:
        state = training.state
        adapters = store.adapters_digest(state.best_adapters)
        tuned = sum(a.size for a in state.best_adapters.values())
        return {
            "backbone": self.backbone,
            "method": self.options.method,
            "options": self.options.as_json(),
            "fingerprint": store.embedder_fingerprint(
                self.backbone["fingerprint"], adapters, self.options.method, "float32"
            ),
            "adapters": adapters,
            "dimension": self.dimension,
            "classes": classes.tolist(),
            "layers": list(self.network.layers.names),
            "n_trained": tuned,
            "n_frozen": sum(p.numel() for p in self.network.backbone.parameters()) - tuned,
            "n_train": len(training.rows[0]),
            "n_validation": len(training.rows[1]),
            "best_epoch": state.best_epoch,
            "stopped_early": stopped,
            "history": [r.as_json() for r in state.history],
            "skipped": [[failure.reference, failure.reason] for failure in skipped],
            "identity": identity,
        }


def choose_precision(precision: str, device: torch.device) -> str:
    """The precision of matrix products on ``device``."""
    if precision == "auto":
        if device.type != "cuda":
            return "float32"
        return "bfloat16" if torch.cuda.is_bf16_supported() else "float16"
    if precision == "float16" and device.type != "cuda":
        raise InputError(
            f"precision 'float16' needs a CUDA device, but the device is {device.type}; use 'bfloat16'.",
            option="precision",
        )
    return precision


def _absolute_name(backbone: str | os.PathLike[str]) -> str:
    """The name of a backbone, or the absolute path of one on this disk."""
    path = Path(backbone).expanduser()
    return str(path.resolve()) if path.exists() else str(backbone)


def _create(folder: Path, resume: bool) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not resume:
            for name in (store.PAGE, store.CHECKPOINT):
                (folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise DiskError(
            f"Cannot write to {folder}: {error.strerror}; choose a folder that can be written.", cause=error
        ) from None


def _finished_result(folder: Path, identity: dict[str, Any]) -> FinetuneResult:
    page = store.read_page(folder)
    changed = changed_options(page["identity"], identity)
    if changed:
        raise InputError(
            f"{folder} holds a finished fine-tuning with other options ({'; '.join(changed)}); choose "
            "another folder, or turn 'resume' off to replace it.",
            option="out_folder",
        )
    return _result(folder, page)


def _result(folder: Path, page: dict[str, Any]) -> FinetuneResult:
    return FinetuneResult(
        folder=folder,
        history=tuple(EpochRecord(**r) for r in page["history"]),
        best_epoch=page["best_epoch"],
        stopped_early=page["stopped_early"],
        layers=tuple(page["layers"]),
        n_trained=page["n_trained"],
        n_frozen=page["n_frozen"],
        n_train=page["n_train"],
        n_validation=page["n_validation"],
        skipped=tuple(Failure(reference, reason) for reference, reason in page["skipped"]),
        fingerprint=page["fingerprint"],
    )
