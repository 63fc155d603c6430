"""Parquet shards to read: which files, which columns, and blocks of rows that bound the memory."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from vbcgcd.errors import DiskError, InputError, MissingFileError, NothingToDo, reason_of
from vbcgcd.items.cells import nature_of
from vbcgcd.items.columns import Columns, choose_columns
from vbcgcd.items.parquet import MADE_BY, ParquetTable, pyarrow_module
from vbcgcd.marks import check_whole

Array = NDArray[Any]

#: Rows read at a time.
BATCH_ROWS = 8192
#: Rows of a block, roughly: whole row groups of a shard up to so many.
BLOCK_ROWS = 65_536

__all__ = ["BATCH_ROWS", "Block", "Rows", "Shard", "ShardedData", "open_shards"]


@dataclass(frozen=True)
class Shard:
    """One Parquet file as it was when the work began.

    Parameters
    ----------
    path : str
        Absolute.
    name : str
        Its path in the folder, with slashes.
    mark : str
        Size and time of change: another mark is another file.
    groups : tuple of int
        Rows of each of its row groups.
    """

    path: str
    name: str
    mark: str
    groups: tuple[int, ...]

    @property
    def rows(self) -> int:
        """Rows of all row groups."""
        return sum(self.groups)

    def __str__(self) -> str:
        return self.path


class Block(NamedTuple):
    """Neighbouring row groups of a shard; small, so that it can be sent to whoever reads the rows."""

    shard: Shard
    first: int
    last: int

    def __str__(self) -> str:
        return f"{self.shard.path}, row groups {self.first} to {self.last - 1}"


class Rows(NamedTuple):
    """Some rows of a shard.

    Parameters
    ----------
    vectors : float array (n, d)
    references : list of str (n,)
        Ids, or ``SHARD:ROW`` where there is no column of ids.
    labels : list or None
        None where the data has no labels; a label that is None is missing.
    kept : Arrow table
        The columns to carry along.
    """

    vectors: Array
    references: list[str]
    labels: list[Any] | None
    kept: Any


@dataclass(frozen=True)
class ShardedData:
    """A folder of Parquet shards with embeddings, and how they are read.

    Parameters
    ----------
    folder : Path
        Or the only file.
    shards : tuple of Shard
        In the order of their names.
    columns : Columns
    width : int
        Numbers in an embedding; 0 where the items are not embedded.
    keep : tuple of str
        Columns to carry along.
    made_by : (str, str) or None
        Name and fingerprint of the embedder, where the shards say so.
    """

    folder: Path
    shards: tuple[Shard, ...]
    columns: Columns
    width: int = 0
    keep: tuple[str, ...] = ()
    made_by: tuple[str, str] | None = None

    @property
    def rows(self) -> int:
        """Rows of all shards."""
        return sum(shard.rows for shard in self.shards)

    def blocks(self, block_rows: int = BLOCK_ROWS) -> list[Block]:
        """All rows as blocks, in order: they depend on the files alone."""
        blocks = []
        for shard in self.shards:
            first = rows = 0
            for place, n in enumerate(shard.groups):
                if rows and rows + n > block_rows:
                    blocks.append(Block(shard, first, place))
                    first, rows = place, 0
                rows += n
            if rows:
                blocks.append(Block(shard, first, len(shard.groups)))
        return blocks

    def read(self, block: Block | Shard, batch_rows: int = BATCH_ROWS) -> Iterator[Rows]:
        """The rows of a block or of a whole shard, some at a time; batches depend on the file alone."""
        if isinstance(block, Shard):
            block = Block(block, 0, len(block.groups))
        names = [*self.columns.values, *(n for n in (self.columns.label, self.columns.id) if n is not None)]
        first = sum(block.shard.groups[: block.first])
        with open_shard(block.shard) as file:
            groups = list(range(block.first, block.last))
            wanted = list(dict.fromkeys([*names, *self.keep]))
            batches = file.iter_batches(batch_size=batch_rows, row_groups=groups, columns=wanted)
            for batch in _each(batches, block.shard):
                if batch.num_rows:
                    yield self._rows(batch, block.shard, first)
                    first += batch.num_rows

    def read_labels(self, shard: Shard) -> list[Any]:
        """The labels of a shard alone; its embeddings are not read."""
        assert self.columns.label is not None
        with open_shard(shard) as file:
            batches = file.iter_batches(batch_size=BATCH_ROWS, columns=[self.columns.label])
            return [label for batch in _each(batches, shard) for label in _labels(batch.column(0))]

    def read_ids(self, shard: Shard) -> list[str]:
        """The ids of a shard alone."""
        assert self.columns.id is not None
        with open_shard(shard) as file:
            batches = file.iter_batches(batch_size=BATCH_ROWS, columns=[self.columns.id])
            return [str(cell) for batch in _each(batches, shard) for cell in batch.column(0).to_pylist()]

    def _rows(self, batch: Any, shard: Shard, first: int) -> Rows:
        arrow, columns = pyarrow_module(), self.columns
        vectors = _vectors(batch, columns.values, shard, first)
        if vectors.shape[1] != self.width:
            raise InputError(
                f"{shard.path} has embeddings of {vectors.shape[1]} numbers, but the other shards have "
                f"{self.width}; embed all of them alike."
            )
        _check_finite(vectors, shard, first)
        if columns.id is None:
            references = [f"{shard.name}:{row}" for row in range(first, first + batch.num_rows)]
        else:
            references = [str(cell) for cell in batch.column(columns.id).to_pylist()]
        labels = None if columns.label is None else _labels(batch.column(columns.label))
        return Rows(vectors, references, labels, arrow.Table.from_batches([batch]).select(list(self.keep)))


def open_shards(
    folder: str | os.PathLike[str],
    *,
    keep: Sequence[str] = (),
    prefer: Mapping[str, Any] | None = None,
    **columns: Any,
) -> ShardedData:
    """A folder of Parquet shards, checked: every shard can be opened and has the same columns.

    Parameters
    ----------
    folder : str or Path
        A folder of ``.parquet`` files, also in subfolders; or one such file.
    keep : sequence of str
        Columns to carry along; ``("all",)`` takes every one but the embedding.
    prefer : mapping, optional
        As for ``vbcgcd.items.read_items``.
    **columns
        ``kind``, ``text``, ``image``, ``embedding``, ``label`` and ``id`` of ``vbcgcd.items.read_items``.

    Raises
    ------
    InputError
        There are no shards, one is broken or has other columns, or the folder is unfinished output.
    """
    place = Path(os.path.abspath(folder))
    files = _files(place)
    table = ParquetTable(Path(files[0]))
    chosen = _chosen(table, files[0], prefer, columns)
    kept = tuple(n for n in table.names if n not in chosen.values) if "all" in keep else tuple(keep)
    base = place if place.is_dir() else place.parent
    shards, widths, makers = [], dict[int, str](), set[tuple[str, str] | None]()
    for path in files:
        shard, width, maker = _opened(path, base, [*chosen.names, *kept], chosen)
        shards.append(shard)
        if width:
            widths.setdefault(width, path)
        makers.add(maker)
    if len(widths) > 1:
        (one, first), (other, second), *_ = widths.items()
        raise InputError(
            f"{second} has embeddings of {other} numbers, but {first} has {one}; embed all shards alike."
        )
    if not sum(shard.rows for shard in shards):
        raise NothingToDo(f"There are no rows in the shards of {place}.")
    width = next(iter(widths), 0) or (_first_width(shards, chosen) if chosen.kind == "embedding" else 0)
    made_by = makers.pop() if len(makers) == 1 else None
    return ShardedData(place, tuple(shards), chosen, width, kept, made_by)


@contextmanager
def open_shard(shard: Shard) -> Iterator[Any]:
    """A shard, open; one clear error if it is gone, changed or broken."""
    parquet = pyarrow_module("pyarrow.parquet")
    try:
        with open(shard.path, "rb") as file:
            if _mark(os.fstat(file.fileno())) != shard.mark:
                raise InputError(
                    f"{shard.path} was changed while it was being read; run the command again, which does "
                    "only what is missing."
                )
            try:
                opened = parquet.ParquetFile(file)
            except Exception as error:
                raise broken(shard.path, error) from None
            yield opened
    except FileNotFoundError:
        raise MissingFileError(
            f"{shard.path} has vanished since the work began; put it back, or leave it out and run the "
            "command again, which does only what is missing."
        ) from None
    except OSError as error:
        raise DiskError.reading(shard.path, error) from None


def broken(path: str, error: Exception) -> InputError:
    """The error for a shard that is no Parquet file."""
    return InputError(
        f"The shard {path} is not a complete Parquet file ({reason_of(error)}); write it again, or leave it "
        "out."
    )


def _each(batches: Any, shard: Shard) -> Iterator[Any]:
    iterator = iter(batches)
    while True:
        try:
            batch = next(iterator, None)
        except Exception as error:  # a damaged page can fail in any way
            raise broken(shard.path, error) from None
        if batch is None:
            return
        yield batch


def _files(place: Path) -> list[str]:
    if not place.exists():
        raise MissingFileError(f"There is no file or folder {place}.")
    if place.is_file():
        if place.suffix.lower() != ".parquet":
            raise InputError(f"{place} is no .parquet file; an engine reads nothing else, so leave it out.")
        return [str(place)]
    check_whole(place)
    files: list[str] = []
    for here, folders, names in os.walk(place):
        folders[:] = sorted(name for name in folders if name[0] not in "._")
        files += [os.path.join(here, n) for n in names if n[0] not in "._" and n.lower().endswith(".parquet")]
    if not files:
        raise InputError(
            f"{place} holds no Parquet files; give a folder of .parquet shards, or leave the engine out."
        )
    files.sort(key=lambda path: os.path.relpath(path, place).replace(os.sep, "/"))
    return files


def _chosen(table: ParquetTable, path: str, prefer: Any, columns: dict[str, Any]) -> Columns:
    given = {name: value for name, value in columns.items() if value is not None}
    first = table.first_cells()
    if first is None:
        raise NothingToDo(f"{path} has no rows; leave out empty shards.")
    natures = {name: nature_of(first[name], typed=table.typed) for name in table.names}
    if table.made_by is not None and not any(given.get(name) for name in ("kind", "text", "image")):
        given["kind"] = "embedding"
    return choose_columns(natures, source=path, prefer=prefer, **given)


def _opened(
    path: str, base: Path, names: Sequence[str], columns: Columns
) -> tuple[Shard, int, tuple[str, str] | None]:
    """A shard, the width of its embeddings where its schema says so, and what made them."""
    parquet = pyarrow_module("pyarrow.parquet")
    try:
        with open(path, "rb") as file:
            mark = _mark(os.fstat(file.fileno()))
            try:
                opened = parquet.ParquetFile(file)
                schema, metadata = opened.schema_arrow, opened.metadata
                groups = tuple(metadata.row_group(i).num_rows for i in range(metadata.num_row_groups))
            except Exception as error:
                raise broken(path, error) from None
    except OSError as error:
        raise DiskError.reading(path, error) from None
    missing = [name for name in names if name not in schema.names]
    if missing:
        there = ", ".join(map(repr, schema.names[:8]))
        raise InputError(f"The shard {path} has no column {missing[0]!r}; its columns are {there}.")
    said = schema.metadata or {}
    maker = [said.get(key.encode(), b"").decode("utf-8", "replace") for key in MADE_BY]
    width = 0
    if columns.kind == "embedding":
        width = len(columns.values) if len(columns.values) > 1 else 0
        width = width or int(getattr(schema.field(columns.values[0]).type, "list_size", 0) or 0)
    name = os.path.relpath(path, base).replace(os.sep, "/")
    return Shard(path, name, mark, groups), width, ((maker[0], maker[1]) if all(maker) else None)


def _mark(stat: os.stat_result) -> str:
    return f"{stat.st_size}:{stat.st_mtime_ns}"


def _first_width(shards: Sequence[Shard], columns: Columns) -> int:
    """Width of the first embedding, where the schema leaves it open."""
    shard = next(shard for shard in shards if shard.rows)
    with open_shard(shard) as file:
        for batch in _each(file.iter_batches(batch_size=1, columns=list(columns.values)), shard):
            return int(_vectors(batch, columns.values, shard, 0).shape[1])
    return 0


def _vectors(batch: Any, names: Sequence[str], shard: Shard, first: int) -> Array:
    """Embeddings (n, d) of a record batch, from one column of lists or from d columns of numbers."""
    types = pyarrow_module("pyarrow.types")
    if len(names) > 1:
        columns = [np.asarray(batch.column(name).to_numpy(zero_copy_only=False)) for name in names]
        return _floats(np.stack(columns, axis=1), shard)
    column = batch.column(names[0])
    kind = column.type
    lists = types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind)
    if not lists or column.null_count:
        found = f"cells of the type {kind}"
        if lists:
            empty = np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))
            found = f"an empty cell in row {first + int(empty[0])}"
        raise InputError(
            f"The column {names[0]!r} of {shard.path} has {found}; every row needs a list of numbers. Embed "
            "texts or pictures first with vbcgcd embed."
        )
    flat = np.asarray(column.flatten().to_numpy(zero_copy_only=False))
    if not types.is_fixed_size_list(kind):
        lengths = np.asarray(column.value_lengths().to_numpy(zero_copy_only=False))
        other = np.flatnonzero(lengths != lengths[:1])
        if len(other):
            raise InputError(
                f"Row {first + int(other[0])} of {shard.path} has an embedding of {lengths[other[0]]} "
                f"numbers, but row {first} one of {lengths[0]}; embed all rows alike."
            )
    return _floats(flat.reshape(len(column), -1), shard)


def _floats(vectors: Array, shard: Shard) -> Array:
    if vectors.dtype.kind not in "fiu":
        raise InputError(f"The embeddings of {shard.path} are no numbers ({vectors.dtype}).")
    if vectors.dtype in (np.float32, np.float64):
        return vectors
    return vectors.astype(np.float32 if vectors.dtype == np.float16 else np.float64)


def _check_finite(vectors: Array, shard: Shard, first: int) -> None:
    with np.errstate(over="ignore", invalid="ignore"):
        if np.isfinite(vectors.sum()):
            return
    bad = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(bad):
        raise InputError(
            f"Row {first + int(bad[0])} of {shard.path} contains NaN or infinity; remove the row or fill the "
            "value."
        )


def _labels(column: Any) -> list[Any]:
    """Labels of a column; None where one is missing or empty."""
    cells = column.to_pylist()
    return [None if c is None or c == "" or c != c else c for c in cells]
