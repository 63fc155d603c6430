"""A fine-tuned backbone as an ordinary embedder."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from vbcgcd.embed.backbones import vit_embedder
from vbcgcd.embed.devices import require
from vbcgcd.embed.finetune.folder import embedder_fingerprint, read_adapters, read_page
from vbcgcd.embed.images import ImageEmbedder
from vbcgcd.errors import InputError

__all__ = ["FinetunedEmbedder", "load_finetuned"]


@dataclass(frozen=True, eq=False)
class FinetunedEmbedder(ImageEmbedder):
    """A backbone whose adapters are merged into its weights.

    Parameters
    ----------
    backbone, adapters : str
        Fingerprints of the frozen backbone and of the adapter weights.
    method : str
    """

    backbone: str = ""
    adapters: str = ""
    method: str = ""

    @cached_property
    def fingerprint(self) -> str:
        """Digest of backbone, adapters and precision.

        Merging rounds differently from machine to machine, so the merged weights themselves do not count.
        """
        return embedder_fingerprint(self.backbone, self.adapters, self.method, self.precision)


def load_finetuned(
    folder: str | os.PathLike[str],
    *,
    backbone: str | os.PathLike[str] | None = None,
    device: str | None = None,
    precision: str = "float32",
    batch_size: int = 64,
) -> FinetunedEmbedder:
    """Open what ``finetune`` wrote.

    Parameters
    ----------
    folder : str or path
    backbone : str or path, optional
        Where the frozen backbone is now; None: where it was when it was tuned. It must be the same one.
    device, precision, batch_size
        As for any image embedder.

    Returns
    -------
    FinetunedEmbedder

    Raises
    ------
    InputError
        The folder is not a finished fine-tuning or is damaged, or the backbone is missing or another one.
    """
    require("torch", "transformers", "peft", extra="vision")
    page = read_page(folder)
    about = page["backbone"]
    adapters = read_adapters(Path(folder), page)
    where = about["name"] if backbone is None else backbone
    try:
        frozen = vit_embedder(where, device=device, **about["loading"])
    except InputError as error:
        raise InputError(
            f"The backbone of {folder} cannot be loaded: {error} Say where it is now with backbone=..."
        ) from None
    if frozen.fingerprint != about["fingerprint"]:
        raise InputError(
            f"{where} is not the backbone that {folder} was tuned on (fingerprint {frozen.fingerprint}, "
            f"expected {about['fingerprint']}); give the right one with backbone=..."
        )
    from vbcgcd.embed.finetune.network import attach, load_adapters, merge

    network = attach(frozen.module, frozen.dimension, 1, page["options"])
    load_adapters(network.backbone, adapters)
    merge(network.backbone)
    return FinetunedEmbedder(
        name=f"{Path(folder).name} ({page['method']} on {about['name']})",
        module=network.backbone.eval().requires_grad_(False),
        pool=frozen.pool,
        preprocess=frozen.preprocess,
        dimension=frozen.dimension,
        device=frozen.device,
        precision=precision,
        batch_size=batch_size,
        backbone=about["fingerprint"],
        adapters=page["adapters"],
        method=page["method"],
    )
