"""What every layout gives: labelled items in a train and a test part, and the split into the two."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.errors import InputError
from vbcgcd.items import Items
from vbcgcd.validation import check_number

Array = NDArray[Any]
TEST_SHARE = 0.2

__all__ = [
    "TEST_SHARE",
    "LabelledItems",
    "Layout",
    "check_labelled",
    "encode_labels",
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
