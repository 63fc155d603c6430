"""Fetch a dataset into a folder, in a layout that `load_items` reads."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import Any

from vbcgcd.errors import InputError
from vbcgcd.study.datasets.hub import fetch_hub

__all__ = ["fetch"]


def fetch(name: str, folder: str | os.PathLike[str]) -> Path:
    """Fetch a dataset; one that is already there is not fetched again.

    Parameters
    ----------
    name : str
        ``"cifar100"`` (with torchvision), or ``"hf:owner/name"`` and ``"hf:owner/name:configuration"`` (with
        the package datasets of Hugging Face).
    folder : str or Path
        Made if it does not exist.

    Returns
    -------
    Path
        What to give to `load_items`.

    Raises
    ------
    InputError
        A name that cannot be fetched, a package that is not installed, or a failure on the way. Nothing
        incomplete is left where `load_items` would take it for a dataset.
    """
    target = Path(folder)
    if name == "cifar100":
        return _fetch_cifar100(target)
    if name.startswith("hf:"):
        local = "give a table (.csv, .jsonl, .parquet) or a folder of pictures to load_items"
        return fetch_hub(name, target, need("datasets", name, local))
    raise InputError(
        f"{name!r} cannot be fetched; allowed are 'cifar100' and 'hf:owner/name'. For other datasets, give "
        "the path of a local copy to load_items."
    )


def need(package: str, name: str, local: str) -> Any:
    """The package, or an error that names it and the local way."""
    try:
        return importlib.import_module(package)
    except ImportError:
        top = package.partition(".")[0]
        raise InputError(
            f"Fetching {name} needs the package {top}, which is not installed; install it, or {local}."
        ) from None


def _fetch_cifar100(folder: Path) -> Path:
    ready = folder / "cifar-100-python"
    if all((ready / file).is_file() for file in ("train", "test", "meta")):
        return ready
    local = "give the path of cifar-100-python.tar.gz or of its unpacked folder to load_items"
    vision = need("torchvision.datasets", "cifar100", local)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        vision.CIFAR100(root=str(folder), train=True, download=True)
    except (OSError, RuntimeError) as error:
        raise InputError(f"cifar100 could not be fetched ({error}); try again, or {local}.") from None
    if not ready.is_dir():
        raise InputError(f"torchvision left no folder {ready}; {local}.")
    return ready
