"""A dataset as arrays: what a study runs on, and the ``.npz`` file that holds one."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.errors import InputError
from vbcgcd.items import Items
from vbcgcd.items.arrays import array_items, load_npz
from vbcgcd.study.datasets.labelled import LabelledItems, Layout, encode_labels, split_items

Array = NDArray[Any]
PARTS = ("train_x", "train_y", "test_x", "test_y")
EXPECTS = (
    "the arrays train_x, train_y, test_x, test_y, or x and y, and optionally names (the names of the classes)"
)

__all__ = ["LAYOUTS", "Dataset", "labels_digest"]


@dataclass(frozen=True)
class Dataset:
    """Embeddings with labels: training rows that arrive in sessions, test rows for scoring.

    Parameters
    ----------
    train_x, test_x : array (N, d)
        Embeddings.
    train_y, test_y : array (N,)
        Their true classes.
    name : str
        Name of the dataset in tables and records.
    class_names : tuple of str
        Names of the classes where labels are codes; empty where labels are names themselves.

    Examples
    --------
    >>> import numpy as np
    >>> data = Dataset(np.eye(4), np.arange(4), np.eye(4), np.arange(4), "corners", ("a", "b", "c", "d"))
    >>> data.class_name(2)
    'c'
    """

    train_x: Array
    train_y: Array
    test_x: Array
    test_y: Array
    name: str = "data"
    class_names: tuple[str, ...] = ()

    def class_name(self, label: Any) -> str:
        """Name of the class with this label."""
        is_code = isinstance(label, int | np.integer) and 0 <= label < len(self.class_names)
        return self.class_names[label] if is_code else str(label)

    @property
    def digest(self) -> str:
        """Fingerprint of all four arrays; the type of the labels does not matter."""
        total = hashlib.sha256()
        for x, y in ((self.train_x, self.train_y), (self.test_x, self.test_y)):
            values = np.ascontiguousarray(x, dtype=np.float64 if x.dtype == np.float64 else np.float32)
            total.update(f"{values.shape} {labels_digest(y)}".encode())
            total.update(values.tobytes())
        return total.hexdigest()[:16]


def labels_digest(y: Array) -> str:
    """Fingerprint of labels; the row numbers of a plan are valid for these training labels only."""
    values = np.asarray(y)
    return hashlib.sha256("\n".join(map(str, values.tolist())).encode()).hexdigest()[:16]


def _has_parts(path: Path, column: str | None) -> bool:
    return bool(load_npz(path, [], maybe=["test_y"]))


def _load(
    path: Path, *, name: str | None = None, test_share: float | None = None, seed: int | None = None
) -> LabelledItems:
    """Integer labels are codes into ``names``; without names, labels are their own names."""
    arrays = load_npz(path, [], maybe=[*PARTS, "x", "y", "names"])
    wanted = PARTS if any(part in arrays for part in PARTS) else ("x", "y")
    missing = [part for part in wanted if part not in arrays]
    if missing:
        raise InputError(f"{path} lacks {', '.join(missing)}. Expected: {EXPECTS}.")
    names = _names(arrays.get("names"), path)
    if wanted == PARTS:
        if test_share is not None or seed is not None:
            raise InputError(
                f"test_share and seed are for arrays without a split, but {path} has a test part.",
                option="seed" if test_share is None else "test_share",
            )
        train, test = (_items(arrays, path, f"{part}_") for part in ("train", "test"))
    else:
        train, test = split_items(_items(arrays, path, ""), test_share=test_share, seed=seed)
    return encode_labels(name or path.stem, train, test, names)


def _items(arrays: dict[str, Any], path: Path, prefix: str) -> Items:
    return array_items(
        arrays[f"{prefix}x"],
        source=f"{path} ({prefix}x)",
        labels=arrays[f"{prefix}y"],
        columns={"x": f"{prefix}x", "label": f"{prefix}y"},
    )


def _names(names: Any, path: Path) -> list[str] | None:
    if names is None:
        return None
    if names.ndim != 1 or names.dtype.kind != "U" or len(set(names.tolist())) < len(names):
        raise InputError(f"The array names of {path} must hold distinct strings, one for each class.")
    return list(names.tolist())


LAYOUTS = (Layout("npz", EXPECTS, _load, ("test_share", "seed"), has_parts=_has_parts),)
