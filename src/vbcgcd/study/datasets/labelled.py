"""A labelled dataset: items to learn from, items to be judged by, and the names of the classes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.errors import InputError
from vbcgcd.items import Items
from vbcgcd.study.datasets.splits import check_labelled

Array = NDArray[Any]

__all__ = ["LabelledItems", "coded", "join", "natural_order"]


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
    >>> data = coded("intents", items, items)
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
                f"{self.name}: the train part holds {self.train.kind}s, the test part {self.test.kind}s; "
                "both must be of one kind."
            )
        shapes = [p.values.shape[1:] for p in (self.train, self.test) if isinstance(p.values, np.ndarray)]
        if self.kind == "embedding" and shapes[0] != shapes[1]:
            raise InputError(f"{self.name}: {shapes[0][0]} numbers in train, {shapes[1][0]} in test.")
        for part, items in (("train", self.train), ("test", self.test)):
            codes = items.labels
            if not len(items):
                raise InputError(f"{self.name}: the {part} part is empty.")
            if codes is None or codes.dtype.kind not in "iu":
                raise InputError(f"{self.name}: the labels of the {part} part must be codes.")
            if codes.min() < 0 or codes.max() >= len(self.class_names):
                raise InputError(
                    f"{self.name}: the {part} part has labels from {codes.min()} to {codes.max()} for "
                    f"{len(self.class_names)} class names; they count from 0 into the names."
                )

    @property
    def kind(self) -> str:
        """What the items are: "image", "text" or "embedding"."""
        return self.train.kind


def natural_order(labels: Sequence[Any]) -> list[Any]:
    """Different labels: whole numbers by value, also where they are written as strings; others by letter.

    Examples
    --------
    >>> natural_order(["10", "9", "10"]), natural_order(["b10", "b9"])
    (['9', '10'], ['b10', 'b9'])
    """
    different = set(labels)
    if all(isinstance(label, str) and label.isascii() and label.isdigit() for label in different):
        return sorted(different, key=lambda label: (int(label), label))
    return sorted(different)


def coded(name: str, train: Items, test: Items, class_names: Sequence[str] | None = None) -> LabelledItems:
    """A dataset from items whose labels are names of classes, or numbers.

    Parameters
    ----------
    name : str
    train, test : Items
        Every item needs a label.
    class_names : sequence of str, optional
        Natural order of the classes; without it, `natural_order` of the labels that occur. Where the labels
        are integers, they are codes into it.
    """
    parts = {"train": train, "test": test}
    for part, items in parts.items():
        check_labelled(items, f"the {part} part of {items.source}")
    first, second = (np.asarray(items.labels) for items in parts.values())
    if len(first) and len(second) and (first.dtype.kind in "iu") != (second.dtype.kind in "iu"):
        raise InputError(
            f"{name}: labels are numbers in one part and strings in the other; use one of the two."
        )
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
    strange = next((label for label in labels if label not in code), None)
    if strange is not None:
        raise InputError(f"{name}: the label {strange!r} of {items.source} is not among the class names.")
    return np.array([code[label] for label in labels], dtype=np.int64)


def join(parts: Sequence[Items], prefixes: Sequence[str]) -> Items:
    """Items of several sources one after the other; references get the prefix of their source."""
    if len(parts) == 1:
        return parts[0]
    if len({items.kind for items in parts}) > 1:
        raise InputError(f"{parts[0].source} and {parts[1].source} hold different kinds of items.")
    values: Any = [value for items in parts for value in items.values]
    if isinstance(parts[0].values, np.ndarray):
        arrays = [np.asarray(items.values) for items in parts]
        if len({array.shape[1:] for array in arrays}) > 1:
            raise InputError(f"{parts[0].source} and {parts[1].source} hold items of different shapes.")
        values = np.concatenate(arrays)
    labels = [np.asarray(items.labels, dtype=object) for items in parts if items.labels is not None]
    if len(labels) < len(parts):
        raise InputError(f"One of {parts[0].source} and {parts[1].source} has no labels.")
    references = [p + r for items, p in zip(parts, prefixes, strict=True) for r in items.references]
    kinds = {items.labels.dtype.kind for items in parts if items.labels is not None}
    if len(kinds - {"O"}) > 1:
        raise InputError(f"{parts[0].source} and {parts[1].source} mix labels that are numbers and strings.")
    joined = np.concatenate(labels)
    joined = joined if "O" in kinds else np.array(joined.tolist())
    return replace(parts[0], values=values, references=references, labels=joined)
