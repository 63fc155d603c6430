"""Parquet tables as bytes."""

from __future__ import annotations

import importlib
import io
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vbcgcd.errors import InputError

__all__ = ["check_pyarrow", "numbers_of", "parquet_bytes", "parquet_columns"]


def parquet_bytes(columns: Mapping[str, Any], **options: Any) -> bytes:
    """A Parquet table of columns of Arrow; ``options`` of ``pyarrow.parquet.write_table``."""
    arrow, parquet = check_pyarrow(), check_pyarrow("pyarrow.parquet")
    out = io.BytesIO()
    parquet.write_table(arrow.table(dict(columns)), out, compression="zstd", **options)
    return out.getvalue()


def parquet_columns(data: bytes) -> dict[str, Any]:
    """Columns of Arrow from `parquet_bytes`."""
    # Much quicker than read_table, which prepares for folders of many files.
    # Threads of Arrow that still run when the process ends can abort it.
    source = check_pyarrow().BufferReader(data)
    table = check_pyarrow("pyarrow.parquet").ParquetFile(source, pre_buffer=False).read(use_threads=False)
    return {name: table[name] for name in table.column_names}


def numbers_of(column: Any) -> NDArray[Any]:
    """The numbers of a column of Arrow without nulls; unlike its ``to_numpy``, without importing pandas."""
    return np.from_dlpack(column.combine_chunks() if hasattr(column, "combine_chunks") else column)


def check_pyarrow(module: str = "pyarrow") -> Any:
    """The module, or one clear error."""
    try:
        return importlib.import_module(module)
    except ImportError:
        raise InputError(
            "Workspaces need the package pyarrow; install it with pip install 'vbcgcd[tables]'."
        ) from None
