"""Embeddings of a dataset for a study, from whatever the user has."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.errors import InputError
from vbcgcd.study.runner import Dataset

Array = NDArray[Any]

__all__ = ["load_dataset", "load_labels"]


def load_dataset(source: str | os.PathLike[str], *, embedder: str | None = None) -> Dataset:
    """Embeddings with labels.

    Parameters
    ----------
    source : path
        A ``.npz`` with ``train_x``, ``train_y``, ``test_x``, ``test_y``; or anything that
        `vbcgcd.study.datasets.load_items` reads, which is embedded first.
    embedder : str, optional
        Name or path of an embedder for texts and pictures; the offline default where it is not given.
    """
    path = Path(source)
    if path.suffix != ".npz":
        raise InputError(f"{source} is not a .npz of embeddings.")
    try:
        with np.load(path, allow_pickle=False) as file:
            missing = [k for k in ("train_x", "train_y", "test_x", "test_y") if k not in file]
            if missing:
                raise InputError(f"{path} has no array {missing[0]!r}.")
            parts = [file[k] for k in ("train_x", "train_y", "test_x", "test_y")]
    except OSError as error:
        raise InputError(f"Cannot read {path}: {error.strerror or error}.") from None
    train_x, train_y, test_x, test_y = parts
    return Dataset(train_x.astype(np.float32), train_y, test_x.astype(np.float32), test_y, name=path.stem)


def load_labels(source: str | os.PathLike[str]) -> tuple[Array, str]:
    """Training labels of a dataset and its name, without embedding anything."""
    data = load_dataset(source)
    return data.train_y, data.name
