"""The folder of a fine-tuned backbone, and the embedder that is loaded from it.

It holds the adapters in PEFT's format, the head, and one page about them, ``vbcgcd-finetuned.json``, which is
written last: a folder with this file is complete. The backbone itself is not copied; the page holds its name
and fingerprint.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from vbcgcd.archive import atomic_file, read_archive, write_archive
from vbcgcd.embed.cache import digest_of, item_key
from vbcgcd.embed.devices import require
from vbcgcd.embed.images import ImageEmbedder, vit_embedder
from vbcgcd.errors import InputError

Array = NDArray[Any]

PAGE = "vbcgcd-finetuned.json"
ADAPTERS = "adapter_model.safetensors"
ADAPTER_CONFIG = "adapter_config.json"
HEAD = "head.safetensors"
CHECKPOINT = "checkpoint.safetensors"
FORMAT, VERSION = "vbcgcd fine-tuned embedder", 1

__all__ = [
    "CHECKPOINT",
    "PAGE",
    "FinetunedEmbedder",
    "adapters_digest",
    "embedder_fingerprint",
    "is_finetuned",
    "load_finetuned",
    "read_page",
    "write_folder",
]


def is_finetuned(path: str | os.PathLike[str]) -> bool:
    """Whether ``load_finetuned`` can open a folder.

    Examples
    --------
    >>> is_finetuned("no/such/folder")
    False
    """
    return (Path(path) / PAGE).is_file()


def adapters_digest(arrays: dict[str, Array]) -> str:
    """Digest of names, types, shapes and values, independent of their order."""
    return digest_of({name: item_key(array).hex() for name, array in arrays.items()})


def embedder_fingerprint(backbone: str, adapters: str, method: str, precision: str) -> str:
    """Fingerprint of a backbone with adapters, from the fingerprints of both."""
    return digest_of({"backbone": backbone, "adapters": adapters, "method": method, "precision": precision})


def write_folder(
    folder: Path,
    adapters: dict[str, Array],
    head: dict[str, Array],
    adapter_config: dict[str, Any],
    page: dict[str, Any],
) -> None:
    """Write all files, the page last, then remove the checkpoint."""
    write_archive(folder / ADAPTERS, "adapters", VERSION, adapters, {})
    write_archive(folder / HEAD, "head", VERSION, head, {})
    _write_json(folder / ADAPTER_CONFIG, adapter_config)
    _write_json(folder / PAGE, {"format": FORMAT, "version": VERSION, **page})
    (folder / CHECKPOINT).unlink(missing_ok=True)


def read_page(folder: str | os.PathLike[str]) -> dict[str, Any]:
    """The page of a fine-tuned backbone.

    Raises
    ------
    InputError
        The page is missing, broken, or of a later format.
    """
    path = Path(folder) / PAGE
    try:
        page = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        unfinished = (Path(folder) / CHECKPOINT).exists()
        advice = (
            "run its fine-tuning again to finish it" if unfinished else "fine-tune a backbone into it first"
        )
        raise InputError(f"{folder} holds no fine-tuned backbone ({PAGE} is missing); {advice}.") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read ({error}); fine-tune again into an empty folder.") from None
    if not isinstance(page, dict) or page.get("format") != FORMAT:
        raise InputError(f"{path} does not describe a fine-tuned backbone.")
    if page["version"] > VERSION:
        raise InputError(
            f"{path} has format version {page['version']}; this release reads up to {VERSION}. Update vbcgcd."
        )
    return page


def _read_adapters(folder: Path, page: dict[str, Any]) -> dict[str, Array]:
    """The adapter weights, verified against the page."""
    arrays, _ = read_archive(folder / ADAPTERS, "adapters", VERSION)
    if adapters_digest(arrays) != page["adapters"]:
        raise InputError(
            f"{folder / ADAPTERS} is not the file that {PAGE} describes; copy the whole folder again."
        )
    return arrays


def _write_json(path: Path, values: dict[str, Any]) -> None:
    with atomic_file(path) as out:
        out.write(json.dumps(values, indent=2, ensure_ascii=False).encode() + b"\n")


@dataclass(frozen=True, eq=False)
class FinetunedEmbedder(ImageEmbedder):
    """A backbone whose adapters are merged into its weights.

    Parameters
    ----------
    backbone, adapters : str
        Fingerprints of the frozen backbone and of the adapter weights.
    method : {"boft", "lora"}
        Kind of adapters.
    """

    backbone: str = ""
    adapters: str = ""
    method: str = ""

    @cached_property
    def fingerprint(self) -> str:
        """Digest of backbone, adapters and precision.

        Merging rounds differently from machine to machine, so the merged weights are not part of it.
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
    """Load the embedder that ``finetune`` wrote.

    Parameters
    ----------
    folder : str or path
        The ``out_folder`` of ``finetune``.
    backbone : str or path, optional
        Where the frozen backbone is now, if it has moved since. It must be the same one.
    device : str, optional
        ``'cpu'``, ``'cuda'``, ``'cuda:1'`` or ``'mps'``; None takes the fastest one available.
    precision : {'float32', 'bfloat16', 'float16'}
        Arithmetic of the forward pass; the vectors are always float32.
    batch_size : int
        Pictures in one forward pass.

    Returns
    -------
    FinetunedEmbedder

    Raises
    ------
    InputError
        The folder holds no finished fine-tuning or is damaged, or the backbone is missing or another one.

    Examples
    --------
    >>> load_finetuned("tuned").embed(["photo.jpg"]).shape  # doctest: +SKIP
    (1, 768)
    """
    require("torch", "transformers", "peft", extra="vision")
    page = read_page(folder)
    origin = page["backbone"]
    adapters = _read_adapters(Path(folder), page)
    source = origin["name"] if backbone is None else backbone
    try:
        frozen = vit_embedder(source, device=device, **origin["loading"])
    except InputError as error:
        raise InputError(
            f"The backbone of {folder} cannot be loaded: {error} If it has moved, set the option 'backbone' "
            "to its new place.",
            option="backbone",
        ) from None
    if frozen.fingerprint != origin["fingerprint"]:
        raise InputError(
            f"{source} is not the backbone that {folder} was tuned on (fingerprint {frozen.fingerprint}, "
            f"expected {origin['fingerprint']}); set the option 'backbone' to the right one.",
            option="backbone",
        )
    from vbcgcd.embed.finetune.network import attach, load_adapters, merge_adapters

    network = attach(frozen.module, frozen.dimension, 1, page["options"])
    load_adapters(network.backbone, adapters)
    merge_adapters(network.backbone)
    return FinetunedEmbedder(
        name=f"{Path(folder).name} ({page['method']} on {origin['name']})",
        module=network.backbone.eval().requires_grad_(False),
        pool=frozen.pool,
        preprocess=frozen.preprocess,
        dimension=frozen.dimension,
        device=frozen.device,
        precision=precision,
        batch_size=batch_size,
        backbone=origin["fingerprint"],
        adapters=page["adapters"],
        method=page["method"],
    )
