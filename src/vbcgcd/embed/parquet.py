"""Embeddings in Parquet: a row for each item, with its text or picture and its label."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.archive import atomic_file
from vbcgcd.errors import DiskError
from vbcgcd.items import Items
from vbcgcd.items.parquet import MADE_BY, pyarrow_module

Array = NDArray[Any]

__all__ = ["embedded_table", "write_embedded"]


def write_embedded(
    target: Path,
    parts: Sequence[tuple[str, Items, Array]],
    names: Sequence[str] | None,
    made_by: tuple[str, str],
) -> None:
    """Write the items of each part with their embeddings; after an error, an existing file is unchanged.

    Parameters
    ----------
    target : Path
    parts : sequence of (str, Items, array)
        Name of a part, or "" where there is one; its items; their embeddings (n, D).
    names : sequence of str, optional
        Names of the categories, if labels are indices into them.
    made_by : (str, str)
        Name and fingerprint of the embedder, which the file keeps.
    """
    parquet = pyarrow_module("pyarrow.parquet")
    table = embedded_table(parts, names, made_by)
    try:
        with atomic_file(target) as out:
            parquet.write_table(table, out, compression="zstd")
    except OSError as error:
        raise DiskError.writing(target, error) from None


def embedded_table(
    parts: Sequence[tuple[str, Items, Array]], names: Sequence[str] | None, made_by: tuple[str, str]
) -> Any:
    """The table that `write_embedded` writes, which says what made the embeddings."""
    arrow = pyarrow_module()
    table = arrow.concat_tables([_table(arrow, *part, names) for part in parts], promote_options="default")
    metadata = {key.encode(): value.encode() for key, value in zip(MADE_BY, made_by, strict=True)}
    return table.replace_schema_metadata(metadata)


def _table(arrow: Any, part: str, items: Items, vectors: Array, names: Sequence[str] | None) -> Any:
    columns: dict[str, Any] = {"id": arrow.array(items.references, arrow.string())}
    if part:
        columns["split"] = arrow.array([part] * len(items), arrow.string())
    shown: Any = items.shown
    if items.shown_kind == "text" or (shown is not None and not isinstance(shown, np.ndarray)):
        columns[items.shown_kind] = arrow.array([str(value) for value in shown], arrow.string())
    if items.labels is not None:
        labels = items.labels.tolist()
        named = labels if names is None else [None if i is None else names[i] for i in labels]
        columns["label"] = arrow.array(named)
    flat = arrow.array(np.ascontiguousarray(vectors, dtype=np.float32).reshape(-1))
    columns["embedding"] = arrow.FixedSizeListArray.from_arrays(flat, vectors.shape[1])
    return arrow.table(columns)
