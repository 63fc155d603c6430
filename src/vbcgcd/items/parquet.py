"""Parquet, read with pyarrow: lists of numbers become arrays of the type in the file."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from vbcgcd.errors import InputError, reason_of
from vbcgcd.items.tables import BLOCK, Block, Cells, TableFile, check_names

#: Where a file that holds embeddings says what made them.
MADE_BY = ("vbcgcd.embedder", "vbcgcd.fingerprint")

__all__ = ["MADE_BY", "ParquetTable", "columns_of", "incomplete", "next_batch", "pyarrow_module"]


class ParquetTable(TableFile):
    """The columns of a Parquet file."""

    unit = "row"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with _open_parquet(path) as file:
            self.names = list(file.schema_arrow.names)
            said = file.schema_arrow.metadata or {}
        made_by = [said.get(key.encode(), b"").decode("utf-8", "replace") for key in MADE_BY]
        self.made_by = (made_by[0], made_by[1]) if all(made_by) else None
        check_names(self.names, path)

    def blocks(self, names: Sequence[str]) -> Iterator[Block]:
        """See `TableFile.blocks`."""
        first = 0
        with _open_parquet(self.path) as file:
            batches = iter(file.iter_batches(batch_size=BLOCK, columns=list(names)))
            while (batch := next_batch(batches, self.path)) is not None:
                if not batch.num_rows:
                    continue
                columns = columns_of(batch, self.path)
                yield Block(columns, range(first, first + batch.num_rows))
                first += batch.num_rows


def pyarrow_module(module: str = "pyarrow") -> Any:
    """A module of pyarrow, or one clear error where it is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise InputError(
            "Reading Parquet needs the package pyarrow, which is not installed; install it with "
            "pip install 'vbcgcd[tables]', or save the table as CSV or JSONL."
        ) from None


def incomplete(path: Path, error: Exception, kind: str = "Parquet") -> InputError:
    """The error for a file that pyarrow cannot read."""
    return InputError(f"{path} is not a complete {kind} file ({reason_of(error)}); write it again.")


@contextmanager
def _open_parquet(path: Path) -> Iterator[Any]:
    parquet = pyarrow_module("pyarrow.parquet")
    with path.open("rb") as file:  # opened here, because a path that pyarrow opens has to be UTF-8
        try:
            table = parquet.ParquetFile(file)
        except Exception as error:  # a damaged file can fail in any way
            raise incomplete(path, error) from None
        yield table


def next_batch(batches: Any, path: Path) -> Any:
    """The next record batch; None after the last."""
    try:
        return next(batches, None)
    except Exception as error:
        raise incomplete(path, error) from None


def columns_of(batch: Any, path: Path) -> dict[str, Cells]:
    """The cells of a record batch."""
    try:
        return {name: _cells(batch.column(place)) for place, name in enumerate(batch.schema.names)}
    except Exception as error:  # texts that are not UTF-8, dates out of range
        raise incomplete(path, error) from None


def _cells(column: Any) -> Cells:
    types, kind = pyarrow_module("pyarrow.types"), column.type
    if types.is_integer(kind) or types.is_floating(kind):
        return (
            np.asarray(column.to_numpy(zero_copy_only=False)) if not column.null_count else column.to_pylist()
        )
    is_list = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    if is_list and not column.null_count and len(column):
        inner = column.flatten()
        equal = len(set(column.value_lengths().to_pylist())) == 1
        if equal and not inner.null_count and (types.is_integer(inner.type) or types.is_floating(inner.type)):
            return np.asarray(inner.to_numpy(zero_copy_only=False)).reshape(len(column), -1)
    return list(column.to_pylist())
