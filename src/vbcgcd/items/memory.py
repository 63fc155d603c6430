"""What users hold in memory: which of it is a table, and items of a list."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from vbcgcd.errors import InputError
from vbcgcd.items.frames import FrameTable, is_frame
from vbcgcd.items.items import Items, as_labels
from vbcgcd.items.lists import RecordTable
from vbcgcd.items.tables import TableFile

Array = NDArray[Any]

__all__ = ["list_items", "table_in_memory"]


def table_in_memory(data: Any) -> TableFile | None:
    """The table that this is: a frame, a dataset of Arrow or Hugging Face, a list of dicts; None otherwise.

    Examples
    --------
    >>> table_in_memory([{"text": "hello"}]).names
    ['text']
    >>> table_in_memory(["hello"]) is None
    True
    """
    if isinstance(data, TableFile):
        return data
    if is_frame(data) and not _is_hub(data):
        return FrameTable(data)
    if isinstance(data, list | tuple) and data and all(isinstance(part, dict) for part in data):
        return RecordTable(data, Path("the list"))
    if _is_hub(data):
        from vbcgcd.items.hub import hub_table

        return hub_table(data)
    from vbcgcd.items.arrow import arrow_folder, is_arrow_dataset

    return arrow_folder(data) if is_arrow_dataset(data) else None


def _is_hub(data: Any) -> bool:
    from vbcgcd.items.hub import is_hub_dataset

    return is_hub_dataset(data)


def list_items(values: Sequence[str] | Sequence[Path], *, source: str, labels: Array | None = None) -> Items:
    """Items of a list of texts, or of paths of pictures.

    Examples
    --------
    >>> list_items(["hello", "bye"], source="the list").kind
    'text'
    """
    if labels is not None and labels.shape != (len(values),):
        raise InputError(
            f"{source} has {len(values)} items but labels of shape {labels.shape}; give one label for each.",
            option="label",
        )
    kind = "text" if isinstance(values[0], str) else "image"
    names = [str(row) for row in range(len(values))]
    if kind == "image" and len(set(values)) == len(values):
        names = [str(value) for value in values]
    known = None if labels is None else as_labels(labels, source=source)
    items: Any = list(values)
    return Items(kind, items, names, source, known)
