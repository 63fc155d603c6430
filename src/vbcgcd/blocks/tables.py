"""Rows of Parquet and Arrow files: a column of vectors, or a column for each number."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vbcgcd.blocks.protocol import check_block
from vbcgcd.errors import InputError, reason_of
from vbcgcd.marks import check_unchanged, file_mark

Array = NDArray[Any]

#: Rows read at a time.
PIECE_ROWS = 4096
#: Names that are taken for the column of vectors where there are several.
VECTOR_NAMES = ("embedding", "embeddings", "vector", "vectors")

__all__ = ["ArrowBlocks", "ParquetBlocks"]


class _Columns(NamedTuple):
    """The columns that hold the rows, whether it is one of vectors, and how many numbers a row has."""

    names: tuple[str, ...]
    vectors: bool
    width: int


class _Shard(NamedTuple):
    """A file: path, number of rows, its first row among those of all, where its groups end, and its mark."""

    path: Path
    rows: int
    first: int
    ends: Array
    mark: tuple[int, int]


class _TableBlocks:
    """Rows of one or more files with the same columns; subclasses know how a file is read."""

    def __init__(self, paths: Sequence[Path], column: str | None = None) -> None:
        self._shards, first, columns = list[_Shard](), 0, None
        for path in paths:
            mark = file_mark(path)
            schema, sizes = _reading(path, self.kind, partial(self._head, path))
            rows = int(sum(sizes))
            here = self._with_width(path, _columns(schema, column, path)) if rows else None
            if here is not None and columns is not None and here.width != columns.width:
                raise InputError(
                    f"{path} has rows of {here.width} numbers, and {self._shards[0].path} of "
                    f"{columns.width}; all files must have the same."
                )
            columns = columns or here
            self._shards.append(_Shard(path, rows, first, np.cumsum(sizes), mark))
            first += rows
        if columns is None or columns.width == 0:
            raise InputError(f"{paths[0].parent if len(paths) > 1 else paths[0]} has no rows.")
        self._columns, self._rows = columns, first

    def _with_width(self, path: Path, columns: _Columns) -> _Columns:
        """With the length of the first vector of a file."""
        if not columns.vectors:
            return columns
        batch = _reading(path, self.kind, partial(next, self._batches(path, columns.names)))
        return columns._replace(width=_matrix(batch.slice(0, 1), columns, path, 0).shape[1])

    kind = "table"

    def _head(self, path: Path) -> tuple[Any, list[int]]:
        """The schema of a file, and the rows of each of its groups."""
        raise NotImplementedError

    def _batches(self, path: Path, names: Sequence[str]) -> Iterator[Any]:
        """Record batches of a file, in order."""
        raise NotImplementedError

    def _group(self, path: Path, group: int, names: Sequence[str]) -> Any:
        """One group of a file, as a record batch or table."""
        raise NotImplementedError

    def __len__(self) -> int:
        return self._rows

    @property
    def width(self) -> int:
        """Number of columns."""
        return self._columns.width

    def pieces(self) -> Iterator[Array]:
        """All rows in order."""
        for shard in self._shards:
            check_unchanged(shard.path, shard.mark)
            done = 0
            batches = self._batches(shard.path, self._columns.names)
            while (batch := _reading(shard.path, self.kind, partial(next, batches, None))) is not None:
                for start in range(0, batch.num_rows, PIECE_ROWS):
                    part = batch.slice(start, PIECE_ROWS)
                    yield self._checked(part, shard, done)
                    done += part.num_rows

    def take(self, rows: Array) -> Array:
        """The rows with these rising numbers."""
        parts = [np.empty((0, self.width), np.float32)]
        for shard in self._shards:
            begin, end = np.searchsorted(rows, (shard.first, shard.first + shard.rows))
            inside = rows[begin:end] - shard.first
            group_of = np.searchsorted(shard.ends, inside, side="right")
            check_unchanged(shard.path, shard.mark)
            for group in np.unique(group_of).tolist():
                read = partial(self._group, shard.path, group, self._columns.names)
                table = _reading(shard.path, self.kind, read)
                chosen = np.flatnonzero(group_of == group)
                first = int(shard.ends[group] - table.num_rows)
                places = inside[chosen] - first
                parts.append(self._checked(table.take(places), shard, first))
        return np.concatenate(parts)

    def _checked(self, table: Any, shard: _Shard, first: int) -> Array:
        rows = _matrix(table, self._columns, shard.path, first)
        return check_block(rows, self.width, first, source=shard.path)


class ParquetBlocks(_TableBlocks):
    """The rows of Parquet files.

    Parameters
    ----------
    paths : sequence of Path
    column : str, optional
        The column of vectors; by default the only one, or all columns of numbers.
    """

    kind = "Parquet"

    def _head(self, path: Path) -> tuple[Any, list[int]]:
        with _module("pyarrow.parquet").ParquetFile(path) as file:
            meta = file.metadata
            return file.schema_arrow, [meta.row_group(i).num_rows for i in range(meta.num_row_groups)]

    def _batches(self, path: Path, names: Sequence[str]) -> Iterator[Any]:
        with _module("pyarrow.parquet").ParquetFile(path) as file:
            yield from file.iter_batches(batch_size=PIECE_ROWS, columns=list(names))

    def _group(self, path: Path, group: int, names: Sequence[str]) -> Any:
        with _module("pyarrow.parquet").ParquetFile(path) as file:
            return file.read_row_group(group, columns=list(names))


class ArrowBlocks(_TableBlocks):
    """The rows of Arrow or Feather files, mapped from disk; see `ParquetBlocks`."""

    kind = "Arrow"

    def _head(self, path: Path) -> tuple[Any, list[int]]:
        table = _mapped(path)
        return table.schema, [batch.num_rows for batch in table.to_batches()]

    def _batches(self, path: Path, names: Sequence[str]) -> Iterator[Any]:
        yield from _mapped(path).select(list(names)).to_batches()

    def _group(self, path: Path, group: int, names: Sequence[str]) -> Any:
        batch = _mapped(path).select(list(names)).to_batches()[group]
        return _module("pyarrow").Table.from_batches([batch])


def _mapped(path: Path) -> Any:
    """The table of an Arrow file, mapped: nothing is read before it is asked for."""
    arrow = _module("pyarrow")
    try:
        return arrow.ipc.open_file(arrow.memory_map(str(path))).read_all()
    except arrow.ArrowInvalid:  # the other of Arrow's two formats
        return arrow.ipc.open_stream(arrow.memory_map(str(path))).read_all()


def _reading(path: Path, kind: str, action: Callable[[], Any]) -> Any:
    """What an action reads from a file, or an `InputError` that names the file."""
    try:
        return action()
    except (OSError, _module("pyarrow").ArrowException, EOFError) as error:
        raise InputError(
            f"{path} cannot be read as {kind}: {reason_of(error)}. Write it again, or leave it out."
        ) from None


def _module(name: str) -> Any:
    import importlib

    try:
        return importlib.import_module(name)
    except ImportError:
        raise InputError(
            "Parquet and Arrow files need pyarrow; install it with: pip install 'vbcgcd[tables]'"
        ) from None


def _columns(schema: Any, column: str | None, path: Path) -> _Columns:
    """Which columns hold the rows."""
    types = _module("pyarrow").types
    lists = [field.name for field in schema if types.is_list(field.type) or _is_other_list(types, field.type)]
    if column is not None:
        if column not in lists:
            raise InputError(
                f"{path} has no column of vectors {column!r}; it has {_named(lists)}.", option="column"
            )
        return _Columns((column,), True, 0)
    likely = [name for name in lists if name.lower() in VECTOR_NAMES] or lists
    if len(likely) == 1:
        return _Columns((likely[0],), True, 0)
    if likely:
        raise InputError(
            f"{path} has several columns of vectors, {_named(likely)}; say which with open_rows(path, "
            "column=...).",
            option="column",
        )
    numbers = tuple(f.name for f in schema if types.is_floating(f.type) or types.is_integer(f.type))
    if not numbers:
        raise InputError(f"{path} has neither a column of vectors nor columns of numbers.")
    return _Columns(numbers, False, len(numbers))


def _is_other_list(types: Any, kind: Any) -> bool:
    return bool(types.is_fixed_size_list(kind) or types.is_large_list(kind))


def _named(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names)) or "none"


def _matrix(table: Any, columns: _Columns, path: Path, first: int) -> Array:
    """The rows of a table, array (n, width)."""
    if any(name not in table.schema.names for name in columns.names):
        absent = next(name for name in columns.names if name not in table.schema.names)
        raise InputError(f"{path} lacks the column {absent!r}, which the files before it have.")
    if not columns.vectors:
        arrays = [_numbers(table.column(name), path, first) for name in columns.names]
        return np.column_stack(arrays)
    vectors = table.column(columns.names[0])
    if hasattr(vectors, "combine_chunks"):
        vectors = vectors.combine_chunks()
    n = len(vectors)
    if vectors.null_count:
        missing = first + int(np.flatnonzero(vectors.is_null().to_numpy(zero_copy_only=False))[0])
        raise InputError(f"Row {missing} of {path} has no vector; leave such rows out.")
    values = _numbers(vectors.flatten(), path, first)
    lengths = np.full(n, len(values) // max(n, 1))
    if hasattr(vectors, "offsets"):
        lengths = np.diff(vectors.offsets.to_numpy())
    width = columns.width or int(lengths[0]) if n else columns.width
    if (lengths != width).any():
        row = int(np.flatnonzero(lengths != width)[0])
        raise InputError(
            f"Row {first + row} of {path} has {lengths[row]} numbers instead of {width}; all rows must have "
            "the same."
        )
    return values.reshape(n, width)


def _numbers(column: Any, path: Path, first: int) -> Array:
    """The values of a column; what is missing becomes NaN."""
    chunked = hasattr(column, "chunks")
    values = np.asarray(column.to_numpy() if chunked else column.to_numpy(zero_copy_only=False))
    if values.dtype.kind not in "fiu":
        raise InputError(f"Rows of {path} from {first} on hold values that are no numbers ({column.type}).")
    return values
