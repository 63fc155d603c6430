"""The folder of a fine-tuned backbone: adapters as PEFT keeps them, the head, and one page about them.

``vbcgcd-finetuned.json`` is written last, so a folder with it is complete. The backbone itself is not copied:
the page names it and holds its fingerprint.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from vbcgcd.archive import read_archive, write_archive, written_whole
from vbcgcd.embed.hashing import digest_of, item_key
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
    "adapters_digest",
    "embedder_fingerprint",
    "is_finetuned",
    "read_adapters",
    "read_page",
    "write_folder",
]


def is_finetuned(path: str | os.PathLike[str]) -> bool:
    """True for a folder that ``load_finetuned`` opens."""
    return (Path(path) / PAGE).is_file()


def adapters_digest(arrays: dict[str, Array]) -> str:
    """Digest of names, types, shapes and values, whatever the order."""
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
    """Write all files, the page last, and remove the checkpoint that is no longer needed."""
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
        There is none, it is broken, or it is of a later format.
    """
    path = Path(folder) / PAGE
    try:
        page = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        unfinished = (Path(folder) / CHECKPOINT).exists()
        advice = (
            "its fine-tuning is not finished: run it again to go on" if unfinished else "fine-tune into it"
        )
        raise InputError(f"{folder} holds no fine-tuned backbone ({PAGE} is missing); {advice}.") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read ({error}); fine-tune again into an empty folder.") from None
    if not isinstance(page, dict) or page.get("format") != FORMAT:
        raise InputError(f"{path} is not the page of a fine-tuned backbone.")
    if page["version"] > VERSION:
        raise InputError(
            f"{path} has format version {page['version']}, this release reads up to {VERSION}; update vbcgcd."
        )
    return page


def read_adapters(folder: Path, page: dict[str, Any]) -> dict[str, Array]:
    """Adapter weights, checked against the page."""
    arrays, _ = read_archive(folder / ADAPTERS, "adapters", VERSION)
    if adapters_digest(arrays) != page["adapters"]:
        raise InputError(
            f"{folder / ADAPTERS} is not the file that {PAGE} describes; copy the whole folder again."
        )
    return arrays


def _write_json(path: Path, values: dict[str, Any]) -> None:
    """Aside, synced, renamed: the file is the old one or the new one, never half of it."""
    with written_whole(path) as out:
        out.write(json.dumps(values, indent=2, ensure_ascii=False).encode() + b"\n")
