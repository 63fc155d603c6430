"""One fine-tuning with everything loaded: backbone, pictures, network; and what it leaves in its folder."""

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

from vbcgcd.embed.backbones import vit_embedder
from vbcgcd.embed.finetune import folder as store
from vbcgcd.embed.finetune.batches import Pictures, seed_of
from vbcgcd.embed.finetune.images import LabelledImages
from vbcgcd.embed.finetune.network import Network, adapter_config, attach
from vbcgcd.embed.finetune.options import FinetuneOptions, changed_options
from vbcgcd.embed.finetune.result import EpochRecord, FinetuneProgress, FinetuneResult
from vbcgcd.embed.finetune.split import stratified_split
from vbcgcd.embed.finetune.training import Training, new_state
from vbcgcd.errors import InputError

Array = NDArray[Any]
Tell = Callable[[FinetuneProgress], None]

__all__ = ["Job", "choose_precision"]


@dataclass(frozen=True)
class Job:
    """A fine-tuning ready to run.

    Attributes
    ----------
    images : LabelledImages
    options : FinetuneOptions
    network : Network
    pictures : Pictures
    precision : str
    backbone : dict
        Name, fingerprint and loading options, as the page of the folder keeps them.
    dimension : int
    """

    images: LabelledImages
    options: FinetuneOptions
    network: Network
    pictures: Pictures
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
    ) -> Job:
        """Load the backbone and put adapters into it. Writes nothing."""
        vit = vit_embedder(backbone, device=device, **loading)
        precision = choose_precision(options.precision, vit.device)
        about = {
            "name": _lasting_name(backbone),
            "fingerprint": vit.fingerprint,
            "loading": loading,
        }
        with torch.random.fork_rng([]):
            torch.manual_seed(seed_of(options.random_state, 5))
            network = attach(vit.module, vit.dimension, len(np.unique(images.labels)), options.to_json())
        pictures = Pictures(
            images.read, vit.preprocess, options.augmentation, options.random_state, pool, vit.device
        )
        return cls(images, options, network, pictures, precision, about, vit.dimension)

    def run(
        self,
        folder: Path,
        *,
        skipped: tuple[tuple[str, str], ...],
        resume: bool,
        checkpoint_every: int | None,
        tell: Tell,
    ) -> FinetuneResult:
        """Train, and write the folder; or answer with what it holds already."""
        identity = self._identity()
        if resume and store.is_finetuned(folder):
            return _finished(folder, identity)
        classes, codes = np.unique(self.images.labels, return_inverse=True)
        rows = stratified_split(codes, self.options.validation_share, self.options.random_state)
        _make(folder, resume)
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
            tell=tell,
        )
        taken_up = training.resume()
        tell(FinetuneProgress(stage="start", epochs=self.options.epochs, message=self._about(rows, taken_up)))
        stopped = training.run()
        page = self._page(training, classes, skipped, stopped, identity)
        state = training.state
        store.write_folder(folder, state.best_adapters, state.best_head, self._peft_config(), page)
        result = _result(folder, page)
        tell(FinetuneProgress(stage="end", best_epoch=result.best_epoch, message=result.summary()))
        return result

    def _identity(self) -> dict[str, Any]:
        return {
            "options": self.options.to_json(),
            "backbone": self.backbone["fingerprint"],
            "data": self.images.fingerprint(),
        }

    def _about(self, rows: tuple[Array, Array], taken_up: bool) -> str:
        o = self.options
        how = (
            f"BOFT, blocks of {o.block_size}, {o.factors} butterfly factors"
            if o.method == "boft"
            else f"LoRA, rank {o.rank}"
        )
        again = " Going on from the checkpoint." if taken_up else ""
        return (
            f"{how} on {self.network.layers.describe()}. {len(rows[0]):,} rows train, {len(rows[1]):,} "
            f"validate, {len(np.unique(self.images.labels))} categories; {self.pictures.device.type}, "
            f"{self.precision}.{again}"
        )

    def _peft_config(self) -> dict[str, Any]:
        config = adapter_config(self.network.layers, self.options.to_json()).to_dict()
        config["base_model_name_or_path"] = self.backbone["name"]
        return {k: sorted(v) if isinstance(v, set) else getattr(v, "value", v) for k, v in config.items()}

    def _page(
        self,
        training: Training,
        classes: Array,
        skipped: tuple[tuple[str, str], ...],
        stopped: bool,
        identity: dict[str, Any],
    ) -> dict[str, Any]:
        state = training.state
        adapters = store.adapters_digest(state.best_adapters)
        tuned = sum(a.size for a in state.best_adapters.values())
        return {
            "backbone": self.backbone,
            "method": self.options.method,
            "options": self.options.to_json(),
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
            "history": [r.to_json() for r in state.history],
            "skipped": [list(s) for s in skipped],
            "identity": identity,
        }


def choose_precision(asked: str, device: torch.device) -> str:
    """The precision of matrix products on ``device``."""
    if asked == "auto":
        if device.type != "cuda":
            return "float32"
        return "bfloat16" if torch.cuda.is_bf16_supported() else "float16"
    if asked == "float16" and device.type != "cuda":
        raise InputError(f"precision 'float16' needs a CUDA device, this is {device.type}; use 'bfloat16'.")
    return asked


def _lasting_name(backbone: str | os.PathLike[str]) -> str:
    """Names stay as they are; paths become absolute."""
    path = Path(backbone).expanduser()
    return str(path.resolve()) if path.exists() else str(backbone)


def _make(folder: Path, resume: bool) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not resume:
            for name in (store.PAGE, store.CHECKPOINT):
                (folder / name).unlink(missing_ok=True)
    except OSError as error:
        raise InputError(
            f"Cannot write to {folder}: {error.strerror}; choose a folder that can be written."
        ) from None


def _finished(folder: Path, identity: dict[str, Any]) -> FinetuneResult:
    page = store.read_page(folder)
    changed = changed_options(page["identity"], identity)
    if changed:
        raise InputError(
            f"{folder} holds a finished fine-tuning with other settings ({'; '.join(changed)}); choose "
            "another out_folder, or resume=False to replace it."
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
        skipped=tuple((s[0], s[1]) for s in page["skipped"]),
        fingerprint=page["fingerprint"],
    )
