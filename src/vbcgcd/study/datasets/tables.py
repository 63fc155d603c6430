"""Any table of texts, pictures or embeddings: split by a column, by files, or by seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from vbcgcd.errors import InputError
from vbcgcd.items import Items
from vbcgcd.items.columns import SPLIT_NAMES, pick_column
from vbcgcd.items.from_table import open_table, read_table
from vbcgcd.items.items import is_missing
from vbcgcd.items.tables import TableFile, is_table
from vbcgcd.study.datasets.labelled import LabelledItems, Layout, encode_labels, split_items

EXPECTS = (
    "a table (.csv, .tsv, .jsonl, .parquet) with a label column and a column of texts, images or embeddings, "
    "or a folder with such tables called train and test"
)
COLUMNS = ("kind", "text", "image", "label", "embedding", "id")
PARTS = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("val", "valid", "validation", "dev"), "val"),
    **dict.fromkeys(("test", "testing"), "test"),
}

__all__ = ["LAYOUTS", "join_items"]


def _detect(folder: Path) -> bool:
    return "train" in _tables(folder)


def _load(
    path: Path,
    *,
    name: str | None = None,
    split: str | None = None,
    test_share: float | None = None,
    seed: int | None = None,
    **columns: Any,
) -> LabelledItems:
    """Rows of "val" belong to the train part unless there is no "test"."""
    name = name or (path.resolve().name if path.is_dir() else path.stem)
    if path.is_dir():
        _reject_share(test_share, seed, "the tables of the folder are the parts")
        return _from_files(path, name, split, columns)
    parts, column = _parts(open_table(path), split)
    items = read_table(path, ignore=[column] if column is not None else [], **columns)
    if parts is None:
        return encode_labels(name, *split_items(items, test_share=test_share, seed=seed))
    _reject_share(test_share, seed, f"the column {column!r} has the parts")
    test = "test" if "test" in parts else "val"
    if test not in parts or set(parts) == {test}:
        raise InputError(
            f"The column {column!r} of {path} has only {', '.join(sorted(set(parts)))}; it needs train and "
            "test.",
            option="split",
        )
    test_rows = np.array([part == test for part in parts])
    return encode_labels(name, items.take(~test_rows), items.take(test_rows))


def _has_parts(path: Path, column: str | None) -> bool:
    return path.is_dir() or _parts(open_table(path), column)[0] is not None


def _reject_share(test_share: float | None, seed: int | None, reason: str) -> None:
    if test_share is not None or seed is not None:
        raise InputError(
            f"test_share and seed are for data without a split, but {reason}; leave them out.",
            option="seed" if test_share is None else "test_share",
        )


def _parts(table: TableFile, split: str | None) -> tuple[list[str] | None, str | None]:
    """The part of each row and the column it is in: the column named, or a usual one with usual values."""
    column = split if split is not None else pick_column(table.names, SPLIT_NAMES)
    if column is None:
        return None, None
    if column not in table.names:
        raise InputError(
            f"{table.path} has no column {column!r} to split by; it has {', '.join(table.names[:8])}.",
            option="split",
        )
    cells = [cell for block in table.blocks([column]) for cell in block.columns[column]]
    words = ["" if is_missing(cell) else str(cell).strip().lower() for cell in cells]
    unknown = sorted(set(words) - PARTS.keys())
    if not unknown:
        return [PARTS[word] for word in words], column
    if split is None:
        return None, None
    raise InputError(
        f"The column {column!r} of {table.path} has {unknown[0]!r}; use {', '.join(sorted(PARTS))}.",
        option="split",
    )


def _tables(folder: Path) -> dict[str, list[Path]]:
    """Tables of a folder that are named after a part."""
    tables: dict[str, list[Path]] = {}
    for file in sorted(folder.iterdir()):
        part = PARTS.get(file.stem.lower())
        if part and is_table(file) and file.is_file():
            tables.setdefault(part, []).append(file)
    return tables


def _from_files(path: Path, name: str, split: str | None, columns: dict[str, Any]) -> LabelledItems:
    if split is not None:
        raise InputError(
            f"{path} is a folder with one table for each part, which needs no split column; omit the "
            "option 'split'.",
            option="split",
        )
    tables = _tables(path)
    several = [files for files in tables.values() if len(files) > 1]
    if several:
        raise InputError(f"{path} has {several[0][0].name} and {several[0][1].name} for one part; keep one.")
    test = "test" if "test" in tables else "val"
    if "train" not in tables or test not in tables:
        raise InputError(f"{path} needs the tables train and test. Expected: {EXPECTS}.")
    parts: dict[str, Items] = {part: read_table(files[0], **columns) for part, files in tables.items()}
    train = [part for part in parts if part != test]
    return encode_labels(name, join_items([parts[p] for p in train], [f"{p}/" for p in train]), parts[test])


def join_items(parts: Sequence[Items], prefixes: Sequence[str]) -> Items:
    """Items of several sources, one after the other; each reference gets the prefix of its source."""
    if len(parts) == 1:
        return parts[0]
    if len({items.kind for items in parts}) > 1:
        raise InputError(f"{parts[0].source} and {parts[1].source} have different kinds of items.")
    values: Any = [value for items in parts for value in items.values]
    if isinstance(parts[0].values, np.ndarray):
        arrays = [np.asarray(items.values) for items in parts]
        if len({array.shape[1:] for array in arrays}) > 1:
            raise InputError(f"{parts[0].source} and {parts[1].source} have items of different shapes.")
        values = np.concatenate(arrays)
    labels = [np.asarray(items.labels, dtype=object) for items in parts if items.labels is not None]
    if len(labels) < len(parts):
        raise InputError(f"{parts[0].source} or {parts[1].source} has no labels.")
    references = [p + r for items, p in zip(parts, prefixes, strict=True) for r in items.references]
    kinds = {items.labels.dtype.kind for items in parts if items.labels is not None}
    if len(kinds - {"O"}) > 1:
        raise InputError(f"{parts[0].source} and {parts[1].source} mix labels that are numbers with strings.")
    joined = np.concatenate(labels)
    joined = joined if "O" in kinds else np.array(joined.tolist())
    return replace(parts[0], values=values, references=references, labels=joined)


LAYOUTS = (
    Layout(
        "table",
        EXPECTS,
        _load,
        (*COLUMNS, "split", "test_share", "seed"),
        detect=_detect,
        has_parts=_has_parts,
    ),
)
