"""Labelled data in a train and a test part: as items, as the arrays of a study, and as an ``.npz`` file."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.errors import InputError
from vbcgcd.items import Items
from vbcgcd.items.read import array_items, load_npz
from vbcgcd.validation import check_number

Array = NDArray[Any]
TEST_SHARE = 0.2
_PARTS = ("train_x", "train_y", "test_x", "test_y")
_EXPECTS = (
    "the arrays train_x, train_y, test_x, test_y, or x and y, and optionally names (the names of the classes)"
)

__all__ = [
    "LAYOUTS",
    "TEST_SHARE",
    "Dataset",
    "LabelledItems",
    "Layout",
    "check_labelled",
    "encode_labels",
    "labels_digest",
    "natural_order",
    "split_items",
    "stratified",
]


@dataclass(frozen=True, eq=False)
class LabelledItems:
    """Items with labels in two parts.

    Parameters
    ----------
    name : str
        For tables and records.
    train, test : Items
        Of the same kind; their labels are codes, integers (N,) into ``class_names``.
    class_names : tuple of str (C,)
        In the natural order of the dataset.

    Examples
    --------
    >>> import numpy as np
    >>> items = Items("text", ["hi", "bye"], ["0", "1"], "memory", np.array(["greet", "leave"]))
    >>> data = encode_labels("intents", items, items)
    >>> data.class_names, data.train.labels
    (('greet', 'leave'), array([0, 1]))
    """

    name: str
    train: Items
    test: Items
    class_names: tuple[str, ...]

    def __post_init__(self) -> None:
        if self.train.kind != self.test.kind:
            raise InputError(
                f"{self.name}: the train part has {self.train.kind}s, the test part {self.test.kind}s; "
                "use one kind."
            )
        shapes = [p.values.shape[1:] for p in (self.train, self.test) if isinstance(p.values, np.ndarray)]
        if self.kind == "embedding" and shapes[0] != shapes[1]:
            raise InputError(
                f"{self.name}: embeddings have {shapes[0][0]} dimensions in train but {shapes[1][0]} in test."
            )
        for part, items in (("train", self.train), ("test", self.test)):
            codes = items.labels
            if not len(items):
                raise InputError(f"{self.name}: the {part} part is empty.")
            if codes is None or codes.dtype.kind not in "iu":
                raise InputError(f"{self.name}: the labels of the {part} part must be codes.")
            if codes.min() < 0 or codes.max() >= len(self.class_names):
                raise InputError(
                    f"{self.name}: the {part} part has labels from {codes.min()} to {codes.max()}, but there "
                    f"are {len(self.class_names)} class names; labels count from 0 into the names."
                )

    @property
    def kind(self) -> str:
        """Kind of the items: "image", "text" or "embedding"."""
        return self.train.kind


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


@dataclass(frozen=True)
class Layout:
    """One way in which a labelled dataset is stored.

    Parameters
    ----------
    name : str
    expects : str
        The files of the layout; part of every error about it.
    load : callable (Path, **options) -> LabelledItems
        Takes ``name`` and the options below.
    options : tuple of str
        Names of the options that it takes.
    detect : callable (Path) -> bool
        Recognises an existing folder; by default none. Files are recognised by their suffix.
    has_parts : callable (Path, str or None) -> bool
        Whether the data itself has a train and a test part, perhaps by the column named; by default it has.
    """

    name: str
    expects: str
    load: Callable[..., LabelledItems]
    options: tuple[str, ...] = ()
    detect: Callable[[Path], bool] = lambda folder: False
    has_parts: Callable[[Path, str | None], bool] = lambda path, column: True


def natural_order(labels: Sequence[Any]) -> list[Any]:
    """The distinct labels in order: whole numbers by value, even if written as strings; others by letter.

    Examples
    --------
    >>> natural_order(["10", "9", "10"]), natural_order(["b10", "b9"])
    (['9', '10'], ['b10', 'b9'])
    """
    distinct = set(labels)
    if all(isinstance(label, str) and label.isascii() and label.isdigit() for label in distinct):
        return sorted(distinct, key=lambda label: (int(label), label))
    return sorted(distinct)


def encode_labels(
    name: str, train: Items, test: Items, class_names: Sequence[str] | None = None
) -> LabelledItems:
    """A dataset from items whose labels are class names or numbers.

    Parameters
    ----------
    name : str
        Name of the dataset.
    train, test : Items
        Every item needs a label.
    class_names : sequence of str, optional
        The classes in natural order; by default `natural_order` of the labels that occur. Labels that are
        integers are codes into it.
    """
    parts = {"train": train, "test": test}
    for part, items in parts.items():
        check_labelled(items, f"the {part} part of {items.source}")
    first, second = (np.asarray(items.labels) for items in parts.values())
    if len(first) and len(second) and (first.dtype.kind in "iu") != (second.dtype.kind in "iu"):
        raise InputError(f"{name}: labels are numbers in one part and strings in the other; use one kind.")
    if class_names is not None and first.dtype.kind in "iu":
        return LabelledItems(name, train, test, tuple(map(str, class_names)))
    order = (
        list(class_names) if class_names is not None else natural_order([*first.tolist(), *second.tolist()])
    )
    code = {label: i for i, label in enumerate(order)}
    train, test = (replace(items, labels=_codes(items, code, name)) for items in parts.values())
    return LabelledItems(name, train, test, tuple(map(str, order)))


def _codes(items: Items, code: dict[Any, int], name: str) -> Array:
    labels = np.asarray(items.labels).tolist()
    unknown = next((label for label in labels if label not in code), None)
    if unknown is not None:
        raise InputError(f"{name}: the label {unknown!r} of {items.source} is not among the class names.")
    return np.array([code[label] for label in labels], dtype=np.int64)


def check_labelled(items: Items, place: str) -> Array:
    """The labels (N,), or an error where an item has none."""
    bare = int((~items.labelled).sum())
    if items.labels is None or bare:
        raise InputError(
            f"{bare} of {len(items)} items in {place} have no label, but a dataset needs one for each; "
            "name the column of the labels, or remove these items.",
            option="label",
        )
    return items.labels


def stratified(labels: Array, *, test_share: float = TEST_SHARE, seed: int = 0) -> Array:
    """Mask of the test rows in a random split that keeps the shares of the classes.

    Each class gives the rounded share of its rows, at least one and never all; a class of one row stays in
    the train part.

    Parameters
    ----------
    labels : array (N,)
    test_share : float
        Share of the rows that goes to the test part, above 0 and below 1.
    seed : int

    Returns
    -------
    bool array (N,)

    Examples
    --------
    >>> import numpy as np
    >>> test = stratified(np.repeat(["a", "b"], [10, 5]), test_share=0.2)
    >>> test[:10].sum(), test[10:].sum()
    (np.int64(2), np.int64(1))
    """
    check_number("test_share", test_share, above=0, high=1)
    check_number("seed", seed, low=0, whole=True)
    if test_share == 1:
        raise InputError(
            "test_share must be below 1, got 1; the train part would be empty.", option="test_share"
        )
    rng = np.random.default_rng(seed)
    test = np.zeros(len(labels), dtype=bool)
    codes = np.unique(labels, return_inverse=True)[1]
    order = np.argsort(codes, kind="stable")
    for rows in np.split(order, np.cumsum(np.bincount(codes))[:-1]):
        size = min(max(round(test_share * len(rows)), 1), len(rows) - 1)
        test[rng.permutation(rows)[:size]] = True
    return test


def split_items(
    items: Items, *, test_share: float | None = None, seed: int | None = None
) -> tuple[Items, Items]:
    """Train and test items; see `stratified`."""
    labels = check_labelled(items, items.source)
    share = TEST_SHARE if test_share is None else test_share
    test = stratified(labels, test_share=share, seed=0 if seed is None else seed)
    if not test.any():
        raise InputError(
            f"{items.source} has only one item of each class, which leaves none for testing; a class needs "
            "at least two."
        )
    return items.take(~test), items.take(test)


def _has_parts(path: Path, column: str | None) -> bool:
    return bool(load_npz(path, [], maybe=["test_y"]))


def _load_file(
    path: Path, *, name: str | None = None, test_share: float | None = None, seed: int | None = None
) -> LabelledItems:
    """Integer labels are codes into ``names``; without names, labels are their own names."""
    arrays = load_npz(path, [], maybe=[*_PARTS, "x", "y", "names"])
    wanted = _PARTS if any(part in arrays for part in _PARTS) else ("x", "y")
    missing = [part for part in wanted if part not in arrays]
    if missing:
        raise InputError(f"{path} lacks {', '.join(missing)}. Expected: {_EXPECTS}.")
    names = _class_names(arrays.get("names"), path)
    if wanted == _PARTS:
        if test_share is not None or seed is not None:
            raise InputError(
                f"test_share and seed are for arrays without a split, but {path} has a test part.",
                option="seed" if test_share is None else "test_share",
            )
        train, test = (_part_items(arrays, path, f"{part}_") for part in ("train", "test"))
    else:
        train, test = split_items(_part_items(arrays, path, ""), test_share=test_share, seed=seed)
    return encode_labels(name or path.stem, train, test, names)


def _part_items(arrays: dict[str, Any], path: Path, prefix: str) -> Items:
    return array_items(
        arrays[f"{prefix}x"],
        source=f"{path} ({prefix}x)",
        labels=arrays[f"{prefix}y"],
        columns={"x": f"{prefix}x", "label": f"{prefix}y"},
    )


def _class_names(names: Any, path: Path) -> list[str] | None:
    if names is None:
        return None
    if names.ndim != 1 or names.dtype.kind != "U" or len(set(names.tolist())) < len(names):
        raise InputError(f"The array names of {path} must hold distinct strings, one for each class.")
    return list(names.tolist())


LAYOUTS = (Layout("npz", _EXPECTS, _load_file, ("test_share", "seed"), has_parts=_has_parts),)
