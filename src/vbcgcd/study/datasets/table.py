"""Any table of texts, pictures or embeddings: split by a column, by files, or by seed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from vbcgcd.errors import InputError
from vbcgcd.items import Items
from vbcgcd.items.columns import SPLIT_NAMES, pick_column
from vbcgcd.items.from_table import open_table, read_table
from vbcgcd.items.items import is_missing
from vbcgcd.items.tables import TABLES, TableFile
from vbcgcd.study.datasets.labelled import LabelledItems, coded, join
from vbcgcd.study.datasets.layout import Layout
from vbcgcd.study.datasets.splits import split_items

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

__all__ = ["LAYOUT", "has_parts"]


def _detect(path: Path) -> bool:
    if path.is_dir():
        return "train" in _tables(path)
    return path.suffix.lower() in TABLES


def _load(
    path: Path,
    *,
    name: str | None = None,
    split: str | None = None,
    test_share: float | None = None,
    seed: int | None = None,
    **columns: Any,
) -> LabelledItems:
    """Rows of "val" count as train, except where there is no "test"."""
    name = name or (path.resolve().name if path.is_dir() else path.stem)
    if path.is_dir():
        _refuse_share(test_share, seed, "the tables of the folder are the parts")
        return _from_files(path, name, split, columns)
    parts, column = _parts(open_table(path), split)
    items = read_table(path, ignore=[column] if column is not None else [], **columns)
    if parts is None:
        train, test = split_items(items, test_share=test_share, seed=seed)
        return coded(name, train, test)
    _refuse_share(test_share, seed, f"the column {column!r} tells the parts")
    judged = "test" if "test" in parts else "val"
    if judged not in parts or set(parts) == {judged}:
        raise InputError(
            f"The column {column!r} of {path} has only {', '.join(sorted(set(parts)))}; say train and test."
        )
    test_rows = np.array([part == judged for part in parts])
    return coded(name, items.take(~test_rows), items.take(test_rows))


def has_parts(path: Path, split: str | None = None) -> bool:
    """Whether a table, or a folder of tables, tells which rows are for testing."""
    return path.is_dir() or _parts(open_table(path), split)[0] is not None


def _refuse_share(test_share: float | None, seed: int | None, why: str) -> None:
    if test_share is not None or seed is not None:
        raise InputError(f"test_share and seed are for data without a split, but {why}; leave them out.")


def _parts(table: TableFile, split: str | None) -> tuple[list[str] | None, str | None]:
    """The part of each row, and the column that says so: the one named, or a usual name with usual values."""
    column = split if split is not None else pick_column(table.names, SPLIT_NAMES)
    if column is None:
        return None, None
    if column not in table.names:
        raise InputError(
            f"{table.path} has no column {column!r} to split by, only {', '.join(table.names[:8])}."
        )
    cells = [cell for block in table.blocks([column]) for cell in block.columns[column]]
    words = ["" if is_missing(cell) else str(cell).strip().lower() for cell in cells]
    strange = sorted(set(words) - PARTS.keys())
    if not strange:
        return [PARTS[word] for word in words], column
    if split is None:
        return None, None
    raise InputError(
        f"The column {column!r} of {table.path} holds {strange[0]!r}; parts are {', '.join(sorted(PARTS))}."
    )


def _tables(folder: Path) -> dict[str, list[Path]]:
    """Tables of a folder that are named after a part."""
    found: dict[str, list[Path]] = {}
    for file in sorted(folder.iterdir()):
        part = PARTS.get(file.stem.lower())
        if part and file.suffix.lower() in TABLES and file.is_file():
            found.setdefault(part, []).append(file)
    return found


def _from_files(path: Path, name: str, split: str | None, columns: dict[str, Any]) -> LabelledItems:
    if split is not None:
        raise InputError(f"split= is for one table, {path} is a folder whose tables are the parts.")
    found = _tables(path)
    several = [files for files in found.values() if len(files) > 1]
    if several:
        raise InputError(f"{path} has {several[0][0].name} and {several[0][1].name} for one part; keep one.")
    judged = "test" if "test" in found else "val"
    if "train" not in found or judged not in found:
        raise InputError(f"{path} needs the tables train and test. Expected: {EXPECTS}.")
    parts: dict[str, Items] = {part: read_table(files[0], **columns) for part, files in found.items()}
    learn = [part for part in parts if part != judged]
    train = join([parts[part] for part in learn], [f"{part}/" for part in learn])
    return coded(name, train, parts[judged])


LAYOUT = Layout(
    "table",
    "CSV, JSONL or Parquet with labels, split by a column, by two files, or by seed",
    EXPECTS,
    _detect,
    _load,
    (*COLUMNS, "split", "test_share", "seed"),
)
